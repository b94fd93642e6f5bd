"""Operators that scale each element: diagonal matrices, the identity, and zero."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework import errors
from weft.framework.export import export
from weft.linalg.operator import LinearOperator, adjoint_if, as_parameter
from weft.linalg.operator_checks import (
    at_least_rank,
    must_be,
    no_entries_with_modulus_zero,
    size_argument,
    zero_imaginary_part,
)


@export("linalg.LinearOperatorDiag")
class LinearOperatorDiag(LinearOperator):
    """A [batch] diagonal matrix."""

    def __init__(
        self,
        diag: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorDiag",
    ):
        with tf.name_scope(name, values=[diag]):
            self._diag = as_parameter(diag, "diag")
            at_least_rank(self._diag, 1, "diag")
            if not self._diag.dtype.is_complex:
                is_self_adjoint = must_be(
                    is_self_adjoint, "A real diagonal operator is always self adjoint."
                )
            is_square = must_be(is_square, "Only square diagonal operators currently supported.")
            super().__init__(
                self._diag.dtype,
                [self._diag],
                is_non_singular,
                is_self_adjoint,
                is_positive_definite,
                is_square,
                name,
            )

    @property
    def diag(self) -> Any:
        """The diagonal."""
        return self._diag

    def _shape(self) -> Any:
        shape = self._diag.shape
        return shape.concatenate(shape[-1:])

    def _shape_tensor(self) -> Any:
        shape = tf.shape(self._diag)
        return tf.concat([shape, shape[-1:]], 0)

    def _assert_non_singular(self) -> Any:
        message = "Singular operator:  Diagonal contained zero values."
        return no_entries_with_modulus_zero(self._diag, message)

    def _assert_positive_definite(self) -> Any:
        if self.dtype.is_complex:
            message = (
                "Diagonal operator had diagonal entries with non-positive real part, "
                "thus was not positive definite."
            )
        else:
            message = (
                "Real diagonal operator had non-positive diagonal entries, "
                "thus was not positive definite."
            )
        return tf.debugging.assert_positive(tf.real(self._diag), message=message)

    def _assert_self_adjoint(self) -> Any:
        message = (
            "This diagonal operator contained non-zero imaginary values.   "
            "Thus it was not self-adjoint."
        )
        return zero_imaginary_part(self._diag, message)

    def _factors(self, adjoint: bool) -> Any:
        return tf.conj(self._diag) if adjoint else self._diag

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return tf.expand_dims(self._factors(adjoint), -1) * adjoint_if(x, adjoint_arg)

    def _matvec(self, x: Any, adjoint: bool = False) -> Any:
        return self._factors(adjoint) * x

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        inverse = tf.expand_dims(1.0 / self._factors(adjoint), -1)
        return adjoint_if(rhs, adjoint_arg) * inverse

    def _determinant(self) -> Any:
        return tf.reduce_prod(self._diag, axis=[-1])

    def _log_abs_determinant(self) -> Any:
        log = tf.reduce_sum(tf.log(tf.abs(self._diag)), axis=[-1])
        return tf.cast(log, self.dtype)

    def _to_dense(self) -> Any:
        return tf.linalg.diag(self._diag)

    def _diag_part(self) -> Any:
        return self._diag

    def _add_to_tensor(self, x: Any) -> Any:
        return tf.linalg.set_diag(x, self._diag + tf.linalg.diag_part(x))


class _OfSize(LinearOperator):
    """An operator that has no more elements than its size tells."""

    _num_rows: Any
    _num_rows_static: Any
    _num_columns: Any
    _num_columns_static: Any
    _batch_shape_arg: Any = None
    _batch_shape_static: Any = None

    def _set_batch_shape(self, batch_shape: Any, at_run_time: bool) -> None:
        if batch_shape is not None:
            self._batch_shape_arg, self._batch_shape_static = size_argument(
                batch_shape, "batch_shape", 1, at_run_time
            )

    def _own_batch(self) -> Any:
        """The static batch shape."""
        if self._batch_shape_arg is None:
            return tf.TensorShape([])
        return tf.TensorShape(self._batch_shape_static)

    def _own_batch_tensor(self) -> Any:
        if self._batch_shape_arg is None:
            return tf.constant([], tf.int32)
        return self._batch_shape_arg

    def _shape(self) -> Any:
        sizes = [
            None if n is None else int(n) for n in (self._num_rows_static, self._num_columns_static)
        ]
        return self._own_batch().concatenate(sizes)

    def _shape_tensor(self) -> Any:
        sizes = tf.stack([self._num_rows, self._num_columns])
        return tf.concat([self._own_batch_tensor(), sizes], 0)

    def _diagonal_size(self) -> Any:
        known = [
            tf.compat.dimension_value(d) for d in (self.domain_dimension, self.range_dimension)
        ]
        if None in known:
            return tf.reduce_min(self.shape_tensor()[-2:])
        return min(known)

    def _filled(self, value: float, with_diagonal: bool = False) -> Any:
        """One number for each matrix, or for each element of each main diagonal."""
        batch = self.batch_shape
        size = batch.as_list() if batch.is_fully_defined() else self.batch_shape_tensor()
        if with_diagonal:
            more = self._diagonal_size()
            size = [*size, more] if isinstance(size, list) else tf.concat([size, [more]], 0)
            if isinstance(size, list) and isinstance(more, tf.Tensor):
                size = tf.stack(size)
        return tf.fill(size, tf.constant(value, self.dtype))

    def _broadcast(self, x: Any) -> Any:
        """The argument with the operator's batch dimensions."""
        if self._batch_shape_arg is None:
            return x
        own = self.batch_shape.concatenate([1, 1])
        if own.is_fully_defined():
            if tf.broadcast_static_shape(x.shape, own) == x.shape:
                return x
            return x + tf.zeros(own.as_list(), self.dtype)
        return x + tf.zeros(tf.concat([self.batch_shape_tensor(), [1, 1]], 0), self.dtype)

    def _with_proper_shape(self, x: Any, adjoint_arg: bool, at_run_time: bool) -> Any:
        x = adjoint_if(x, adjoint_arg)
        if not at_run_time:
            return x
        message = (
            "Dimensions are not compatible.  shape[-2] of argument to be the same as this operator"
        )
        check = tf.debugging.assert_equal(
            tf.shape(x)[-2], self.domain_dimension_tensor(), message=message
        )
        with tf.control_dependencies([] if check is None else [check]):
            return tf.identity(x)


class _SquareOfSize(_OfSize):
    def _set_size(self, num_rows: Any, at_run_time: bool) -> None:
        rows, known = size_argument(num_rows, "num_rows", 0, at_run_time)
        self._num_rows = self._num_columns = rows
        self._num_rows_static = self._num_columns_static = known


@export("linalg.LinearOperatorIdentity")
class LinearOperatorIdentity(_SquareOfSize):
    """The [batch] identity matrix."""

    def __init__(
        self,
        num_rows: Any,
        batch_shape: Any = None,
        dtype: Any = None,
        is_non_singular: bool | None = True,
        is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = True,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorIdentity",
    ):
        self._assert_proper_shapes = assert_proper_shapes
        for hint, what in (
            (is_self_adjoint, "self adjoint"),
            (is_non_singular, "non-singular"),
            (is_positive_definite, "positive-definite"),
            (is_square, "square"),
        ):
            if not hint:
                raise ValueError(f"An identity operator is always {what}.")
        with tf.name_scope(name):
            super().__init__(
                tf.as_dtype(dtype or tf.float32),
                None,
                is_non_singular,
                is_self_adjoint,
                is_positive_definite,
                is_square,
                name,
            )
            self._set_size(num_rows, assert_proper_shapes)
            self._set_batch_shape(batch_shape, assert_proper_shapes)

    def _assert_non_singular(self) -> Any:
        return tf.no_op("assert_non_singular")

    def _assert_positive_definite(self) -> Any:
        return tf.no_op("assert_positive_definite")

    def _assert_self_adjoint(self) -> Any:
        return tf.no_op("assert_self_adjoint")

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._broadcast(self._with_proper_shape(x, adjoint_arg, self._assert_proper_shapes))

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._matmul(rhs, adjoint_arg=adjoint_arg)

    def _determinant(self) -> Any:
        return self._filled(1.0)

    def _log_abs_determinant(self) -> Any:
        return self._filled(0.0)

    def _trace(self) -> Any:
        return tf.cast(self._diagonal_size(), self.dtype) * self._filled(1.0)

    def _diag_part(self) -> Any:
        return self._filled(1.0, with_diagonal=True)

    def add_to_tensor(self, mat: Any, name: str = "add_to_tensor") -> Any:  # type: ignore[override]
        """`I + mat`."""
        with self._name_scope(name):
            mat = tf.convert_to_tensor(mat, name="mat")
            return tf.linalg.set_diag(mat, 1 + tf.linalg.diag_part(mat))


@export("linalg.LinearOperatorScaledIdentity")
class LinearOperatorScaledIdentity(_SquareOfSize):
    """The identity matrix times a number for each member of the batch."""

    def __init__(
        self,
        num_rows: Any,
        multiplier: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorScaledIdentity",
    ):
        self._assert_proper_shapes = assert_proper_shapes
        with tf.name_scope(name, values=[multiplier, num_rows]):
            self._multiplier = as_parameter(multiplier, "multiplier")
            if not self._multiplier.dtype.is_complex:
                is_self_adjoint = must_be(
                    is_self_adjoint, "A real diagonal operator is always self adjoint."
                )
            if not is_square:
                raise ValueError("A ScaledIdentity operator is always square.")
            super().__init__(
                self._multiplier.dtype.base_dtype,
                None,
                is_non_singular,
                is_self_adjoint,
                is_positive_definite,
                is_square,
                name,
            )
            self._set_size(num_rows, assert_proper_shapes)

    @property
    def multiplier(self) -> Any:
        """The number that the identity is multiplied with."""
        return self._multiplier

    def _own_batch(self) -> Any:
        return self._multiplier.shape

    def _own_batch_tensor(self) -> Any:
        return tf.shape(self._multiplier)

    def _assert_non_singular(self) -> Any:
        return tf.debugging.assert_positive(
            tf.abs(self._multiplier), message="LinearOperator was singular"
        )

    def _assert_positive_definite(self) -> Any:
        return tf.debugging.assert_positive(
            tf.real(self._multiplier), message="LinearOperator was not positive definite."
        )

    def _assert_self_adjoint(self) -> Any:
        imaginary = tf.imag(self._multiplier)
        return tf.debugging.assert_equal(
            tf.zeros_like(imaginary), imaginary, message="LinearOperator was not self-adjoint"
        )

    def _factor(self, adjoint: bool) -> Any:
        factor = self._multiplier[..., tf.newaxis, tf.newaxis]
        return tf.conj(factor) if adjoint else factor

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        x = self._with_proper_shape(x, adjoint_arg, self._assert_proper_shapes)
        return x * self._factor(adjoint)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        rhs = self._with_proper_shape(rhs, adjoint_arg, self._assert_proper_shapes)
        return rhs / self._factor(adjoint)

    def _determinant(self) -> Any:
        return self._multiplier ** tf.cast(self._num_rows, self.dtype)

    def _log_abs_determinant(self) -> Any:
        log = tf.cast(self._num_rows, self.dtype.real_dtype) * tf.log(tf.abs(self._multiplier))
        return tf.cast(log, self.dtype)

    def _trace(self) -> Any:
        return self._multiplier * tf.cast(self._diagonal_size(), self.dtype) * self._filled(1.0)

    def _diag_part(self) -> Any:
        return self._filled(1.0, with_diagonal=True) * self._multiplier[..., tf.newaxis]

    def add_to_tensor(self, mat: Any, name: str = "add_to_tensor") -> Any:  # type: ignore[override]
        """The scaled identity plus `mat`."""
        with self._name_scope(name):
            mat = tf.convert_to_tensor(mat, name="mat")
            diagonal = tf.expand_dims(self._multiplier, -1) + tf.linalg.diag_part(mat)
            return tf.linalg.set_diag(mat, diagonal)


@export("linalg.LinearOperatorZeros")
class LinearOperatorZeros(_OfSize):
    """The [batch] zero matrix."""

    def __init__(
        self,
        num_rows: Any,
        num_columns: Any = None,
        batch_shape: Any = None,
        dtype: Any = None,
        is_non_singular: bool | None = False,
        is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = False,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorZeros",
    ):
        self._assert_proper_shapes = assert_proper_shapes
        if not is_self_adjoint and is_square:
            raise ValueError("A zero operator is always self adjoint.")
        if is_non_singular:
            raise ValueError("A zero operator is always singular.")
        if is_positive_definite:
            raise ValueError("A zero operator is always not positive-definite.")
        with tf.name_scope(name):
            super().__init__(
                tf.as_dtype(dtype or tf.float32),
                None,
                is_non_singular,
                is_self_adjoint,
                is_positive_definite,
                is_square,
                name,
            )
            self._num_rows, rows = size_argument(num_rows, "num_rows", 0, assert_proper_shapes)
            if num_columns is None:
                num_columns = num_rows
            self._num_columns, columns = size_argument(
                num_columns, "num_columns", 0, assert_proper_shapes
            )
            self._num_rows_static, self._num_columns_static = rows, columns
            if is_square and rows is not None and columns is not None and rows != columns:
                raise ValueError(
                    f"LinearOperatorZeros initialized as is_square=True, but got num_rows({rows}) != "
                    f"num_columns({columns})"
                )
            self._set_batch_shape(batch_shape, assert_proper_shapes)

    def _assert_non_singular(self) -> Any:
        raise errors.InvalidArgumentError(None, None, "Zero operators are always non-invertible.")

    def _assert_positive_definite(self) -> Any:
        raise errors.InvalidArgumentError(
            None, None, "Zero operators are always non-positive definite."
        )

    def _assert_self_adjoint(self) -> Any:
        return tf.no_op("assert_self_adjoint")

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        x = self._with_proper_shape(x, adjoint_arg, self._assert_proper_shapes)
        rows = self._num_columns if adjoint else self._num_rows
        size = tf.shape(x)
        zeros = tf.zeros(tf.concat([size[:-2], [rows], size[-1:]], 0), self.dtype)
        if x.shape.ndims is not None:
            known = self.domain_dimension if adjoint else self.range_dimension
            zeros.set_shape(x.shape[:-2].concatenate([known, x.shape[-1]]))
        return self._broadcast(zeros)

    def _determinant(self) -> Any:
        return self._filled(0.0)

    def _trace(self) -> Any:
        return self._filled(0.0)

    def _diag_part(self) -> Any:
        return self._filled(0.0, with_diagonal=True)

    def add_to_tensor(self, mat: Any, name: str = "add_to_tensor") -> Any:  # type: ignore[override]
        """`mat`, with the operator's batch dimensions."""
        with self._name_scope(name):
            return self._broadcast(tf.convert_to_tensor(mat, name="mat"))
