"""Between sparse and dense tensors: SparseToDense, sums and elementwise operations of both."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from weft.framework import dtypes
from weft.framework.registry import OpDecl, op
from weft.framework.shape_rules import (
    rank,
    text,
    vector,
)
from weft.ops.array.fill import filled
from weft.ops.array.gather import gather_nd_op
from weft.ops.by_name import raw
from weft.ops.math.dtype_sets import INDEX, NUMBERS
from weft.ops.sparse.coordinates import (
    check_parts,
    refuse,
    require_inside,
    require_valid,
    whole_shape,
)


@op(
    "SparseToDense",
    "sparse_indices: Tindices, output_shape: Tindices, sparse_values: T, default_value: T -> dense: T",
    f"validate_indices: bool = true; T: type; Tindices: {INDEX}",
    static=("output_shape",),
)
def sparse_to_dense_op(
    xp, sparse_indices, output_shape, sparse_values, default_value, *, validate_indices
):
    """A dense tensor of one value, but for the elements at given positions."""
    _check_fits(sparse_indices.shape, output_shape.shape, sparse_values.shape, default_value.shape)
    shape = whole_shape(output_shape)
    sizes = np.array(shape, np.int64)
    indices = sparse_indices if sparse_indices.ndim == 2 else sparse_indices.reshape(-1, 1)
    if validate_indices:
        require_valid(xp, indices, sizes)
    else:
        require_inside(xp, indices, sizes)
    default = default_value[()] if default_value.dtype == object else default_value
    dense = filled(xp, shape, default, default_value.dtype)
    values = sparse_values
    if values.ndim == 0:
        values = filled(xp, indices.shape[:1], values[()], values.dtype)
    if not shape:
        return values[-1] if len(values) else dense
    where = tuple(indices[:, d] for d in range(len(shape)))
    if xp.is_numpy:
        dense[where] = values
        return dense
    return xp.scatter(dense, where, values)


@sparse_to_dense_op.shape
def _(sparse_indices, output_shape, sparse_values, default_value, *, const):
    vector(output_shape, "output_shape")
    return const.shape("output_shape")


@sparse_to_dense_op.rows("sparse_indices", "output_shape", "sparse_values", lists=True)
def _(xp, sparse_indices, output_shape, sparse_values, default_value, *, validate_indices):
    if output_shape.shape[1] != 1 or default_value.ndim or any(v.ndim != 1 for v in sparse_values):
        raise NotImplementedError("only vectors")
    sizes = output_shape[:, 0]
    counts = np.fromiter(map(len, sparse_values), np.int64, len(sparse_values))
    if any(i.shape not in ((n, 1), (n,)) for i, n in zip(sparse_indices, counts.tolist())):
        raise NotImplementedError("only as many indices as values")
    indices = np.concatenate([i.reshape(-1) for i in sparse_indices])
    rows = np.repeat(np.arange(len(counts)), counts)
    require_valid(xp, np.stack([rows, indices], 1), np.array([len(counts), sizes.max()]))
    if (indices >= sizes[rows]).any():
        raise NotImplementedError("out of bounds")
    ends = np.cumsum(sizes)
    dense = np.empty(int(ends[-1]), default_value.dtype)
    dense[...] = default_value
    dense[indices + np.repeat(ends - sizes, counts)] = np.concatenate(list(sparse_values))
    return np.split(dense, ends[:-1])


def _check_fits(indices: tuple, output_shape: tuple, values: tuple, default: tuple) -> None:
    if len(indices) > 2:
        refuse(f"sparse_indices should be a scalar, vector, or matrix, got shape {text(indices)}")
    rows = indices[0] if indices else 1
    columns = indices[1] if len(indices) == 2 else 1
    if output_shape != (columns,):
        refuse(
            f"output_shape has incorrect number of elements: {math.prod(output_shape)} should be: {columns}"
        )
    if values not in ((), (rows,)):
        refuse(f"sparse_values has incorrect shape {text(values)}, should be [] or [{rows}]")
    if default:
        refuse(f"default_value should be a scalar, got shape {text(default)}")


@sparse_to_dense_op.gradient
def _(op, grad):
    indices, _, values, _ = op.inputs
    at = _at_positions(grad, indices, op.inputs[1])
    rest = raw.Sub(_total(grad), _total(at))
    return None, None, at if values._rank() != 0 else _total(at), rest


def _at_positions(grad: Any, indices: Any, shape: Any) -> Any:
    """The elements of a dense tensor at positions, which may be given as a vector."""
    if indices._rank() != 2:
        columns = raw.Shape(shape)
        indices = raw.Reshape(indices, raw.ConcatV2([np.array([-1], np.int32), columns], 0))
    return gather_nd_op(grad, indices)


def _total(x: Any) -> Any:
    return raw.Sum(x, raw.Range(np.int32(0), raw.Rank(x), np.int32(1)))


@op(
    "SparseTensorDenseAdd",
    "a_indices: Tindices, a_values: T, a_shape: Tindices, b: T -> output: T",
    f"T: {NUMBERS}; Tindices: {INDEX}",
)
def sparse_tensor_dense_add(xp, a_indices, a_values, a_shape, b):
    """The sum of a sparse and a dense tensor of the same shape."""
    check_parts(a_indices, a_values, a_shape, "a_")
    if len(a_shape) != b.ndim or not b.ndim:
        refuse(f"Two operands have different ranks; received: {len(a_shape)} and {b.ndim}")
    sizes = np.array(b.shape, np.int64)

    def differs() -> str:
        i = int(np.flatnonzero(a_shape != sizes)[0])
        return (
            f"Dimension {i} does not equal (no broadcasting is supported): sparse side {a_shape[i]} vs "
            f"dense side {sizes[i]}"
        )

    xp.check(a_shape == sizes, differs)

    def outside(row: int, column: int) -> str:
        return (
            f"Sparse tensor has some invalid index on dimension {column}; dense tensor shape: "
            f"{text(b.shape)}"
        )

    require_inside(xp, a_indices, sizes, outside)
    return xp.scatter(b, tuple(a_indices[:, d] for d in range(b.ndim)), a_values, "add")


@sparse_tensor_dense_add.shape
def _(a_indices, a_values, a_shape, b):
    return b


@sparse_tensor_dense_add.gradient
def _(op, grad):
    return None, gather_nd_op(grad, op.inputs[0]), None, grad


def _elementwise(name: str, combine: Callable, doc: str) -> OpDecl:
    @op(
        name,
        "sp_indices: int64, sp_values: T, sp_shape: int64, dense: T -> output: T",
        f"T: {NUMBERS}",
    )
    def decl(xp, sp_indices, sp_values, sp_shape, dense):
        check_parts(sp_indices, sp_values, sp_shape, "sp_")
        n, rank_ = sp_indices.shape
        if not rank_:
            refuse("The shape argument requires at least one element.")
        fits = dense.ndim <= rank_
        sizes = np.array((1,) * (rank_ - dense.ndim) + dense.shape, np.int64)

        def message() -> str:
            return (
                f"{name} broadcasts dense to sparse only; got incompatible shapes: "
                f"{sp_shape.tolist()} vs. {list(dense.shape)}"
            )

        if not fits:
            refuse(message())
        xp.check((sizes == 1) | (sizes == sp_shape), message)
        xp.check(sp_shape >= sizes, message)
        require_inside(xp, sp_indices, sp_shape)
        where = xp.where(sizes == 1, 0, sp_indices)[:, rank_ - dense.ndim :]
        picked = xp.constant(dense)[tuple(where[:, d] for d in range(dense.ndim))]
        if not dense.ndim:
            picked = xp.broadcast_to(dense, (n,))
        return combine(xp, sp_values, picked)

    decl.__doc__ = doc

    @decl.shape
    def _(sp_indices, sp_values, sp_shape, dense):
        return (rank(sp_indices, 2, "sp_indices")[0],)

    return decl


def _divide(xp: Any, a: Any, b: Any) -> Any:
    if a.dtype.kind not in "iu":
        return a / b
    xp.check(b != 0, lambda: "SparseDenseCwiseDiv: integer division by zero")
    quotient = a // xp.where(b == 0, 1, b).astype(b.dtype)
    return (quotient + ((quotient < 0) & (quotient * b != a))).astype(a.dtype)


sparse_dense_add = _elementwise(
    "SparseDenseCwiseAdd",
    lambda xp, a, b: a + b,
    "The elements of a sparse tensor plus those of a dense one, which is broadcast, at their positions.",
)
sparse_dense_mul = _elementwise(
    "SparseDenseCwiseMul",
    lambda xp, a, b: a * b,
    "The elements of a sparse tensor times those of a dense one, which is broadcast.",
)
sparse_dense_div = _elementwise(
    "SparseDenseCwiseDiv",
    _divide,
    "The elements of a sparse tensor divided by those of a dense one, which is broadcast.",
)


def _broadcast_gradient(op: Any, to_x: Callable, to_y: Callable) -> Any:
    """The gradients of both sides: that of the dense side is added up where it was broadcast."""
    indices, x, shape, y = op.inputs
    y_shape = raw.Shape(y, out_type=dtypes.int64)
    added = raw.ExpandDims(raw.Sub(raw.Size(shape), raw.Size(y_shape)), np.int32(0))
    wide = raw.ConcatV2([raw.Fill(added, np.int64(1)), y_shape], np.int32(0))
    scaled = raw.FloorDiv(indices, raw.FloorDiv(shape, wide))
    begin = raw.ConcatV2([np.zeros(1, np.int32), added], np.int32(0))
    scaled = raw.Slice(scaled, begin, np.array([-1, -1], np.int32))
    picked = gather_nd_op(y, scaled)
    if y._rank() == 0:
        to_dense = _total(to_y(picked))
    else:
        to_dense = raw.ScatterNd(scaled, to_y(picked), y_shape)
    return None, to_x(picked), None, to_dense


@sparse_dense_add.gradient
def _(op, grad):
    return _broadcast_gradient(op, lambda y: grad, lambda y: grad)


@sparse_dense_mul.gradient
def _(op, grad):
    x = op.inputs[1]
    return _broadcast_gradient(op, lambda y: raw.Mul(grad, y), lambda y: raw.Mul(grad, x))


@sparse_dense_div.gradient
def _(op, grad):
    x = op.inputs[1]
    return _broadcast_gradient(
        op,
        lambda y: raw.RealDiv(grad, y),
        lambda y: raw.Mul(grad, raw.RealDiv(raw.Neg(x), raw.Square(y))),
    )
