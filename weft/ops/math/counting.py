"""Counting values: bins, histograms, buckets."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import conversion, dtypes, errors
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import ShapeError, rank, same, scalar
from weft.ops.by_name import raw
from weft.ops.math.cast import cast


@op(
    "Bincount",
    "arr: int32, size: int32, weights: T -> bins: T",
    "T: type in {int32, int64, float, double}",
    static=("size",),
)
def bincount_op(xp, arr, size, weights):
    """How often each value below `size` occurs, or the sum of the weights where it does."""
    n = int(size)
    if n < 0:
        raise errors.InvalidArgumentError(None, None, f"size ({n}) must be non-negative")
    xp.check(arr >= 0, lambda: "Input arr must be non-negative!")
    values = xp.reshape(arr, (-1,))
    weighted = weights.size > 0
    if weighted and weights.shape != arr.shape:
        raise ShapeError("Size of arr and weights must be equal")
    amounts = xp.reshape(weights, (-1,)) if weighted else xp.ones(values.shape, weights.dtype)
    bins = xp.zeros((n + 1,), weights.dtype)  # the last one is for what is too large
    return xp.scatter(bins, (xp.minimum(values, n),), amounts, "add")[:n]


@bincount_op.shape
def _(arr, size, weights, *, const):
    scalar(size, "size")
    n = const("size")
    if n is None:
        return (None,)
    if n < 0:
        raise ShapeError(f"size ({int(n)}) must be non-negative")
    return (int(n),)


bincount_op.not_differentiable()


def _bins_of(xp: Any, values: Any, value_range: Any, n: int) -> Any:
    """The bin of each value; those outside of the range fall into the first or last one."""
    wide = np.float32 if values.dtype == np.float32 else np.float64
    low, high = value_range[0].astype(wide), value_range[1].astype(wide)
    step = (high - low) / n
    position = xp.floor((values.astype(wide) - low) / step)
    return xp.clip(position, 0, n - 1).astype(np.int32)


@op(
    "HistogramFixedWidth",
    "values: T, value_range: T, nbins: int32 -> out: dtype",
    "T: type in {int32, int64, float, double}; dtype: type in {int32, int64} = int32",
    static=("nbins",),
)
def histogram_op(xp, values, value_range, nbins, *, dtype):
    """How many values fall into each of a number of bins of equal width."""
    n = int(nbins)
    if n <= 0:
        raise errors.InvalidArgumentError(
            None, None, f"nbins should be a positive number, but got '{n}'"
        )
    if value_range.shape != (2,):
        raise ShapeError(
            f"value_range should be a vector of 2 elements, but has shape {value_range.shape}"
        )
    xp.check(
        value_range[0] < value_range[1],
        lambda: (
            f"value_range should satisfy value_range[0] < value_range[1], but got {value_range}"
        ),
    )
    bins = xp.reshape(_bins_of(xp, values, value_range, n), (-1,))
    return xp.scatter(xp.zeros((n,), dtype.np), (bins,), xp.ones(bins.shape, dtype.np), "add")


@histogram_op.shape
def _(values, value_range, nbins, *, const):
    length = rank(value_range, 1, "value_range")[0]
    if length not in (None, 2):
        raise ShapeError(f"value_range: Dimension must be 2 but is {length}")
    scalar(nbins, "nbins")
    n = const("nbins")
    if n is not None and n <= 0:
        raise ShapeError(f"Requires nbins > 0: {int(n)}")
    return (None if n is None else int(n),)


histogram_op.not_differentiable()


@op(
    "Bucketize",
    "input: T -> output: int32",
    "T: type in {int32, int64, float, double}; boundaries: list(float)",
)
def bucketize(xp, input, *, boundaries):
    """The number of boundaries that are not above each element."""
    edges = np.array(boundaries, np.float32)
    if (edges[1:] < edges[:-1]).any():
        raise errors.InvalidArgumentError(None, None, "Expected sorted boundaries")
    # Compared as double, which holds every float and, but for the largest, every integer.
    values = input if input.dtype == np.float32 else input.astype(np.float64)
    edges = edges.astype(values.dtype)
    return xp.searchsorted(edges, xp.asarray(values), side="right").astype(np.int32)


bucketize.shape(same)
bucketize.not_differentiable()


@export("bincount", "math.bincount")
def bincount(
    arr: Any,
    weights: Any = None,
    minlength: Any = None,
    maxlength: Any = None,
    dtype: Any = dtypes.int32,
) -> Any:
    """How often each value occurs (or the sum of weights where it does), up to the greatest one; the length
    of the result is kept between `minlength` and `maxlength`."""
    with name_scope("bincount"):
        arr = conversion.convert_to_tensor(arr, name="arr", dtype=dtypes.int32)
        nonempty = raw.Greater(raw.Size(arr), np.int32(0))
        highest = raw.Max(raw.Reshape(arr, np.array([-1], np.int32)), np.array([0], np.int32))
        size = raw.Cast(nonempty, DstT=dtypes.int32) * (highest + 1)
        if minlength is not None:
            size = raw.Maximum(
                conversion.convert_to_tensor(minlength, name="minlength", dtype=dtypes.int32), size
            )
        if maxlength is not None:
            size = raw.Minimum(
                conversion.convert_to_tensor(maxlength, name="maxlength", dtype=dtypes.int32), size
            )
        if weights is not None:
            weights = conversion.convert_to_tensor(weights, name="weights")
            return raw.UnsortedSegmentSum(weights, arr, size)
        return bincount_op(arr, size, np.zeros(0, dtypes.as_dtype(dtype).np))


@export("histogram_fixed_width")
def histogram_fixed_width(
    values: Any,
    value_range: Any,
    nbins: Any = 100,
    dtype: Any = dtypes.int32,
    name: str | None = None,
) -> Any:
    """How many values fall into each of `nbins` bins of equal width; those outside count at the ends."""
    with name_scope(name, "histogram_fixed_width", [values, value_range, nbins]) as name:
        return histogram_op(values, value_range, nbins, dtype=dtype, name=name)


@export("histogram_fixed_width_bins")
def histogram_fixed_width_bins(
    values: Any,
    value_range: Any,
    nbins: Any = 100,
    dtype: Any = dtypes.int32,
    name: str | None = None,
) -> Any:
    """The bin of `nbins` of equal width that each value falls into; those outside go to the ends."""
    del dtype  # int32 always, as in TensorFlow
    with name_scope(name, "histogram_fixed_width_bins", [values, value_range, nbins]):
        values = conversion.convert_to_tensor(values, name="values")
        value_range = conversion.convert_to_tensor(value_range, name="value_range")
        nbins = conversion.convert_to_tensor(nbins, dtype=dtypes.int32, name="nbins")
        count = cast(nbins, values.dtype)
        low, high = value_range[0], value_range[1]
        position = raw.Floor(count * ((values - low) / (high - low)), name="indices")
        last = raw.Minimum(position, count - 1)
        return cast(raw.Maximum(last, np.zeros((), values.dtype.base_dtype.np)), dtypes.int32)
