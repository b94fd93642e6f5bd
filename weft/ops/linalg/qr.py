"""The QR decomposition."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.shape_rules import rank_at_least
from weft.ops.array.diagonal import matrix_band_part
from weft.ops.array.transpose import matrix_transpose
from weft.ops.by_name import raw
from weft.ops.linalg.matrices import FLOATS_COMPLEX, wide
from weft.ops.math.matmul import matmul


@op(
    "Qr",
    "input: T -> q: T, r: T",
    "full_matrices: bool = false; " + FLOATS_COMPLEX,
)
def qr_op(xp, input, *, full_matrices):
    """Matrices with orthonormal columns, and upper triangular ones."""
    mode = "complete" if full_matrices else "reduced"
    if not input.size:
        *batch, m, n = input.shape
        k = m if full_matrices else min(m, n)
        unit = np.broadcast_to(np.eye(m, k, dtype=input.dtype), (*batch, m, k))
        return xp.asarray(unit), xp.zeros((*batch, k, n), input.dtype)
    q, r = xp.linalg.qr(wide(input), mode)
    return q.astype(input.dtype), r.astype(input.dtype)


@qr_op.shape
def _(input, *, full_matrices):
    shape = rank_at_least(input, 2)
    if shape is None:
        return None, None
    *batch, m, n = shape
    k = m
    if not full_matrices:
        k = 0 if 0 in (m, n) else None if m is None or n is None else min(m, n)
    return (*batch, m, k), (*batch, k, n)


@qr_op.gradient
def _(op, grad_q, grad_r):
    q, r = op.outputs
    if q.dtype.is_complex:
        raise NotImplementedError(f"QrGrad not implemented for dtype: {q.dtype}")
    if r.dims is None or None in r.dims[-2:]:
        raise NotImplementedError("QrGrad not implemented with dynamic shapes.")
    if r.dims[-2] != r.dims[-1]:
        raise NotImplementedError(
            "QrGrad not implemented when ncols > nrows or full_matrices is true and ncols != nrows."
        )

    def over_r(x: Any) -> Any:
        """x @ inv(adjoint(r))"""
        solved = raw.MatrixTriangularSolve(r, matrix_transpose(x), lower=False, adjoint=False)
        return matrix_transpose(solved)

    in_q = matmul(q, grad_q, adjoint_a=True)
    in_r = matmul(r, grad_r, adjoint_b=True)
    skew = (in_q - matrix_transpose(in_q)) + (in_r - matrix_transpose(in_r))
    inside = matmul(q, grad_r + over_r(matrix_band_part(skew, -1, 0)))
    return inside + over_r(grad_q - matmul(q, in_q))


@export("qr", "linalg.qr")
def qr(input: Any, full_matrices: bool = False, name: str | None = None) -> Any:
    """`q, r` with `q @ r` the input: orthonormal columns, and an upper triangle."""
    return qr_op(input, full_matrices=full_matrices, name=name)
