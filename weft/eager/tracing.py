"""Tracing of a Python function: what it adds to a graph becomes the body of a graph function."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Any

from weft.eager.automatic_control import add_control_inputs
from weft.eager.function_spec import is_variable
from weft.framework import context, conversion, function_tracing, nest, random_seed, registry
from weft.framework.func_graph import FuncGraph
from weft.framework.graph_keys import GraphKeys
from weft.framework.handle_data import HandleData, handle_data
from weft.framework.operation import Operation
from weft.framework.tensor import Tensor
from weft.framework.tensor_shape import as_shape
from weft.framework.type_spec import TensorSpec, TypeSpec, type_spec_from_value

# Collections that a function shares with the graph around it; of the others it gets a copy.
_SHARED = (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES, GraphKeys.TRAINABLE_VARIABLES)


def new_graph(name: str) -> FuncGraph:
    """An empty body within the default graph, or within eager execution."""
    around = context.get_default_graph()
    graph = FuncGraph(function_tracing.unique_name(around, name), around)
    graph.is_traced = True  # type: ignore[attr-defined]
    if context.executing_eagerly():
        graph._seed = random_seed.eager_seed.seed
        graph._collections = {}
        graph._devices = []
    else:
        graph._collections = {
            k: v if k in _SHARED or not isinstance(k, str) else list(v)
            for k, v in around._collections.items()
        }
    return graph


def trace(
    function: Callable,
    args: tuple,
    kwargs: dict[str, Any],
    name: str,
    arg_names: list[str],
    within: Callable[[FuncGraph], Any] | None = None,
    graph: FuncGraph | None = None,
    in_order: bool = True,
) -> FuncGraph:
    """The body of a function for arguments of these kinds: specs, tensors and variables become inputs.

    What has effects runs in the order in which it was written, unless that is not asked for.
    """
    graph = graph or new_graph(name)
    graph.runs_everything = True
    with graph.as_default(), within(graph) if within is not None else contextlib.nullcontext():
        inputs = _Inputs(graph)
        inner_args = tuple(
            inputs.of(a, arg_names[i] if i < len(arg_names) else "args") for i, a in enumerate(args)
        )
        inner_kwargs = {k: inputs.of(v, k) for k, v in sorted(kwargs.items())}
        given = _copied((inner_args, inner_kwargs))
        graph.structured_input = _specs((inner_args, inner_kwargs))
        result = function(*given[0], **given[1])
        graph.structured_outputs, outputs = returned(graph, result, name)
    if not _is_unchanged((inner_args, inner_kwargs), given):
        raise ValueError(
            "Function to be traced should not modify structure of input arguments. Check if your function has list "
            "and dictionary operations that alter input arguments, such as `list.pop`, `list.append`"
        )
    finish(graph, inputs, outputs)
    if in_order:
        add_control_inputs(graph)
    return graph


def _is_unchanged(before: Any, after: Any) -> bool:
    """Whether a function left the structures that it was called with as they were."""
    try:
        nest.assert_same_structure(before, after)
    except (ValueError, TypeError):
        return False
    return all(a is b for a, b in zip(nest.flatten(before), nest.flatten(after)))


def _copied(structure: Any) -> Any:
    """The same structure with lists and dicts of its own."""
    if isinstance(structure, dict) and type(structure) is dict:
        return {k: _copied(v) for k, v in structure.items()}
    if type(structure) in (list, tuple):
        return type(structure)(_copied(v) for v in structure)
    return structure


def finish(graph: FuncGraph, inputs: Any, outputs: list[Tensor]) -> None:
    """Sets what the function takes and returns."""
    # A handle of a variable that is an argument is no capture, in whatever graph around the function it is.
    given = {id(t) for t in inputs.tensors}
    for key, (_, inner) in list(graph._captures.items()):
        if id(inner) in given:
            del graph._captures[key]
    deferred = [t for item in graph.deferred_captures.values() for t in item.inputs]
    graph.inputs = inputs.tensors + graph.internal_captures + deferred
    graph.arg_names = inputs.names
    graph.outputs = outputs
    with context.outermost(0, False) if graph.outer_graph is None else contextlib.nullcontext():
        around: Any = graph.outer_graph
        around._next_id = max(around._next_id, graph._next_id)


class _Inputs:
    """The inputs of a body that is being traced."""

    def __init__(self, graph: FuncGraph):
        self.graph = graph
        self.tensors: list[Tensor] = []
        self.names: list[str] = []
        self.handles: list[Any] = []  # of variables among the arguments

    def of(self, value: Any, name: str) -> Any:
        """What the function is called with for one of its arguments."""
        return nest.map_structure(lambda leaf: self._leaf(leaf, name), value)

    def _leaf(self, leaf: Any, name: str) -> Any:
        if isinstance(leaf, TensorSpec):
            return self._add(leaf.dtype, leaf.shape.dims_tuple, leaf.name or name)
        if isinstance(leaf, Tensor):
            placeholder = self._add(leaf.dtype, leaf._dims, name)
            data = handle_data(leaf)
            if data is not None:
                placeholder._handle_data = data
            return placeholder
        if isinstance(leaf, TypeSpec):
            parts = [self._add(s.dtype, s.shape.dims_tuple, name) for s in _flat_specs(leaf)]
            return _from_flat(leaf, parts)
        if nest.is_composite(leaf):
            flat = nest.flatten(leaf, expand_composites=True)
            spec = type_spec_from_value(leaf)
            specs = _flat_specs(spec)
            parts = [self._add(t.dtype, s.shape.dims_tuple, name) for t, s in zip(flat, specs)]
            return nest.pack_sequence_as(leaf, parts, expand_composites=True)
        if is_variable(leaf):
            if any(leaf.handle is h for h in self.handles):
                return leaf
            inner: Any = self.graph.capture(leaf.handle, name=_op_name(name))
            inner._handle_data = HandleData(leaf.shape.dims_tuple, leaf.dtype)
            inner.op._set_attr("_user_specified_name", _text_attr(name))
            self.handles.append(leaf.handle)
            self.tensors.append(inner)
            self.names.append(name)
            return leaf
        return leaf

    def _add(self, dtype: Any, dims: Any, name: str) -> Any:
        tensor: Any = self.graph._placeholder(dtype, dims, _op_name(name))
        tensor.op._set_attr("_user_specified_name", _text_attr(name))
        self.tensors.append(tensor)
        self.names.append(name)
        return tensor


def _text_attr(text: str) -> Any:
    from weft import proto

    return proto.AttrValue(s=text.encode())


def _op_name(name: str) -> str:
    name = re.sub(r"[^A-Za-z0-9_.\-/]", "_", name)
    return name if re.match(r"[A-Za-z0-9.]", name) else "arg" + name


def _flat_specs(spec: Any) -> list[TensorSpec]:
    if isinstance(spec, TensorSpec):
        return [spec]
    return [s for part in nest.flatten(spec._component_specs) for s in _flat_specs(part)]


def _from_flat(spec: Any, parts: list[Any]) -> Any:
    if isinstance(spec, TensorSpec):
        return parts.pop(0)
    return spec._from_components(
        nest.map_structure(lambda s: _from_flat(s, parts), spec._component_specs)
    )


def _specs(structure: Any) -> Any:
    def spec(leaf: Any) -> Any:
        if isinstance(leaf, Tensor):
            user = leaf.op._attrs.get("_user_specified_name") if leaf._op is not None else None
            return TensorSpec(leaf.shape, leaf.dtype, user.decode() if user else None)
        if nest.is_composite(leaf):
            return type_spec_from_value(leaf)
        return leaf

    return nest.map_structure(spec, structure)


def returned(graph: FuncGraph, result: Any, name: str) -> tuple[Any, list[Tensor]]:
    """What a function returned, as tensors of its body: in its structure (None stays), and flat."""
    flat: list[Tensor] = []
    identity = registry.get("Identity")

    def tensor(x: Any) -> Tensor:
        x = graph.capture(conversion.convert_to_tensor(x))
        data = handle_data(x) if x.dtype.name == "resource" else None
        out: Any = identity(x)
        if data is not None:
            out._handle_data = data
        flat.append(out)
        return out

    def leaf(x: Any) -> Any:
        if x is None:
            return None
        if isinstance(x, Operation):
            with graph.control_dependencies([x]):
                return tensor(0)
        if hasattr(x, "_as_graph_result"):
            return x._as_graph_result(tensor)
        if nest.is_composite(x):
            parts = [tensor(t) for t in nest.flatten(x, expand_composites=True)]
            return nest.pack_sequence_as(x, parts, expand_composites=True)
        try:
            return tensor(x)
        except (ValueError, TypeError):
            raise TypeError(
                "To be compatible with tf.contrib.eager.defun, Python functions must return zero or more Tensors; "
                f"in compilation of {name}, found return value of type {type(x)}, which is not a Tensor."
            ) from None

    return nest.map_structure(leaf, result), flat


@contextlib.contextmanager
def no_scope(graph: FuncGraph) -> Iterator[None]:
    """A trace without creators of variables."""
    yield


__all__ = ["as_shape", "new_graph", "returned", "trace"]
