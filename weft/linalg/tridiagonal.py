"""Tridiagonal systems, their diagonals given in one of three forms.

compact: `[..., 3, n]`, upper, main, lower; the last element of the upper and the first of the lower are not used.
sequence: the three as a tuple; upper and lower may have one element less.
matrix: `[..., n, n]`, of which only the three diagonals are read.
"""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework.export import export
from weft.ops.by_name import raw


def _size(x: Any, axis: int) -> int | None:
    return tf.compat.dimension_value(x.shape[axis])


def _square_size(matrix: Any) -> int:
    rows, columns = _size(matrix, -2), _size(matrix, -1)
    if rows and columns and rows != columns:
        raise ValueError(
            f"Expected last two dimensions of diagonals to be same, got {rows} and {columns}"
        )
    n = rows or columns
    if not n:
        raise ValueError('The size of the matrix needs to be known for diagonals_format="matrix"')
    return n


def _of_matrix(matrix: Any) -> list[Any]:
    """The diagonals of matrices, upper and lower filled up with a zero."""
    _square_size(matrix)
    none = [[0, 0]] * (matrix.shape.ndims - 2)
    after, before = [*none, [0, 1], [0, 1]], [*none, [1, 0], [1, 0]]
    return [
        tf.linalg.diag_part(tf.pad(matrix, after), k=1),
        tf.linalg.diag_part(matrix),
        tf.linalg.diag_part(tf.pad(matrix, before), k=-1),
    ]


def _filled(diagonal: Any, n: int | None, which: str, padding: list[int]) -> Any:
    """The diagonal with as many elements as the main one."""
    own = _size(diagonal, -1)
    if not own or own == n:
        return diagonal
    if n is not None and own == n - 1:
        return tf.pad(diagonal, [[0, 0]] * (diagonal.shape.ndims - 1) + [padding])
    raise ValueError(
        f"Expected {which} to be have length {n} or {None if n is None else n - 1}, got {own}."
    )


def _of_sequence(diagonals: Any) -> list[Any]:
    if not isinstance(diagonals, (tuple, list)) or len(diagonals) != 3:
        raise ValueError("Expected diagonals to be a sequence of length 3.")
    above, main, below = (tf.convert_to_tensor(d) for d in diagonals)
    batches = [d.shape[:-1] for d in (below, main, above)]
    if not all(b.is_compatible_with(batches[1]) for b in batches):
        raise ValueError(
            "Tensors representing the three diagonals must have the same shape, except for the last "
            f"dimension, got {below.shape}, {main.shape}, {above.shape}"
        )
    n = _size(main, -1)
    below = _filled(below, n, "subdiagonal", [1, 0])
    above = _filled(above, n, "superdiagonal", [0, 1])
    return [above, main, below]


@export("linalg.tridiagonal_solve")
def tridiagonal_solve(
    diagonals: Any,
    rhs: Any,
    diagonals_format: str = "compact",
    transpose_rhs: bool = False,
    conjugate_rhs: bool = False,
    name: str | None = None,
    partial_pivoting: bool = True,
) -> Any:
    """Solves systems with tridiagonal matrices; `rhs` is a vector or a matrix for each of them."""
    if diagonals_format == "sequence":
        diagonals = tf.stack(_of_sequence(diagonals), axis=-2)
    elif diagonals_format == "matrix":
        diagonals = tf.stack(_of_matrix(tf.convert_to_tensor(diagonals)), axis=-2)
    elif diagonals_format != "compact":
        raise ValueError(f"Unrecognized diagonals_format: {diagonals_format}")
    diagonals, rhs = tf.convert_to_tensor(diagonals), tf.convert_to_tensor(rhs)
    rank, rhs_rank = len(diagonals.shape), len(rhs.shape)
    if rank < 2:
        raise ValueError(f"Expected diagonals to have rank at least 2, got {rank}")
    if rhs_rank not in (rank, rank - 1):
        raise ValueError(f"Expected the rank of rhs to be {rank - 1} or {rank}, got {rhs_rank}")
    if _size(diagonals, -2) not in (None, 3):
        raise ValueError(f"Expected 3 diagonals got {diagonals.shape[-2]}")
    if not diagonals.shape[:-2].is_compatible_with(rhs.shape[: rank - 2]):
        raise ValueError(
            f"Batch shapes {diagonals.shape[:-2]} and {rhs.shape[: rank - 2]} are incompatible"
        )
    is_vector = rhs_rank == rank - 1
    if is_vector:
        rhs = tf.expand_dims(tf.conj(rhs) if conjugate_rhs else rhs, -1)
    elif transpose_rhs:
        rhs = tf.linalg.matrix_transpose(rhs, conjugate=conjugate_rhs)
    elif conjugate_rhs:
        rhs = tf.conj(rhs)
    left, right = _size(diagonals, -1), _size(rhs, -2)
    if left and right and left != right:
        raise ValueError(
            f"Expected number of left-hand sided and right-hand sides to be equal, got {left} and {right}"
        )
    found = raw.TridiagonalSolve(diagonals, rhs, partial_pivoting=partial_pivoting, name=name)
    if is_vector:
        return tf.squeeze(found, -1)
    return tf.linalg.matrix_transpose(found) if transpose_rhs else found


@export("linalg.tridiagonal_matmul")
def tridiagonal_matmul(
    diagonals: Any, rhs: Any, diagonals_format: str = "compact", name: str | None = None
) -> Any:
    """Products of tridiagonal matrices with matrices."""
    if diagonals_format == "compact":
        diagonals = tf.convert_to_tensor(diagonals)
        rows = [diagonals[..., k, :] for k in range(3)]
    elif diagonals_format == "sequence":
        rows = list(diagonals)
    elif diagonals_format == "matrix":
        rows = _of_matrix(tf.convert_to_tensor(diagonals))
    else:
        raise ValueError(f"Unrecognized diagonals_format: {diagonals_format}")
    above, main, below = (tf.expand_dims(row, -2) for row in rows)
    return raw.TridiagonalMatMul(above, main, below, rhs, name=name)
