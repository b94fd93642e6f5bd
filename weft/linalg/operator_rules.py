"""The rules of the algebra of operators: what adjoints, inverses, Cholesky factors, products and solutions are
better than in general."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.linalg import operator_algebra as algebra
from weft.linalg.operator import LinearOperator
from weft.linalg.operators_circulant import LinearOperatorCirculant, LinearOperatorHouseholder
from weft.linalg.operators_combined import (
    LinearOperatorBlockDiag,
    LinearOperatorComposition,
    LinearOperatorKronecker,
)
from weft.linalg.operators_dense import LinearOperatorLowerTriangular
from weft.linalg.operators_derived import LinearOperatorAdjoint, LinearOperatorInversion
from weft.linalg.operators_diagonal import (
    LinearOperatorDiag,
    LinearOperatorIdentity,
    LinearOperatorScaledIdentity,
    LinearOperatorZeros,
)

Any_ = LinearOperator
Identity, Scaled, Zeros = LinearOperatorIdentity, LinearOperatorScaledIdentity, LinearOperatorZeros
Diag, Triangle, Circulant = (
    LinearOperatorDiag,
    LinearOperatorLowerTriangular,
    LinearOperatorCirculant,
)
POSITIVE = {"is_non_singular": True, "is_self_adjoint": True, "is_positive_definite": True}


def _hints(o: LinearOperator, **other: bool | None) -> dict[str, Any]:
    """The hints of an operator, for another that shares them."""
    return {
        "is_non_singular": o.is_non_singular,
        "is_self_adjoint": o.is_self_adjoint,
        "is_positive_definite": o.is_positive_definite,
        "is_square": True,
        **other,
    }


def _conjugate(x: Any) -> Any:
    return tf.conj(x) if x.dtype.is_complex else x


# -- adjoints


@algebra.adjoint.register(Any_)
def _(o):
    return LinearOperatorAdjoint(o, **_hints(o, is_square=o.is_square))


@algebra.adjoint.register(LinearOperatorAdjoint)
def _(o):
    return o.operator


@algebra.adjoint.register(LinearOperatorHouseholder)
@algebra.adjoint.register(Identity)
def _(o):
    return o


@algebra.adjoint.register(Scaled)
def _(o):
    return Scaled(o._num_rows, _conjugate(o.multiplier), **_hints(o))


@algebra.adjoint.register(Diag)
def _(o):
    return Diag(_conjugate(o.diag), **_hints(o))


@algebra.adjoint.register(Circulant)
def _(o):
    return Circulant(_conjugate(o.spectrum), o.dtype, **_hints(o))


@algebra.adjoint.register(LinearOperatorBlockDiag)
def _(o):
    return LinearOperatorBlockDiag([part.adjoint() for part in o.operators], **_hints(o))


@algebra.adjoint.register(LinearOperatorKronecker)
def _(o):
    parts = [part.adjoint() for part in o.operators]
    return LinearOperatorKronecker(parts, **_hints(o, is_square=o.is_square))


# -- inverses


@algebra.inverse.register(Any_)
def _(o):
    return LinearOperatorInversion(o, **_hints(o, is_square=o.is_square))


@algebra.inverse.register(LinearOperatorInversion)
def _(o):
    return o.operator


@algebra.inverse.register(LinearOperatorHouseholder)
@algebra.inverse.register(Identity)
def _(o):
    return o


@algebra.inverse.register(Scaled)
def _(o):
    return Scaled(o._num_rows, 1.0 / o.multiplier, **_hints(o))


@algebra.inverse.register(Diag)
def _(o):
    return Diag(1.0 / o.diag, **_hints(o))


@algebra.inverse.register(Circulant)
def _(o):
    return Circulant(1.0 / o.spectrum, o.dtype, **_hints(o))


@algebra.inverse.register(LinearOperatorBlockDiag)
def _(o):
    return LinearOperatorBlockDiag([part.inverse() for part in o.operators], **_hints(o))


@algebra.inverse.register(LinearOperatorKronecker)
def _(o):
    return LinearOperatorKronecker([part.inverse() for part in o.operators], **_hints(o))


# -- Cholesky factors

_TRIANGULAR = {"is_non_singular": True, "is_self_adjoint": False, "is_square": True}


@algebra.cholesky.register(Any_)
def _(o):
    return Triangle(tf.linalg.cholesky(o.to_dense()), **_TRIANGULAR)


@algebra.cholesky.register(Identity)
def _(o):
    return o


@algebra.cholesky.register(Scaled)
def _(o):
    return Scaled(o._num_rows, tf.sqrt(o.multiplier), is_square=True, **POSITIVE)


@algebra.cholesky.register(Diag)
def _(o):
    return Diag(tf.sqrt(o.diag), is_square=True, **POSITIVE)


def _of_factors(kind):
    def rule(o):
        parts = [part.cholesky() for part in o.operators]
        # Where all factors are diagonal the whole is, and its own adjoint.
        diagonal = all(part.is_self_adjoint for part in parts)
        return kind(parts, **{**_TRIANGULAR, "is_self_adjoint": diagonal})

    algebra.cholesky.register(kind)(rule)


_of_factors(LinearOperatorBlockDiag)
_of_factors(LinearOperatorKronecker)


# -- products


def _non_singular(a: LinearOperator, b: LinearOperator) -> bool | None:
    if a.is_non_singular is False or b.is_non_singular is False:
        return False
    return a.is_non_singular and b.is_non_singular


def _square(a: LinearOperator, b: LinearOperator) -> bool | None:
    """Whether the product of the two is square."""
    if a.is_square and b.is_square:
        return True
    if a.is_square is False and b.is_square is False:
        rows, columns = a.range_dimension, b.domain_dimension
        if rows.value is not None and columns.value is not None:
            return rows == columns
    if a.is_square != b.is_square and None not in (a.is_square, b.is_square):
        return False
    return None


def _general(a: LinearOperator, b: LinearOperator) -> dict[str, Any]:
    """What is known of a product of any two operators."""
    square = _square(a, b)
    if square is False:
        return dict.fromkeys(
            ("is_non_singular", "is_self_adjoint", "is_positive_definite", "is_square"), False
        )
    return {"is_non_singular": _non_singular(a, b) if square else None, "is_square": square}


def _commuting(a: LinearOperator, b: LinearOperator) -> dict[str, Any]:
    """What is known of a product of two that commute."""
    self_adjoint: bool | None = None
    if a.is_self_adjoint and b.is_self_adjoint:
        self_adjoint = True
    elif {a.is_self_adjoint, b.is_self_adjoint} == {True, False}:
        self_adjoint = False
    positive = all(o.is_positive_definite and o.is_self_adjoint for o in (a, b))
    return {
        "is_non_singular": _non_singular(a, b),
        "is_self_adjoint": self_adjoint,
        "is_positive_definite": True if positive else None,
        "is_square": True,
    }


def _triangular(a: LinearOperator, b: LinearOperator) -> dict[str, Any]:
    return {"is_non_singular": _non_singular(a, b), "is_square": True}


@algebra.matmul.register(Any_, Any_)
def _(a, b):
    return LinearOperatorComposition([a, b], **_general(a, b))


@algebra.matmul.register(Identity, Any_)
def _(a, b):
    return b


@algebra.matmul.register(Any_, Identity)
def _(a, b):
    return a


def _zeros(zeros: LinearOperator, other: LinearOperator) -> LinearOperator:
    if not zeros.is_square or not other.is_square:
        raise ValueError(
            "Matmul with non-square `LinearOperator`s or non-square `LinearOperatorZeros` not supported at this "
            "time."
        )
    return zeros


algebra.matmul.register(Zeros, Any_)(_zeros)
algebra.matmul.register(Any_, Zeros)(lambda a, b: _zeros(b, a))
algebra.matmul.register(Zeros, Identity)(_zeros)
algebra.matmul.register(Identity, Zeros)(lambda a, b: _zeros(b, a))


@algebra.matmul.register(Diag, Diag)
def _(a, b):
    return Diag(a.diag * b.diag, **_commuting(a, b))


@algebra.matmul.register(Diag, Scaled)
def _(a, b):
    return Diag(a.diag * b.multiplier[..., tf.newaxis], **_commuting(a, b))


@algebra.matmul.register(Scaled, Diag)
def _(a, b):
    return Diag(a.multiplier[..., tf.newaxis] * b.diag, **_commuting(a, b))


@algebra.matmul.register(Scaled, Scaled)
def _(a, b):
    return Scaled(a._num_rows, a.multiplier * b.multiplier, **_commuting(a, b))


@algebra.matmul.register(Diag, Triangle)
def _(a, b):
    return Triangle(a.diag[..., tf.newaxis] * b.to_dense(), **_triangular(a, b))


@algebra.matmul.register(Triangle, Diag)
def _(a, b):
    return Triangle(a.to_dense() * b.diag[..., tf.newaxis, :], **_triangular(a, b))


@algebra.matmul.register(Circulant, Circulant)
def _(a, b):
    return Circulant(a.spectrum * b.spectrum, a.dtype, **_commuting(a, b))


# -- solutions


@algebra.solve.register(Any_, Any_)
def _(a, b):
    return LinearOperatorComposition([LinearOperatorInversion(a), b], **_general(a, b))


@algebra.solve.register(LinearOperatorInversion, Any_)
def _(a, b):
    return a.operator.matmul(b)


@algebra.solve.register(Identity, Any_)
def _(a, b):
    return b


@algebra.solve.register(Diag, Diag)
def _(a, b):
    return Diag(b.diag / a.diag, **_commuting(a, b))


@algebra.solve.register(Diag, Scaled)
def _(a, b):
    return Diag(b.multiplier[..., tf.newaxis] / a.diag, **_commuting(a, b))


@algebra.solve.register(Scaled, Diag)
def _(a, b):
    return Diag(b.diag / a.multiplier[..., tf.newaxis], **_commuting(a, b))


@algebra.solve.register(Scaled, Scaled)
def _(a, b):
    return Scaled(a._num_rows, b.multiplier / a.multiplier, **_commuting(a, b))


@algebra.solve.register(Diag, Triangle)
def _(a, b):
    return Triangle(b.to_dense() / a.diag[..., tf.newaxis], **_triangular(a, b))


@algebra.solve.register(Circulant, Circulant)
def _(a, b):
    return Circulant(b.spectrum / a.spectrum, a.dtype, **_commuting(a, b))
