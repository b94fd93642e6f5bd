"""Tridiagonal matrices, of which only the three diagonals are kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import errors
from weft.framework.registry import op
from weft.framework.shape_rules import merge, merge_dim, rank_at_least
from weft.ops.array.transpose import matrix_transpose
from weft.ops.by_name import raw
from weft.ops.linalg.matrices import has_nan
from weft.ops.math.makers import conjugate
from weft.ops.math.reduce_functions import reduce_sum

_TYPES = "type in {double, float, complex64, complex128}"
_NOT_INVERTIBLE = "The matrix is not invertible."
_NEEDS_PIVOTS = "The matrix is either not invertible, or requires pivoting. Try setting partial_pivoting = True."


def _shifted(xp: Any, x: Any, up: bool) -> Any:
    """The rows moved by one, up or down; the row that is free is zero."""
    zero = xp.zeros_like(x[..., :1, :])
    rows = [x[..., 1:, :], zero] if up else [zero, x[..., :-1, :]]
    return xp.concatenate(rows, -2)


def _column(xp: Any, diagonal: Any) -> Any:
    return xp.swapaxes(diagonal, -1, -2)


@op(
    "TridiagonalMatMul",
    "superdiag: T, maindiag: T, subdiag: T, rhs: T -> output: T",
    f"T: {_TYPES}",
)
def tridiagonal_mat_mul(xp, superdiag, maindiag, subdiag, rhs):
    """Products of tridiagonal matrices with matrices."""
    if not rhs.size:
        return rhs
    above, main, below = (_column(xp, d) for d in (superdiag, maindiag, subdiag))
    # The last element of the upper diagonal and the first of the lower one lie outside.
    return main * rhs + above * _shifted(xp, rhs, True) + below * _shifted(xp, rhs, False)


@tridiagonal_mat_mul.shape
def _(superdiag, maindiag, subdiag, rhs):
    for shape in (superdiag, maindiag, subdiag, rhs):
        rank_at_least(shape, 2)
    diagonal = merge(merge(superdiag, maindiag), subdiag)
    if diagonal is None:
        return rhs
    merge_dim(diagonal[-2], 1, "Dimension must be 1 for a diagonal")
    if rhs is None:
        return (*diagonal[:-2], diagonal[-1], None)
    batch = merge(diagonal[:-2], rhs[:-2])
    assert batch is not None
    return (*batch, merge_dim(diagonal[-1], rhs[-2]), rhs[-1])


def _moved(x: Any, up: bool) -> Any:
    """As `_shifted`, in the graph."""
    rank = raw.Rank(x)
    ends = np.array([[0, 1], [0, 0]] if up else [[1, 0], [0, 0]], np.int32)
    zeros = raw.Fill(raw.Pack([rank - 2, np.int32(2)], axis=0), np.int32(0))
    part = x[..., 1:, :] if up else x[..., :-1, :]
    return raw.Pad(part, raw.ConcatV2([zeros, ends], np.int32(0)))


@tridiagonal_mat_mul.gradient
def _(op, grad):
    above, main, below = (matrix_transpose(d, conjugate=True) for d in op.inputs[:3])
    rhs = conjugate(op.inputs[3])

    def of_diagonal(rows: Any) -> Any:
        return raw.ExpandDims(reduce_sum(rows * grad, axis=-1), np.int32(-2))

    grad_rhs = _moved(above * grad, False) + main * grad + _moved(below * grad, True)
    return (
        of_diagonal(_moved(rhs, True)),
        of_diagonal(rhs),
        of_diagonal(_moved(rhs, False)),
        grad_rhs,
    )


@op(
    "TridiagonalSolve",
    "diagonals: T, rhs: T -> output: T",
    f"partial_pivoting: bool = true; T: {_TYPES}",
)
def tridiagonal_solve_op(xp, diagonals, rhs, *, partial_pivoting):
    """Solves systems whose matrices have the diagonals upper, main, lower."""
    if not rhs.size:
        return rhs
    if diagonals.shape[-1] == 1:
        message = "The matrix is not invertible: it is a scalar with value zero."
        xp.check(diagonals[..., 1, :] != 0, lambda: message)
        return rhs / diagonals[..., 1, :, None]
    if not partial_pivoting:
        return _substituted(diagonals, rhs)
    from scipy.linalg.lapack import get_lapack_funcs

    (solve,) = get_lapack_funcs(("gtsv",), (diagonals, rhs))
    out = np.empty(rhs.shape, rhs.dtype)
    for i in np.ndindex(rhs.shape[:-2]):
        upper, main, lower = diagonals[i]
        *_, out[i], info = solve(lower[1:], main, upper[:-1], rhs[i])
        if info > 0:
            raise errors.InvalidArgumentError(None, None, _NOT_INVERTIBLE)
    _check_solved(xp, out, diagonals, rhs)
    return out


def _check_solved(xp: Any, found: Any, diagonals: Any, rhs: Any) -> None:
    """A solution of finite numbers is one: XLA tells of singular matrices in no other way."""
    unknown = has_nan(xp, found) & ~has_nan(xp, diagonals - diagonals) & ~has_nan(xp, rhs - rhs)
    xp.check(~unknown, lambda: _NOT_INVERTIBLE)


def _substituted(diagonals: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    """Without exchanging rows (Thomas's algorithm): row after row, of all matrices at once."""
    upper, main, lower = (diagonals[..., k, :, None] for k in range(3))
    n = main.shape[-2]
    ratio, out = np.zeros_like(upper), np.empty_like(rhs)
    for i in range(n):
        pivot = main[..., i, :]
        part = rhs[..., i, :]
        if i:
            pivot = pivot - lower[..., i, :] * ratio[..., i - 1, :]
            part = part - lower[..., i, :] * out[..., i - 1, :]
        if not pivot.all():
            raise errors.InvalidArgumentError(None, None, _NEEDS_PIVOTS)
        ratio[..., i, :], out[..., i, :] = upper[..., i, :] / pivot, part / pivot
    for i in range(n - 2, -1, -1):
        out[..., i, :] -= ratio[..., i, :] * out[..., i + 1, :]
    return out


@tridiagonal_solve_op.kernel_for("xla")
def _(xp, diagonals, rhs, *, partial_pivoting):
    if not rhs.size:
        return rhs
    upper, main, lower = (diagonals[..., k, :] for k in range(3))
    if diagonals.shape[-1] == 1:
        xp.check(main != 0, lambda: _NOT_INVERTIBLE)
        return rhs / main[..., None]
    if not partial_pivoting:
        return _scanned(xp, upper, main, lower, rhs)
    found = xp.lax.linalg.tridiagonal_solve(lower, main, upper, rhs)
    _check_solved(xp, found, diagonals, rhs)
    return found


def _scanned(xp: Any, upper: Any, main: Any, lower: Any, rhs: Any) -> Any:
    """As `_substituted`, in two loops of XLA over the rows."""
    u, d, w = (xp.moveaxis(x, -1, 0)[..., None] for x in (upper, main, lower))
    b = xp.moveaxis(rhs, -2, 0)
    start = (xp.zeros_like(u[0]), xp.zeros_like(b[0]), xp.ones((), bool))

    def down(carry: Any, row: Any) -> Any:
        ratio, part, ok = carry
        above, main, below, right = row
        pivot = main - below * ratio
        ok = ok & (pivot != 0).all()
        new = (above / pivot, (right - below * part) / pivot)
        return (*new, ok), new

    # The first element of the lower diagonal lies outside of the matrix.
    w = w.at[0].set(0)
    (_, _, ok), (ratios, parts) = xp.lax.scan(down, start, (u, d, w, b))
    xp.check(ok, lambda: _NEEDS_PIVOTS)

    def back(below: Any, row: Any) -> Any:
        ratio, part = row
        x = part - ratio * below
        return x, x

    ratios = ratios.at[-1].set(0)
    _, found = xp.lax.scan(back, xp.zeros_like(b[0]), (ratios, parts), reverse=True)
    return xp.moveaxis(found, 0, -2)


@tridiagonal_solve_op.shape
def _(diagonals, rhs):
    rank_at_least(diagonals, 2)
    rank_at_least(rhs, 2)
    if diagonals is None or rhs is None:
        return rhs
    batch = merge(diagonals[:-2], rhs[:-2])
    assert batch is not None
    merge_dim(diagonals[-2], 3, "Dimension must be 3 for the diagonals")
    return (*batch, merge_dim(diagonals[-1], rhs[-2]), rhs[-1])


def _adjoint_diagonals(diagonals: Any) -> Any:
    """The diagonals of the adjoint matrix: upper and lower change places, each moved by one."""
    rows = raw.Unpack(conjugate(diagonals), num=3, axis=-2)

    def moved(x: Any, up: bool) -> Any:
        column = raw.ExpandDims(x, np.int32(-1))
        return raw.Squeeze(_moved(column, up), squeeze_dims=[-1])

    return raw.Pack([moved(rows[2], True), rows[1], moved(rows[0], False)], axis=-2)


@tridiagonal_solve_op.gradient
def _(op, grad):
    diagonals, x = op.inputs[0], op.outputs[0]
    adjoint = _adjoint_diagonals(diagonals)
    pivoting = op.get_attr("partial_pivoting")
    grad_rhs = tridiagonal_solve_op(adjoint, grad, partial_pivoting=pivoting)
    x = conjugate(x)
    products = [
        reduce_sum(grad_rhs * rows, axis=-1) for rows in (_moved(x, True), x, _moved(x, False))
    ]
    return -raw.Pack(products, axis=-2), grad_rhs
