"""Frozen graphs: a GraphDef whose variables have become constants, in the functions that it calls as well."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from weft.framework import dtypes
from weft.framework.export import export, find
from weft.framework.graph_util import extract_sub_graph

_REFERENCES = ("Variable", "VariableV2")
_VARIABLES = (*_REFERENCES, "VarHandleOp")
_PASS_ON = ("Identity", "Enter", "Switch")
# Ops that call functions: where the functions' arguments start among the inputs, and the attribute of their types.
_CALLS = {
    "If": (1, "Tin"),
    "StatelessIf": (1, "Tin"),
    "Case": (1, "Tin"),
    "While": (0, "T"),
    "StatelessWhile": (0, "T"),
    "PartitionedCall": (0, "Tin"),
    "StatefulPartitionedCall": (0, "Tin"),
}


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

    inner = extract_sub_graph(input_graph_def, output_node_names)
    tensors: dict[str, Any] = {}
    for node in inner.node:
        if node.op not in _VARIABLES:
            continue
        if variable_names_whitelist is not None and node.name not in variable_names_whitelist:
            continue
        if variable_names_blacklist is not None and node.name in variable_names_blacklist:
            continue
        tensor = sess.graph.get_tensor_by_name(node.name + ":0")
        if node.op == "VarHandleOp":
            reads = [c for c in tensor.consumers() if c.type == "ReadVariableOp"]
            if not reads:
                raise ValueError(f"Variable {node.name} is never read.")
            tensor = reads[0].outputs[0]
        tensors[node.name] = tensor
    values = dict(zip(tensors, sess.run(list(tensors.values())))) if tensors else {}
    freezer = _Freezer(values, inner)
    out = proto.GraphDef()
    out.node.extend(freezer.frozen_nodes(inner.node))
    for function in inner.library.function:
        if function.signature.name not in freezer.replaced:
            out.library.function.add().CopyFrom(function)
    out.library.function.extend(freezer.functions)
    out.library.gradient.extend(inner.library.gradient)
    out.versions.CopyFrom(inner.versions)
    find("logging", "info", "tf.logging")("Froze %d variables.", len(values))
    return out


def _name(text: str) -> str:
    """The node or argument that an input's text refers to."""
    return text.lstrip("^").partition(":")[0]


class _Freezer:
    """Replaces variables in nodes and, where their handles are passed to functions, in these."""

    def __init__(self, values: dict[str, Any], graph_def: Any):
        self.values = values
        self.types = {n.name: n.attr["dtype"].type for n in graph_def.node if n.name in values}
        self.library = {f.signature.name: f for f in graph_def.library.function}
        self.functions: list[Any] = []  # those that take values in place of handles
        self.replaced: set[str] = set()
        self.known: dict[Any, str] = {}

    def frozen_nodes(
        self, nodes: Iterable[Any], handles: dict[str, int] | None = None
    ) -> list[Any]:
        """The nodes with constants for variables. Inside of a function, `handles` are the arguments that have
        become values, with their types."""
        inside, handles = handles is not None, handles or {}
        nodes = list(nodes)
        by_name = {n.name: n for n in nodes}

        def type_of(text: str) -> int | None:
            """The type of the value of the variable that an input passes on; None where it is none of these."""
            name = _name(text)
            while name in by_name and by_name[name].op in _PASS_ON:
                name = _name(by_name[name].input[0])
            if name in handles:
                return handles[name]
            node = by_name.get(name)
            if node is None or node.op not in _VARIABLES:
                return None
            return self.types.get(self._variable(node, inside))

        out: list[Any] = []
        for node in nodes:
            out.extend(self._frozen(node, type_of, inside))
        return out

    def _variable(self, node: Any, inside: bool) -> str:
        """The name of the variable that a node stands for; inside of a function it has it for its shared name."""
        return node.attr["shared_name"].s.decode() if inside else node.name

    def _frozen(self, node: Any, type_of: Any, inside: bool) -> list[Any]:
        from weft import proto

        new = proto.NodeDef(name=node.name)
        kind = type_of(node.input[0]) if node.input else None
        if node.op in _VARIABLES and self._variable(node, inside) in self.values:
            return [self._constant(node.name, self._variable(node, inside))]
        if node.op == "ReadVariableOp" and kind is not None:
            new.op = "Identity"
            new.input.extend(node.input)
            new.attr["T"].CopyFrom(node.attr["dtype"])
            return [new]
        if node.op == "ResourceGather" and kind is not None:
            new.op = "GatherV2"
            axis = _const(f"{node.name}/axis", 0, dtypes.int32.enum)
            axis_text = f"{axis.name}:output:0" if inside else axis.name
            new.input.extend([node.input[0], node.input[1], axis_text, *node.input[2:]])
            new.attr["Tparams"].CopyFrom(node.attr["dtype"])
            new.attr["Tindices"].CopyFrom(node.attr["Tindices"])
            new.attr["Taxis"].type = dtypes.int32.enum
            return [axis, new]
        new.CopyFrom(node)
        if node.op in _PASS_ON and kind is not None:
            if (
                node.attr["T"].type == dtypes.resource.enum
            ):  # what passed a handle on passes the value
                new.attr["T"].type = kind
        elif node.op in _CALLS:
            self._freeze_call(new, type_of)
        return [new]

    def _constant(self, name: str, variable: str) -> Any:
        return _const(name, self.values[variable], self.types[variable])

    def _freeze_call(self, node: Any, type_of: Any) -> None:
        """Makes a call pass values, to functions that take them."""
        first, attr = _CALLS[node.op]
        types = node.attr[attr].list.type
        now = {}
        for i, kind in enumerate(types):
            value_type = type_of(node.input[first + i])
            if value_type is not None and kind == dtypes.resource.enum:
                now[i] = types[i] = value_type
        for value in node.attr.values():
            which = value.WhichOneof("value")
            called = [value.func] if which == "func" else value.list.func if which == "list" else ()
            for func in called:
                func.name = self._frozen_function(func.name, now)

    def _frozen_function(self, name: str, now: dict[int, int]) -> str:
        """The name of the function that takes values, of these types, at some positions."""
        message = self.library.get(name)
        if message is None or not (now or self._has_variables(message)):
            return name
        key = (name, tuple(sorted(now.items())))
        if key in self.known:
            return self.known[key]
        from weft import proto

        new = proto.FunctionDef()
        new.CopyFrom(message)
        count = sum(1 for n, _ in self.known if n == name)
        new.signature.name = self.known[key] = f"{name}_frozen_{count}"
        self.replaced.add(name)
        handles = {}
        for i, kind in now.items():
            argument = new.signature.input_arg[i]
            argument.type = kind
            handles[argument.name] = kind
            if i in new.arg_attr:
                del new.arg_attr[i]
        del new.node_def[:]
        nodes = self.frozen_nodes(message.node_def, handles)
        outputs = {n.name: "output" for n in nodes if n.op in ("Identity", "Const")}
        for node in nodes:
            text = [_with_output(t, outputs) for t in node.input]
            del node.input[:]
            node.input.extend(text)
        new.node_def.extend(nodes)
        for argument in new.signature.output_arg:
            returned = new.ret[argument.name] = _with_output(new.ret[argument.name], outputs)
            argument.type = handles.get(returned, argument.type)
        self.functions.append(new)
        return new.signature.name

    def _has_variables(self, message: Any) -> bool:
        """Whether a function finds a frozen variable by its name, or calls one that does."""
        for node in message.node_def:
            if node.op in _VARIABLES and self._variable(node, True) in self.values:
                return True
            for value in node.attr.values():
                name = value.func.name
                if name in self.library and name != message.signature.name:
                    if self._has_variables(self.library[name]):
                        return True
        return False


def _with_output(text: str, outputs: dict[str, str]) -> str:
    """An input's text inside of a function, with the name that the node's output has now."""
    node, colon, rest = text.partition(":")
    if colon and node in outputs:
        return f"{node}:{outputs[node]}:{rest.rpartition(':')[2]}"
    return text


def _const(name: str, value: Any, kind: int) -> Any:
    from weft import proto
    from weft.framework.tensor_proto import make_tensor_proto

    node = proto.NodeDef(name=name, op="Const")
    node.attr["dtype"].type = kind
    tensor = make_tensor_proto(value, dtype=kind, shape=getattr(value, "shape", ()))
    node.attr["value"].tensor.CopyFrom(tensor)
    return node
