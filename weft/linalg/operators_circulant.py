"""Operators that are quick by Fourier transforms: circulant matrices, nested up to three deep, and Toeplitz
matrices; and reflections."""

from __future__ import annotations

from typing import Any

import numpy as np

import weft as tf
from weft.framework import errors
from weft.framework.export import export
from weft.linalg.operator import LinearOperator, adjoint_if, as_parameter
from weft.linalg.operator_checks import (
    at_least_rank,
    must_be,
    no_entries_with_modulus_zero,
    zero_imaginary_part,
)

_WIDE = (tf.float64, tf.complex128)


def _complex(x: Any) -> Any:
    if x.dtype.is_complex:
        return x
    return tf.cast(x, tf.complex128 if x.dtype.base_dtype in _WIDE else tf.complex64)


class _Circulant(LinearOperator):
    """A convolution with wrapping around, in `depth` dimensions, given by its spectrum."""

    _depth = 0

    def __init__(
        self,
        spectrum: Any,
        input_output_dtype: Any,
        is_non_singular: bool | None,
        is_self_adjoint: bool | None,
        is_positive_definite: bool | None,
        is_square: bool | None,
        name: str,
    ):
        with tf.name_scope(name, values=[spectrum]):
            self._spectrum = tf.convert_to_tensor(spectrum, name="spectrum")
            rank = self._spectrum.shape.ndims
            if rank is not None and rank < self._depth:
                raise ValueError(
                    f"Argument spectrum must have at least {self._depth} dimensions.  Found: {self._spectrum}"
                )
            if not self._spectrum.dtype.is_complex:
                is_self_adjoint = must_be(
                    is_self_adjoint,
                    "A real spectrum always corresponds to a self-adjoint operator.",
                )
            is_square = must_be(
                is_square, "A [[nested] block] circulant operator is always square."
            )
            super().__init__(
                tf.as_dtype(input_output_dtype),
                [self._spectrum],
                is_non_singular,
                is_self_adjoint,
                is_positive_definite,
                is_square,
                name,
            )

    @property
    def block_depth(self) -> int:
        """How deep circulant blocks are nested; 1: no blocks."""
        return self._depth

    @property
    def block_shape(self) -> Any:
        """The static shape of what the operator convolves."""
        return self._spectrum.shape[-self._depth :]

    def block_shape_tensor(self) -> Any:
        """The shape of what the operator convolves, as a tensor."""
        return tf.shape(self._spectrum)[-self._depth :]

    @property
    def spectrum(self) -> Any:
        """The eigenvalues: the Fourier transform of the convolution kernel."""
        return self._spectrum

    def _transform(self, x: Any, inverse: bool = False) -> Any:
        end = "" if self._depth == 1 else f"{self._depth}d"
        return getattr(tf.signal, f"{'i' * inverse}fft{end}")(_complex(x))

    def convolution_kernel(self, name: str = "convolution_kernel") -> Any:
        """What the operator convolves with: the inverse Fourier transform of the spectrum."""
        with self._name_scope(name):
            return tf.cast(self._transform(self._spectrum, inverse=True), self.dtype)

    def _shape(self) -> Any:
        block = self.block_shape
        n = int(np.prod(block.as_list())) if block.is_fully_defined() else None
        return self._spectrum.shape[: -self._depth].concatenate([n, n])

    def _shape_tensor(self) -> Any:
        n = tf.reduce_prod(self.block_shape_tensor())
        return tf.concat([tf.shape(self._spectrum)[: -self._depth], [n, n]], 0)

    def assert_hermitian_spectrum(self, name: str = "assert_hermitian_spectrum") -> Any:
        """An operation that fails unless the operator is real: its kernel has no imaginary part."""
        with self._name_scope(name):
            kind = self.dtype.real_dtype
            eps = np.finfo(kind.as_numpy_dtype).eps
            most = eps * tf.cast(self.domain_dimension_tensor(), kind)
            size = tf.cast(tf.abs(tf.imag(self.convolution_kernel())), kind)
            return tf.debugging.assert_less(size, most, message="Spectrum was not Hermitian")

    def _assert_non_singular(self) -> Any:
        message = "Singular operator:  Spectrum contained zero values."
        return no_entries_with_modulus_zero(self._spectrum, message)

    def _assert_positive_definite(self) -> Any:
        message = "Not positive definite:  Real part of spectrum was not all positive."
        return tf.debugging.assert_positive(tf.real(self._spectrum), message=message)

    def _assert_self_adjoint(self) -> Any:
        message = "Not self-adjoint:  The spectrum contained non-zero imaginary part."
        return zero_imaginary_part(self._spectrum, message)

    def _filtered(self, x: Any, adjoint: bool, adjoint_arg: bool, divide: bool) -> Any:
        """The columns of `x`, their transforms multiplied with the spectrum or divided by it."""
        spectrum = _complex(self._spectrum)
        spectrum = tf.conj(spectrum) if adjoint else spectrum
        x = tf.cast(adjoint_if(x, adjoint_arg), spectrum.dtype)
        columns = tf.linalg.matrix_transpose(x)
        lead = tf.shape(columns)[:-1]
        blocks = tf.reshape(columns, tf.concat([lead, self.block_shape_tensor()], 0))
        if x.shape.ndims is not None:
            blocks.set_shape(columns.shape[:-1].concatenate(self.block_shape))
        transformed = self._transform(blocks)
        factor = tf.expand_dims(spectrum, -self._depth - 1)
        transformed = transformed / factor if divide else transformed * factor
        blocks = self._transform(transformed, inverse=True)
        lead = tf.shape(blocks)[: -self._depth]
        found = tf.reshape(
            blocks, tf.concat([lead, [tf.reduce_prod(self.block_shape_tensor())]], 0)
        )
        found = tf.linalg.matrix_transpose(found)
        if x.shape.ndims is not None and self.shape.ndims is not None:
            batch = tf.broadcast_static_shape(x.shape[:-2], self.batch_shape)
            found.set_shape(batch.concatenate([self.range_dimension, x.shape[-1]]))
        return tf.cast(found, self.dtype)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._filtered(x, adjoint, adjoint_arg, divide=False)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._filtered(rhs, adjoint, adjoint_arg, divide=True)

    def _axes(self) -> list[int]:
        return list(range(-self._depth, 0))

    def _determinant(self) -> Any:
        return tf.cast(tf.reduce_prod(self._spectrum, axis=self._axes()), self.dtype)

    def _log_abs_determinant(self) -> Any:
        log = tf.reduce_sum(tf.log(tf.abs(self._spectrum)), axis=self._axes())
        return tf.cast(log, self.dtype)

    def _trace(self) -> Any:
        total = tf.reduce_sum(self._spectrum, axis=self._axes())
        return tf.cast(total if self.dtype.is_complex else tf.real(total), self.dtype)

    def _diag_part(self) -> Any:
        """The same number everywhere."""
        shape = self.shape
        size = shape.as_list()[:-1] if shape.is_fully_defined() else self.shape_tensor()[:-1]
        mean = self.trace() / tf.cast(self.domain_dimension_tensor(), self.dtype)
        return mean[..., tf.newaxis] * tf.ones(size, self.dtype)


def _circulant(depth: int) -> Any:
    leaf = "LinearOperatorCirculant" + ("" if depth == 1 else f"{depth}D")

    class Circulant(_Circulant):
        _depth = depth

        def __init__(
            self,
            spectrum: Any,
            input_output_dtype: Any = tf.complex64,
            is_non_singular: bool | None = None,
            is_self_adjoint: bool | None = None,
            is_positive_definite: bool | None = None,
            is_square: bool | None = True,
            name: str = leaf,
        ):
            super().__init__(
                spectrum,
                input_output_dtype,
                is_non_singular,
                is_self_adjoint,
                is_positive_definite,
                is_square,
                name,
            )

    words = {1: "A circulant matrix", 2: "Circulant blocks, set out as a circulant matrix"}
    Circulant.__doc__ = (
        words.get(depth, "Circulant blocks of circulant blocks, nested three deep")
        + ": a convolution that wraps around, given by its spectrum."
    )
    Circulant.__name__ = Circulant.__qualname__ = leaf
    return export(f"linalg.{leaf}")(Circulant)


LinearOperatorCirculant = _circulant(1)
LinearOperatorCirculant2D = _circulant(2)
LinearOperatorCirculant3D = _circulant(3)


@export("linalg.LinearOperatorToeplitz")
class LinearOperatorToeplitz(LinearOperator):
    """A matrix that is constant along its diagonals, given by its first column and row.

    It is a corner of a circulant matrix of twice the size.
    """

    def __init__(
        self,
        col: Any,
        row: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorToeplitz",
    ):
        with tf.name_scope(name, values=[row, col]):
            self._row = tf.convert_to_tensor(row, name="row")
            self._col = tf.convert_to_tensor(col, name="col")
            sizes = []
            for label, vector in (("row", self._row), ("col", self._col)):
                at_least_rank(vector, 1, label)
                sizes.append(tf.compat.dimension_value(vector.shape[-1]))
            if None not in sizes and sizes[0] != sizes[1]:
                raise ValueError(
                    "Expected square matrix, got row and col with mismatched dimensions."
                )
            is_square = must_be(is_square, "Only square Toeplitz operators currently supported.")
            super().__init__(
                self._row.dtype,
                [self._row, self._col],
                is_non_singular,
                is_self_adjoint,
                is_positive_definite,
                is_square,
                name,
            )
            batch = tf.broadcast_dynamic_shape(tf.shape(self._col), tf.shape(self._row))
            column, first = (tf.broadcast_to(v, batch) for v in (self._col, self._row))
            around = tf.reverse(first[..., 1:], axis=[-1])
            whole = tf.concat([column, tf.zeros_like(column[..., :1]), around], axis=-1)
            shape = tf.broadcast_static_shape(self._col.shape, self._row.shape)
            if shape.ndims is not None:
                n = tf.compat.dimension_value(shape[-1])
                whole.set_shape(shape[:-1].concatenate([None if n is None else 2 * n]))
            self._circulant = LinearOperatorCirculant(
                tf.signal.fft(_complex(whole)), input_output_dtype=self._row.dtype
            )

    @property
    def col(self) -> Any:
        """The first column."""
        return self._col

    @property
    def row(self) -> Any:
        """The first row."""
        return self._row

    def _shape(self) -> Any:
        shape = tf.broadcast_static_shape(self._row.shape, self._col.shape)
        return shape.concatenate(shape[-1:])

    def _shape_tensor(self) -> Any:
        shape = tf.broadcast_dynamic_shape(tf.shape(self._row), tf.shape(self._col))
        return tf.concat([shape, shape[-1:]], 0)

    def _assert_self_adjoint(self) -> Any:
        message = "row and col are not the same, and so this operator is not self-adjoint."
        return tf.debugging.assert_equal(tf.conj(self._row), self._col, message=message)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        x = adjoint_if(x, adjoint_arg)
        twice = tf.concat([x, tf.zeros_like(x)], axis=-2)
        product = self._circulant.matmul(twice, adjoint=adjoint)
        n = tf.compat.dimension_value(self.domain_dimension)
        n = self.domain_dimension_tensor() if n is None else n
        return tf.cast(product[..., :n, :], self.dtype)

    def _trace(self) -> Any:
        shape = tf.broadcast_dynamic_shape(tf.shape(self._row), tf.shape(self._col))
        first = tf.broadcast_to(self._col[..., 0], shape[:-1])
        return tf.cast(self.domain_dimension_tensor(), self.dtype) * first

    def _diag_part(self) -> Any:
        return self._col[..., :1] * tf.ones(self.shape_tensor()[:-1], self.dtype)


@export("linalg.LinearOperatorHouseholder")
class LinearOperatorHouseholder(LinearOperator):
    """`I - 2 v v^H` for a unit vector `v`: the reflection at the plane that `reflection_axis` stands on."""

    def __init__(
        self,
        reflection_axis: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorHouseholder",
    ):
        with tf.name_scope(name, values=[reflection_axis]):
            self._reflection_axis = as_parameter(reflection_axis, "reflection_axis")
            at_least_rank(self._reflection_axis, 1, "reflection_axis")
            is_self_adjoint = must_be(
                is_self_adjoint, "A Householder operator is always self adjoint."
            )
            if is_positive_definite is True:
                raise ValueError("A Householder operator is always non-positive definite.")
            is_square = must_be(is_square, "A Householder operator is always square.")
            super().__init__(
                self._reflection_axis.dtype,
                [self._reflection_axis],
                is_non_singular,
                is_self_adjoint,
                False,
                is_square,
                name,
            )

    @property
    def reflection_axis(self) -> Any:
        """The vector that is reversed."""
        return self._reflection_axis

    def _shape(self) -> Any:
        shape = self._reflection_axis.shape
        return shape.concatenate(shape[-1:])

    def _shape_tensor(self) -> Any:
        shape = tf.shape(self._reflection_axis)
        return tf.concat([shape, shape[-1:]], 0)

    def _assert_non_singular(self) -> Any:
        return tf.no_op("assert_non_singular")

    def _assert_positive_definite(self) -> Any:
        raise errors.InvalidArgumentError(
            None, None, "Householder operators are always non-positive definite."
        )

    def _assert_self_adjoint(self) -> Any:
        return tf.no_op("assert_self_adjoint")

    def _unit(self) -> Any:
        axis = tf.convert_to_tensor(self._reflection_axis)
        return axis / tf.norm(axis, axis=-1, keepdims=True)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        x = adjoint_if(x, adjoint_arg)
        column = self._unit()[..., tf.newaxis]
        return x - 2 * column * tf.matmul(column, x, adjoint_a=True)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._matmul(rhs, adjoint, adjoint_arg)  # it is its own inverse

    def _determinant(self) -> Any:
        return -tf.ones(self.batch_shape_tensor(), self.dtype)

    def _log_abs_determinant(self) -> Any:
        return tf.zeros(self.batch_shape_tensor(), self.dtype)

    def _trace(self) -> Any:
        size = tf.cast(self.domain_dimension_tensor() - 2, self.dtype)
        return size * tf.ones(self.batch_shape_tensor(), self.dtype)

    def _to_dense(self) -> Any:
        column = self._unit()[..., tf.newaxis]
        outer = -2 * tf.matmul(column, column, adjoint_b=True)
        return tf.linalg.set_diag(outer, 1.0 + tf.linalg.diag_part(outer))

    def _diag_part(self) -> Any:
        unit = self._unit()
        return 1.0 - 2 * unit * tf.conj(unit)
