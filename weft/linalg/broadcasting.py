"""Batches of matrices that are broadcast against each other, and systems of equations between such batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import weft as tf


def broadcast_batch_shape(shapes: Sequence[Any]) -> Any:
    """The static batch shape of operators or matrices together."""
    found = shapes[0]
    for shape in shapes[1:]:
        found = tf.broadcast_static_shape(found, shape)
    return found


def broadcast_batch_shape_tensor(shapes: Sequence[Any]) -> Any:
    found = shapes[0]
    for shape in shapes[1:]:
        found = tf.broadcast_dynamic_shape(found, shape)
    return found


def broadcast_matrix_batch_dims(batch_matrices: Any, name: str | None = None) -> list[Any]:
    """The matrices, all with the batch dimensions that they broadcast to."""
    with tf.name_scope(name or "broadcast_matrix_batch_dims", values=batch_matrices):
        matrices = [tf.convert_to_tensor(matrix) for matrix in batch_matrices]
        for matrix in matrices:
            if matrix.shape.ndims is not None and matrix.shape.ndims < 2:
                raise ValueError(
                    f"Expected [batch] matrix to have at least two dimensions.  Found: {matrix}"
                )
        if len(matrices) < 2:
            return matrices
        static = broadcast_batch_shape([matrix.shape[:-2] for matrix in matrices])
        if static.is_fully_defined():
            batch: Any = static.as_list()
            uneven = [matrix.shape[:-2] != static for matrix in matrices]
        else:
            batch = broadcast_batch_shape_tensor([tf.shape(matrix)[:-2] for matrix in matrices])
            uneven = [True] * len(matrices)
        for i, matrix in enumerate(matrices):
            if uneven[i]:
                size = tf.concat([batch, tf.shape(matrix)[-2:]], 0)
                dims = matrix.shape[-2:]
                matrices[i] = tf.broadcast_to(matrix, size)
                matrices[i].set_shape(static.concatenate(dims))
        return matrices


def cholesky_solve_with_broadcast(chol: Any, rhs: Any, name: str | None = None) -> Any:
    with tf.name_scope(name, "CholeskySolveWithBroadcast", [chol, rhs]):
        return tf.linalg.cholesky_solve(*broadcast_matrix_batch_dims([chol, rhs]))


def _folded(matrix: Any, rhs: Any) -> tuple[Any, Callable[[Any], Any]]:
    """`rhs` with the batch dimensions that `matrix` lacks as more columns, and the way back: one
    decomposition then serves them all."""
    if matrix.shape.ndims is None or rhs.shape.ndims is None:
        return rhs, lambda x: x
    rank = rhs.shape.ndims
    extra = rank - matrix.shape.ndims
    if extra <= 0:
        return rhs, lambda x: x
    order = [*range(extra, rank), *range(extra)]
    size = tf.shape(rhs)
    behind = tf.transpose(rhs, order)
    wide = tf.reshape(behind, tf.concat([tf.shape(behind)[: rank - extra - 1], [-1]], 0))

    def unfold(x: Any) -> Any:
        ends = tf.concat([tf.shape(x)[:-1], size[-1:], size[:extra]], 0)
        return tf.transpose(tf.reshape(x, ends), np.argsort(order))

    return wide, unfold


def matrix_solve_with_broadcast(
    matrix: Any, rhs: Any, adjoint: bool = False, name: str | None = None
) -> Any:
    with tf.name_scope(name, "MatrixSolveWithBroadcast", [matrix, rhs]):
        matrix = tf.convert_to_tensor(matrix, name="matrix")
        rhs = tf.convert_to_tensor(rhs, name="rhs", dtype=matrix.dtype)
        rhs, unfold = _folded(matrix, rhs)
        matrix, rhs = broadcast_matrix_batch_dims([matrix, rhs])
        return unfold(tf.linalg.solve(matrix, rhs, adjoint=adjoint))


def matrix_triangular_solve_with_broadcast(
    matrix: Any, rhs: Any, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Any:
    with tf.name_scope(name, "MatrixTriangularSolve", [matrix, rhs]):
        matrix = tf.convert_to_tensor(matrix, name="matrix")
        rhs = tf.convert_to_tensor(rhs, name="rhs", dtype=matrix.dtype)
        rhs, unfold = _folded(matrix, rhs)
        matrix, rhs = broadcast_matrix_batch_dims([matrix, rhs])
        return unfold(tf.linalg.triangular_solve(matrix, rhs, lower=lower, adjoint=adjoint))
