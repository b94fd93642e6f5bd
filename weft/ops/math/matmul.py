"""Matrix products."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import conversion, dtypes
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import (
    ShapeError,
    broadcast,
    is_full,
    merge_dim,
    rank,
    rank_at_least,
    text,
)
from weft.framework.tensor import Tensor
from weft.ops.by_name import raw
from weft.ops.math.broadcasting import repeated_axes
from weft.ops.math.makers import conjugate

_TYPES = "T: type in {bfloat16, half, float, double, int32, int64, complex64, complex128}"


def _product(xp: Any, a: Any, b: Any) -> Any:
    if a.dtype.itemsize == 2 and xp.is_numpy:  # NumPy has no quick product of such types
        return np.matmul(a.astype(np.float32), b.astype(np.float32)).astype(a.dtype)
    return xp.matmul(a, b)


def _inner(a: int | None, b: int | None, x: Any, y: Any) -> None:
    merge_dim(
        a,
        b,
        f"Matrix size-incompatible: In[0]: {text(x)}, In[1]: {text(y)}: Dimensions must be equal",
    )


@op(
    "MatMul",
    "a: T, b: T -> product: T",
    "transpose_a: bool = false; transpose_b: bool = false; " + _TYPES,
)
def mat_mul(xp, a, b, *, transpose_a, transpose_b):
    """The product of two matrices, either of which may be transposed first."""
    return _product(xp, a.T if transpose_a else a, b.T if transpose_b else b)


@mat_mul.shape
def _matrix_shape(a, b, *, transpose_a, transpose_b):
    a, b = rank(a, 2), rank(b, 2)
    rows, inner = a[::-1] if transpose_a else a
    inner_b, columns = b[::-1] if transpose_b else b
    _inner(inner, inner_b, a, b)
    return rows, columns


@mat_mul.gradient
def _(op, grad):
    t_a, t_b = op.get_attr("transpose_a"), op.get_attr("transpose_b")
    a, b = conjugate(op.inputs[0]), conjugate(op.inputs[1])
    skip = getattr(op, "skip_input_indices", None) or ()
    grad_a = grad_b = None
    if 0 not in skip:
        if t_a:
            grad_a = mat_mul(b, grad, transpose_a=t_b, transpose_b=True)
        else:
            grad_a = mat_mul(grad, b, transpose_b=not t_b)
    if 1 not in skip:
        if t_b:
            grad_b = mat_mul(grad, a, transpose_a=True, transpose_b=t_a)
        else:
            grad_b = mat_mul(a, grad, transpose_a=not t_a)
    return grad_a, grad_b


# -- batches of matrices


def _adjoint(xp: Any, x: Any) -> Any:
    x = xp.swapaxes(x, -1, -2)
    return xp.conj(x) if x.dtype.kind == "c" else x


def _batch_mat_mul(xp, x, y, *, adj_x, adj_y):
    """The products of the matrices in the last two axes; either may be conjugated and transposed first."""
    return _product(xp, _adjoint(xp, x) if adj_x else x, _adjoint(xp, y) if adj_y else y)


_BATCH = (
    "x: T, y: T -> output: T",
    _TYPES + "; adj_x: bool = false; adj_y: bool = false",
)
batch_mat_mul = op("BatchMatMul", *_BATCH)(_batch_mat_mul)
batch_mat_mul_v2 = op("BatchMatMulV2", *_BATCH)(_batch_mat_mul)


def _batch_shape(x, y, adj_x, adj_y, join):
    rank_at_least(x, 2)
    rank_at_least(y, 2)
    if x is None or y is None:
        return None
    rows, inner = x[:-3:-1] if adj_x else x[-2:]
    inner_y, columns = y[:-3:-1] if adj_y else y[-2:]
    _inner(inner, inner_y, x, y)
    return (*join(x[:-2], y[:-2]), rows, columns)


@batch_mat_mul.shape
def _(x, y, *, adj_x, adj_y):
    def equal(a, b):
        if len(a) != len(b):
            raise ShapeError(f"In[0] and In[1] has different ndims: {text(x)} vs. {text(y)}")
        return tuple(merge_dim(i, j, "Dimensions must be equal") for i, j in zip(a, b))

    return _batch_shape(x, y, adj_x, adj_y, equal)


@batch_mat_mul_v2.shape
def _(x, y, *, adj_x, adj_y):
    return _batch_shape(x, y, adj_x, adj_y, broadcast)


def _batch_gradient(op, grad):
    x, y = op.inputs
    adj_x, adj_y = op.get_attr("adj_x"), op.get_attr("adj_y")
    if adj_x:
        grad_x = matmul(y, grad, adjoint_a=adj_y, adjoint_b=True)
    else:
        grad_x = matmul(grad, y, adjoint_b=not adj_y)
    if adj_y:
        grad_y = matmul(grad, x, adjoint_a=True, adjoint_b=adj_x)
    else:
        grad_y = matmul(x, grad, adjoint_a=not adj_x)
    return grad_x, grad_y


batch_mat_mul.gradient(_batch_gradient)


@batch_mat_mul_v2.gradient
def _(op, grad):
    x, y = op.inputs
    grads = _batch_gradient(op, grad)
    if x.dims == y.dims and is_full(x.dims):
        return grads
    if x.dims is not None and y.dims is not None:
        batch_x, batch_y = x.dims[:-2], y.dims[:-2]
        if repeated_axes(batch_x, batch_y) == () == repeated_axes(batch_y, batch_x):
            return grads
    sx, sy = raw.Shape(x), raw.Shape(y)
    axes = raw.BroadcastGradientArgs(sx[:-2], sy[:-2])
    return tuple(raw.Reshape(raw.Sum(g, r), s) for g, r, s in zip(grads, axes, (sx, sy)))


@op(
    "SparseMatMul",
    "a: Ta, b: Tb -> product: float",
    "transpose_a: bool = false; transpose_b: bool = false; a_is_sparse: bool = false; "
    "b_is_sparse: bool = false; Ta: type in {float, bfloat16} = float; Tb: type in {float, bfloat16} = float",
)
def sparse_mat_mul(xp, a, b, *, transpose_a, transpose_b):
    """The product of two matrices that are mostly zero, though stored as any other."""
    a, b = a.astype(np.float32), b.astype(np.float32)
    return xp.matmul(a.T if transpose_a else a, b.T if transpose_b else b)


sparse_mat_mul.shape(_matrix_shape)


@sparse_mat_mul.gradient
def _(op, grad):
    t_a, t_b = op.get_attr("transpose_a"), op.get_attr("transpose_b")
    a, b = op.inputs
    sparse_grad = getattr(getattr(grad, "op", None), "type", "") == "ReluGrad"
    sparse = {
        id(a): op.get_attr("a_is_sparse"),
        id(b): op.get_attr("b_is_sparse"),
        id(grad): sparse_grad,
    }

    def product(x, y, dtype, transpose_a=False, transpose_b=False):
        sparse_x, sparse_y = sparse[id(x)], sparse[id(y)]
        if transpose_b:
            y = raw.Transpose(y, np.array([1, 0], np.int32))
        result = matmul(x, y, transpose_a=transpose_a, a_is_sparse=sparse_x, b_is_sparse=sparse_y)
        return result if result.dtype is dtype else raw.Cast(result, DstT=dtype)

    if t_a:
        grad_a = product(b, grad, a.dtype, transpose_a=t_b, transpose_b=True)
    else:
        grad_a = product(grad, b, a.dtype, transpose_b=not t_b)
    if t_b:
        grad_b = product(grad, a, b.dtype, transpose_a=True, transpose_b=t_a)
    else:
        grad_b = product(a, grad, b.dtype, transpose_a=not t_a)
    return grad_a, grad_b


@export("matmul", "linalg.matmul")
def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """Multiplies matrices; batches of them where the rank is above 2."""
    if transpose_a and adjoint_a:
        raise ValueError("Only one of transpose_a and adjoint_a can be True.")
    if transpose_b and adjoint_b:
        raise ValueError("Only one of transpose_b and adjoint_b can be True.")
    plain = not (a_is_sparse or b_is_sparse or adjoint_a or adjoint_b)
    if plain and isinstance(a, Tensor) and isinstance(b, Tensor):
        kind = a._dtype.base_dtype
        if _is_matrix(a) and _is_matrix(b) and kind is b._dtype.base_dtype:
            return mat_mul(a, b, transpose_a=transpose_a, transpose_b=transpose_b, name=name)
    with name_scope(name, "MatMul", (a, b)) as name:
        a = conversion.convert_to_tensor(a, name="a")
        b = conversion.convert_to_tensor(b, name="b")
        if not (a_is_sparse or b_is_sparse) and not (_is_matrix(a) and _is_matrix(b)):
            # The op of batches knows adjoints only.
            if transpose_a:
                a, adjoint_a = conjugate(a), True
            if transpose_b:
                b, adjoint_b = conjugate(b), True
            return batch_mat_mul_v2(a, b, adj_x=adjoint_a, adj_y=adjoint_b, name=name)
        if adjoint_a:
            a, transpose_a = conjugate(a), True
        if adjoint_b:
            b, transpose_b = conjugate(b), True
        transposed = {"transpose_a": transpose_a, "transpose_b": transpose_b}
        types = (a.dtype.base_dtype, b.dtype.base_dtype)
        if not _takes_sparse(types, a_is_sparse or b_is_sparse):
            return mat_mul(a, b, name=name, **transposed)
        flags = {"a_is_sparse": a_is_sparse, "b_is_sparse": b_is_sparse}
        result = sparse_mat_mul(a, b, name=name, **transposed, **flags)
        if types == (dtypes.bfloat16, dtypes.bfloat16):
            result = raw.Cast(result, DstT=dtypes.bfloat16)
        return result


def _is_matrix(x: Any) -> bool:
    """Whether the rank is known, and not that of a batch."""
    dims = x.dims
    return dims is not None and len(dims) <= 2


def _takes_sparse(types: tuple, sparse: bool) -> bool:
    """Whether the op of sparse matrices is used: it also multiplies float32 and bfloat16."""
    if dtypes.bfloat16 in types and types[0] is not types[1]:
        return True
    return sparse and all(t in (dtypes.float32, dtypes.bfloat16) for t in types)


@export("sparse_matmul")
def sparse_matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """Deprecated: use `tf.matmul` with `a_is_sparse` or `b_is_sparse`."""
    return sparse_mat_mul(
        a,
        b,
        transpose_a=transpose_a,
        transpose_b=transpose_b,
        a_is_sparse=a_is_sparse,
        b_is_sparse=b_is_sparse,
        name=name,
    )
