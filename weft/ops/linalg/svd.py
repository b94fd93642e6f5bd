"""The singular value decomposition."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.shape_rules import rank_at_least
from weft.ops.by_name import raw
from weft.ops.math.complex_numbers import real
from weft.ops.math.matmul import matmul


@op(
    "Svd",
    "input: T -> s: T, u: T, v: T",
    "compute_uv: bool = true; full_matrices: bool = false; "
    "T: type in {double, float, half, complex64, complex128}",
)
def svd_op(xp, input, *, compute_uv, full_matrices):
    """Singular values in descending order, and the left and right singular vectors as columns."""
    x = input.astype(np.float32) if input.dtype == np.float16 else input
    if not compute_uv:
        empty = np.zeros(0, input.dtype)
        (s,) = singular_values(xp, x, compute_uv=False)
        return s.astype(input.dtype), empty, empty
    u, s, vh = singular_values(xp, x, full_matrices=full_matrices)
    v = xp.conj(xp.swapaxes(vh, -1, -2))
    return s.astype(input.dtype), u.astype(input.dtype), v.astype(input.dtype)


def singular_values(xp: Any, x: Any, **how: Any) -> tuple[Any, ...]:
    """The decomposition as `xp` makes it; not a number where a matrix is not finite.

    LAPACK may never end where there are infinities.
    """
    finite = xp.isfinite(x).all((-2, -1), keepdims=True)
    found = xp.linalg.svd(xp.where(finite, x, np.zeros((), x.dtype)), **how)
    parts = tuple(found) if isinstance(found, tuple) else (found,)
    whole = []
    for part in parts:
        known = finite if part.ndim == x.ndim else finite[..., 0]
        whole.append(xp.where(known, part, np.full((), np.nan, part.dtype)))
    return tuple(whole)


@svd_op.shape
def _(input, *, compute_uv, full_matrices):
    shape = rank_at_least(input, 2)
    if shape is None:
        return None, None if compute_uv else (0,), None if compute_uv else (0,)
    *batch, m, n = shape
    p = None if m is None or n is None else min(m, n)
    if not compute_uv:
        return (*batch, p), (0,), (0,)
    u, v = ((m, m), (n, n)) if full_matrices else ((m, p), (n, p))
    return (*batch, p), (*batch, *u), (*batch, *v)


@svd_op.gradient
def _(op, grad_s, grad_u, grad_v):
    # Giles, "An extended collection of matrix derivative results" (2008); Townsend, "Differentiating the
    # singular value decomposition" (2016).
    a = op.inputs[0]
    if not op.get_attr("compute_uv"):
        _, u, v = svd_op(a, compute_uv=True)
        return matmul(u, matmul(raw.MatrixDiag(grad_s), v, adjoint_b=True))
    full = op.get_attr("full_matrices")
    if a.dtype.is_complex:
        raise NotImplementedError(
            "SVD gradient is not implemented for complex types and compute_uv=True."
        )
    m, n = (None, None) if a.dims is None else a.dims[-2:]
    if m is None or n is None:
        raise NotImplementedError(
            "SVD gradient has not been implemented for input with unknown inner matrix shape."
        )
    s, u, v = op.outputs
    if m > n:  # the gradient of the transpose is found, and transposed
        m, n, u, v, grad_u, grad_v = n, m, v, u, grad_v, grad_u
        result = _wide_gradient(s, u, v, grad_s, grad_u, grad_v, m, n, full)
        return _transposed(result)
    return _wide_gradient(s, u, v, grad_s, grad_u, grad_v, m, n, full)


def _transposed(x: Any) -> Any:
    rank = len(x.dims)
    order = [*range(rank - 2), rank - 1, rank - 2]
    return raw.Transpose(x, np.array(order, np.int32))


def _wide_gradient(s, u, v, grad_s, grad_u, grad_v, m, n, full):
    """The gradient where there are at least as many columns (n) as rows (m)."""
    if full and n - m > 1:
        raise NotImplementedError(
            "svd gradient is not implemented for abs(m - n) > 1 when full_matrices is True"
        )
    squares = raw.Square(s)
    eye = raw.MatrixDiag(raw.OnesLike(s))
    differences = raw.ExpandDims(squares, np.int32(-2)) - raw.ExpandDims(squares, np.int32(-1))
    f = raw.Reciprocal(differences + eye) - eye
    v1, grad_v1 = v[..., :, :m], grad_v[..., :, :m]
    s_matrix = raw.MatrixDiag(s)
    f_u = f * matmul(u, grad_u, adjoint_a=True)
    f_v = f * matmul(v1, grad_v1, adjoint_a=True)
    middle = raw.MatrixDiag(grad_s)
    middle = middle + matmul(f_u + _transposed(f_u), s_matrix)
    middle = middle + matmul(s_matrix, f_v + _transposed(f_v))
    result = matmul(u, matmul(middle, v1, adjoint_b=True))
    if m == n:
        return result
    transposed = _transposed(grad_v1)
    beyond = transposed - matmul(matmul(transposed, v1), v1, adjoint_b=True)
    if full:
        v2, grad_v2 = v[..., :, m:n], grad_v[..., :, m:n]
        beyond = beyond - matmul(matmul(v1, grad_v2, adjoint_a=True), v2, adjoint_b=True)
    return result + matmul(matmul(u, raw.MatrixDiag(raw.Reciprocal(s))), beyond)


@export("svd", "linalg.svd")
def svd(
    tensor: Any, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None
) -> Any:
    """The singular values of matrices in the last two axes and, with `compute_uv`, the singular vectors:
    `s, u, v` with `tensor = u @ diag(s) @ adjoint(v)`."""
    s, u, v = svd_op(tensor, compute_uv=compute_uv, full_matrices=full_matrices, name=name)
    return (real(s), u, v) if compute_uv else real(s)
