"""Least-squares solutions of systems of equations."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework.registry import op
from weft.framework.shape_rules import scalar
from weft.ops.array.diagonal import eye
from weft.ops.array.shape_of import shape as shape_of
from weft.ops.array.transpose import matrix_transpose
from weft.ops.by_name import raw
from weft.ops.flow.cond import cond
from weft.ops.linalg.cholesky import cholesky_factor, cholesky_solve
from weft.ops.linalg.matrices import (
    FLOATS_COMPLEX,
    adjoint_of,
    legacy,
    solution,
    wide,
)
from weft.ops.linalg.svd import singular_values
from weft.ops.linalg.triangular import triangular_solution
from weft.ops.math.cast import cast
from weft.ops.math.matmul import matmul

_DEFICIENT = (
    "Input matrix was rank deficient or ill-conditioned. Try setting fast=False or provide a larger "
    "l2_regularizer > 0."
)


@op(
    "MatrixSolveLs",
    "matrix: T, rhs: T, l2_regularizer: double -> output: T",
    FLOATS_COMPLEX + "; fast: bool = true",
)
def matrix_solve_ls_op(xp, matrix, rhs, l2_regularizer, *, fast):
    """`x` with the least `|matrix @ x - rhs|` (with `l2_regularizer * |x|`), and of many the least `x`."""
    xp.check(l2_regularizer >= 0, lambda: "l2_regularizer must be >= 0.")
    a, b = wide(matrix), wide(rhs)
    m, n = a.shape[-2:]
    if not a.size or not b.size:
        return xp.zeros((*rhs.shape[:-2], n, rhs.shape[-1]), rhs.dtype)
    if not fast:
        return _shortest(xp, a, b).astype(rhs.dtype)
    high = m >= n
    adjoint = adjoint_of(xp, a)
    gramian = xp.matmul(adjoint, a) if high else xp.matmul(a, adjoint)
    unit = np.eye(min(m, n), dtype=a.dtype)
    gramian = gramian + unit * xp.asarray(l2_regularizer).astype(a.dtype)
    lower = cholesky_factor(xp, gramian, _DEFICIENT)

    def solved(y: Any) -> Any:
        y = triangular_solution(xp, lower, y, lower=True, adjoint=False)
        return triangular_solution(xp, lower, y, lower=True, adjoint=True)

    found = solved(xp.matmul(adjoint, b)) if high else xp.matmul(adjoint, solved(b))
    return found.astype(rhs.dtype)


def _shortest(xp: Any, a: Any, b: Any) -> Any:
    """The solution by singular values, of which those that are rounding errors count as zero."""
    u, s, vh = singular_values(xp, a, full_matrices=False)
    limit = s[..., :1] * (max(a.shape[-2:]) * np.finfo(s.dtype).eps)
    kept = s > limit
    scale = xp.where(kept, 1 / xp.where(kept, s, np.ones((), s.dtype)), np.zeros((), s.dtype))
    inner = scale[..., None] * xp.matmul(adjoint_of(xp, u), b)
    return xp.matmul(adjoint_of(xp, vh), inner)


@matrix_solve_ls_op.shape
def _(matrix, rhs, l2_regularizer):
    scalar(l2_regularizer)
    return solution(matrix, rhs, is_square=False)


def regularized_gramian_cholesky(matrix: Any, l2_regularizer: Any, of_columns: bool) -> Any:
    """The Cholesky decomposition of the products of columns (or rows), with a number on the diagonal."""
    gramian = matmul(matrix, matrix, adjoint_a=of_columns, adjoint_b=not of_columns)
    if hasattr(l2_regularizer, "op") or l2_regularizer != 0:
        size = shape_of(matrix)
        n = size[-1] if of_columns else size[-2]
        unit = eye(n, batch_shape=size[:-2], dtype=matrix.dtype)
        gramian = gramian + l2_regularizer * unit
    return raw.Cholesky(gramian)


def _high_gradient(op: Any, grad: Any) -> tuple[Any, Any]:
    """Of at least as many equations as unknowns."""
    a, b, x = op.inputs[0], op.inputs[1], op.outputs[0]
    regularizer = cast(op.inputs[2], a.dtype.base_dtype)
    chol = regularized_gramian_cholesky(a, regularizer, of_columns=True)
    z = cholesky_solve(chol, grad)
    xz = matmul(x, z, adjoint_b=True)
    symmetric = xz + matrix_transpose(xz)
    return matmul(b, z, adjoint_b=True) - matmul(a, symmetric), matmul(a, z)


def _wide_gradient(op: Any, grad: Any) -> tuple[Any, Any]:
    """Of fewer equations than unknowns."""
    a, b = op.inputs[0], op.inputs[1]
    regularizer = cast(op.inputs[2], a.dtype.base_dtype)
    chol = regularized_gramian_cholesky(a, regularizer, of_columns=False)
    grad_b = cholesky_solve(chol, matmul(a, grad))
    y = cholesky_solve(chol, b)
    along = matmul(grad_b, matmul(y, a, adjoint_a=True))
    beyond = matmul(y, grad - matmul(a, grad_b, adjoint_a=True), adjoint_b=True)
    return beyond - along, grad_b


@matrix_solve_ls_op.gradient
def _(op, grad):
    if not op.get_attr("fast"):
        raise ValueError("Gradient not defined for fast=False")
    dims = op.inputs[0].dims
    if dims is not None and None not in dims[-2:]:
        rule = _high_gradient if dims[-2] >= dims[-1] else _wide_gradient
        return [*rule(op, grad), None]
    size = shape_of(op.inputs[0])[-2:]
    grads = cond(
        size[0] >= size[1], lambda: _high_gradient(op, grad), lambda: _wide_gradient(op, grad)
    )
    return [*grads, None]


legacy(matrix_solve_ls_op, "T: type in {double, float}; fast: bool = true")
