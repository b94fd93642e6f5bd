"""`tf.graph_util`: parts of GraphDefs."""

from __future__ import annotations

from typing import Any

from weft.framework.export import export

_VARIABLE_OPS = ("Variable", "VariableV2", "AutoReloadVariable", "VarHandleOp", "VarHandlesOp")


def _node_name(text: str) -> str:
    return text[1:] if text.startswith("^") else text.split(":")[0]


@export("graph_util.must_run_on_cpu")
def must_run_on_cpu(node: Any, pin_variables_on_cpu: bool = False) -> bool:
    """Returns whether a node (an Operation or NodeDef) can run on the host only."""
    node_def = node.node_def if hasattr(node, "node_def") else node
    if pin_variables_on_cpu and node_def.op in _VARIABLE_OPS:
        return True
    string = 7
    if node_def.op == "Const":
        return node_def.attr["dtype"].type == string
    if node_def.op in ("DynamicStitch", "ParallelDynamicStitch"):
        return node_def.attr["T"].type == 3
    if node_def.op in ("Cast",):
        return node_def.attr["SrcT"].type in (3, string)
    return False


@export("graph_util.extract_sub_graph")
def extract_sub_graph(graph_def: Any, dest_nodes: Any) -> Any:
    """Returns the part of a GraphDef that leads to nodes of these names."""
    from weft import proto

    if not isinstance(graph_def, proto.GraphDef):
        raise TypeError("graph_def must be a graph_pb2.GraphDef proto.")
    if isinstance(dest_nodes, str):
        raise TypeError("dest_nodes must be a list.")
    nodes = {n.name: n for n in graph_def.node}
    for name in dest_nodes:
        if name not in nodes:
            raise AssertionError(f"{name} is not in graph")
    keep: set[str] = set()
    stack = list(dest_nodes)
    while stack:
        name = stack.pop()
        if name in keep:
            continue
        keep.add(name)
        stack.extend(_node_name(i) for i in nodes[name].input)
    out = proto.GraphDef()
    out.node.extend(n for n in graph_def.node if n.name in keep)
    out.library.CopyFrom(graph_def.library)
    out.versions.CopyFrom(graph_def.versions)
    return out


@export("graph_util.tensor_shape_from_node_def_name")
def tensor_shape_from_node_def_name(graph: Any, input_name: str) -> Any:
    """Returns the static shape of a node's input, named as NodeDef names it."""
    name = input_name if ":" in input_name else input_name + ":0"
    return graph.get_tensor_by_name(name.lstrip("^")).get_shape()


@export("graph_util.remove_training_nodes")
def remove_training_nodes(input_graph: Any, protected_nodes: Any = None) -> Any:
    """Returns a GraphDef without nodes that do nothing in inference: CheckNumerics, and Identities that no
    control edge needs."""
    from weft import proto

    protected = set(protected_nodes or ())
    first = proto.GraphDef()
    dropped = {
        n.name: n.input[0]
        for n in input_graph.node
        if n.op == "CheckNumerics" and n.name not in protected and n.input
    }
    _copy_without(input_graph, first, dropped)
    control = {i[1:] for n in first.node for i in n.input if i.startswith("^")}
    again = {}
    for n in first.node:
        if n.op == "Identity" and n.name not in protected and n.name not in control:
            if not any(i.startswith("^") for i in n.input):
                again[n.name] = n.input[0]
    out = proto.GraphDef()
    _copy_without(first, out, again)
    out.versions.CopyFrom(input_graph.versions)
    out.library.CopyFrom(input_graph.library)
    return out


def _copy_without(source: Any, out: Any, dropped: dict[str, str]) -> None:
    def through(text: str) -> str:
        prefix = "^" if text.startswith("^") else ""
        name = text[len(prefix) :]
        while _node_name(name) in dropped:
            name = dropped[_node_name(name)]
        return prefix + name if prefix else name

    for node in source.node:
        if node.name in dropped:
            continue
        new = out.node.add()
        new.CopyFrom(node)
        del new.input[:]
        new.input.extend(through(i) for i in node.input)
