"""Operators whose elements are written down: full and triangular matrices."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework.export import export
from weft.linalg.broadcasting import matrix_triangular_solve_with_broadcast
from weft.linalg.operator import LinearOperator, adjoint_if, as_parameter
from weft.linalg.operator_checks import at_least_rank, must_be, no_entries_with_modulus_zero

_TYPES = (tf.float16, tf.float32, tf.float64, tf.complex64, tf.complex128)


@export("linalg.LinearOperatorFullMatrix")
class LinearOperatorFullMatrix(LinearOperator):
    """A [batch] matrix."""

    def __init__(
        self,
        matrix: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorFullMatrix",
    ):
        with tf.name_scope(name, values=[matrix]):
            self._matrix = as_parameter(matrix, "matrix")
            dtype = self._matrix.dtype.base_dtype
            if dtype not in _TYPES:
                raise TypeError(
                    f"Argument matrix must have dtype in {list(_TYPES)}.  Found: {dtype}"
                )
            at_least_rank(self._matrix, 2, "matrix")
            super().__init__(
                dtype,
                [self._matrix],
                is_non_singular,
                is_self_adjoint,
                is_positive_definite,
                is_square,
                name,
            )

    def _shape(self) -> Any:
        return self._matrix.shape

    def _shape_tensor(self) -> Any:
        return tf.shape(self._matrix)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return tf.matmul(self._matrix, x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _to_dense(self) -> Any:
        return tf.convert_to_tensor(self._matrix)


@export("linalg.LinearOperatorLowerTriangular")
class LinearOperatorLowerTriangular(LinearOperator):
    """The lower triangle of a [batch] matrix."""

    def __init__(
        self,
        tril: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowerTriangular",
    ):
        is_square = must_be(
            is_square, "Only square lower triangular operators supported at this time."
        )
        with tf.name_scope(name, values=[tril]):
            self._tril = as_parameter(tril, "tril")
            at_least_rank(self._tril, 2, "tril")
            super().__init__(
                self._tril.dtype,
                [self._tril],
                is_non_singular,
                is_self_adjoint,
                is_positive_definite,
                is_square,
                name,
            )

    def _triangle(self) -> Any:
        return tf.linalg.band_part(self._tril, -1, 0)

    def _diag_part(self) -> Any:
        return tf.linalg.diag_part(self._tril)

    def _shape(self) -> Any:
        return self._tril.shape

    def _shape_tensor(self) -> Any:
        return tf.shape(self._tril)

    def _assert_non_singular(self) -> Any:
        message = "Singular operator:  Diagonal contained zero values."
        return no_entries_with_modulus_zero(self._diag_part(), message)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return tf.matmul(self._triangle(), x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _determinant(self) -> Any:
        return tf.reduce_prod(self._diag_part(), axis=[-1])

    def _log_abs_determinant(self) -> Any:
        log = tf.reduce_sum(tf.log(tf.abs(self._diag_part())), axis=[-1])
        return tf.cast(log, self.dtype)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        rhs = adjoint_if(rhs, adjoint_arg)
        return matrix_triangular_solve_with_broadcast(
            self._triangle(), rhs, lower=True, adjoint=adjoint
        )

    def _to_dense(self) -> Any:
        return self._triangle()
