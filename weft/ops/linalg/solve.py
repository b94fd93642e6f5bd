"""Systems of equations, inverses and determinants, all by LU decomposition; and that decomposition itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import dtypes
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.shape_rules import Shape
from weft.ops.array.concat import concat
from weft.ops.array.shape_of import shape as shape_of
from weft.ops.by_name import raw
from weft.ops.linalg.matrices import (
    FLOATS_COMPLEX,
    NOT_INVERTIBLE,
    adjoint_of,
    factored,
    failing_with,
    legacy,
    solution,
    square,
    wide,
)
from weft.ops.linalg.triangular import triangular_solution
from weft.ops.math.matmul import matmul

_MATRIX_FIRST = "type in {half, float, double, complex64, complex128}"


def _solved(xp: Any, matrix: Any, rhs: Any) -> Any:
    """`x` in `matrix @ x = rhs`, while tracing."""
    lu, _, permutation = factored(xp, matrix)
    rows = xp.take_along_axis(rhs, permutation[..., :, None], -2)
    y = xp.lax.linalg.triangular_solve(lu, rows, left_side=True, lower=True, unit_diagonal=True)
    return triangular_solution(xp, lu, y, lower=False, adjoint=False)


@op(
    "MatrixSolve",
    "matrix: T, rhs: T -> output: T",
    "adjoint: bool = false; " + FLOATS_COMPLEX,
)
def matrix_solve_op(xp, matrix, rhs, *, adjoint):
    """Solves systems of equations with square matrices."""
    if not rhs.size:
        return rhs
    a, b = wide(matrix), wide(rhs)
    a = adjoint_of(xp, a) if adjoint else a
    if not xp.is_numpy:
        return _solved(xp, a, b).astype(rhs.dtype)
    with failing_with("Input matrix is not invertible."):
        return np.linalg.solve(a, b).astype(rhs.dtype)


@matrix_solve_op.shape
def _(matrix, rhs):
    return solution(matrix, rhs)


@matrix_solve_op.gradient
def _(op, grad):
    a, x, adjoint = op.inputs[0], op.outputs[0], op.get_attr("adjoint")
    grad_b = matrix_solve_op(a, grad, adjoint=not adjoint)
    grad_a = matmul(x, grad_b, adjoint_b=True) if adjoint else matmul(grad_b, x, adjoint_b=True)
    return -grad_a, grad_b


@op("MatrixInverse", "input: T -> output: T", "adjoint: bool = false; " + FLOATS_COMPLEX)
def matrix_inverse_op(xp, input, *, adjoint):
    """The inverses of square matrices, or of their adjoints."""
    if not input.size:
        return input
    a = adjoint_of(xp, wide(input)) if adjoint else wide(input)
    if not xp.is_numpy:
        unit = xp.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape)
        return _solved(xp, a, unit).astype(input.dtype)
    with failing_with(NOT_INVERTIBLE):
        return np.linalg.inv(a).astype(input.dtype)


@matrix_inverse_op.shape
def _(input):
    return square(input)


@matrix_inverse_op.gradient
def _(op, grad):
    inverse = op.outputs[0]
    if op.get_attr("adjoint"):
        # d(inv(adjoint(a))) is the adjoint of d(inv(a)): the same rule, transposed.
        return -matmul(inverse, matmul(grad, inverse, adjoint_a=True))
    return -matmul(inverse, matmul(grad, inverse, adjoint_b=True), adjoint_a=True)


def _of_each_matrix(shape: Shape) -> Shape:
    shape = square(shape)
    return None if shape is None else shape[:-2]


@op("MatrixDeterminant", "input: T -> output: T", "T: " + _MATRIX_FIRST)
def matrix_determinant_op(xp, input):
    """The determinants of square matrices."""
    return xp.linalg.det(wide(input)).astype(input.dtype)


@matrix_determinant_op.shape
def _(input):
    return _of_each_matrix(input)


def _scaled_inverse(matrix: Any, scale: Any) -> Any:
    """The inverse adjoints of matrices, each times a number."""
    inverse = matrix_inverse_op(matrix, adjoint=True)
    ones = np.array([1, 1], np.int32)
    return raw.Reshape(scale, concat([shape_of(scale), ones], 0)) * inverse


@matrix_determinant_op.gradient
def _(op, grad):
    return _scaled_inverse(op.inputs[0], grad * op.outputs[0])


@op("LogMatrixDeterminant", "input: T -> sign: T, log_abs_determinant: T", "T: " + _MATRIX_FIRST)
def log_matrix_determinant_op(xp, input):
    """The signs (or phases) of determinants, and the logarithms of their magnitudes."""
    sign, log = xp.linalg.slogdet(wide(input))
    return sign.astype(input.dtype), log.astype(input.dtype)


@log_matrix_determinant_op.shape
def _(input):
    return (_of_each_matrix(input),) * 2


@log_matrix_determinant_op.gradient
def _(op, _, grad_log):
    return _scaled_inverse(op.inputs[0], grad_log)


@op(
    "Lu",
    "input: T -> lu: T, p: output_idx_type",
    FLOATS_COMPLEX + "; output_idx_type: type in {int32, int64} = int32",
)
def lu_op(xp, input, *, output_idx_type):
    """Lower and upper triangular factors in one matrix, and the order of rows of their product."""
    if not input.size:
        return input, np.zeros(input.shape[:-1], output_idx_type.np)
    a = wide(input)
    if not xp.is_numpy:
        lu, _, permutation = factored(xp, a)
        return lu.astype(input.dtype), permutation.astype(output_idx_type.np)
    from scipy.linalg import lu as decomposed

    place, lower, upper = decomposed(a, p_indices=True, check_finite=False)
    packed = np.tril(lower, -1) + upper
    xp.check(np.diagonal(packed, axis1=-2, axis2=-1) != 0, lambda: NOT_INVERTIBLE)
    return packed.astype(input.dtype), np.argsort(place, -1).astype(output_idx_type.np)


@lu_op.shape
def _(input):
    shape = square(input)
    return shape, None if shape is None else shape[:-1]


legacy(matrix_solve_op, "adjoint: bool = false; T: type in {double, float}")
legacy(matrix_inverse_op, "adjoint: bool = false; T: type in {double, float}")
legacy(matrix_determinant_op, "T: type in {float, double, complex64, complex128}")


@export("matrix_solve", "linalg.solve")
def matrix_solve(matrix: Any, rhs: Any, adjoint: bool = False, name: str | None = None) -> Any:
    """Solves `matrix @ x = rhs`, or with `adjoint` `adjoint(matrix) @ x = rhs`."""
    return matrix_solve_op(matrix, rhs, adjoint=adjoint, name=name)


@export("matrix_inverse", "linalg.inv")
def matrix_inverse(input: Any, adjoint: bool = False, name: str | None = None) -> Any:
    """The inverses of square matrices, or with `adjoint` of their adjoints."""
    return matrix_inverse_op(input, adjoint=adjoint, name=name)


@export("matrix_determinant", "linalg.det")
def matrix_determinant(input: Any, name: str | None = None) -> Any:
    """The determinants of square matrices."""
    return matrix_determinant_op(input, name=name)


@export("linalg.slogdet")
def slogdet(input: Any, name: str | None = None) -> Any:
    """The signs of determinants, and the logarithms of their magnitudes."""
    return log_matrix_determinant_op(input, name=name)


@export("linalg.lu")
def lu(input: Any, output_idx_type: Any = dtypes.int32, name: str | None = None) -> Any:
    """`lu, p`: the factors of `P @ input`, packed in one matrix, and for each of its rows that of the input."""
    return lu_op(input, output_idx_type=output_idx_type, name=name)
