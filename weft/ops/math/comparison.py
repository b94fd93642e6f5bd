"""Comparisons and logic."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.shape_rules import ShapeError, broadcasting, is_full, merge, same
from weft.ops.math.makers import binary, public_binary, public_unary

_TYPES = "type in {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}"
_EQUATABLE = (
    "T: type in {bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, quint8, "
    "qint8, qint32, string, bool, complex128}; incompatible_shape_error: bool = true"
)
_NUMBERS = (
    "T: type in {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, "
    "bfloat16, uint16, complex128, half, uint32, uint64}"
)


def _order(name: str, function: str, doc: str) -> Any:
    decl = binary(
        name,
        _TYPES,
        lambda xp, x, y: getattr(xp, function)(x, y),
        doc,
        args="x: T, y: T -> z: bool",
    )
    return decl.not_differentiable()


less = _order("Less", "less", "x < y.")
less_equal = _order("LessEqual", "less_equal", "x <= y.")
greater = _order("Greater", "greater", "x > y.")
greater_equal = _order("GreaterEqual", "greater_equal", "x >= y.")


def _equality(name: str, equal: bool, doc: str) -> Any:
    def kernel(xp, x, y, *, incompatible_shape_error):
        if not incompatible_shape_error:
            try:
                broadcasting(x.shape, y.shape)
            except ShapeError:
                return xp.asarray(not equal)
        result = x == y if equal else x != y
        return result.astype(bool) if getattr(result, "dtype", None) == np.dtype(object) else result

    decl = op(name, "x: T, y: T -> z: bool", _EQUATABLE, commutative=True)(kernel)
    decl.__doc__ = doc

    @decl.shape
    def _(x, y, *, incompatible_shape_error):
        if incompatible_shape_error:
            return broadcasting(x, y)
        if not is_full(x) or not is_full(y):
            return None
        try:
            return broadcasting(x, y)
        except ShapeError:
            return ()

    return decl.not_differentiable()


equal = _equality("Equal", True, "Whether x and y are equal.")
not_equal = _equality("NotEqual", False, "Whether x and y differ.")


@op(
    "ApproximateEqual",
    "x: T, y: T -> z: bool",
    _NUMBERS + "; tolerance: float = 9.999999747378752e-06",
    commutative=True,
)
def approximate_equal(xp, x, y, *, tolerance):
    """Whether |x - y| < tolerance."""
    return xp.abs(x - y) < tolerance


@approximate_equal.shape
def _(x, y, *, tolerance):
    return merge(x, y)


approximate_equal.not_differentiable()

logical_and = binary(
    "LogicalAnd",
    "",
    lambda xp, x, y: xp.logical_and(x, y),
    "x and y.",
    args="x: bool, y: bool -> z: bool",
    commutative=True,
).not_differentiable()
logical_or = binary(
    "LogicalOr",
    "",
    lambda xp, x, y: xp.logical_or(x, y),
    "x or y.",
    args="x: bool, y: bool -> z: bool",
    commutative=True,
).not_differentiable()


@op("LogicalNot", "x: bool -> y: bool")
def logical_not(xp, x):
    """Not x."""
    return xp.logical_not(x)


logical_not.shape(same)
logical_not.not_differentiable()

public_binary(less, "less", "math.less")
public_binary(less_equal, "less_equal", "math.less_equal")
public_binary(greater, "greater", "math.greater")
public_binary(greater_equal, "greater_equal", "math.greater_equal")
public_binary(equal, "equal", "math.equal")
public_binary(not_equal, "not_equal", "math.not_equal")
public_binary(logical_and, "logical_and", "math.logical_and")
public_binary(logical_or, "logical_or", "math.logical_or")
public_unary(logical_not, "logical_not", "math.logical_not")


@export("logical_xor", "math.logical_xor")
def logical_xor(x: Any, y: Any, name: str = "LogicalXor") -> Any:
    """Whether exactly one of x and y is true, elementwise."""
    return logical_and(logical_or(x, y), logical_not(logical_and(x, y)), name=name)
