"""Reductions: the ops, their shapes and gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.framework import constant_value, dtypes
from weft.framework.registry import OpDecl, op
from weft.framework.shape_rules import Shape, ShapeError, is_full, rank_at_most
from weft.ops.by_name import raw

_NUMBERS = (
    "T: type in {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, "
    "bfloat16, uint16, complex128, half, uint32, uint64}; Tidx: type in {int32, int64} = int32"
)


def reduced_axes(axes: Any, rank: int) -> tuple[int, ...]:
    """The axes to reduce, from 0 on; ShapeError where one is out of range."""
    out = []
    for axis in np.asarray(axes).reshape(-1).tolist():
        if not -rank <= axis < rank:
            raise ShapeError(
                f"Invalid reduction dimension {axis} for input with {rank} dimension(s)"
            )
        axis %= rank
        if axis not in out:
            out.append(axis)
    return tuple(out)


def _shape(input: Shape, reduction_indices: Shape, *, keep_dims: bool, const: Any) -> Shape:
    rank_at_most(reduction_indices, 1, "reduction_indices")
    if input is None:
        return None
    axes = const("reduction_indices")
    if axes is None:
        if keep_dims:
            return (None,) * len(input)
        return None
    reduced = reduced_axes(axes, len(input))
    if keep_dims:
        return tuple(1 if i in reduced else d for i, d in enumerate(input))
    return tuple(d for i, d in enumerate(input) if i not in reduced)


def reduction(name: str, kernel: Callable, doc: str, of_bool: bool = False) -> OpDecl:
    """Declares a reduction whose kernel is `(xp, x, axes, keep_dims)`."""
    args = "input: T, reduction_indices: Tidx -> output: T"
    attrs = "keep_dims: bool = false; " + _NUMBERS
    if of_bool:
        args = args.replace(": T", ": bool").replace(": boolidx", ": Tidx")
        attrs = "keep_dims: bool = false; Tidx: type in {int32, int64} = int32"

    @op(name, args, attrs, static=("reduction_indices",))
    def run(xp, input, reduction_indices, *, keep_dims):
        return kernel(xp, input, reduced_axes(reduction_indices, input.ndim), keep_dims)

    run.__doc__ = doc
    run.shape(_shape)
    return run


def _widened(combine: str) -> Callable:
    """A sum or product in the input's own dtype; short floats are added up as float32."""

    def kernel(xp, x, axes, keep_dims):
        if x.dtype.kind == "V":  # bfloat16
            wide = getattr(xp, combine)(x.astype(np.float32), axis=axes, keepdims=keep_dims)
            return wide.astype(x.dtype)
        return getattr(xp, combine)(x, axis=axes, keepdims=keep_dims, dtype=x.dtype)

    return kernel


def _count(x: Any, axes: tuple[int, ...]) -> int:
    n = 1
    for axis in axes:
        n *= x.shape[axis]
    return n


def _mean_kernel(xp, x, axes, keep_dims):
    if x.dtype.kind in "iu":
        total = xp.sum(x, axis=axes, keepdims=keep_dims, dtype=x.dtype)
        count = np.array(max(_count(x, axes), 1), x.dtype)
        return xp.where(total < 0, -(-total // count), total // count).astype(x.dtype)
    if x.dtype.itemsize == 2:
        return _mean_kernel(xp, x.astype(np.float32), axes, keep_dims).astype(x.dtype)
    total = xp.sum(x, axis=axes, keepdims=keep_dims, dtype=x.dtype)
    return total / np.array(_count(x, axes), x.real.dtype)


def _extreme(function: str, which: str) -> Callable:
    def kernel(xp, x, axes, keep_dims):
        if x.dtype.kind == "c":
            return getattr(xp, function)(x, axis=axes, keepdims=keep_dims)
        if x.dtype.kind in "iu":
            start = getattr(np.iinfo(x.dtype), which)
        else:
            start = np.array(-np.inf if which == "min" else np.inf, x.dtype)
        return getattr(xp, function)(x, axis=axes, keepdims=keep_dims, initial=start)

    return kernel


def _euclidean_norm_kernel(xp, x, axes, keep_dims):
    if all(x.shape[axis] == 1 for axis in axes):  # nothing is added up: TensorFlow keeps the sign
        return x if keep_dims else xp.squeeze(x, axis=axes)
    if x.dtype.kind in "iu" or x.dtype.itemsize == 2:
        wide = x.astype(np.float64 if x.dtype.kind in "iu" else np.float32)
        return _euclidean_norm_kernel(xp, wide, axes, keep_dims).astype(x.dtype)
    squares = xp.sum(xp.real(x * xp.conj(x)), axis=axes, keepdims=keep_dims)
    return xp.sqrt(squares).astype(x.dtype)


sum_op = reduction("Sum", _widened("sum"), "The sum over axes.")
prod = reduction("Prod", _widened("prod"), "The product over axes.")
mean = reduction("Mean", _mean_kernel, "The mean over axes.")
max_op = reduction("Max", _extreme("max", "min"), "The greatest element over axes.")
min_op = reduction("Min", _extreme("min", "max"), "The least element over axes.")
all_op = reduction(
    "All",
    lambda xp, x, axes, keep: xp.all(x, axis=axes, keepdims=keep),
    "Whether all are true.",
    True,
).not_differentiable()
any_op = reduction(
    "Any",
    lambda xp, x, axes, keep: xp.any(x, axis=axes, keepdims=keep),
    "Whether any is true.",
    True,
).not_differentiable()
euclidean_norm = reduction(
    "EuclideanNorm", _euclidean_norm_kernel, "The Euclidean norm over axes."
).not_differentiable()


# -- gradients


def _int32(values: Any) -> np.ndarray:
    return np.array(values, np.int32)


def kept_shape(op: Any) -> tuple[Any, Any]:
    """The shape of a reduction's input, and the same with 1 for the axes that were reduced: as arrays where
    they are known, else as tensors."""
    x = op.inputs[0]
    dims = x.dims
    axes = constant_value.constant_value(op.inputs[1])
    if axes is not None and is_full(dims):
        reduced = reduced_axes(axes, len(dims))
        return _int32(dims), _int32([1 if i in reduced else d for i, d in enumerate(dims)])
    shape = raw.Shape(x)
    if axes is not None and dims is not None and len(reduced_axes(axes, len(dims))) == len(dims):
        return shape, _int32([1] * len(dims))
    return shape, shape_after_reduction(shape, op.inputs[1])


def shape_after_reduction(shape: Any, axes: Any) -> Any:
    """Builds the shape of a reduction's output with kept axes, by `1` stitched into the input's shape."""
    axes = raw.Cast(axes, DstT=dtypes.int32) if axes.dtype.base_dtype is not dtypes.int32 else axes
    rank = raw.Size(shape)
    axes = raw.FloorMod(raw.AddV2(axes, rank), rank)
    ones = raw.Fill(raw.Shape(axes), _int32(1))
    return raw.DynamicStitch([raw.Range(_int32(0), rank, _int32(1)), axes], [shape, ones])


def _spread(op: Any, grad: Any) -> Any:
    """Repeats the gradient of the output over the axes that were reduced."""
    shape, kept = kept_shape(op)
    grad = raw.Reshape(grad, kept)
    if isinstance(shape, np.ndarray):
        return raw.Tile(grad, shape // np.maximum(kept, 1))
    if isinstance(kept, np.ndarray):
        return raw.Tile(grad, shape)
    return raw.Tile(grad, raw.FloorDiv(shape, raw.Maximum(kept, _int32(1))))


@sum_op.gradient
def _(op, grad):
    return _spread(op, grad), None


@mean.gradient
def _(op, grad):
    spread = _spread(op, grad)
    x, y = op.inputs[0], op.outputs[0]
    if is_full(x.dims) and is_full(y.dims):
        size = np.prod(x.dims, dtype=np.int64) // max(np.prod(y.dims, dtype=np.int64), 1)
        factor = np.array(size, spread.dtype.base_dtype.np)
    else:
        factor = raw.FloorDiv(raw.Size(x), raw.Maximum(raw.Size(y), _int32(1)))
        factor = raw.Cast(factor, DstT=spread.dtype.base_dtype)
    return raw.RealDiv(spread, factor), None


def _to_selected(op: Any, grad: Any) -> tuple[Any, None]:
    """The gradient goes to the elements that were selected, in equal shares."""
    _, kept = kept_shape(op)
    y, grad = raw.Reshape(op.outputs[0], kept), raw.Reshape(grad, kept)
    selected = raw.Cast(raw.Equal(y, op.inputs[0]), DstT=grad.dtype.base_dtype)
    count = raw.Reshape(raw.Sum(selected, op.inputs[1]), kept)
    return raw.RealDiv(selected, count) * grad, None


max_op.gradient(_to_selected)
min_op.gradient(_to_selected)


@prod.gradient
def _(op, grad):
    # Dividing the product by each element would fail at zeros: the others are multiplied instead, those
    # before times those behind, with all reduced axes folded into one.
    x = op.inputs[0]
    spread = _spread(op, grad)
    axes = raw.Cast(raw.Reshape(op.inputs[1], _int32([-1])), DstT=dtypes.int32)
    shape, rank = raw.Shape(x), raw.Rank(x)
    reduced = raw.FloorMod(raw.AddV2(axes, rank), rank)
    others = raw.ListDiff(raw.Range(_int32(0), rank, _int32(1)), reduced)[0]
    order = raw.ConcatV2([reduced, others], _int32(0))
    sizes = [
        raw.Prod(raw.GatherV2(shape, part, _int32(0)), _int32([0])) for part in (reduced, others)
    ]
    permuted = raw.Transpose(x, order)
    folded = raw.Reshape(permuted, raw.Pack(sizes))
    before = raw.Cumprod(folded, _int32(0), exclusive=True)
    behind = raw.Cumprod(folded, _int32(0), exclusive=True, reverse=True)
    if x.dtype.is_complex:
        before, behind = raw.Conj(before), raw.Conj(behind)
    product = raw.Reshape(before * behind, raw.Shape(permuted))
    result = spread * raw.Transpose(product, raw.InvertPermutation(order))
    return raw.Reshape(result, shape), None
