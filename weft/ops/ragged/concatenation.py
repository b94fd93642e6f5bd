"""concat and stack of ragged tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.framework import context
from weft.framework.export import export
from weft.framework.scopes import name_scope
from weft.ops.array import concat as dense
from weft.ops.array.reshape import reshape
from weft.ops.array.transpose import transpose
from weft.ops.by_name import raw
from weft.ops.math.ranges import range as range_
from weft.ops.ragged.dimensions import expanded
from weft.ops.ragged.gather import gather_rows
from weft.ops.ragged.splits import after, required, same_splits, splits_of
from weft.ops.ragged.tensor import (
    RaggedTensor,
    axis_from_start,
    is_ragged,
    takes,
    tensor_or_ragged,
    with_same_splits_dtype,
)

__all__ = ["concat", "stack", "takes"]


def concat(function: Callable, values: Any, axis: Any, name: str | None = None) -> Any:
    """`tf.concat` of ragged tensors."""
    with name_scope(name, "RaggedConcat"):
        return joined(values, axis, stacked=False)


def stack(function: Callable, values: Any, axis: Any = 0, name: str | None = None) -> Any:
    """`tf.stack` of ragged tensors."""
    return ragged_stack(values, axis, name)


@export("ragged.stack")
def ragged_stack(values: Any, axis: int = 0, name: str | None = None) -> Any:
    """Returns tensors, whose rows may differ in length, as the rows of a ragged tensor."""
    with name_scope(name, "RaggedConcat"):
        return joined(values, axis, stacked=True)


ragged_stack.__name__ = ragged_stack.__qualname__ = "stack"


def joined(values: Any, axis: int, stacked: bool) -> Any:
    """Tensors one after another along an axis, which is a new one where they are stacked."""
    items = list(values) if isinstance(values, (list, tuple)) else [values]
    if not items:
        raise ValueError("rt_inputs may not be empty.")
    items = [tensor_or_ragged(x, name="rt_input") for x in items]
    dtype, items = with_same_splits_dtype(*items)
    if len(items) == 1:
        return expanded(items[0], axis) if stacked else items[0]
    rank = items[0].shape.rank
    if rank is not None:
        for x in items:
            x.shape.assert_has_rank(rank)
    out_rank = None if rank is None else rank + stacked
    axis = axis_from_start(axis, out_rank)
    if not any(map(is_ragged, items)) and out_rank is not None and axis in (out_rank - 1, rank - 1):
        return (dense.stack if stacked else dense.concat)(items, axis)
    items = [_made_ragged(x, 1, dtype) for x in items]
    depth = max(x.ragged_rank for x in items)
    items = [_made_ragged(x, depth, dtype) for x in items]
    if axis == 0:
        return _below_each_other(items, stacked)
    if axis == 1:
        return _side_by_side(items, stacked)
    checks = same_splits([[x.row_splits] for x in items])
    inner = joined([x.values for x in items], axis - 1, stacked)
    splits = after(checks, items[0].row_splits)
    return RaggedTensor.from_row_splits(inner, splits, validate=False)


def _made_ragged(x: Any, depth: int, dtype: Any) -> Any:
    """The tensor with at least so many ragged dimensions."""
    if depth <= 0:
        return x
    if not is_ragged(x):
        x = RaggedTensor.from_tensor(x, row_splits_dtype=dtype)
    if x.ragged_rank < depth:
        x = x.with_values(_made_ragged(x.values, depth - 1, dtype))
    return x


def _below_each_other(items: list[Any], stacked: bool) -> Any:
    flat = dense.concat([x.flat_values for x in items], 0)
    lists = [_concat_splits(list(level)) for level in zip(*[x.nested_row_splits for x in items])]
    if stacked:
        lists.insert(0, splits_of(dense.stack([x.nrows() for x in items])))
    return RaggedTensor.from_nested_row_splits(flat, lists, validate=False)


def _concat_splits(items: list[Any]) -> Any:
    parts, end = [items[0]], items[0][-1]
    for splits in items[1:]:
        parts.append(splits[1:] + end)
        end = end + splits[-1]
    return dense.concat(parts, 0)


def _side_by_side(items: list[Any], stacked: bool) -> Any:
    """Row i of the result has the rows i of all."""
    n, rows = len(items), items[0].nrows()
    what = "Input tensors have incompatible shapes."
    checks = [required(raw.Equal(x.nrows(), rows), what) for x in items[1:]]
    below = _below_each_other(items, False)
    order = range_(after(checks, rows) * n)
    order = reshape(transpose(reshape(order, np.array([n, -1], np.int32))), [-1])
    sorted_ = gather_rows(below, order)
    if stacked:
        splits = range_(0, rows * n + 1, n)
        _set_rows(splits, items)
        return RaggedTensor.from_row_splits(sorted_, splits, validate=False)
    splits = sorted_.row_splits[::n]
    _set_rows(splits, items)
    return RaggedTensor.from_row_splits(sorted_.values, splits, validate=False)


def _set_rows(splits: Any, items: list[Any]) -> None:
    if context.executing_eagerly():
        return
    for x in items:
        rows = x.shape.dims_tuple[0]
        if rows is not None:
            splits.set_shape([rows + 1])
