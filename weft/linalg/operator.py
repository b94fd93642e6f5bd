"""LinearOperator: a matrix, or a batch of them, known by what it does to vectors."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

import weft as tf
from weft.framework.export import export
from weft.linalg import operator_algebra as algebra
from weft.linalg.broadcasting import cholesky_solve_with_broadcast, matrix_solve_with_broadcast


def _known(dimension: Any) -> int | None:
    return tf.compat.dimension_value(dimension)


def adjoint_if(matrix: Any, wanted: bool) -> Any:
    """The matrix, or its adjoint where that is what was given."""
    return tf.linalg.adjoint(matrix) if wanted else matrix


def as_parameter(value: Any, name: str, dtype: Any = None) -> Any:
    """A tensor; a variable stays itself, so that the operator follows it."""
    if isinstance(value, tf.Variable):
        return value
    return tf.convert_to_tensor(value, dtype=dtype, name=name)


def _slow(what: str, why: str = "conversion to a dense matrix and O(N^3) operations") -> None:
    tf.logging.warn("Using (possibly slow) default implementation of %s.  Requires %s.", what, why)


@export("linalg.LinearOperator")
class LinearOperator(tf.Module):
    """A [batch] matrix `A[..., M, N]` that need not be written down.

    A class of operators gives `_shape`, `_shape_tensor` and `_matmul`; the rest follows from them, by way of
    the dense matrix, and is better given as well where there is a quicker way. The hints `is_...` are promises of
    the caller (None: nothing is promised), which are used and not checked.
    """

    def __init__(
        self,
        dtype: Any,
        graph_parents: Any = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ):
        if is_positive_definite:
            if is_non_singular is False:
                raise ValueError("A positive definite matrix is always non-singular.")
            is_non_singular = True
        if is_non_singular:
            if is_square is False:
                raise ValueError("A non-singular matrix is always square.")
            is_square = True
        if is_self_adjoint:
            if is_square is False:
                raise ValueError("A self-adjoint matrix is always square.")
            is_square = True
        self._is_square_by_hints = is_square
        self._graph_parents = [] if graph_parents is None else graph_parents
        for i, t in enumerate(self._graph_parents):
            if not isinstance(t, (tf.Tensor, tf.Variable)):
                raise ValueError(f"Graph parent item {i} is not a Tensor; {t}.")
        self._dtype = tf.as_dtype(dtype).base_dtype if dtype else dtype
        self._is_non_singular = is_non_singular
        self._is_self_adjoint = is_self_adjoint
        self._is_positive_definite = is_positive_definite
        # Names of operators may be made of several names, which a Module's may not.
        self._name = name or type(self).__name__

    @contextlib.contextmanager
    def _name_scope(self, name: str | None = None) -> Iterator[Any]:
        with tf.name_scope(self.name if name is None else f"{self.name}/{name}") as scope:
            yield scope

    # -- what it is

    @property
    def dtype(self) -> Any:
        """The type of the elements."""
        return self._dtype

    @property
    def name(self) -> str:
        """The name that goes before those of its tensors."""
        return self._name

    @property
    def graph_parents(self) -> list[Any]:
        """The tensors that the operator depends on."""
        return self._graph_parents

    @property
    def is_non_singular(self) -> bool | None:
        return self._is_non_singular

    @property
    def is_self_adjoint(self) -> bool | None:
        return self._is_self_adjoint

    @property
    def is_positive_definite(self) -> bool | None:
        return self._is_positive_definite

    @property
    def is_square(self) -> bool | None:
        """Whether it is square, by hints or by its shape; None: not known."""
        by_shape = self.domain_dimension == self.range_dimension
        if self._is_square_by_hints is False and by_shape:
            raise ValueError("User set is_square hint to False, but the operator was square.")
        return by_shape if self._is_square_by_hints is None else self._is_square_by_hints

    # -- its shape

    def _shape(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not give its shape (_shape).")

    def _shape_tensor(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not give its shape (_shape_tensor).")

    @property
    def shape(self) -> Any:
        """The static shape."""
        return self._shape()

    def shape_tensor(self, name: str = "shape_tensor") -> Any:
        """The shape, as a tensor."""
        with self._name_scope(name):
            shape = self.shape
            if shape.is_fully_defined():
                return tf.constant(shape.as_list(), tf.int32)
            return self._shape_tensor()

    @property
    def batch_shape(self) -> Any:
        """The static shape, without the axes of the matrices."""
        return self.shape[:-2]

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Any:
        """The shape without the axes of the matrices, as a tensor."""
        with self._name_scope(name):
            shape = self.batch_shape
            if shape.is_fully_defined():
                return tf.constant(shape.as_list(), tf.int32, shape=[len(shape)])
            return self.shape_tensor()[:-2]

    @property
    def tensor_rank(self) -> int | None:
        """The number of axes, where it is known."""
        return self.shape.ndims

    def tensor_rank_tensor(self, name: str = "tensor_rank_tensor") -> Any:
        """The number of axes, as a tensor."""
        with self._name_scope(name):
            if self.tensor_rank is not None:
                return tf.convert_to_tensor(self.tensor_rank)
            return tf.size(self.shape_tensor())

    def _dimension(self, axis: int) -> Any:
        shape = self.shape
        return tf.Dimension(None) if shape.ndims is None else shape.dims[axis]

    def _dimension_tensor(self, axis: int, name: str) -> Any:
        with self._name_scope(name):
            known = _known(self._dimension(axis))
            return self.shape_tensor()[axis] if known is None else tf.convert_to_tensor(known)

    @property
    def domain_dimension(self) -> Any:
        """How long the vectors are that it takes."""
        return self._dimension(-1)

    def domain_dimension_tensor(self, name: str = "domain_dimension_tensor") -> Any:
        """How long the vectors are that it takes, as a tensor."""
        return self._dimension_tensor(-1, name)

    @property
    def range_dimension(self) -> Any:
        """How long the vectors are that it gives."""
        return self._dimension(-2)

    def range_dimension_tensor(self, name: str = "range_dimension_tensor") -> Any:
        """How long the vectors are that it gives, as a tensor."""
        return self._dimension_tensor(-2, name)

    # -- checks

    def _can_use_cholesky(self) -> bool | None:
        return self.is_self_adjoint and self.is_positive_definite

    def _assert_non_singular(self) -> Any:
        _slow("assert_non_singular")
        if self._can_use_cholesky():
            return self.assert_positive_definite()
        values = tf.linalg.svd(self.to_dense(), compute_uv=False)
        condition = tf.reduce_max(values, axis=-1) / tf.reduce_min(values, axis=-1)
        kind = self.dtype.real_dtype
        sizes = [self.range_dimension_tensor(), self.domain_dimension_tensor()]
        size = tf.reduce_max(tf.stack([tf.cast(n, kind) for n in (100, *sizes)]))
        most = 1.0 / (size * np.finfo(kind.as_numpy_dtype).eps)
        message = "Singular matrix up to precision epsilon."
        return tf.debugging.assert_less(tf.cast(condition, kind), most, message=message)

    def assert_non_singular(self, name: str = "assert_non_singular") -> Any:
        """An operation that fails unless the operator can be inverted."""
        with self._name_scope(name):
            return self._assert_non_singular()

    def _assert_positive_definite(self) -> Any:
        _slow("assert_positive_definite")
        if self.is_self_adjoint:
            diagonal = tf.linalg.diag_part(tf.linalg.cholesky(self.to_dense()))
            return tf.debugging.assert_positive(
                tf.real(diagonal), message="Matrix was not positive definite."
            )
        raise NotImplementedError("assert_positive_definite is not implemented.")

    def assert_positive_definite(self, name: str = "assert_positive_definite") -> Any:
        """An operation that fails unless the real part of `x^H A x` is positive for all `x` but 0."""
        with self._name_scope(name):
            return self._assert_positive_definite()

    def _assert_self_adjoint(self) -> Any:
        _slow("assert_self_adjoint", "conversion to a dense matrix")
        dense = self.to_dense()
        return tf.debugging.assert_equal(
            dense, tf.linalg.adjoint(dense), message="Matrix was not equal to its adjoint."
        )

    def assert_self_adjoint(self, name: str = "assert_self_adjoint") -> Any:
        """An operation that fails unless the operator is its own adjoint."""
        with self._name_scope(name):
            return self._assert_self_adjoint()

    def _checked(self, value: Any, name: str, axis: int, own_axis: int) -> Any:
        """The argument as a tensor, which must have the operator's type and along `axis` its size."""
        value = tf.convert_to_tensor(value, name=name)
        if value.dtype.base_dtype != self.dtype:
            raise TypeError(
                f"Expected argument to have dtype {self.dtype}.  Found: {value.dtype} in tensor {value}"
            )
        if value.shape.ndims is not None:
            self._dimension(own_axis).assert_is_compatible_with(value.shape.dims[axis])
        return value

    def _operands(
        self, other: LinearOperator, adjoint: bool, adjoint_arg: bool, argument: str
    ) -> tuple[LinearOperator, LinearOperator]:
        left = self.adjoint() if adjoint else self
        right = other.adjoint() if adjoint_arg else other
        wanted, given = _known(left.domain_dimension), _known(right.range_dimension)
        if wanted is not None and given is not None and wanted != given:
            raise ValueError(
                f"Operators are incompatible. Expected `{argument}` to have dimension {wanted} but got {given}."
            )
        return left, right

    # -- products

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not give products (_matmul).")

    def matmul(
        self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul"
    ) -> Any:
        """`A @ x`, or with adjoints of either; `x` is a [batch] matrix, or an operator."""
        if isinstance(x, LinearOperator):
            left, right = self._operands(x, adjoint, adjoint_arg, "x")
            with self._name_scope(name):
                return algebra.matmul(left, right)
        with self._name_scope(name):
            x = self._checked(x, "x", -1 if adjoint_arg else -2, -2 if adjoint else -1)
            return self._matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _matvec(self, x: Any, adjoint: bool = False) -> Any:
        product = self.matmul(tf.expand_dims(x, axis=-1), adjoint=adjoint)
        return tf.squeeze(product, axis=-1)

    def matvec(self, x: Any, adjoint: bool = False, name: str = "matvec") -> Any:
        """`A @ x` for [batch] vectors."""
        with self._name_scope(name):
            x = self._checked(x, "x", -1, -2 if adjoint else -1)
            return self._matvec(x, adjoint=adjoint)

    # -- determinants

    def _refuse_other_than_square(self, what: str) -> None:
        if self.is_square is False:
            raise NotImplementedError(
                f"{what} not implemented for an operator that is expected to not be square."
            )

    def _determinant(self) -> Any:
        _slow("determinant")
        if self._can_use_cholesky():
            return tf.exp(self.log_abs_determinant())
        return tf.linalg.det(self.to_dense())

    def determinant(self, name: str = "det") -> Any:
        """The determinant of each matrix."""
        self._refuse_other_than_square("Determinant")
        with self._name_scope(name):
            return self._determinant()

    def _log_abs_determinant(self) -> Any:
        _slow("determinant")
        if self._can_use_cholesky():
            diagonal = tf.linalg.diag_part(tf.linalg.cholesky(self.to_dense()))
            return 2 * tf.reduce_sum(tf.log(diagonal), axis=[-1])
        return tf.linalg.slogdet(self.to_dense())[1]

    def log_abs_determinant(self, name: str = "log_abs_det") -> Any:
        """The logarithm of the magnitude of the determinant of each matrix."""
        self._refuse_other_than_square("Determinant")
        with self._name_scope(name):
            return self._log_abs_determinant()

    # -- solutions

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        self._refuse_other_than_square("Solve")
        _slow("solve")
        rhs = adjoint_if(rhs, adjoint_arg)
        if self._can_use_cholesky():
            return cholesky_solve_with_broadcast(tf.linalg.cholesky(self.to_dense()), rhs)
        return matrix_solve_with_broadcast(self.to_dense(), rhs, adjoint=adjoint)

    def solve(
        self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve"
    ) -> Any:
        """`x` with `A @ x = rhs`, or with adjoints of either; `rhs` is a [batch] matrix, or an operator."""
        if self.is_non_singular is False:
            raise NotImplementedError(
                "Exact solve not implemented for an operator that is expected to be singular."
            )
        self._refuse_other_than_square("Exact solve")
        if isinstance(rhs, LinearOperator):
            left, right = self._operands(rhs, adjoint, adjoint_arg, "rhs")
            with self._name_scope(name):
                return algebra.solve(left, right)
        with self._name_scope(name):
            rhs = self._checked(rhs, "rhs", -1 if adjoint_arg else -2, -1 if adjoint else -2)
            return self._solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _solvevec(self, rhs: Any, adjoint: bool = False) -> Any:
        found = self.solve(tf.expand_dims(rhs, axis=-1), adjoint=adjoint)
        return tf.squeeze(found, axis=-1)

    def solvevec(self, rhs: Any, adjoint: bool = False, name: str = "solve") -> Any:
        """`x` with `A @ x = rhs` for [batch] vectors."""
        with self._name_scope(name):
            rhs = self._checked(rhs, "rhs", -1, -1 if adjoint else -2)
            return self._solvevec(rhs, adjoint=adjoint)

    # -- operators made of this one

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        """The operator's adjoint."""
        if self.is_self_adjoint is True:
            return self
        with self._name_scope(name):
            return algebra.adjoint(self)

    H = property(adjoint, None)

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """The operator's inverse."""
        for hint, what in ((self.is_square, "non square"), (self.is_non_singular, "singular")):
            if hint is False:
                raise ValueError(
                    f"Cannot take the Inverse: This operator represents a {what} matrix."
                )
        with self._name_scope(name):
            return algebra.inverse(self)

    def cholesky(self, name: str = "cholesky") -> LinearOperator:
        """The lower triangular operator whose product with its adjoint is this one."""
        if not self._can_use_cholesky():
            raise ValueError(
                "Cannot take the Cholesky decomposition: Not a positive definite self adjoint matrix."
            )
        with self._name_scope(name):
            return algebra.cholesky(self)

    # -- its elements

    def _to_dense(self) -> Any:
        batch = self.batch_shape
        batch = batch.as_list() if batch.is_fully_defined() else self.batch_shape_tensor()
        n = _known(self.domain_dimension)
        n = self.domain_dimension_tensor() if n is None else n
        return self.matmul(tf.eye(n, batch_shape=batch, dtype=self.dtype))

    def to_dense(self, name: str = "to_dense") -> Any:
        """The [batch] matrix, written down."""
        with self._name_scope(name):
            return self._to_dense()

    def _diag_part(self) -> Any:
        return tf.linalg.diag_part(self.to_dense())

    def diag_part(self, name: str = "diag_part") -> Any:
        """The main diagonal of each matrix."""
        with self._name_scope(name):
            return self._diag_part()

    def _trace(self) -> Any:
        return tf.reduce_sum(self.diag_part(), axis=-1)

    def trace(self, name: str = "trace") -> Any:
        """The sum of the main diagonal of each matrix."""
        with self._name_scope(name):
            return self._trace()

    def _add_to_tensor(self, x: Any) -> Any:
        return self.to_dense() + x

    def add_to_tensor(self, x: Any, name: str = "add_to_tensor") -> Any:
        """`A + x`, a [batch] matrix."""
        with self._name_scope(name):
            x = tf.convert_to_tensor(x, name="x")
            if x.dtype.base_dtype != self.dtype:
                raise TypeError(f"Expected argument to have dtype {self.dtype}.  Found: {x.dtype}")
            return self._add_to_tensor(x)
