"""expand_dims, squeeze, size and rank of ragged tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.framework import dtypes
from weft.framework.scopes import name_scope
from weft.ops.array import reshape as dense
from weft.ops.array import shape_of
from weft.ops.by_name import raw
from weft.ops.flow.logging_ops import assert_
from weft.ops.math.ranges import range as range_
from weft.ops.math.reduce_functions import chosen, reduce_all
from weft.ops.ragged.gather import one_row
from weft.ops.ragged.splits import after
from weft.ops.ragged.tensor import (
    RaggedTensor,
    axis_from_start,
    is_ragged,
    nested,
    takes,
    tensor_or_ragged,
)

__all__ = ["expand_dims", "rank", "size", "squeeze", "takes"]


def expanded(x: Any, axis: int) -> Any:
    """The tensor with a new dimension of size 1."""
    if not is_ragged(x):
        return dense.expand_dims(x, axis)
    n = x.shape.rank
    axis = axis_from_start(axis, None if n is None else n + 1)
    if axis == 0:
        return one_row(x)
    if axis == 1:
        return RaggedTensor.from_row_splits(x, range_(x.nrows() + 1), validate=False)
    return RaggedTensor.from_row_splits(expanded(x.values, axis - 1), x.row_splits, validate=False)


def expand_dims(
    function: Callable, input: Any, axis: Any = None, name: str | None = None, dim: Any = None
) -> Any:
    """`tf.expand_dims` of a ragged tensor."""
    with name_scope(name, "RaggedExpandDims"):
        return expanded(tensor_or_ragged(input), chosen("dim", dim, "axis", axis))


def size(
    function: Callable, input: Any, name: str | None = None, out_type: Any = dtypes.int32
) -> Any:
    """`tf.size` of a ragged tensor: the number of its values."""
    return function(tensor_or_ragged(input).flat_values, name=name, out_type=out_type)


def rank(function: Callable, input: Any, name: str | None = None) -> Any:
    """`tf.rank` of a ragged tensor."""
    x = tensor_or_ragged(input)
    with name_scope(name, "RaggedRank", [x.flat_values]):
        return x.ragged_rank + shape_of.rank(x.flat_values)


def squeeze(
    function: Callable,
    input: Any,
    axis: Any = None,
    name: str | None = None,
    squeeze_dims: Any = None,
) -> Any:
    """`tf.squeeze` of a ragged tensor; the axes must be given."""
    axis = chosen("squeeze_dims", squeeze_dims, "axis", axis)
    if axis is None:
        raise ValueError("Ragged.squeeze must have an axis argument.")
    axes = [axis] if isinstance(axis, int) else axis
    if not isinstance(axes, (list, tuple)) or not all(isinstance(a, int) for a in axes):
        raise TypeError("Axis must be a list or tuple of integers.")
    with name_scope(name, "RaggedSqueeze"):
        x = tensor_or_ragged(input)
        axes = {axis_from_start(a, x.shape.rank) for a in axes}
        flat = after(_checks(x, axes), x.flat_values)
        inner = sorted(a - x.ragged_rank for a in axes if a > x.ragged_rank)
        if inner:
            flat = dense.squeeze(flat, inner)
        # Dimension 0 goes with the partition of its one row: that of the next one that stays.
        kept = [s for i, s in enumerate(x.nested_row_splits) if i + 1 not in axes]
        if 0 in axes and kept:
            kept = kept[1:]
        elif 0 in axes:
            flat = dense.squeeze(flat, [0])
        return nested(flat, kept)


def _checks(x: RaggedTensor, axes: set[int]) -> list[Any]:
    checks = []
    for i, lengths in enumerate(x.nested_row_lengths(), 1):
        if i in axes:
            one = lengths.dtype.base_dtype.np.type(1)
            ok = reduce_all(raw.Equal(lengths, one))
            checks.append(assert_(ok, [f"the given axis (axis = {i}) is not squeezable!"]))
    if 0 in axes:
        ok = raw.Equal(shape_of.size(x.row_splits), np.int32(2))
        checks.append(assert_(ok, ["the given axis (axis = 0) is not squeezable!"]))
    return checks
