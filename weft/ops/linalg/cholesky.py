"""The Cholesky decomposition, and solving with it."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import merge
from weft.ops.array.diagonal import eye, matrix_band_part, matrix_diag_part
from weft.ops.array.shape_of import shape as shape_of
from weft.ops.array.transpose import matrix_transpose
from weft.ops.by_name import raw
from weft.ops.linalg.matrices import (
    FLOATS_COMPLEX,
    adjoint_of,
    failing_with,
    has_nan,
    legacy,
    square,
    wide,
)
from weft.ops.linalg.triangular import triangular_solution
from weft.ops.math.complex_numbers import real
from weft.ops.math.matmul import matmul
from weft.ops.math.reduce_functions import reduce_sum

_FAILED = "Cholesky decomposition was not successful. The input might not be valid."


def cholesky_factor(xp: Any, x: Any, message: str) -> Any:
    """The lower triangular factor; of matrices that are not numbers it is none either, which is no error."""
    if xp.is_numpy:
        with failing_with(message):
            found = np.linalg.cholesky(x)
    else:
        found = xp.tril(xp.lax.linalg.cholesky(x, symmetrize_input=False))
    xp.check(~has_nan(xp, found) | has_nan(xp, x), lambda: message)
    return found


@op("Cholesky", "input: T -> output: T", FLOATS_COMPLEX)
def cholesky_op(xp, input):
    """Lower triangular `L` with `L @ adjoint(L)` the input, of which only the lower triangle is read."""
    return cholesky_factor(xp, wide(input), _FAILED).astype(input.dtype)


@cholesky_op.shape
def _(input):
    return square(input)


@cholesky_op.gradient
def _(op, grad):
    # Murray, "Differentiation of the Cholesky decomposition" (2016), equations 8 and 9.
    lower = op.outputs[0]
    size = shape_of(lower)
    unit = eye(size[-1], batch_shape=size[:-2], dtype=lower.dtype)
    inverse = raw.MatrixTriangularSolve(lower, unit)
    middle = matmul(lower, grad, adjoint_a=True)
    half = np.array(0.5, lower.dtype.np)
    middle = raw.MatrixSetDiag(middle, half * matrix_diag_part(middle))
    middle = matrix_band_part(middle, -1, 0)
    found = matmul(matmul(inverse, middle, adjoint_a=True), inverse)
    return (found + matrix_transpose(found, conjugate=True)) * half


@op("CholeskyGrad", "l: T, grad: T -> output: T", "T: type in {half, float, double}")
def cholesky_grad(xp, triangle, grad):
    """The gradient of the input of a Cholesky decomposition, from that of the triangle it gave."""
    lower, grad_of_lower = wide(xp.tril(triangle)), wide(xp.tril(grad))
    middle = xp.tril(xp.matmul(adjoint_of(xp, lower), grad_of_lower))
    middle = middle - xp.tril(xp.triu(middle)) / 2  # half of the diagonal
    left = triangular_solution(xp, lower, middle, lower=True, adjoint=True)
    found = triangular_solution(xp, lower, adjoint_of(xp, left), lower=True, adjoint=True)
    return ((found + adjoint_of(xp, found)) / 2).astype(grad.dtype)


@cholesky_grad.shape
def _(triangle, grad):
    return square(merge(triangle, grad))


legacy(cholesky_op)
legacy(cholesky_grad, "T: type in {float, double}")


@export("cholesky", "linalg.cholesky")
def cholesky(input: Any, name: str | None = None) -> Any:
    """Lower triangular matrices whose products with their adjoints are the given positive definite ones."""
    return cholesky_op(input, name=name)


@export("cholesky_solve", "linalg.cholesky_solve")
def cholesky_solve(chol: Any, rhs: Any, name: str | None = None) -> Any:
    """Solves `a @ x = rhs`, given the Cholesky decomposition `chol` of `a`."""
    with name_scope(name, "cholesky_solve", [chol, rhs]):
        y = raw.MatrixTriangularSolve(chol, rhs, adjoint=False, lower=True)
        return raw.MatrixTriangularSolve(chol, y, adjoint=True, lower=True)


@export("linalg.logdet")
def logdet(matrix: Any, name: str | None = None) -> Any:
    """The logarithms of the determinants of positive definite matrices."""
    with name_scope(name, "logdet", [matrix]):
        diagonal = real(matrix_diag_part(cholesky_op(matrix)))
        return 2.0 * reduce_sum(raw.Log(diagonal), axis=[-1])
