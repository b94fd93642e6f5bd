"""What the ops on (batches of) matrices share: shape rules, checks, half precision, forms of older graphs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from weft.framework import errors
from weft.framework.registry import OpDecl, op
from weft.framework.shape_rules import Shape, merge, merge_dim, rank_at_least

FLOATS = "T: type in {double, float, half}"
FLOATS_COMPLEX = "T: type in {double, float, half, complex64, complex128}"
NOT_INVERTIBLE = "Input is not invertible."


def square(shape: Shape) -> Shape:
    """The shape of square matrices; either size tells the other."""
    rank_at_least(shape, 2)
    if shape is None:
        return None
    n = merge_dim(shape[-2], shape[-1])
    return (*shape[:-2], n, n)


def solution(matrix: Shape, rhs: Shape, is_square: bool = True) -> Shape:
    """The shape of `x` in `matrix @ x = rhs`."""
    matrix = square(matrix) if is_square else rank_at_least(matrix, 2)
    rank_at_least(rhs, 2)
    if matrix is None or rhs is None:
        # Without a rank only the number of columns is left to say, and not where it stands.
        return None
    batch = merge(matrix[:-2], rhs[:-2])
    rows = merge_dim(matrix[-2], rhs[-2])
    assert batch is not None
    return (*batch, rows if is_square else matrix[-1], rhs[-1])


def adjoint_of(xp: Any, x: Any) -> Any:
    """The conjugate transpose of the matrices in the last two axes."""
    x = xp.swapaxes(x, -1, -2)
    return xp.conj(x) if x.dtype.kind == "c" else x


def wide(x: Any) -> Any:
    """The array in a type that LAPACK knows."""
    return x.astype(np.float32) if x.dtype == np.float16 else x


@contextlib.contextmanager
def failing_with(message: str) -> Iterator[None]:
    """Makes the failure of a decomposition the error that TensorFlow reports."""
    try:
        yield
    except np.linalg.LinAlgError:
        raise errors.InvalidArgumentError(None, None, message) from None


def has_nan(xp: Any, x: Any) -> Any:
    """Which matrices have elements that are not numbers: the mark of a decomposition that failed within XLA."""
    return xp.isnan(x).any((-2, -1))


def factored(xp: Any, x: Any, message: str = NOT_INVERTIBLE) -> tuple[Any, Any, Any]:
    """(L and U packed, pivots, the permutation) of matrices, checked to be invertible; while tracing."""
    lu, pivots, permutation = xp.lax.linalg.lu(x)
    xp.check((abs(xp.diagonal(lu, axis1=-2, axis2=-1)) != 0).all(), lambda: message)
    return lu, pivots, permutation


def legacy(decl: OpDecl, attrs: str = "T: type in {double, float}", args: str = "") -> OpDecl:
    """Declares the `Batch...` form of an op: what graphs used before the op itself took batches."""
    old = op("Batch" + decl.name, args or decl.args_text, attrs)(decl.kernel)
    old.xla_kernel, old.host, old.static = decl.xla_kernel, decl.host, decl.static
    if decl.shape_rule is not None:
        old.shape(decl.shape_rule)
    return old
