"""Linear maps of vectors, by which distributions and bijectors are scaled: diagonal, triangular or any."""

from __future__ import annotations

from typing import Any

import weft as tf


class LinearMap:
    """A batch of invertible matrices, in whichever form is cheapest: `diagonal`, or a `matrix`."""

    def __init__(
        self, diagonal: Any = None, matrix: Any = None, is_triangular: bool = False
    ) -> None:
        self.diagonal, self.matrix, self.is_triangular = diagonal, matrix, is_triangular

    @property
    def parts(self) -> list[Any]:
        """The tensors that it is made of."""
        return [part for part in (self.diagonal, self.matrix) if part is not None]

    @property
    def dtype(self) -> Any:
        return self.parts[0].dtype.base_dtype

    def batch_shape(self) -> Any:
        """The static shape of the batch of matrices."""
        part = self.parts[0]
        shape = part.shape
        return shape if shape.ndims is None else shape[: -1 if self.matrix is None else -2]

    def batch_shape_tensor(self) -> Any:
        return tf.shape(self.parts[0])[: -1 if self.matrix is None else -2]

    def size(self) -> Any:
        """The static number of rows."""
        shape = self.parts[0].shape
        return None if shape.ndims is None else shape.as_list()[-1]

    def size_tensor(self) -> Any:
        return tf.shape(self.parts[0])[-1]

    def apply(self, x: Any) -> Any:
        """The vectors along the last axis, each times the matrix."""
        if self.matrix is None:
            return x * self.diagonal
        return tf.reduce_sum(self.matrix * x[..., None, :], axis=-1)

    def solve(self, y: Any) -> Any:
        """The vectors that `apply` turns into these."""
        if self.matrix is None:
            return y / self.diagonal
        return self.solve_columns(y[..., None])[..., 0]

    def solve_columns(self, y: Any) -> Any:
        """As `solve`, of the columns of matrices."""
        if self.matrix is None:
            return y / self.diagonal[..., None]
        shape = tf.broadcast_dynamic_shape(tf.shape(self.matrix)[:-2], tf.shape(y)[:-2])
        matrix = tf.broadcast_to(self.matrix, tf.concat([shape, tf.shape(self.matrix)[-2:]], 0))
        y = tf.broadcast_to(y, tf.concat([shape, tf.shape(y)[-2:]], 0))
        if self.is_triangular:
            return tf.linalg.triangular_solve(matrix, y)
        return tf.linalg.solve(matrix, y)

    def log_abs_det(self) -> Any:
        """log |det|."""
        if self.matrix is None:
            return tf.reduce_sum(tf.log(tf.abs(self.diagonal)), axis=-1)
        if self.is_triangular:
            return tf.reduce_sum(tf.log(tf.abs(tf.matrix_diag_part(self.matrix))), axis=-1)
        return tf.linalg.slogdet(self.matrix)[1]

    def dense(self) -> Any:
        """The matrix."""
        return tf.matrix_diag(self.diagonal) if self.matrix is None else self.matrix

    def outer_diagonal(self) -> Any:
        """The diagonal of the matrix times its transpose."""
        if self.matrix is None:
            return tf.square(self.diagonal)
        return tf.reduce_sum(tf.square(self.matrix), axis=-1)

    def outer(self) -> Any:
        """The matrix times its transpose."""
        if self.matrix is None:
            return tf.matrix_diag(tf.square(self.diagonal))
        return tf.matmul(self.matrix, self.matrix, transpose_b=True)

    def operator(self) -> Any:
        """The map as one of TensorFlow's linear operators."""
        if self.matrix is None:
            return tf.linalg.LinearOperatorDiag(self.diagonal)
        if self.is_triangular:
            return tf.linalg.LinearOperatorLowerTriangular(self.matrix)
        return tf.linalg.LinearOperatorFullMatrix(self.matrix)


def lower_triangle(matrix: Any) -> LinearMap:
    """The map of a lower triangle; what is above the diagonal does not count."""
    return LinearMap(matrix=tf.matrix_band_part(matrix, -1, 0), is_triangular=True)


def diagonal_map(loc: Any, scale_diag: Any, multiplier: Any) -> LinearMap:
    """diag(scale_diag + multiplier), of the size of `loc` where only a multiplier is given."""
    if scale_diag is not None:
        diagonal = tf.convert_to_tensor(scale_diag, name="scale_diag")
        if multiplier is None:
            return LinearMap(diagonal)
        more = tf.convert_to_tensor(multiplier, dtype=diagonal.dtype.base_dtype)
        return LinearMap(diagonal + more[..., None])
    if loc is None:
        raise ValueError("Cannot infer `event_shape` unless `loc` or `scale_diag` is specified.")
    loc = tf.convert_to_tensor(loc, name="loc")
    size = tf.ones(tf.shape(loc)[-1:], loc.dtype.base_dtype)
    if multiplier is None:
        return LinearMap(size)
    return LinearMap(tf.convert_to_tensor(multiplier, dtype=loc.dtype.base_dtype)[..., None] * size)
