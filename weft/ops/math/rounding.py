"""Rounding, and the questions whether numbers are finite."""

from __future__ import annotations

from typing import Any

from weft.framework import conversion
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.shape_rules import broadcasting
from weft.ops.by_name import raw
from weft.ops.math.dtype_sets import FLOATS, SIGNED_COMPLEX
from weft.ops.math.makers import public_unary, unary


def _no_gradient(op, grad):
    return (None,)


def _round(xp, x):
    return x if x.dtype.kind in "iu" else xp.rint(x)


floor = unary("Floor", FLOATS, lambda xp, x: xp.floor(x), "Rounds down.", _no_gradient)
ceil = unary("Ceil", FLOATS, lambda xp, x: xp.ceil(x), "Rounds up.", _no_gradient)
rint = unary(
    "Rint",
    FLOATS,
    lambda xp, x: xp.rint(x),
    "Rounds to the nearest integer, halves to even.",
    _no_gradient,
)
round_op = unary(
    "Round", SIGNED_COMPLEX, _round, "Rounds to the nearest integer, halves to even.", _no_gradient
)


def _question(name: str, function: str, doc: str) -> Any:
    decl = unary(name, FLOATS, lambda xp, x: getattr(xp, function)(x), doc, args="x: T -> y: bool")
    return decl.not_differentiable()


is_finite = _question("IsFinite", "isfinite", "Whether elements are finite.")
is_inf = _question("IsInf", "isinf", "Whether elements are infinite.")
is_nan = _question("IsNan", "isnan", "Whether elements are not numbers.")


@op("NextAfter", "x1: T, x2: T -> output: T", "T: type in {double, float} = float")
def next_after(xp, x1, x2):
    """The next number after x1 in the direction of x2."""
    return xp.nextafter(x1, x2)


next_after.shape(broadcasting)


@next_after.gradient
def _(op, grad):
    from weft.ops.math.broadcasting import sum_to_inputs

    x1, x2 = op.inputs
    return sum_to_inputs(x1, x2, grad, raw.ZerosLike(grad))


public_unary(floor, "floor", "math.floor")
public_unary(ceil, "ceil", "math.ceil")
public_unary(rint, "rint", "math.rint")
public_unary(is_finite, "is_finite", "math.is_finite", "debugging.is_finite")
public_unary(is_inf, "is_inf", "math.is_inf", "debugging.is_inf")
public_unary(is_nan, "is_nan", "math.is_nan", "debugging.is_nan")


@export("round", "math.round")
def round(x: Any, name: str | None = None) -> Any:
    """Rounds to the nearest integer, elementwise, halves to even."""
    x = conversion.convert_to_tensor(x, name="x")
    if x.dtype.is_integer:
        return x
    return round_op(x, name=name)


@export("math.nextafter")
def nextafter(x1: Any, x2: Any, name: str | None = None) -> Any:
    """The next number after x1 in the direction of x2, elementwise."""
    return next_after(x1, x2, name=name)
