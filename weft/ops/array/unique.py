"""Sets in vectors: Unique and its kin, ListDiff."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import dtypes
from weft.framework.export import export
from weft.framework.known_elements import follows_from_shapes
from weft.framework.registry import op
from weft.framework.shape_rules import ShapeError, text, vector
from weft.ops.array.padded_rows import rows_only, traced_unique

_OUT = "out_idx: type in {int32, int64} = int32"


def _unique(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct elements in the order they first appear: (their positions, which each one is)."""
    if x.dtype.names:  # quantized numbers
        x = x.view(x.dtype[0])
    elif x.dtype.kind not in "biufcO":  # bfloat16
        x = x.astype(np.float32)
    n = len(x)
    ascending = np.argsort(x, kind="stable")  # equal ones in the order they came in
    starts = np.ones(n, bool)
    if n > 1:
        x = x[ascending]
        starts[1:] = x[1:] != x[:-1]
    first = ascending[starts]
    order = first.argsort()
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    which = np.empty_like(ascending)
    which[ascending] = number[starts.cumsum() - 1]
    return first[order], which


def _along(x: np.ndarray, axis: np.ndarray) -> tuple[np.ndarray, int]:
    """A number for each slice along the axis, the same for equal slices, and the axis."""
    if axis.size == 0:
        if x.ndim != 1:
            raise ShapeError(
                f"unique expects a 1D vector, got shape {text(x.shape)}; give an axis."
            )
        return x, 0
    if axis.ndim > 1 or axis.size != 1:
        raise ShapeError(
            f"axis does not support input tensors larger than 1 element: {text(axis.shape)}"
        )
    a = int(axis.reshape(-1)[0])
    if not -x.ndim <= a < x.ndim:
        raise ShapeError(f"axis has to be between [0, {x.ndim}), got {a}")
    a %= x.ndim
    if x.ndim == 1:
        return x, 0
    rows = np.moveaxis(x, a, 0).reshape(x.shape[a], -1)
    elements = _unique(rows.reshape(-1))[1].reshape(rows.shape)
    if elements.shape[1] == 0:
        return np.zeros(x.shape[a], np.int64), a
    return np.unique(elements, axis=0, return_inverse=True)[1].reshape(-1), a


@op(
    "Unique",
    "x: T -> y: T, idx: out_idx",
    f"T: type; {_OUT}",
    host=lambda op: not rows_only(op),
)
def unique_op(xp, x, *, out_idx):
    """The distinct elements of a vector, and which of them each element is."""
    if x.ndim != 1:
        raise ShapeError(f"unique expects a 1D vector, got shape {text(x.shape)}")
    first, which = _unique(x)
    return x[first], which.astype(out_idx.np)


@unique_op.kernel_for("xla")
def _(ctx, x, *, out_idx):
    return traced_unique(ctx, x, out_idx.np)


@unique_op.shape
def _(x):
    return (None,), vector(x, "x")


@op("UniqueWithCounts", "x: T -> y: T, idx: out_idx, count: out_idx", f"T: type; {_OUT}", host=True)
def unique_with_counts_op(xp, x, *, out_idx):
    """The distinct elements of a vector, which of them each element is, and how often each appears."""
    if x.ndim != 1:
        raise ShapeError(f"unique expects a 1D vector, got shape {text(x.shape)}")
    first, which = _unique(x)
    return x[first], which.astype(out_idx.np), np.bincount(which).astype(out_idx.np)


@unique_with_counts_op.shape
def _(x):
    return (None,), vector(x, "x"), (None,)


_V2 = f"T: type; Taxis: type in {{int32, int64}} = int64; {_OUT}"


def _slices_shape(x: Any, axis: Any, const: Any) -> tuple[Any, Any]:
    vector(axis, "axis")
    value = const("axis")
    if x is None or value is None:
        return None if x is None else (None,) * len(x), (None,)
    if value.size == 0:
        vector(x, "x")
        return (None,), x
    a = int(value.reshape(-1)[0])
    if value.size != 1 or not -len(x) <= a < len(x):
        raise ShapeError(f"axis expects one number in [{-len(x)}, {len(x)}), got {value.tolist()}")
    a %= len(x)
    return (*x[:a], None, *x[a + 1 :]), (x[a],)


@op("UniqueV2", "x: T, axis: Taxis -> y: T, idx: out_idx", _V2, host=True)
def unique_v2(xp, x, axis, *, out_idx):
    """The distinct slices of a tensor along an axis, and which of them each slice is."""
    codes, a = _along(x, axis)
    first, which = _unique(codes)
    return np.take(x, first, a), which.astype(out_idx.np)


@unique_v2.shape
def _(x, axis, *, const):
    return _slices_shape(x, axis, const)


@op("UniqueWithCountsV2", "x: T, axis: Taxis -> y: T, idx: out_idx, count: out_idx", _V2, host=True)
def unique_with_counts_v2(xp, x, axis, *, out_idx):
    """The distinct slices of a tensor along an axis, which each is, and how often each appears."""
    codes, a = _along(x, axis)
    first, which = _unique(codes)
    return np.take(x, first, a), which.astype(out_idx.np), np.bincount(which).astype(out_idx.np)


@unique_with_counts_v2.shape
def _(x, axis, *, const):
    return (*_slices_shape(x, axis, const), (None,))


@export("unique")
def unique(x: Any, out_idx: Any = dtypes.int32, name: str | None = None) -> Any:
    """Returns the distinct elements of a vector in order of appearance, and which each element is."""
    return unique_op(x, out_idx=out_idx, name=name)


@export("unique_with_counts")
def unique_with_counts(x: Any, out_idx: Any = dtypes.int32, name: str | None = None) -> Any:
    """Returns what `unique` does, and how often each distinct element appears."""
    return unique_with_counts_op(x, out_idx=out_idx, name=name)


def _depends_on_data(op: Any) -> bool:
    """The result's length is known while compiling where the inputs follow from shapes."""
    return not all(follows_from_shapes(t) for t in op._inputs)


@op(
    "ListDiff",
    "x: T, y: T -> out: T, idx: out_idx",
    f"T: type; {_OUT}",
    host=_depends_on_data,
    static=("x", "y"),
)
def list_diff(xp, x, y, *, out_idx):
    """The elements of `x` that are not in `y`, and their positions."""
    for v, which in ((x, "x"), (y, "y")):
        if v.ndim != 1:
            raise ShapeError(f"{which} should be a 1D vector, got shape {text(v.shape)}")
    if x.dtype == object:
        seen = set(y.tolist())
        kept = np.fromiter((e not in seen for e in x.tolist()), bool, len(x))
    else:
        kept = ~np.isin(x, y)
    at = np.flatnonzero(kept)
    return x[at], at.astype(out_idx.np)


@list_diff.shape
def _(x, y):
    vector(x, "x")
    vector(y, "y")
    return (None,), (None,)


@export("setdiff1d")
def setdiff1d(x: Any, y: Any, index_dtype: Any = dtypes.int32, name: str | None = None) -> Any:
    """Returns the elements of `x` that are not in `y`, and their positions."""
    return list_diff(x, y, out_idx=index_dtype, name=name)
