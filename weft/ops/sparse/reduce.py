"""Reductions of sparse tensors to dense or sparse ones, and SparseSoftmax."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft.framework.registry import OpDecl, op
from weft.framework.shape_rules import Shape, ShapeError, rank_at_most, vector
from weft.ops.array.gather import gather_nd_op
from weft.ops.by_name import raw
from weft.ops.math.dtype_sets import NUMBERS, REAL_NUMBERS
from weft.ops.math.reduce import reduced_axes
from weft.ops.math.segments import least
from weft.ops.sparse.coordinates import (
    check_parts,
    check_ranks,
    flat_positions,
    order_of,
    require_inside,
    starts_of_runs,
    whole_shape,
)

_ARGUMENTS = "input_indices: int64, input_values: T, input_shape: int64, reduction_axes: int32"


def _reduced(shape: tuple, axes: tuple[int, ...], keep_dims: bool) -> tuple:
    if keep_dims:
        return tuple(1 if i in axes else d for i, d in enumerate(shape))
    return tuple(d for i, d in enumerate(shape) if i not in axes)


def _to_dense(name: str, types: str, how: str, doc: str) -> OpDecl:
    @op(
        name,
        f"{_ARGUMENTS} -> output: T",
        f"keep_dims: bool = false; T: {types}",
        static=("input_shape", "reduction_axes"),
    )
    def decl(xp, input_indices, input_values, input_shape, reduction_axes, *, keep_dims):
        check_parts(input_indices, input_values, input_shape, "input_")
        rank_at_most(reduction_axes.shape, 1, "reduction_axes")
        shape = whole_shape(input_shape)
        axes = reduced_axes(reduction_axes, len(shape))
        require_inside(xp, input_indices, np.array(shape, np.int64))
        kept = [d for d in range(len(shape)) if d not in axes]
        sizes = tuple(shape[d] for d in kept)
        where = (flat_positions(input_indices[:, kept], sizes),)
        n, dtype = math.prod(sizes), input_values.dtype
        if how == "add":
            wide = np.dtype(np.float32) if dtype.itemsize == 2 and dtype.kind not in "iu" else dtype
            flat = xp.scatter(xp.zeros(n, wide), where, input_values.astype(wide), how)
            flat = flat.astype(dtype)
        else:
            flat = xp.scatter(xp.full(n, least(dtype), dtype), where, input_values, how)
            there = xp.scatter(xp.zeros(n, bool), where, True)
            flat = xp.where(there, flat, xp.zeros((), dtype))
        return flat.reshape(_reduced(shape, axes, keep_dims))

    decl.__doc__ = doc

    @decl.shape
    def _(input_indices, input_values, input_shape, reduction_axes, *, keep_dims, const):
        axes, shape = const("reduction_axes"), const.shape("input_shape")
        if axes is None or shape is None:
            return None
        if not shape:
            raise ShapeError("Number of dims in shape tensor must not be 0")
        if (np.abs(axes + 0.5) > len(shape)).any():
            return None  # the kernel says so, as TensorFlow's does
        return _reduced(shape, reduced_axes(axes, len(shape)), keep_dims)

    return decl


sparse_reduce_sum_op = _to_dense(
    "SparseReduceSum", NUMBERS, "add", "The sum of a sparse tensor over axes, as a dense one."
)
sparse_reduce_max_op = _to_dense(
    "SparseReduceMax",
    REAL_NUMBERS,
    "max",
    "The greatest of the elements that are there, over axes, as a dense tensor; 0 where there is none.",
).not_differentiable()


@sparse_reduce_sum_op.gradient
def _(op, grad):
    indices, _, shape, axes = op.inputs
    n = raw.Size(shape)
    axes = raw.FloorMod(raw.Reshape(axes, np.array([-1], np.int32)), n)
    ones = raw.OnesLike(raw.GatherV2(shape, axes, np.int32(0)))
    kept = raw.DynamicStitch([raw.Range(np.int32(0), n, np.int32(1)), axes], [shape, ones])
    grad = raw.Reshape(grad, kept)
    # Along axes that were reduced every position is the one that is left.
    return None, gather_nd_op(grad, raw.Minimum(indices, kept - np.int64(1))), None, None


def _to_sparse(name: str, types: str, ufunc: Any, doc: str) -> OpDecl:
    @op(
        name,
        f"{_ARGUMENTS} -> output_indices: int64, output_values: T, output_shape: int64",
        f"keep_dims: bool = false; T: {types}",
        host=True,
    )
    def decl(xp, input_indices, input_values, input_shape, reduction_axes, *, keep_dims):
        check_parts(input_indices, input_values, input_shape, "input_")
        rank_at_most(reduction_axes.shape, 1, "reduction_axes")
        shape = whole_shape(input_shape)
        axes = reduced_axes(reduction_axes, len(shape))
        require_inside(xp, input_indices, input_shape)
        kept = [d for d in range(len(shape)) if d not in axes]
        groups, values = input_indices[:, kept], input_values
        order = order_of(groups)
        if order is not None:
            groups, values = groups[order], values[order]
        starts = starts_of_runs(groups)
        groups = groups[starts]
        if keep_dims:
            wide = np.zeros((len(groups), len(shape)), np.int64)
            wide[:, kept] = groups
            groups = wide
        if len(starts):
            values = _reduce_runs(ufunc, values, starts)
        return groups, values, np.array(_reduced(shape, axes, keep_dims), np.int64)

    decl.__doc__ = doc

    @decl.shape
    def _(input_indices, input_values, input_shape, reduction_axes):
        unknown: Shape = None
        return unknown, unknown, unknown

    return decl.not_differentiable()


def _reduce_runs(ufunc: Any, values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    if values.dtype.itemsize == 2 and values.dtype.kind not in "iu":
        return ufunc.reduceat(values.astype(np.float32), starts).astype(values.dtype)
    return ufunc.reduceat(values, starts, dtype=values.dtype)


sparse_reduce_sum_sparse_op = _to_sparse(
    "SparseReduceSumSparse", NUMBERS, np.add, "The sum of a sparse tensor over axes, sparse."
)
sparse_reduce_max_sparse_op = _to_sparse(
    "SparseReduceMaxSparse",
    REAL_NUMBERS,
    np.maximum,
    "The greatest of the elements that are there, over axes, sparse.",
)


@op(
    "SparseSoftmax",
    "sp_indices: int64, sp_values: T, sp_shape: int64 -> output: T",
    "T: type in {float, double}",
    host=True,
)
def sparse_softmax_op(xp, sp_indices, sp_values, sp_shape):
    """The softmax over the last axis of the elements that are there."""
    check_parts(sp_indices, sp_values, sp_shape, "sp_")
    if len(sp_shape) < 2:
        raise ShapeError(f"Input should have rank >= 2, but received shape: {sp_shape.tolist()}")
    whole_shape(sp_shape)
    require_inside(xp, sp_indices, sp_shape)
    order = order_of(sp_indices)
    indices, values = sp_indices, sp_values
    if order is not None:
        indices, values = indices[order], values[order]
    if not len(values):
        return values
    starts = starts_of_runs(indices[:, :-1])
    lengths = np.diff(np.append(starts, len(values)))
    powers = np.exp(values - np.repeat(np.maximum.reduceat(values, starts), lengths))
    return powers / np.repeat(np.add.reduceat(powers, starts), lengths)


@sparse_softmax_op.shape
def _(sp_indices, sp_values, sp_shape):
    check_ranks(sp_indices, sp_values, sp_shape, "sp_")
    return vector(sp_values)


@sparse_softmax_op.gradient
def _(op, grad):
    indices, _, shape = op.inputs
    out = op.outputs[0]
    sums = sparse_reduce_sum_op(
        indices, raw.Mul(out, grad), shape, np.array([-1], np.int32), keep_dims=True
    )
    shifted = raw.SparseDenseCwiseAdd(indices, grad, shape, raw.Neg(sums))
    return None, raw.Mul(shifted, out), None
