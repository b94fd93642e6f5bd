"""The arithmetic of row partitions: splits, lengths, and the row of each value."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import context, conversion, dtypes, errors
from weft.framework.constant_value import constant_value
from weft.framework.export import export
from weft.framework.graph import control_dependencies
from weft.framework.scopes import name_scope
from weft.framework.tensor import Tensor
from weft.ops.array import shape_of
from weft.ops.array.concat import concat
from weft.ops.array.fill import zeros
from weft.ops.array.gather import gather
from weft.ops.array.identity import identity
from weft.ops.by_name import raw
from weft.ops.flow.logging_ops import assert_
from weft.ops.math.cast import cast
from weft.ops.math.counting import bincount, bincount_op
from weft.ops.math.reduce_functions import reduce_all
from weft.ops.math.scans import cumsum

INTEGERS = (dtypes.int32, dtypes.int64)


# -- checks --------------------------------------------------------------------------------------------------


def required(condition: Any, message: str, *data: Any) -> Any:
    """An operation that fails unless all elements hold; None, or an error at once, where they are known."""
    known = constant_value(condition)
    if known is None:
        return assert_(reduce_all(condition), [message, *data])
    if not np.all(known):
        raise errors.InvalidArgumentError(None, None, message)
    return None


def required_vector(tensor: Any, message: str) -> Any:
    """Checks that a tensor is a vector, where its rank is not known."""
    if tensor.shape.rank is not None:
        return None
    return required(raw.Equal(raw.Rank(tensor), np.int32(1)), message)


def after(checks: list[Any], tensor: Any) -> Any:
    """The tensor, once the checks have passed."""
    checks = [c for c in checks if c is not None]
    if not checks or context.executing_eagerly():
        return tensor
    with control_dependencies(checks):
        return identity(tensor)


def same_splits(splits_lists: list[Any]) -> list[Any]:
    """Checks that ragged tensors have the same rows."""
    message = "Inputs must have identical ragged splits"
    first = splits_lists[0]
    if any(len(other) != len(first) for other in splits_lists):
        raise ValueError(message)
    checks = []
    for other in splits_lists[1:]:
        for a, b in zip(first, other):
            if a is not b:
                checks.append(required_equal(a, b, message))
    return [c for c in checks if c is not None]


def required_equal(a: Any, b: Any, message: str) -> Any:
    """Checks that two vectors are the same, their lengths included."""
    x, y = constant_value(a), constant_value(b)
    if x is not None and y is not None:
        if not np.array_equal(x, y):
            what = f"{message}\nCondition x == y did not hold.\nx: {x}\ny: {y}"
            raise errors.InvalidArgumentError(None, None, what)
        return None
    as_many = raw.Equal(shape_of.size(a), shape_of.size(b))
    lengths = assert_(as_many, [message, "x =", a, "y =", b])
    with control_dependencies([lengths] if lengths is not None else []):
        return assert_(reduce_all(raw.Equal(a, b)), [message, "x =", a, "y =", b])


# -- from one to another -------------------------------------------------------------------------------------


def as_integers(x: Any, name: str, dtype: Any) -> Tensor:
    """A tensor of integers of this dtype."""
    tensor = conversion.convert_to_tensor(x, name=name, preferred_dtype=dtype)
    if not tensor.dtype.is_integer:
        raise TypeError(f"{name} must be an integer tensor; dtype={tensor.dtype!r}")
    return cast(tensor, dtype)


def lengths_of(splits: Tensor) -> Tensor:
    """The length of each row."""
    return splits[1:] - splits[:-1]


def splits_of(lengths: Tensor) -> Tensor:
    """The splits of rows of these lengths."""
    return concat([zeros([1], lengths.dtype.base_dtype), cumsum(lengths)], 0)


def row_of_each(splits: Tensor, count: Any = None, dtype: Any = None) -> Tensor:
    """The row of each value; `count` values, or as many as the splits say.

    It is how many rows have ended up to there.
    """
    dtype = dtype or splits.dtype.base_dtype
    count = cast(splits[-1] if count is None else count, dtypes.int32)
    ends = bincount_op(cast(splits[1:], dtypes.int32), count + 1, np.zeros(0, dtype.np))
    rows = cumsum(ends)[:-1]
    known = constant_value(count)
    if known is not None and not context.executing_eagerly():
        rows.set_shape([int(known)])
    return rows


def count_rows(tensor: Any, dtype: Any) -> Any:
    """The number of rows of a tensor that is not ragged."""
    return shape_of.shape(tensor, out_type=dtype)[0]


def repeated(values: Any, counts: Tensor) -> Tensor:
    """Each row of `values` as often as `counts` tells."""
    return gather(values, row_of_each(splits_of(counts)))


def repeat_ranges(params: Any, splits: Tensor, repeats: Any) -> Tensor:
    """Each range of `params` between two splits, `repeats` times (a number, or one for each range)."""
    from weft.ops.ragged.ranges import ragged_range

    starts, limits = splits[:-1], splits[1:]
    counts = repeats + raw.ZerosLike(starts)
    which = row_of_each(splits_of(counts))
    one = np.ones((), starts.dtype.base_dtype.np)
    found = ragged_range(
        gather(starts, which), gather(limits, which), one, Tsplits=starts.dtype.base_dtype
    )
    return gather(params, found.rt_dense_values)


@export("ragged.row_splits_to_segment_ids")
def row_splits_to_segment_ids(splits: Any, name: str | None = None, out_type: Any = None) -> Tensor:
    """Returns the row of each value, of the splits of a ragged tensor."""
    with name_scope(name, "RaggedSplitsToSegmentIds", [splits]):
        splits = conversion.convert_to_tensor(splits, name="splits", preferred_dtype=dtypes.int64)
        if splits.dtype.base_dtype not in INTEGERS:
            raise ValueError("splits must have dtype int32 or int64")
        splits.shape.assert_has_rank(1)
        if splits._dims is not None and splits._dims[0] == 0:
            raise ValueError("Invalid row_splits: []")
        return row_of_each(splits, dtype=None if out_type is None else dtypes.as_dtype(out_type))


@export("ragged.segment_ids_to_row_splits")
def segment_ids_to_row_splits(
    segment_ids: Any, num_segments: Any = None, out_type: Any = None, name: str | None = None
) -> Tensor:
    """Returns the splits of a ragged tensor, of the row of each value."""
    if out_type is None:
        given = [x for x in (segment_ids, num_segments) if isinstance(x, Tensor)]
        out_type = given[0].dtype.base_dtype if given else dtypes.int64
    with name_scope(name, "SegmentIdsToRaggedSplits", [segment_ids]):
        segment_ids = as_integers(segment_ids, "segment_ids", dtypes.int32)
        segment_ids.shape.assert_has_rank(1)
        known = None
        if num_segments is not None:
            num_segments = as_integers(num_segments, "num_segments", dtypes.int32)
            num_segments.shape.assert_has_rank(0)
            known = constant_value(num_segments)
        lengths = bincount(
            segment_ids,
            minlength=num_segments,
            maxlength=num_segments,
            dtype=dtypes.as_dtype(out_type),
        )
        splits = splits_of(lengths)
        if known is not None:
            splits.set_shape([int(known) + 1])
        return splits
