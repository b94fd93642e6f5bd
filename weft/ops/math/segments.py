"""Reductions over segments of the first axis: which rows belong together is data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.framework import errors
from weft.framework.export import export
from weft.framework.registry import OpDecl, op
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import ShapeError, merge_dim, rank, rank_at_least
from weft.ops.by_name import raw
from weft.ops.math.dtype_sets import INDEX, NUMBERS, REAL_NUMBERS

# -- what the kernels share


def reduce_rows(
    rows: np.ndarray, ids: np.ndarray, count: int, ufunc: Any, empty: Any
) -> np.ndarray:
    """Reduces rows that have the same id (ascending) into row `id` of the result; other rows are `empty`."""
    out = np.full((count, *rows.shape[1:]), empty, rows.dtype)
    if len(ids):
        starts = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]]))
        out[ids[starts]] = ufunc.reduceat(rows, starts, axis=0, dtype=rows.dtype)
    return out


def check_ascending(ids: np.ndarray, count: int | None = None) -> int:
    """Raises InvalidArgumentError unless ids are from 0 on and do not decrease; gives the number of segments."""
    if not len(ids):
        return count or 0
    last = int(ids[-1]) + 1
    if last <= 0:
        _refuse("segment ids must be >= 0")
    if count is not None and last > count:
        _refuse(f"segment ids must be < num_segments: {last - 1} is not below {count}")
    count = last if count is None else count
    if ids[0] >= 0 and not (ids[1:] < ids[:-1]).any():
        return count
    runs = ids[np.concatenate([[True], ids[1:] != ids[:-1]])]
    falls = np.append(runs[1:] < runs[:-1], False)
    wrong = np.flatnonzero(falls | (runs < 0) | (runs >= count))
    if len(wrong):
        i = wrong[0]
        if falls[i]:
            _refuse("segment ids are not increasing")
        _refuse(
            f"Segment id {runs[i]} out of range [0, {count}), possibly because 'segment_ids' input is "
            "not sorted."
        )
    return count


def _refuse(message: str) -> None:
    raise errors.InvalidArgumentError(None, None, message)


def spread_over(counts: Any, rank_: int) -> Any:
    """A vector with trailing axes of size 1, so that it broadcasts over rows."""
    return counts.reshape(counts.shape + (1,) * (rank_ - 1))


def least(dtype: np.dtype) -> Any:
    return np.iinfo(dtype).min if dtype.kind in "iu" else np.array(_limit(dtype, "min"), dtype)


def greatest(dtype: np.dtype) -> Any:
    return np.iinfo(dtype).max if dtype.kind in "iu" else np.array(_limit(dtype, "max"), dtype)


def _limit(dtype: np.dtype, which: str) -> Any:
    import ml_dtypes

    return getattr(ml_dtypes.finfo(dtype), which)


# -- ids in ascending order; the number of segments follows from the last one


def _sorted_segments(name: str, types: str, reduce: Callable, doc: str) -> OpDecl:
    @op(
        name,
        "data: T, segment_ids: Tindices -> output: T",
        f"T: {types}; Tindices: {INDEX}",
        host=True,  # the size of the result is data
    )
    def decl(xp, data, segment_ids):
        if len(segment_ids) != data.shape[0]:
            _refuse("segment_ids should be the same size as dimension 0 of input.")
        return reduce(data, segment_ids, check_ascending(segment_ids))

    decl.__doc__ = doc

    @decl.shape
    def _(data, segment_ids):
        data, segment_ids = rank_at_least(data, 1), rank(segment_ids, 1, "segment_ids")
        return None if data is None else (None, *data[1:])

    return decl


def segment_mean_of(data: np.ndarray, ids: np.ndarray, count: int) -> np.ndarray:
    sums = reduce_rows(data, ids, count, np.add, 0)
    sizes = np.maximum(np.bincount(ids, minlength=count), 1).astype(data.dtype)
    sizes = spread_over(sizes, data.ndim)
    return (sums // sizes if data.dtype.kind in "iu" else sums / sizes).astype(data.dtype)


segment_sum = _sorted_segments(
    "SegmentSum",
    NUMBERS,
    lambda d, i, n: reduce_rows(d, i, n, np.add, 0),
    "The sum of each segment.",
)
segment_prod = _sorted_segments(
    "SegmentProd",
    NUMBERS,
    lambda d, i, n: reduce_rows(d, i, n, np.multiply, 1),
    "The product of each segment.",
)
segment_max = _sorted_segments(
    "SegmentMax",
    REAL_NUMBERS,
    lambda d, i, n: reduce_rows(d, i, n, np.maximum, 0),
    "The greatest element of each segment; 0 of an empty one.",
)
segment_min = _sorted_segments(
    "SegmentMin",
    REAL_NUMBERS,
    lambda d, i, n: reduce_rows(d, i, n, np.minimum, 0),
    "The least element of each segment; 0 of an empty one.",
)
segment_mean = _sorted_segments(
    "SegmentMean", NUMBERS, segment_mean_of, "The mean of each segment; 0 of an empty one."
)


def _gather(params: Any, ids: Any) -> Any:
    return raw.GatherV2(params, ids, np.int32(0))


def _constant(value: float, like: Any) -> np.ndarray:
    return np.array(value, like.dtype.base_dtype.np)


@segment_sum.gradient
def _(op, grad):
    return _gather(grad, op.inputs[1]), None


@segment_mean.gradient
def _(op, grad):
    data, ids = op.inputs
    trailing = raw.Fill(raw.ExpandDims(raw.Rank(data) - 1, np.int32(0)), np.int32(1))
    ones = raw.Fill(raw.ConcatV2([raw.Shape(ids), trailing], np.int32(0)), _constant(1, grad))
    return _gather(raw.RealDiv(grad, segment_sum(ones, ids)), ids), None


def _to_sorted_selected(op, grad):
    data, ids = op.inputs
    selected = raw.Equal(data, _gather(op.outputs[0], ids))
    count = segment_sum(raw.Cast(selected, DstT=grad.dtype.base_dtype), ids)
    shares = _gather(raw.RealDiv(grad, count), ids)
    return raw.Select(selected, shares, raw.ZerosLike(data)), None


segment_max.gradient(_to_sorted_selected)
segment_min.gradient(_to_sorted_selected)


# -- ids in any order, with the number of segments given


def _unsorted_segments(
    name: str, types: str, ufunc: Any, how: str, empty: Callable, doc: str
) -> OpDecl:
    @op(
        name,
        "data: T, segment_ids: Tindices, num_segments: Tnumsegments -> output: T",
        f"T: {types}; Tindices: {INDEX}; Tnumsegments: type in {{int32, int64}} = int32",
        static=("num_segments",),
    )
    def decl(xp, data, segment_ids, num_segments):
        count = _count(num_segments)
        ids = segment_ids.reshape(-1)
        rows = data.reshape((ids.shape[0], *data.shape[segment_ids.ndim :]))
        _check_below(segment_ids, count)
        kept = np.flatnonzero(ids >= 0)  # rows with a negative id are dropped
        order = kept[np.argsort(ids[kept], kind="stable")]
        return reduce_rows(rows[order], ids[order], count, ufunc, empty(data.dtype))

    decl.__doc__ = doc

    @decl.kernel_for("xla")
    def _(xp, data, segment_ids, num_segments):
        count = _count(num_segments)
        ids = xp.reshape(segment_ids, (-1,))
        rows = xp.reshape(data, (ids.shape[0], *data.shape[segment_ids.ndim :]))
        xp.check(ids < count, lambda: f"segment_ids are out of range [0, {count})")
        out = xp.full((count, *rows.shape[1:]), empty(np.dtype(data.dtype)), data.dtype)
        return xp.scatter(out, (xp.where(ids < 0, count, ids),), rows, how)

    @decl.shape
    def _(data, segment_ids, num_segments, *, const):
        if num_segments is not None and num_segments != ():
            rank(num_segments, 0, "num_segments")
        if data is None or segment_ids is None:
            return None
        if len(segment_ids) > len(data):
            raise ShapeError(
                f"data.shape must start with segment_ids.shape: {data} does not start with {segment_ids}"
            )
        for a, b in zip(data, segment_ids):
            merge_dim(
                a, b, "data.shape does not start with segment_ids.shape: Dimensions must be equal"
            )
        n = const("num_segments")
        return (None if n is None else _count(n), *data[len(segment_ids) :])

    return decl


def _count(num_segments: Any) -> int:
    count = int(np.asarray(num_segments))
    if count < 0:
        raise ShapeError(f"Input num_segments == {count} must not be negative.")
    return count


def _check_below(ids: np.ndarray, count: int) -> None:
    wrong = np.argwhere(ids >= count)
    if len(wrong):
        place = ",".join(map(str, wrong[0]))
        _refuse(f"segment_ids[{place}] = {ids[tuple(wrong[0])]} is out of range [0, {count})")


unsorted_segment_sum = _unsorted_segments(
    "UnsortedSegmentSum", NUMBERS, np.add, "add", lambda t: 0, "The sum of each segment."
)
unsorted_segment_prod = _unsorted_segments(
    "UnsortedSegmentProd", NUMBERS, np.multiply, "mul", lambda t: 1, "The product of each segment."
)
unsorted_segment_max = _unsorted_segments(
    "UnsortedSegmentMax",
    REAL_NUMBERS,
    np.maximum,
    "max",
    least,
    "The greatest element of each segment; the least value of the dtype of an empty one.",
)
unsorted_segment_min = _unsorted_segments(
    "UnsortedSegmentMin",
    REAL_NUMBERS,
    np.minimum,
    "min",
    greatest,
    "The least element of each segment; the greatest value of the dtype of an empty one.",
)


def _gather_or_zero(params: Any, ids: Any, clipped: Any = None, kept: Any = None) -> tuple:
    """Rows of `params` by id, zeros for negative ids; also the clipped ids and the mask, to be used again."""
    if clipped is None:
        clipped = raw.Maximum(ids, raw.ZerosLike(ids))
    gathered = _gather(params, clipped)
    if kept is None:
        kept = raw.GreaterEqual(ids, np.zeros((), ids.dtype.base_dtype.np))
        for _ in range(len(gathered.dims) - len(kept.dims)):
            kept = raw.ExpandDims(kept, np.int32(-1))
        ones = raw.Fill(raw.Shape(gathered), np.array(True))
        kept = raw.LogicalAnd(kept, ones)
    return raw.Select(kept, gathered, raw.ZerosLike(gathered)), clipped, kept


@unsorted_segment_sum.gradient
def _(op, grad):
    return _gather_or_zero(grad, op.inputs[1])[0], None, None


def _to_unsorted_selected(op, grad):
    data, ids, count = op.inputs
    gathered, clipped, kept = _gather_or_zero(op.outputs[0], ids)
    selected = raw.LogicalAnd(raw.Equal(data, gathered), kept)
    number = unsorted_segment_sum(raw.Cast(selected, DstT=grad.dtype.base_dtype), ids, count)
    shares = _gather_or_zero(raw.RealDiv(grad, number), None, clipped, kept)[0]
    return raw.Select(selected, shares, raw.ZerosLike(shares)), None, None


unsorted_segment_max.gradient(_to_unsorted_selected)
unsorted_segment_min.gradient(_to_unsorted_selected)


@unsorted_segment_prod.gradient
def _(op, grad):
    # Without zeros a segment's product is divided by each element; with one zero only that element has a
    # gradient, the product of the others; with more none has.
    data, ids, count = op.inputs
    is_zero = raw.Equal(data, _constant(0, data))
    zeros = unsorted_segment_sum(raw.Cast(is_zero, DstT="int32"), ids, count)
    grad = raw.Select(raw.Greater(zeros, np.int32(1)), raw.ZerosLike(grad), grad)
    others = unsorted_segment_prod(raw.Select(is_zero, raw.OnesLike(data), data), ids, count)
    clipped = raw.Maximum(ids, raw.ZerosLike(ids))
    divided = _gather(op.outputs[0], clipped) / data
    partial = raw.Select(is_zero, _gather(others, clipped), divided)
    return _gather_or_zero(grad, ids, clipped)[0] * partial, None, None


# -- public functions


def _public(decl: OpDecl, name: str, function: Callable) -> None:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = decl.__doc__
    export(name, f"math.{name}")(function)


def _public_sorted(decl: OpDecl, name: str) -> None:
    def function(data, segment_ids, name=None):
        return decl(data, segment_ids, name=name)

    _public(decl, name, function)


def _public_unsorted(decl: OpDecl, name: str) -> None:
    def function(data, segment_ids, num_segments, name=None):
        return decl(data, segment_ids, num_segments, name=name)

    _public(decl, name, function)


_public_sorted(segment_sum, "segment_sum")
_public_sorted(segment_prod, "segment_prod")
_public_sorted(segment_max, "segment_max")
_public_sorted(segment_min, "segment_min")
_public_sorted(segment_mean, "segment_mean")
_public_unsorted(unsorted_segment_sum, "unsorted_segment_sum")
_public_unsorted(unsorted_segment_prod, "unsorted_segment_prod")
_public_unsorted(unsorted_segment_max, "unsorted_segment_max")
_public_unsorted(unsorted_segment_min, "unsorted_segment_min")


def _sizes(data: Any, segment_ids: Any, num_segments: Any) -> Any:
    """The number of rows of each segment, at least 1, with trailing axes of size 1."""
    ones = raw.Fill(raw.Shape(segment_ids), _constant(1, data))
    sizes = unsorted_segment_sum(ones, segment_ids, num_segments)
    trailing = [1] * (len(data.dims) - len(segment_ids.dims))
    shape = raw.Pack([num_segments, *trailing])
    return raw.Maximum(raw.Reshape(sizes, shape), _constant(1, data))


def _converted(data: Any, segment_ids: Any, num_segments: Any) -> tuple:
    from weft.framework import conversion, dtypes

    return (
        conversion.convert_to_tensor(data),
        conversion.convert_to_tensor(segment_ids),
        conversion.convert_to_tensor(
            num_segments, dtype=None if _has_dtype(num_segments) else dtypes.int32
        ),
    )


def _has_dtype(x: Any) -> bool:
    return hasattr(x, "dtype")


@export("unsorted_segment_mean", "math.unsorted_segment_mean")
def unsorted_segment_mean(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Any:
    """The mean of each segment, whose ids come in any order; 0 of an empty one."""
    with name_scope(name, "UnsortedSegmentMean"):
        data, segment_ids, num_segments = _converted(data, segment_ids, num_segments)
        sizes = _sizes(data, segment_ids, num_segments)
        return unsorted_segment_sum(data, segment_ids, num_segments) / sizes


@export("unsorted_segment_sqrt_n", "math.unsorted_segment_sqrt_n")
def unsorted_segment_sqrt_n(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Any:
    """The sum of each segment over the square root of its size, its ids in any order; 0 of an empty one."""
    with name_scope(name, "UnsortedSegmentSqrtN"):
        data, segment_ids, num_segments = _converted(data, segment_ids, num_segments)
        sizes = _sizes(data, segment_ids, num_segments)
        return unsorted_segment_sum(data, segment_ids, num_segments) / raw.Sqrt(sizes)
