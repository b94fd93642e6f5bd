"""Segment reductions of rows that are picked by index, as embedding lookups of several ids do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.framework import errors
from weft.framework.export import export
from weft.framework.registry import OpDecl, op
from weft.framework.shape_rules import ShapeError, merge, rank, rank_at_least, scalar
from weft.ops.by_name import raw
from weft.ops.math.dtype_sets import REAL_NUMBERS
from weft.ops.math.segments import check_ascending, reduce_rows, spread_over

_FLOATS = "type in {float, double}"


def _scaled(rows: Any, sizes: Any, how: str) -> Any:
    """Sums of segments as means, or over the square root of the size."""
    if how == "sum":
        return rows
    divisor = np.maximum(sizes, 1).astype(rows.dtype)
    return rows / spread_over(np.sqrt(divisor) if how == "sqrtn" else divisor, rows.ndim)


def _reduced(data: Any, indices: Any, ids: Any, count: int | None, how: str) -> np.ndarray:
    if len(indices) != len(ids):
        raise errors.InvalidArgumentError(
            None, None, "segment_ids and indices should have same size."
        )
    count = check_ascending(ids, count)
    wrong = np.flatnonzero((indices < 0) | (indices >= data.shape[0]))
    if len(wrong):
        i = wrong[0]
        raise errors.InvalidArgumentError(
            None,
            None,
            f"indices[{i}] == {indices[i]} out of range [0, {data.shape[0]})",
        )
    sums = reduce_rows(data[indices], ids, count, np.add, 0)
    return _scaled(sums, np.bincount(ids, minlength=count), how)


def _declare(name: str, types: str, how: str, doc: str) -> tuple[OpDecl, OpDecl]:
    """Declares the op whose number of segments follows from the last id, and the one that is given it."""

    @op(
        name,
        "data: T, indices: Tidx, segment_ids: int32 -> output: T",
        f"T: {types}; Tidx: type in {{int32, int64}} = int32",
        host=True,  # the size of the result is data
    )
    def without(xp, data, indices, segment_ids):
        return _reduced(data, indices, segment_ids, None, how)

    @op(
        name + "WithNumSegments",
        "data: T, indices: Tidx, segment_ids: int32, num_segments: Tnumsegments -> output: T",
        f"T: {types}; Tidx: type in {{int32, int64}} = int32; "
        "Tnumsegments: type in {int32, int64} = int32",
        static=("num_segments",),
    )
    def with_number(xp, data, indices, segment_ids, num_segments):
        return _reduced(data, indices, segment_ids, int(num_segments), how)

    @with_number.kernel_for("xla")
    def _(xp, data, indices, segment_ids, num_segments):
        count = int(num_segments)
        ids = segment_ids
        xp.check((ids >= 0) & (ids < count), lambda: "segment ids out of range")
        if ids.shape[0] > 1:
            xp.check(ids[1:] >= ids[:-1], lambda: "segment ids are not increasing")
        xp.check((indices >= 0) & (indices < data.shape[0]), lambda: "indices out of range")
        rows = xp.asarray(data)[indices]
        zeros = xp.zeros((count, *data.shape[1:]), data.dtype)
        sums = xp.scatter(zeros, (ids,), rows, "add")
        if how == "sum":
            return sums
        ones = xp.ones(ids.shape, data.dtype)
        sizes = xp.scatter(xp.zeros((count,), data.dtype), (ids,), ones, "add")
        sizes = xp.maximum(sizes, 1)
        return sums / spread_over(xp.sqrt(sizes) if how == "sqrtn" else sizes, data.ndim)

    @without.shape
    def _(data, indices, segment_ids):
        return _shape(data, indices, segment_ids, None)

    @with_number.shape
    def _(data, indices, segment_ids, num_segments, *, const):
        scalar(num_segments, "num_segments")
        n = const("num_segments")
        if n is not None and n < 0:
            raise ShapeError("Cannot specify a negative value for num_segments")
        return _shape(data, indices, segment_ids, None if n is None else int(n))

    without.__doc__, with_number.__doc__ = doc, doc
    return without, with_number


def _shape(data: Any, indices: Any, segment_ids: Any, count: int | None) -> Any:
    data = rank_at_least(data, 1, "data")
    merge(rank(indices, 1, "indices"), rank(segment_ids, 1, "segment_ids"))
    return None if data is None else (count, *data[1:])


sparse_segment_sum_op, sparse_segment_sum_n = _declare(
    "SparseSegmentSum", REAL_NUMBERS, "sum", "The sum of each segment of picked rows."
)
sparse_segment_mean_op, sparse_segment_mean_n = _declare(
    "SparseSegmentMean", _FLOATS, "mean", "The mean of each segment of picked rows."
)
sparse_segment_sqrt_n_op, sparse_segment_sqrt_n_n = _declare(
    "SparseSegmentSqrtN",
    _FLOATS,
    "sqrtn",
    "The sum of each segment of picked rows over the square root of its size.",
)


def _check_range(xp: Any, values: Any, count: int, what: str) -> None:
    inside = (values >= 0) & (values < count)
    xp.check(inside, lambda: f"{what} {values[~inside][0]} out of range [0, {count})")


def _declare_gradient(name: str, how: str) -> OpDecl:
    @op(
        name,
        "grad: T, indices: Tidx, segment_ids: int32, output_dim0: int32 -> output: T",
        f"T: {_FLOATS}; Tidx: type in {{int32, int64}} = int32",
        static=("output_dim0",),
    )
    def decl(xp, grad, indices, segment_ids, output_dim0):
        count, segments = int(output_dim0), grad.shape[0]
        if segment_ids.shape[0]:
            xp.check(segment_ids[-1] < segments, lambda: "Invalid number of segments")
        _check_range(xp, segment_ids, segments, "Segment id")
        _check_range(xp, indices, count, "Index")
        grad, indices, ids = xp.asarray(grad), xp.asarray(indices), xp.asarray(segment_ids)
        ones = xp.ones(ids.shape, grad.dtype)
        sizes = xp.maximum(xp.scatter(xp.zeros((segments,), grad.dtype), (ids,), ones, "add"), 1)
        scale = spread_over(1 / (xp.sqrt(sizes) if how == "sqrtn" else sizes), grad.ndim)
        rows = (grad * scale)[ids]
        return xp.scatter(xp.zeros((count, *grad.shape[1:]), grad.dtype), (indices,), rows, "add")

    decl.__doc__ = f"The gradient of {name[:-4]}."

    @decl.shape
    def _(grad, indices, segment_ids, output_dim0, *, const):
        scalar(output_dim0, "output_dim0")
        n = const("output_dim0")
        return _shape(grad, indices, segment_ids, None if n is None else int(n))

    return decl


sparse_segment_mean_grad = _declare_gradient("SparseSegmentMeanGrad", "mean")
sparse_segment_sqrt_n_grad = _declare_gradient("SparseSegmentSqrtNGrad", "sqrtn")


def _rows_of(op: Any) -> Any:
    """The number of rows of the data, as a scalar tensor."""
    return raw.Shape(op.inputs[0])[0]


def _sum_gradient(op, grad):
    data, indices, ids, *rest = op.inputs
    rows = raw.GatherV2(grad, ids, np.int32(0))
    return raw.UnsortedSegmentSum(rows, indices, _rows_of(op)), None, None, *[None for _ in rest]


def _gradient_by(decl: OpDecl) -> Callable:
    def rule(op, grad):
        _, indices, ids, *rest = op.inputs
        return decl(grad, indices, ids, _rows_of(op)), None, None, *[None for _ in rest]

    return rule


for _decl in (sparse_segment_sum_op, sparse_segment_sum_n):
    _decl.gradient(_sum_gradient)
for _decl in (sparse_segment_mean_op, sparse_segment_mean_n):
    _decl.gradient(_gradient_by(sparse_segment_mean_grad))
for _decl in (sparse_segment_sqrt_n_op, sparse_segment_sqrt_n_n):
    _decl.gradient(_gradient_by(sparse_segment_sqrt_n_grad))


def _public(without: OpDecl, with_number: OpDecl, *names: str) -> None:
    def function(data, indices, segment_ids, name=None, num_segments=None):
        if num_segments is None:
            return without(data, indices, segment_ids, name=name)
        return with_number(data, indices, segment_ids, num_segments, name=name)

    function.__name__ = function.__qualname__ = names[0]
    function.__doc__ = without.__doc__
    export(*names)(function)


_public(sparse_segment_sum_op, sparse_segment_sum_n, "sparse_segment_sum", "sparse.segment_sum")
_public(sparse_segment_mean_op, sparse_segment_mean_n, "sparse_segment_mean", "sparse.segment_mean")
_public(
    sparse_segment_sqrt_n_op,
    sparse_segment_sqrt_n_n,
    "sparse_segment_sqrt_n",
    "sparse.segment_sqrt_n",
)
