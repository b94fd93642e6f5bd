"""What branches and loop bodies take and return: structures of tensors, composite tensors, TensorArrays,
operations and plain values, and the flat tensors that stand for them in a function."""

from __future__ import annotations

from typing import Any

from weft.framework import context, conversion, nest, registry
from weft.framework.indexed_slices import IndexedSlices
from weft.framework.operation import Operation
from weft.framework.tensor import Tensor


def is_tensor_array(x: Any) -> bool:
    return hasattr(type(x), "_with_flow")


def is_composite(x: Any) -> bool:
    return nest.is_composite(x)


def to_tensor(x: Any, operation_value: Tensor | None = None) -> Any:
    """A leaf of a structure as a tensor or composite tensor; an operation as `operation_value` after it."""
    if isinstance(x, Operation):
        assert operation_value is not None
        with context.get_default_graph().control_dependencies([x]):
            return registry.get("Identity")(operation_value)
    if is_tensor_array(x) or is_composite(x):
        return x
    return conversion.convert_to_tensor(x)


def tensors_of(x: Any) -> list[Tensor]:
    """The tensors that a leaf consists of."""
    if is_tensor_array(x):
        return [x.flow]
    if is_composite(x):
        return [t for c in x._nest_components() for t in tensors_of(c)]
    return [x]


def flat_tensors(structure: Any) -> list[Tensor]:
    """The tensors of a structure, in order."""
    return [t for leaf in nest.flatten(structure) for t in tensors_of(leaf)]


def with_tensors(structure: Any, tensors: list[Tensor]) -> Any:
    """The structure with other tensors in place of its own."""
    found = iter(tensors)
    leaves = [_rebuilt(leaf, found) for leaf in nest.flatten(structure)]
    return nest.pack_sequence_as(structure, leaves) if nest.is_nested(structure) else leaves[0]


def _rebuilt(leaf: Any, tensors: Any) -> Any:
    if is_tensor_array(leaf):
        return leaf._with_flow(next(tensors))
    if is_composite(leaf):
        return leaf._nest_from_components([_rebuilt(c, tensors) for c in leaf._nest_components()])
    return next(tensors)


def after(result: Any) -> Any:
    """A result that waits for the control dependencies around: a value from outside does not by itself."""

    def wait(x: Any) -> Any:
        if isinstance(x, Operation) or is_tensor_array(x) or is_composite(x):
            return x
        return registry.get("Identity")(conversion.convert_to_tensor(x))

    return None if result is None else nest.map_structure(wait, result)


def unpacked(x: Any) -> Any:
    """The element of a list or tuple of one."""
    return x[0] if isinstance(x, (list, tuple)) and len(x) == 1 else x


def match_index_types(a: Any, b: Any) -> None:
    """Widens the indices of IndexedSlices where those of two branches differ."""
    if (
        isinstance(a, IndexedSlices)
        and isinstance(b, IndexedSlices)
        and a.indices.dtype != b.indices.dtype
    ):
        cast = registry.get("Cast")
        for s in (a, b):
            if s.indices.dtype.name != "int64":
                with s.indices.graph.as_default():
                    s._indices = cast(s.indices, DstT="int64")
