"""FunctionDef out and in: the functions of a graph's library as GraphDef holds them.

Inside of a FunctionDef an input reads `argument` or `node:output:index`, where GraphDef has `node:index`.
"""

from __future__ import annotations

import re
from typing import Any

from weft.framework import attributes, dtypes, function_tracing, graph_def, registry
from weft.framework.func_graph import FuncGraph, has_effect
from weft.framework.later_attributes import LATER_NAMES
from weft.framework.operation import Operation
from weft.framework.signature import Arg
from weft.framework.tensor import Tensor

_NOT_IN_NAMES = re.compile(r"[^a-z0-9_]")


class _Names:
    """Argument names, as an OpDef may have them: lower case, each one once."""

    def __init__(self, taken: set[str]):
        self.taken = taken

    def of(self, text: str) -> str:
        base = _NOT_IN_NAMES.sub("_", text.lower())
        if not base[:1].isalpha():
            base = "unknown" + base
        name, n = base, 0
        while name in self.taken:
            n += 1
            name = f"{base}_{n}"
        self.taken.add(name)
        return name


# -- out ----------------------------------------------------------------------------------------------------


def to_function_def(function: Any) -> Any:
    """The FunctionDef message of a function of the library."""
    from weft import proto
    from weft.framework.tensor_shape import TensorShape

    out = proto.FunctionDef()
    signature = out.signature
    signature.name = function.name
    given = {t._op for t in function.inputs}
    body = [op for op in _needed(function) if op not in given]
    names = _Names({op._name for op in body})
    text: dict[Tensor, str] = {}
    arguments: dict[Tensor, str] = {}
    for i, tensor in enumerate(function.inputs):
        arg = signature.input_arg.add(name=names.of(tensor._op._name))
        arg.type = tensor.dtype.base_dtype.enum
        text[tensor] = arguments[tensor] = arg.name
        variable = _variable_behind(tensor)
        if variable is not None:
            node = out.node_def.add()
            node.CopyFrom(_shared_variable(variable, names.of(tensor._op._name)))
            text[tensor] = f"{node.name}:ref:0"
            signature.is_stateful = True
        else:
            arg.is_ref = tensor.dtype._is_ref_dtype
        if tensor._dims is not None:
            shapes = out.arg_attr[i].attr["_output_shapes"].list.shape
            shapes.add().CopyFrom(TensorShape.from_tuple(tensor._dims).as_proto())
    for op in body:
        node = graph_def.node_def(op)
        del node.input[:]
        node.input.extend(_text_of(t, text) for t in op._inputs)
        node.input.extend("^" + c._name for c in op._control_inputs if c not in given)
        out.node_def.add().CopyFrom(node)
        signature.is_stateful |= op._decl.stateful
    results = _Names({a.name for a in signature.input_arg})
    for tensor in function.outputs:
        arg = signature.output_arg.add(name=results.of(tensor._op._name))
        arg.type = tensor.dtype.base_dtype.enum
        out.ret[arg.name] = arguments.get(tensor) or _text_of(tensor, text)
    # What runs without being asked for: TensorFlow runs no other operation that no output needs.
    effects = filter(has_effect, body) if function.runs_everything else ()
    for op in dict.fromkeys([*function.control_outputs, *effects]):
        if op not in given:
            signature.control_output.append(op._name)
            out.control_ret[op._name] = op._name
    for key, value in function.attrs.items():
        out.attr[key].CopyFrom(
            value if hasattr(value, "WhichOneof") else attributes.to_proto(value)
        )
    return out


def _variable_behind(tensor: Tensor) -> Operation | None:
    """The variable that a reference among a function's inputs refers to, where it is captured."""
    if not tensor.dtype._is_ref_dtype:
        return None
    found: Tensor | None = tensor
    while found is not None and found._op._decl.name == "Placeholder":
        found = getattr(found._op, "_captured", None)
    if found is None or found._op._decl.name not in ("Variable", "VariableV2"):
        return None
    return found._op


def _shared_variable(variable: Operation, name: str) -> Any:
    """A node inside of a function for a variable outside.

    TensorFlow's functions take no references: the argument passes the variable's value, and what wants the
    variable itself finds it by its name in the device's memory.
    """
    node = graph_def.node_def(variable)
    node.name = name
    del node.input[:]
    node.attr.pop("_class", None)
    node.attr["shared_name"].s = node.attr["shared_name"].s or variable._name.encode()
    return node


def _needed(function: Any) -> list[Operation]:
    """The operations that a call runs, in the order in which they were built."""
    found: set[Operation] = set()
    stack = [*function.wanted_ops(), *(t._op for t in function.outputs)]
    inputs = {t._op for t in function.inputs}
    while stack:
        op = stack.pop()
        if op in found:
            continue
        found.add(op)
        if op not in inputs:
            stack.extend(t._op for t in op._inputs)
            stack.extend(op._control_inputs)
    return [op for op in function.get_operations() if op in found]


def _text_of(tensor: Tensor, known: dict[Tensor, str]) -> str:
    """How nodes of the function refer to a tensor."""
    text = known.get(tensor)
    if text is None:
        op = tensor._op
        for arg, first, count in _ranges(op._decl.signature.outputs, op._attrs):
            if first <= tensor._index < first + count:
                text = f"{op._name}:{arg.name}:{tensor._index - first}"
        assert text is not None, f"{tensor} is no output of {op}"
        known[tensor] = text
    return text


def _ranges(args: tuple[Arg, ...], attrs: dict[str, Any]) -> list[tuple[Arg, int, int]]:
    """For each argument the position of its first tensor, and how many it has."""
    out, at = [], 0
    for arg in args:
        if arg.number_attr is not None:
            count = attrs[arg.number_attr]
        elif arg.type_list_attr is not None:
            count = len(attrs[arg.type_list_attr])
        else:
            count = 1
        out.append((arg, at, count))
        at += count
    return out


# -- in -----------------------------------------------------------------------------------------------------


def add_library(graph: Any, library: Any) -> None:
    """Adds the functions of a FunctionDefLibrary to a graph; what it has already stays as it is."""
    graph = function_tracing.outermost(graph)
    new: list[tuple[Any, FuncGraph]] = []
    for message in library.function:
        name = message.signature.name
        known = graph._get_function(name)
        if known is not None:
            _check_same(known, message)
            continue
        new.append((message, _declared(graph, message)))
    graph._functions.update((function.name, function) for _, function in new)
    # Bodies come when all names are known: functions call each other, and themselves.
    try:
        for message, function in new:
            _fill(graph, message, function)
    except Exception:
        for _, function in new:
            del graph._functions[function.name]
        raise
    for gradient in library.gradient:
        graph._gradient_functions[gradient.function_name] = gradient.gradient_func
    graph._version += len(new)


def _check_same(known: Any, message: Any) -> None:
    def kinds(args: Any) -> list[int]:
        return [a.type for a in args]

    signature = message.signature
    there = (
        [t.dtype.base_dtype.enum for t in known.inputs],
        [t.dtype.base_dtype.enum for t in known.outputs],
    )
    if there != (kinds(signature.input_arg), kinds(signature.output_arg)):
        raise ValueError(
            f"Cannot add function '{known.name}' because a different function with the same name already exists."
        )


def _declared(graph: Any, message: Any) -> FuncGraph:
    """A function with its name and attributes, whose body is still to come."""
    signature = message.signature
    if signature.attr or any(a.type_attr or a.type_list_attr for a in signature.input_arg):
        given = ", ".join(a.name for a in signature.attr)
        raise ValueError(
            f"Function '{signature.name}' has attributes of its own ({given}): functions that are instantiated "
            "for each of their calls' attributes cannot be imported."
        )
    function = FuncGraph(signature.name, graph)
    function._devices = []
    function.attrs = {k: attributes.from_proto(v) for k, v in message.attr.items()}
    function.arg_names = [a.name for a in signature.input_arg]
    function.declared = signature
    return function


def _fill(graph: Any, message: Any, function: FuncGraph) -> None:
    """Builds the body of a function."""
    from weft import proto
    from weft.framework import importer

    signature = message.signature
    arguments = {
        arg.name: _add_argument(function, arg, message.arg_attr.get(i))
        for i, arg in enumerate(signature.input_arg)
    }
    body = proto.GraphDef()
    body.versions.CopyFrom(graph.graph_def_versions)
    nodes = {n.name: n for n in message.node_def}
    sources = _Sources(graph, signature.name, nodes, set(arguments))
    used = set()
    for source in message.node_def:
        node = body.node.add()
        node.CopyFrom(source)
        del node.input[:]
        node.input.extend(map(sources.flat, source.input))
        used.update(node.input)
    results = []
    for arg in signature.output_arg:
        if arg.name not in message.ret:
            raise ValueError(f"Function '{signature.name}' does not say what '{arg.name}' returns.")
        results.append(sources.flat(message.ret[arg.name]))
    inner = [r for r in results if r not in arguments]
    with function.as_default():
        found = importer.import_graph_def(
            body,
            name="",
            input_map={name: t for name, t in arguments.items() if name in used},
            return_elements=[*inner, *message.control_ret.values()],
        )
    elements = iter(found or [])
    function.inputs = list(arguments.values())
    for text in results:
        end = arguments[text] if text in arguments else next(elements)
        function.outputs.append(end._outputs[0] if isinstance(end, Operation) else end)
    function.control_outputs = list(elements)


def _add_argument(function: FuncGraph, arg: Any, attrs: Any) -> Tensor:
    shapes = attrs.attr["_output_shapes"] if attrs is not None else None
    dims = attributes.from_proto(shapes)[0] if shapes is not None and shapes.list.shape else None
    dtype = dtypes.as_dtype(arg.type)
    return function._placeholder(dtype._as_ref if arg.is_ref else dtype, dims, arg.name)


def as_call(node: Any, function: Any) -> Any:
    """A node whose op type is the name of a function, as the call that it stands for."""
    from weft import proto

    declared = function.declared or to_function_def(function).signature
    call = proto.NodeDef(name=node.name, device=node.device, input=node.input)
    call.op = "StatefulPartitionedCall" if declared.is_stateful else "PartitionedCall"
    call.attr["Tin"].list.SetInParent()
    call.attr["Tin"].list.type.extend(a.type for a in declared.input_arg)
    call.attr["Tout"].list.SetInParent()
    call.attr["Tout"].list.type.extend(a.type for a in declared.output_arg)
    call.attr["f"].func.name = node.op
    for key, value in node.attr.items():
        if key.startswith("_"):
            call.attr[key].CopyFrom(value)
    return call


class _Sources:
    """What the inputs of a function's nodes refer to, in GraphDef's way of writing it."""

    def __init__(self, graph: Any, name: str, nodes: dict[str, Any], arguments: set[str]):
        self.graph, self.name, self.nodes, self.arguments = graph, name, nodes, arguments
        self.places: dict[str, dict[str, tuple[int, int]]] = {}

    def flat(self, text: str) -> str:
        if text.startswith("^"):
            return text
        node, _, rest = text.partition(":")
        if node in self.arguments:
            return node
        if node not in self.nodes:
            raise ValueError(f"Function '{self.name}': '{text}' is no node or argument of it.")
        output, _, index = rest.partition(":")
        if not index:
            return text  # written in GraphDef's way
        place = self._places(node).get(output)
        if place is None or not index.isdigit() or int(index) >= place[1]:
            raise ValueError(f"Function '{self.name}': node '{node}' has no output '{rest}'.")
        return f"{node}:{place[0] + int(index)}"

    def _places(self, name: str) -> dict[str, tuple[int, int]]:
        found = self.places.get(name)
        if found is not None:
            return found
        node = self.nodes[name]
        decl = registry.find(LATER_NAMES.get(node.op, node.op))
        if decl is not None:
            attrs = {
                a.name: attributes.from_proto(node.attr[a.name])
                for a in decl.signature.attrs.values()
                if a.name in node.attr
            }
            try:
                ranges = _ranges(decl.signature.outputs, attrs)
            except KeyError as e:
                raise ValueError(
                    f"Function '{self.name}': NodeDef missing attr {e} from Op<name={node.op}>; NodeDef: {name}"
                ) from None
            found = {arg.name: (first, count) for arg, first, count in ranges}
        else:
            function = self.graph._get_function(node.op)
            if function is None or function.declared is None:
                raise ValueError(
                    f"Op type not registered '{node.op}' in weft: node '{name}' of function '{self.name}' cannot "
                    "be imported."
                )
            found = {a.name: (i, 1) for i, a in enumerate(function.declared.output_arg)}
        self.places[name] = found
        return found
