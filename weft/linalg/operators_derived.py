"""Operators made of one other: its adjoint, its inverse, and with an update of low rank."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework.export import export
from weft.linalg.broadcasting import cholesky_solve_with_broadcast, matrix_solve_with_broadcast
from weft.linalg.operator import LinearOperator, as_parameter
from weft.linalg.operator_checks import agreed_hint
from weft.linalg.operators_diagonal import LinearOperatorDiag, LinearOperatorIdentity


class _Of(LinearOperator):
    """An operator that shares the properties of another."""

    _kind = ""  # what it is of the other, for messages
    _ending = ""

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: bool | None,
        is_self_adjoint: bool | None,
        is_positive_definite: bool | None,
        is_square: bool | None,
        name: str | None,
    ):
        self._operator = operator

        def agreed(hint: str, given: bool | None) -> bool | None:
            words = hint.replace("_", "-")
            contradiction = f"An operator is {words} if and only if its {self._kind} is {words}."
            return agreed_hint(getattr(operator, f"is_{hint}"), given, contradiction)

        name = operator.name + self._ending if name is None else name
        with tf.name_scope(name, values=operator.graph_parents):
            super().__init__(
                operator.dtype,
                operator.graph_parents,
                agreed("non_singular", is_non_singular),
                agreed("self_adjoint", is_self_adjoint),
                agreed("positive_definite", is_positive_definite),
                agreed("square", is_square),
                name,
            )

    @property
    def operator(self) -> LinearOperator:
        """The operator that this one is made of."""
        return self._operator

    def _assert_non_singular(self) -> Any:
        return self.operator.assert_non_singular()

    def _assert_positive_definite(self) -> Any:
        return self.operator.assert_positive_definite()

    def _assert_self_adjoint(self) -> Any:
        return self.operator.assert_self_adjoint()


@export("linalg.LinearOperatorAdjoint")
class LinearOperatorAdjoint(_Of):
    """The adjoint of an operator."""

    _kind, _ending = "adjoint", "_adjoint"

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ):
        super().__init__(
            operator, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name
        )

    def _shape(self) -> Any:
        shape = self.operator.shape
        if shape.ndims is None:
            return shape
        dims = shape.as_list()
        return tf.TensorShape([*dims[:-2], dims[-1], dims[-2]])

    def _shape_tensor(self) -> Any:
        shape = self.operator.shape_tensor()
        return tf.concat([shape[:-2], [shape[-1], shape[-2]]], 0)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self.operator.matmul(x, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _matvec(self, x: Any, adjoint: bool = False) -> Any:
        return self.operator.matvec(x, adjoint=not adjoint)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self.operator.solve(rhs, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _solvevec(self, rhs: Any, adjoint: bool = False) -> Any:
        return self.operator.solvevec(rhs, adjoint=not adjoint)

    def _determinant(self) -> Any:
        return tf.conj(self.operator.determinant())

    def _log_abs_determinant(self) -> Any:
        return self.operator.log_abs_determinant()

    def _trace(self) -> Any:
        return tf.conj(self.operator.trace())

    def _diag_part(self) -> Any:
        return tf.conj(self.operator.diag_part())

    def _to_dense(self) -> Any:
        dense = self.operator.to_dense()
        return dense if self.is_self_adjoint else tf.linalg.adjoint(dense)


@export("linalg.LinearOperatorInversion")
class LinearOperatorInversion(_Of):
    """The inverse of an operator."""

    _kind, _ending = "inverse", "_inv"

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ):
        for hint, own, given in (
            ("is_non_singular", operator.is_non_singular, is_non_singular),
            ("is_square", operator.is_square, is_square),
        ):
            if own is False or given is False:
                raise ValueError(
                    f"operator and supplied hints must have `{hint}` equal to `True` or `None`.  "
                    f"Found {own}, {given}"
                )
        super().__init__(
            operator, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name
        )

    def _shape(self) -> Any:
        return self.operator.shape

    def _shape_tensor(self) -> Any:
        return self.operator.shape_tensor()

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self.operator.solve(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self.operator.matmul(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _determinant(self) -> Any:
        return 1.0 / self.operator.determinant()

    def _log_abs_determinant(self) -> Any:
        return -1.0 * self.operator.log_abs_determinant()


@export("linalg.LinearOperatorLowRankUpdate")
class LinearOperatorLowRankUpdate(LinearOperator):
    """`L + U D V^H`: an operator and an update of low rank, with `D` diagonal (by default the identity) and
    `V` by default `U`. Solutions and determinants follow from those of `L` by small matrices."""

    def __init__(
        self,
        base_operator: LinearOperator,
        u: Any,
        diag_update: Any = None,
        v: Any = None,
        is_diag_update_positive: bool | None = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowRankUpdate",
    ):
        dtype = base_operator.dtype
        if diag_update is None:
            if is_diag_update_positive is False:
                raise ValueError(
                    "Default diagonal is the identity, which is positive.  However, user set "
                    "'is_diag_update_positive' to False."
                )
            is_diag_update_positive = True
        elif is_diag_update_positive and dtype.is_complex:
            tf.logging.warn(
                "Note: setting is_diag_update_positive with a complex dtype means that diagonal is real and "
                "positive."
            )
        self._use_cholesky = bool(
            base_operator.is_positive_definite
            and base_operator.is_self_adjoint
            and is_diag_update_positive
            and v is None
        )
        if base_operator.is_self_adjoint and v is None and not dtype.is_complex:
            if is_self_adjoint is False:
                raise ValueError(
                    "A = L + UDU^H, with L self-adjoint and D real diagonal.  Since UDU^H is self-adjoint, this "
                    "must be a self-adjoint operator."
                )
            is_self_adjoint = True
        if self._use_cholesky:
            if False in (is_positive_definite, is_self_adjoint, is_non_singular):
                raise ValueError("Arguments imply this is self-adjoint positive-definite operator.")
            is_positive_definite = is_self_adjoint = True
        given = [t for t in (u, diag_update, v) if t is not None]
        with tf.name_scope(name, values=[*base_operator.graph_parents, *given]):
            self._u = as_parameter(u, "u")
            self._v = self._u if v is None else as_parameter(v, "v")
            self._diag_update = (
                None if diag_update is None else as_parameter(diag_update, "diag_update")
            )
            self._base_operator = base_operator
            parents = [*base_operator.graph_parents, self._u, self._diag_update, self._v]
            super().__init__(
                dtype,
                [p for p in parents if p is not None],
                is_non_singular,
                is_self_adjoint,
                is_positive_definite,
                is_square,
                name,
            )
            if self._diag_update is None:
                rank = tf.compat.dimension_value(self._u.shape[-1])
                self._diag_operator: LinearOperator = LinearOperatorIdentity(
                    tf.shape(self._u)[-1] if rank is None else rank, dtype=dtype
                )
            else:
                self._diag_operator = LinearOperatorDiag(
                    self._diag_update, is_positive_definite=is_diag_update_positive
                )
            self._is_diag_update_positive = is_diag_update_positive
            self._check_shapes()

    def _check_shapes(self) -> None:
        factors = tf.broadcast_static_shape(self._u.shape, self._v.shape)
        batch = tf.broadcast_static_shape(self.base_operator.batch_shape, factors[:-2])
        if factors.ndims is not None:
            self.base_operator.domain_dimension.assert_is_compatible_with(factors[-2])
        if self._diag_update is not None and factors.ndims is not None:
            tf.Dimension(factors[-1]).assert_is_compatible_with(self._diag_update.shape[-1])
            tf.broadcast_static_shape(batch, self._diag_update.shape[:-1])

    @property
    def u(self) -> Any:
        """The left factor of the update."""
        return self._u

    @property
    def v(self) -> Any:
        """The right factor of the update."""
        return self._v

    @property
    def is_diag_update_positive(self) -> bool | None:
        """Whether the diagonal of the update is promised to be positive."""
        return self._is_diag_update_positive

    @property
    def diag_update(self) -> Any:
        """The diagonal of the update, or None."""
        return self._diag_update

    @property
    def diag_operator(self) -> LinearOperator:
        """The diagonal of the update, as an operator."""
        return self._diag_operator

    @property
    def base_operator(self) -> LinearOperator:
        """The operator that is updated."""
        return self._base_operator

    def _shape(self) -> Any:
        base = self.base_operator
        batch = tf.broadcast_static_shape(base.batch_shape, self._u.shape[:-2])
        return batch.concatenate(base.shape[-2:])

    def _shape_tensor(self) -> Any:
        base = self.base_operator
        batch = tf.broadcast_dynamic_shape(base.batch_shape_tensor(), tf.shape(self._u)[:-2])
        return tf.concat([batch, base.shape_tensor()[-2:]], 0)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        left, right = (self._v, self._u) if adjoint else (self._u, self._v)
        along = tf.matmul(right, x, adjoint_a=True, adjoint_b=adjoint_arg)
        update = tf.matmul(left, self.diag_operator.matmul(along, adjoint=adjoint))
        return self.base_operator.matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg) + update

    def _capacitance(self) -> Any:
        """`inv(D) + V^H inv(L) U`, of the size of the update's rank."""
        solved = self.base_operator.solve(self._u)
        along = tf.matmul(self._v, solved, adjoint_a=True)
        return self.diag_operator.inverse().add_to_tensor(along)

    def _determinant(self) -> Any:
        if self.is_positive_definite:
            return tf.exp(self.log_abs_determinant())
        # The matrix determinant lemma
        own = tf.linalg.det(self._capacitance())
        return own * self.diag_operator.determinant() * self.base_operator.determinant()

    def _log_abs_determinant(self) -> Any:
        others = self.diag_operator.log_abs_determinant() + self.base_operator.log_abs_determinant()
        if self._use_cholesky:
            diagonal = tf.linalg.diag_part(tf.linalg.cholesky(self._capacitance()))
            return 2 * tf.reduce_sum(tf.log(diagonal), axis=[-1]) + others
        own = tf.log(tf.abs(tf.linalg.det(self._capacitance())))
        return tf.cast(own, self.dtype) + others

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        base = self.base_operator
        if base.is_non_singular is False:
            raise ValueError(
                "Solve not implemented unless this is a perturbation of a non-singular LinearOperator."
            )
        # The Woodbury identity
        left, right = (self._v, self._u) if adjoint else (self._u, self._v)
        solved = base.solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        along = tf.matmul(right, solved, adjoint_a=True)
        if self._use_cholesky:
            chol = tf.linalg.cholesky(self._capacitance())
            inner = cholesky_solve_with_broadcast(chol, along)
        else:
            inner = matrix_solve_with_broadcast(self._capacitance(), along, adjoint=adjoint)
        return solved - base.solve(tf.matmul(left, inner), adjoint=adjoint)
