"""Systems of equations with triangular matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework.export import export
from weft.framework.registry import op
from weft.ops.array.diagonal import matrix_band_part
from weft.ops.by_name import raw
from weft.ops.linalg.matrices import FLOATS_COMPLEX, adjoint_of, legacy, solution, wide
from weft.ops.math.matmul import matmul


def triangular_solution(xp: Any, matrix: Any, rhs: Any, lower: bool, adjoint: bool) -> Any:
    """`x` in `matrix @ x = rhs` (or `adjoint(matrix) @ x = rhs`), of a matrix in a triangle."""
    if not xp.is_numpy:
        return xp.lax.linalg.triangular_solve(
            matrix, rhs, left_side=True, lower=lower, transpose_a=adjoint, conjugate_a=adjoint
        )
    n, count = matrix.shape[-1], matrix.size // max(matrix.shape[-1], 1) ** 2
    if count > n or not rhs.size:
        return _small_solutions(matrix, rhs, lower, adjoint)
    from scipy.linalg import solve_triangular

    out = np.empty(rhs.shape, rhs.dtype)
    how: Any = "C" if adjoint else "N"
    for i in np.ndindex(rhs.shape[:-2]):
        out[i] = solve_triangular(matrix[i], rhs[i], how, lower=lower, check_finite=False)
    return out


def _small_solutions(matrix: np.ndarray, rhs: np.ndarray, lower: bool, adjoint: bool) -> np.ndarray:
    """Of many small matrices at once. NumPy solves by LU decomposition, which leaves an upper triangle as it
    is and then substitutes backwards; a lower one is an upper one with rows and columns reversed."""
    matrix = np.tril(matrix) if lower else np.triu(matrix)
    if adjoint:
        matrix, lower = adjoint_of(np, matrix), not lower
    if not lower:
        return np.linalg.solve(matrix, rhs)
    return np.linalg.solve(matrix[..., ::-1, ::-1], rhs[..., ::-1, :])[..., ::-1, :]


@op(
    "MatrixTriangularSolve",
    "matrix: T, rhs: T -> output: T",
    "lower: bool = true; adjoint: bool = false; " + FLOATS_COMPLEX,
)
def triangular_solve_op(xp, matrix, rhs, *, lower, adjoint):
    """Solves systems whose matrix is the lower or upper triangle of the one given."""
    if not rhs.size:
        return rhs
    matrix = wide(matrix)
    diagonal = xp.diagonal(matrix, axis1=-2, axis2=-1)
    xp.check(diagonal != 0, lambda: "Input matrix is not invertible.")
    return triangular_solution(xp, matrix, wide(rhs), lower, adjoint).astype(rhs.dtype)


@triangular_solve_op.shape
def _(matrix, rhs):
    return solution(matrix, rhs)


@triangular_solve_op.gradient
def _(op, grad):
    lower, adjoint = op.get_attr("lower"), op.get_attr("adjoint")
    a, x = op.inputs[0], op.outputs[0]
    grad_b = triangular_solve_op(a, grad, lower=lower, adjoint=not adjoint)
    grad_a = matmul(x, grad_b, adjoint_b=True) if adjoint else matmul(grad_b, x, adjoint_b=True)
    return matrix_band_part(-grad_a, *((-1, 0) if lower else (0, -1))), grad_b


legacy(triangular_solve_op, "lower: bool = true; adjoint: bool = false; T: type in {double, float}")


@export("matrix_triangular_solve", "linalg.triangular_solve")
def matrix_triangular_solve(
    matrix: Any, rhs: Any, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Any:
    """Solves `matrix @ x = rhs` by substitution; only one triangle of `matrix` is read."""
    return raw.MatrixTriangularSolve(matrix, rhs, lower=lower, adjoint=adjoint, name=name)
