"""`tf.graph_util`: parts of GraphDefs."""

from __future__ import annotations

from typing import Any

from weft.framework.export import export, find

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


@export("graph_util.convert_variables_to_constants")
def convert_variables_to_constants(
    sess: Any,
    input_graph_def: Any,
    output_node_names: Any,
    variable_names_whitelist: Any = None,
    variable_names_blacklist: Any = None,
) -> Any:
    """Returns the part of a GraphDef that leads to the outputs, its variables replaced by their values in the
    session."""
    from weft import proto
    from weft.framework.tensor_proto import make_tensor_proto

    inner = extract_sub_graph(input_graph_def, output_node_names)
    nodes = {n.name: n for n in inner.node}
    values: dict[str, Any] = {}
    for node in inner.node:
        if node.op not in _VARIABLE_OPS:
            continue
        if variable_names_whitelist is not None and node.name not in variable_names_whitelist:
            continue
        if variable_names_blacklist is not None and node.name in variable_names_blacklist:
            continue
        if node.op == "VarHandleOp":
            handle = sess.graph.get_tensor_by_name(node.name + ":0")
            reads = [c for c in handle.consumers() if c.type == "ReadVariableOp"]
            if not reads:
                raise ValueError(f"Variable {node.name} is never read.")
            values[node.name] = reads[0].outputs[0]
        else:
            values[node.name] = sess.graph.get_tensor_by_name(node.name + ":0")
    fetched = dict(zip(values, sess.run(list(values.values())))) if values else {}

    def source(name: str) -> str:
        """The variable that a node passes on unchanged."""
        while name in nodes and nodes[name].op in ("Identity", "Enter", "Switch"):
            name = _node_name(nodes[name].input[0])
        return name

    out = proto.GraphDef()
    for node in inner.node:
        new = out.node.add()
        if node.name in fetched:
            value = fetched[node.name]
            new.op, new.name = "Const", node.name
            new.attr["dtype"].CopyFrom(node.attr["dtype"])
            new.attr["value"].tensor.CopyFrom(
                make_tensor_proto(
                    value, dtype=node.attr["dtype"].type, shape=getattr(value, "shape", ())
                )
            )
        elif node.op == "ReadVariableOp" and source(_node_name(node.input[0])) in fetched:
            new.op, new.name = "Identity", node.name
            new.input.append(node.input[0])
            new.attr["T"].CopyFrom(node.attr["dtype"])
        elif node.op == "ResourceGather" and source(_node_name(node.input[0])) in fetched:
            new.op, new.name = "GatherV2", node.name
            axis = out.node.add()
            axis.op, axis.name = "Const", node.name + "/axis"
            axis.attr["dtype"].type = 3
            axis.attr["value"].tensor.CopyFrom(make_tensor_proto(0, dtype=3))
            new.input.extend([node.input[0], node.input[1], axis.name])
            new.attr["Tparams"].CopyFrom(node.attr["dtype"])
            new.attr["Tindices"].CopyFrom(node.attr["Tindices"])
            new.attr["Taxis"].type = 3
        else:
            new.CopyFrom(node)
            if node.op in ("Identity", "Enter", "Switch") and source(node.name) in fetched:
                if node.attr["T"].type == 20:  # what passed a handle on passes the value now
                    new.attr["T"].CopyFrom(nodes[source(node.name)].attr["dtype"])
    out.library.CopyFrom(inner.library)
    out.versions.CopyFrom(inner.versions)
    find("logging", "info", "tf.logging")("Froze %d variables.", len(fetched))
    return out


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
