"""`tf.linalg.lstsq`: least-squares solutions."""

from __future__ import annotations

from typing import Any

import numpy as np

import weft as tf
from weft.framework.export import export
from weft.ops.by_name import raw
from weft.ops.linalg.least_squares import regularized_gramian_cholesky

# Of many small matrices that are more than a processor's cache holds, the op takes one after the other.
_CACHE_BYTES = 256000


def _by_parts(fast: bool, matrix: Any) -> bool:
    """Whether the solution is made of other ops, which can be differentiated twice."""
    shape = matrix.shape
    if not fast:
        return False
    if not shape.is_fully_defined():
        return True
    dims = shape.as_list()
    size = int(np.prod(dims, dtype=np.int64)) * matrix.dtype.size
    many = int(np.prod(dims[:-2], dtype=np.int64)) > min(dims[-2:])
    return not (size > _CACHE_BYTES and many)


@export("linalg.lstsq", "matrix_solve_ls")
def matrix_solve_ls(
    matrix: Any, rhs: Any, l2_regularizer: Any = 0.0, fast: bool = True, name: str | None = None
) -> Any:
    """`x` with the least `|matrix @ x - rhs|**2 + l2_regularizer * |x|**2`, and of many the shortest.

    `fast` solves the normal equations, which needs full rank; otherwise the matrix is decomposed, and
    `l2_regularizer` is not used.
    """
    matrix = tf.convert_to_tensor(matrix, name="matrix")
    if matrix.dtype == tf.complex128 and (
        isinstance(l2_regularizer, tf.Tensor) or l2_regularizer != 0
    ):
        raise NotImplementedError(
            "matrix_solve_ls is currently disabled for complex128 and l2_regularizer != 0 due to poor accuracy."
        )
    if not _by_parts(fast, matrix):
        return raw.MatrixSolveLs(matrix, rhs, l2_regularizer, fast=fast, name=name)

    def high() -> Any:
        chol = regularized_gramian_cholesky(matrix, l2_regularizer, of_columns=True)
        return tf.linalg.cholesky_solve(chol, tf.matmul(matrix, rhs, adjoint_a=True))

    def wide() -> Any:
        chol = regularized_gramian_cholesky(matrix, l2_regularizer, of_columns=False)
        return tf.matmul(matrix, tf.linalg.cholesky_solve(chol, rhs), adjoint_a=True)

    with tf.name_scope(name, "matrix_solve_ls", [matrix, rhs, l2_regularizer]):
        size = matrix.shape[-2:]
        if size.is_fully_defined():
            return high() if size[0].value >= size[1].value else wide()
        rows, columns = tf.unstack(tf.shape(matrix)[-2:], num=2)
        return tf.cond(rows >= columns, high, wide)
