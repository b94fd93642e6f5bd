"""Functions of square matrices: square root, logarithm, exponential."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework.export import export
from weft.framework.registry import op
from weft.ops.array.concat import concat
from weft.ops.array.diagonal import eye
from weft.ops.array.shape_of import shape as shape_of
from weft.ops.array.transpose import matrix_transpose
from weft.ops.by_name import raw
from weft.ops.linalg.matrices import FLOATS_COMPLEX, square, wide


def _each(function: Any, input: np.ndarray) -> np.ndarray:
    """The function of each matrix, found in double precision; of a real one the real part."""
    if not input.size:
        return input
    is_complex = input.dtype.kind == "c"
    x = input.astype(np.complex128 if is_complex else np.float64)
    out = np.empty(input.shape, input.dtype)
    for i in np.ndindex(input.shape[:-2]):
        if not np.isfinite(x[i]).all():  # LAPACK may never end
            out[i] = np.nan
            continue
        found = function(x[i])
        out[i] = found if is_complex else found.real
    return out


@op("MatrixSquareRoot", "input: T -> output: T", FLOATS_COMPLEX, host=True)
def matrix_square_root_op(xp, input):
    """Matrices whose squares are the given ones."""
    from scipy.linalg import sqrtm

    return _each(sqrtm, input)


@matrix_square_root_op.shape
def _(input):
    return square(input)


@matrix_square_root_op.gradient
def _(op, grad):
    # With R the root, R dR + dR R = dA: a linear system in the elements of dR, whose matrix is a sum of
    # Kronecker products.
    root = op.outputs[0]
    size = shape_of(root)
    batch, n = size[:-2], size[-1]
    unit = eye(n, batch_shape=batch, dtype=root.dtype)
    one = np.array([1], np.int32)

    def kronecker(a: Any, b: Any) -> Any:
        a = raw.Reshape(a, concat([batch, [n], one, [n], one], 0))
        b = raw.Reshape(b, concat([batch, one, [n], one, [n]], 0))
        return raw.Reshape(a * b, concat([batch, [n * n], [n * n]], 0))

    system = kronecker(unit, matrix_transpose(root)) + kronecker(root, unit)
    columns = raw.Reshape(matrix_transpose(grad), concat([batch, [n * n], one], 0))
    found = raw.MatrixSolve(system, columns)
    return matrix_transpose(raw.Reshape(found, size))


_NEAR, _MOST_ROOTS = 0.25, 100


def _logarithm(matrix: np.ndarray) -> np.ndarray:
    """The principal logarithm of one complex matrix, by inverse scaling and squaring.

    Square roots bring the triangular factor near the identity, where a quadrature of
    `log(1 + x) = integral of x / (1 + t x)` over t in [0, 1] is exact to the last bit. (Not by SciPy, which
    draws from NumPy's global random numbers on the way.)
    """
    from scipy.linalg import schur, solve_triangular, sqrtm

    triangle, vectors = schur(matrix, output="complex")
    diagonal = np.diagonal(triangle).copy()
    unit = np.eye(len(matrix))
    roots = 0
    while np.abs(triangle - unit).sum(0).max() > _NEAR and roots < _MOST_ROOTS:
        triangle, roots = sqrtm(triangle), roots + 1
    x = triangle - unit
    nodes, weights = np.polynomial.legendre.leggauss(16)
    found = np.zeros_like(x)
    for node, weight in zip((nodes + 1) / 2, weights / 2):
        found += weight * solve_triangular(unit + node * x, x, check_finite=False)
    found *= 2.0**roots
    with np.errstate(divide="ignore"):  # a singular matrix has infinities in its logarithm
        np.fill_diagonal(found, np.log(diagonal))
    with np.errstate(invalid="ignore"):
        return vectors @ found @ vectors.conj().T


@op("MatrixLogarithm", "input: T -> output: T", "T: type in {complex64, complex128}", host=True)
def matrix_logarithm(xp, input):
    """Matrices whose exponentials are the given ones."""
    return _each(_logarithm, input)


@matrix_logarithm.shape
def _(input):
    return square(input)


@op("MatrixExponential", "input: T -> output: T", FLOATS_COMPLEX)
def matrix_exponential_op(xp, input):
    """The sums of `x ** n / n!`, of square matrices."""
    if not input.size:
        return input
    if xp.is_numpy:
        from scipy.linalg import expm
    else:
        from jax.scipy.linalg import expm
    return expm(wide(input)).astype(input.dtype)


@matrix_exponential_op.shape
def _(input):
    return square(input)


@export("matrix_square_root", "linalg.sqrtm")
def matrix_square_root(input: Any, name: str | None = None) -> Any:
    """Matrices whose squares are the given ones."""
    return matrix_square_root_op(input, name=name)


@export("linalg.logm")
def logm(input: Any, name: str | None = None) -> Any:
    """Matrices whose exponentials are the given complex ones."""
    return matrix_logarithm(input, name=name)
