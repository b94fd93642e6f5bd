"""Vectors of sizes of which some elements are known while the graph is built, as in
`tf.stack([tf.shape(x)[0], -1])`: what is known of a shape survives the arithmetic that programs do on it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from weft.framework.constant_value import constant_value
from weft.framework.shape_rules import Shape, num_elements

Elements = list[int | None]
_DEEPEST = 60

_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "Add": operator.add,
    "AddV2": operator.add,
    "Sub": operator.sub,
    "Mul": operator.mul,
    "FloorDiv": lambda a, b: a // b,
    "FloorMod": lambda a, b: a % b,
    "Maximum": max,
    "Minimum": min,
}
_PASSED_ON = frozenset(("Identity", "Cast", "StopGradient", "EnsureShape", "PreventGradient"))


def known_elements(tensor: Any) -> Elements | None:
    """The elements of a vector of integers, None for each that is not known; None if the length is not known
    either."""
    return _vector(tensor, {}, 0)


def known_element(tensor: Any) -> int | None:
    """The value of an integer scalar, or None."""
    return _scalar(tensor, {}, 0)


def known_rows(tensor: Any) -> list[Elements] | None:
    """The rows of a matrix of integers of known shape, as `known_elements` tells each of them."""
    value = constant_value(tensor)
    if value is not None:
        return value.tolist() if value.ndim == 2 and value.dtype.kind in "iu" else None
    dims = tensor._dims
    if dims is None or len(dims) != 2 or None in dims:
        return None
    op = getattr(tensor, "_op", None)
    if op is not None and op._decl.name == "Pack" and op._attrs["axis"] == 0:
        return [known_elements(t) or [None] * dims[1] for t in op._inputs]
    return [[None] * dims[1] for _ in range(dims[0])]


def elements_as_shape(tensor: Any) -> Shape:
    """A vector of sizes as a shape: an unknown element, or -1, is None."""
    found = known_elements(tensor)
    return None if found is None else tuple(None if e is None or e < 0 else e for e in found)


def _vector(tensor: Any, memo: dict, depth: int) -> Elements | None:
    if tensor in memo:
        return memo[tensor]
    value = constant_value(tensor)
    if value is not None:
        found = value.tolist() if value.ndim == 1 and value.dtype.kind in "iu" else None
    else:
        found = _vector_of(tensor, memo, depth)
        if found is None:
            dims = tensor._dims
            found = [None] * dims[0] if dims and len(dims) == 1 and dims[0] is not None else None
    memo[tensor] = found
    return found


def _vector_of(tensor: Any, memo: dict, depth: int) -> Elements | None:
    op = getattr(tensor, "_op", None)
    if op is None or depth > _DEEPEST:
        return None
    kind, inputs = op._decl.name, op._inputs
    if kind == "Placeholder" and "_captured" in op.__dict__:
        return _vector(op._captured, memo, depth + 1)
    if kind in ("Shape", "ShapeN"):
        dims = inputs[tensor._index]._dims
        return None if dims is None else list(dims)
    if kind in _PASSED_ON:
        return _vector(inputs[0], memo, depth + 1)
    if kind == "Pack" and tensor._dims is not None and len(tensor._dims) == 1:
        return [_scalar(t, memo, depth + 1) for t in inputs]
    if kind == "ConcatV2":
        return _concatenated(inputs[:-1], memo, depth)
    if kind == "StridedSlice":
        whole = _vector(inputs[0], memo, depth + 1)
        where = slice_of(op)
        return whole[where] if whole is not None and isinstance(where, slice) else None
    if kind == "Slice":
        return _boxed(op, memo, depth)
    if kind == "Reshape" or kind == "ExpandDims":
        rank = inputs[0]._rank()
        if tensor._rank() == 1 and rank == 0:
            return [_scalar(inputs[0], memo, depth + 1)]
        return _vector(inputs[0], memo, depth + 1) if tensor._rank() == rank == 1 else None
    if kind in ("GatherV2", "Gather"):
        return _gathered(op, memo, depth)
    if kind in _ARITHMETIC:
        return _combined(kind, inputs, memo, depth)
    if kind == "Split" and inputs[1]._rank() == 1:
        whole = _vector(inputs[1], memo, depth + 1)
        if whole is None:
            return None
        n = len(whole) // len(op._outputs)
        return whole[tensor._index * n : (tensor._index + 1) * n]
    return None


def _concatenated(parts: list[Any], memo: dict, depth: int) -> Elements | None:
    out: Elements = []
    for t in parts:
        part = _vector(t, memo, depth + 1)
        if part is None:
            return None
        out += part
    return out


def _boxed(op: Any, memo: dict, depth: int) -> Elements | None:
    whole = _vector(op._inputs[0], memo, depth + 1)
    begin, size = constant_value(op._inputs[1]), constant_value(op._inputs[2])
    if whole is None or begin is None or size is None or len(begin) != 1:
        return None
    b, n = int(begin[0]), int(size[0])
    return whole[b:] if n < 0 else whole[b : b + n]


def _gathered(op: Any, memo: dict, depth: int) -> Elements | None:
    where = constant_value(op._inputs[1])
    whole = _vector(op._inputs[0], memo, depth + 1)
    if whole is None or where is None or where.ndim != 1:
        return None
    if any(not 0 <= i < len(whole) for i in where):
        return None
    return [whole[i] for i in where]


def _combined(kind: str, inputs: list[Any], memo: dict, depth: int) -> Elements | None:
    sides: list[Elements | None] = []
    for t in inputs:
        if t._rank() == 0:
            sides.append([_scalar(t, memo, depth + 1)])
        else:
            sides.append(_vector(t, memo, depth + 1) if t._rank() == 1 else None)
    a, b = sides
    if a is None or b is None:
        return None
    n = max(len(a), len(b))
    a, b = a * n if len(a) == 1 else a, b * n if len(b) == 1 else b
    return [_compute(kind, x, y) for x, y in zip(a, b)] if len(a) == len(b) else None


def _compute(kind: str, x: int | None, y: int | None) -> int | None:
    if x is None or y is None:
        return None
    try:
        return _ARITHMETIC[kind](x, y)
    except ZeroDivisionError:
        return None


def _scalar(tensor: Any, memo: dict, depth: int) -> int | None:
    if tensor in memo:
        return memo[tensor]
    value = constant_value(tensor)
    if value is not None:
        found = int(value.reshape(-1)[0]) if value.size == 1 and value.dtype.kind in "iu" else None
    else:
        found = _scalar_of(tensor, memo, depth)
    memo[tensor] = found
    return found


def _scalar_of(tensor: Any, memo: dict, depth: int) -> int | None:
    op = getattr(tensor, "_op", None)
    if op is None or depth > _DEEPEST:
        return None
    kind, inputs = op._decl.name, op._inputs
    if kind == "Placeholder" and "_captured" in op.__dict__:
        return _scalar(op._captured, memo, depth + 1)
    if kind in _PASSED_ON:
        return _scalar(inputs[0], memo, depth + 1)
    if kind == "Size":
        return num_elements(inputs[0]._dims)
    if kind == "StridedSlice":
        where = slice_of(op)
        whole = _vector(inputs[0], memo, depth + 1) if isinstance(where, int) else None
        return _at(whole, where)
    if kind == "Unpack" and inputs[0]._rank() == 1:
        return _at(_vector(inputs[0], memo, depth + 1), tensor._index)
    if kind in ("GatherV2", "Gather") and inputs[0]._rank() == 1:
        index = constant_value(inputs[1])
        if index is None or index.ndim != 0 or index < 0:
            return None
        return _at(_vector(inputs[0], memo, depth + 1), int(index))
    if kind in ("Squeeze", "Reshape"):
        inner = inputs[0]
        if inner._rank() == 0:
            return _scalar(inner, memo, depth + 1)
        whole = _vector(inner, memo, depth + 1) if inner._rank() == 1 else None
        return whole[0] if whole is not None and len(whole) == 1 else None
    if kind in _ARITHMETIC and all(t._rank() == 0 for t in inputs):
        x, y = (_scalar(t, memo, depth + 1) for t in inputs)
        return _compute(kind, x, y)
    if kind == "Prod" and inputs[0]._rank() == 1 and tensor._rank() == 0:
        whole = _vector(inputs[0], memo, depth + 1)
        return None if whole is None else num_elements(tuple(whole))
    return None


def _at(whole: Elements | None, where: Any) -> int | None:
    if whole is None or where is None or not -len(whole) <= where < len(whole):
        return None
    return whole[where]


def slice_of(op: Any) -> slice | int | None:
    """The slice or index of a StridedSlice of a vector, where it is simple and known."""
    attrs = op._attrs
    if attrs["ellipsis_mask"] or attrs["new_axis_mask"] or op._inputs[0]._rank() != 1:
        return None
    begin, end, stride = (constant_value(t) for t in op._inputs[1:4])
    if begin is None or stride is None or len(begin) != 1:
        return None
    if attrs["shrink_axis_mask"]:
        return int(begin[0])
    if end is None and not attrs["end_mask"] & 1:
        return None
    return slice(
        None if attrs["begin_mask"] & 1 else int(begin[0]),
        None if attrs["end_mask"] & 1 else int(end[0]),  # type: ignore[index]
        int(stride[0]),
    )


_MOST_ANCESTORS = 500


def follows_from_shapes(tensor: Any) -> bool:
    """Whether a value follows from constants and shapes alone, so that a trace knows it."""
    stack, seen = [tensor], set()
    while stack:
        op = getattr(stack.pop(), "_op", None)
        if op is None:
            return False
        if op in seen:
            continue
        seen.add(op)
        decl = op._decl
        if decl.shape_only or decl.name == "Const":
            continue
        host = decl.host(op) if callable(decl.host) else decl.host
        if host or decl.stateful or not op._inputs or len(seen) > _MOST_ANCESTORS:
            return False
        stack.extend(op._inputs)
    return True
