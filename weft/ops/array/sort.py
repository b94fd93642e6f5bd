"""`sort` and `argsort`, by way of the greatest k elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import conversion
from weft.framework.constant_value import constant_value
from weft.framework.export import export
from weft.framework.scopes import name_scope
from weft.ops.array import constant, shape_of
from weft.ops.array.concat import concat
from weft.ops.array.transpose import transpose
from weft.ops.by_name import raw

_DIRECTIONS = ("ASCENDING", "DESCENDING")


def _sorted(values: Any, axis: Any, direction: str, positions: bool) -> Any:
    if direction not in _DIRECTIONS:
        raise ValueError(f"{direction} should be one of {', '.join(_DIRECTIONS)}")
    axis = conversion.convert_to_tensor(axis, name="axis")
    at = constant_value(axis)
    if axis._rank() != 0 or at is None:
        raise ValueError("axis must be a constant scalar")
    values = conversion.convert_to_tensor(values, name="values")
    if direction == "DESCENDING":
        return _descending(values, int(at), positions)
    found = _descending(-values, int(at), positions)
    return found if positions else -found


def _descending(values: Any, axis: int, positions: bool) -> Any:
    n = values._rank()
    k = shape_of.shape(values)[axis]
    order = None
    if axis != -1 and axis + 1 != n:
        order = _with_last(axis, n, values)
        values = transpose(values, order)
    top = raw.TopKV2(values, k)
    found = top.indices if positions else top.values
    return found if order is None else transpose(found, order)


def _with_last(axis: int, n: int | None, values: Any) -> Any:
    """The order of dimensions with the axis and the last one exchanged."""
    if n is not None:
        order = np.arange(n, dtype=np.int32)
        order[[axis, n - 1]] = order[[n - 1, axis]]
        return constant.from_array(order, None, "transposition")
    rank = shape_of.rank(values)
    at = rank + axis if axis < 0 else axis
    one = np.int32(1)
    before = raw.Range(np.int32(0), at, one)
    between = raw.Range(at + 1, rank - 1, one)
    return concat([before, [rank - 1], between, [at]], 0)


@export("sort")
def sort(values: Any, axis: Any = -1, direction: str = "ASCENDING", name: str | None = None) -> Any:
    """Returns the values sorted along an axis."""
    with name_scope(name, "sort"):
        return _sorted(values, axis, direction, positions=False)


@export("argsort")
def argsort(
    values: Any,
    axis: Any = -1,
    direction: str = "ASCENDING",
    stable: bool = False,
    name: str | None = None,
) -> Any:
    """Returns the positions that sort the values along an axis; equal ones keep their order."""
    del stable  # the order is always stable
    with name_scope(name, "argsort"):
        return _sorted(values, axis, direction, positions=True)
