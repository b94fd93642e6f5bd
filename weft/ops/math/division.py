"""Division and remainder in their many forms, and products that ignore what is not a number."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import conversion, dtypes
from weft.framework.export import export
from weft.framework.scopes import name_scope
from weft.ops.by_name import raw
from weft.ops.math.dtype_sets import ARITHMETIC, NO_NAN
from weft.ops.math.makers import binary, conjugate, public_binary


def _is_integer(x: Any) -> bool:
    return x.dtype.kind in "iu"


def _check_divisor(xp: Any, x: Any, y: Any) -> None:
    if x.size:  # nothing is divided otherwise
        xp.check(y != 0, lambda: "Integer division by zero")


def _truncated_quotient(xp, x, y):
    """x / y of integers, rounded toward zero as in C."""
    _check_divisor(xp, x, y)
    quotient = x // y
    if x.dtype.kind == "u":
        return quotient
    inexact = quotient * y != x
    return quotient + (inexact & ((x < 0) != (y < 0))).astype(x.dtype)


def _divide(xp, x, y):
    return _truncated_quotient(xp, x, y) if _is_integer(x) else x / y


def _floor_div(xp, x, y):
    if _is_integer(x):
        _check_divisor(xp, x, y)
        return x // y
    return xp.floor(x / y)  # not NumPy's `//`, which takes the remainder first: 1 // 0.1 is 10 here


def _truncate_div(xp, x, y):
    return _truncated_quotient(xp, x, y) if _is_integer(x) else xp.trunc(x / y)


def _floor_mod(xp, x, y):
    if _is_integer(x):
        _check_divisor(xp, x, y)
        return xp.remainder(x, y)
    rest = xp.fmod(x, y)
    return xp.where((x < 0) == (y < 0), rest, xp.fmod(rest + y, y))


def _truncate_mod(xp, x, y):
    if _is_integer(x):
        _check_divisor(xp, x, y)
        return x - _truncated_quotient(xp, x, y) * y
    return xp.fmod(x, y)


def _unless_zero(xp, which, result):
    """The result where `which` is not zero, else zero, whatever the result is there."""
    return xp.where(which == 0, np.zeros((), result.dtype), result)


def _safe_quotient(xp, x, y):
    return _unless_zero(xp, y, x / xp.where(y == 0, np.ones((), y.dtype), y))


def _xlogy(xp, x, y):
    return _unless_zero(xp, x, x * xp.log(xp.where(x == 0, np.ones((), y.dtype), y)))


def _to_divisor(divide):
    """The part of a quotient's gradient that belongs to the divisor: -x / y / y * grad."""

    def part(g, x, y, z):
        x, y = conjugate(x), conjugate(y)
        return g * divide(divide(-x, y), y)

    return part


div_op = binary(
    "Div",
    ARITHMETIC,
    _divide,
    "x / y; integers round toward zero.",
    (lambda g, x, y, z: divide(g, conjugate(y)), _to_divisor(lambda x, y: divide(x, y))),
)
real_div = binary(
    "RealDiv",
    ARITHMETIC,
    _divide,
    "x / y.",
    (lambda g, x, y, z: real_div(g, conjugate(y)), _to_divisor(lambda x, y: real_div(x, y))),
)
floor_div = binary("FloorDiv", ARITHMETIC, _floor_div, "floor(x / y).", (None, None))
truncate_div = binary(
    "TruncateDiv", ARITHMETIC, _truncate_div, "x / y rounded toward zero.", (None, None)
)
floor_mod = binary(
    "FloorMod",
    "type in {int32, int64, bfloat16, half, float, double}",
    _floor_mod,
    "The remainder of division that rounds down: it has the sign of y.",
    (lambda g, x, y, z: g, lambda g, x, y, z: g * -floor_div(conjugate(x), conjugate(y))),
)
truncate_mod = binary(
    "TruncateMod",
    "type in {int32, int64, bfloat16, half, float, double}",
    _truncate_mod,
    "The remainder of division that rounds toward zero: it has the sign of x.",
)
mod_op = binary(
    "Mod",
    "type in {int32, int64, half, half, bfloat16, float, double}",
    _truncate_mod,
    "The remainder as in C: it has the sign of x.",
)
div_no_nan = binary(
    "DivNoNan",
    NO_NAN,
    _safe_quotient,
    "x / y, and 0 where y is 0.",
    (lambda g, x, y, z: div_no_nan(g, conjugate(y)), _to_divisor(lambda x, y: div_no_nan(x, y))),
)
mul_no_nan = binary(
    "MulNoNan",
    NO_NAN,
    lambda xp, x, y: _unless_zero(xp, y, x * y),
    "x * y, and 0 where y is 0 even if x is infinite or not a number.",
    (lambda g, x, y, z: mul_no_nan(g, y), lambda g, x, y, z: mul_no_nan(x, g)),
)


def _indicator(x):
    """1 where x is not zero, else 0."""
    return raw.Cast(raw.NotEqual(x, np.zeros((), x.dtype.base_dtype.np)), DstT=x.dtype.base_dtype)


xdivy = binary(
    "Xdivy",
    NO_NAN,
    lambda xp, x, y: _unless_zero(xp, x, x / xp.where(x == 0, np.ones((), y.dtype), y)),
    "x / y, and 0 where x is 0 even if y is.",
    (
        lambda g, x, y, z: xdivy(_indicator(x), y) * g,
        lambda g, x, y, z: xdivy(-x, raw.Square(y)) * g,
    ),
)
xlogy = binary(
    "Xlogy",
    NO_NAN,
    _xlogy,
    "x * log(y), and 0 where x is 0.",
    (lambda g, x, y, z: xlogy(_indicator(x), y) * g, lambda g, x, y, z: xdivy(x, y) * g),
)

# -- public functions

public_binary(real_div, "realdiv")
floormod = public_binary(floor_mod, "floormod", "math.floormod", "mod", "math.mod")
public_binary(floor_div, "floor_div")
public_binary(truncate_div, "truncatediv")
public_binary(truncate_mod, "truncatemod")
public_binary(xdivy, "math.xdivy")
public_binary(xlogy, "math.xlogy")

_TRUEDIV = {
    dtypes.uint8: dtypes.float32,
    dtypes.int8: dtypes.float32,
    dtypes.uint16: dtypes.float32,
    dtypes.int16: dtypes.float32,
    dtypes.int32: dtypes.float64,
    dtypes.int64: dtypes.float64,
    **dict.fromkeys((*dtypes.floats, *dtypes.complexes)),
}


def _operands(x: Any, y: Any) -> tuple[Any, Any]:
    x = conversion.convert_to_tensor(x, name="x")
    y = conversion.convert_to_tensor(y, dtype_hint=x.dtype.base_dtype, name="y")
    if x.dtype.base_dtype is not y.dtype.base_dtype:
        raise TypeError(
            f"x and y must have the same dtype, got {x.dtype.base_dtype!r} != {y.dtype.base_dtype!r}"
        )
    return x, y


def true_divide(x: Any, y: Any, name: str | None) -> Any:
    """x / y; integers are divided as floating point numbers."""
    with name_scope(name, "truediv", [x, y]) as name:
        x, y = _operands(x, y)
        wide = floating_for(x.dtype.base_dtype)
        if wide is not None:
            x, y = raw.Cast(x, DstT=wide), raw.Cast(y, DstT=wide)
        return real_div(x, y, name=name)


def floating_for(dtype: Any) -> Any:
    """What `/` casts operands of a dtype to; None where they stay."""
    if dtype not in _TRUEDIV:
        raise TypeError(f"Invalid dtype {dtype!r} in __truediv__.")
    return _TRUEDIV[dtype]


def python2_divide(x: Any, y: Any, name: str | None = None) -> Any:
    """x / y; integers round down."""
    with name_scope(name, "div", [x, y]) as name:
        x, y = _operands(x, y)
        kind = x.dtype.base_dtype
        if kind.is_floating or kind.is_complex:
            return real_div(x, y, name=name)
        return floor_div(x, y, name=name)


@export("truediv", "math.truediv")
def truediv(x: Any, y: Any, name: str | None = None) -> Any:
    """x / y, elementwise; integers are divided as floating point numbers."""
    return true_divide(x, y, name)


@export("div")
def div(x: Any, y: Any, name: str | None = None) -> Any:
    """Deprecated: x / y, elementwise, as Python 2 divides; integers round down."""
    return python2_divide(x, y, name)


@export("divide", "math.divide")
def divide(x: Any, y: Any, name: str | None = None) -> Any:
    """x / y, elementwise, as Python 3 divides."""
    return x / y if name is None else true_divide(x, y, name)


@export("floordiv", "math.floordiv")
def floordiv(x: Any, y: Any, name: str | None = None) -> Any:
    """x / y rounded down, elementwise."""
    with name_scope(name, "floordiv", [x, y]) as name:
        return floor_div(x, y, name=name)


@export("div_no_nan", "math.divide_no_nan")
def divide_no_nan(x: Any, y: Any, name: str | None = None) -> Any:
    """x / y, elementwise, and 0 where y is 0."""
    with name_scope(name, "div_no_nan", [x, y]) as name:
        x = conversion.convert_to_tensor(x, name="x")
        y = conversion.convert_to_tensor(y, name="y", dtype=x.dtype.base_dtype)
        return div_no_nan(x, y, name=name)


@export("math.multiply_no_nan")
def multiply_no_nan(x: Any, y: Any, name: str | None = None) -> Any:
    """x * y, elementwise, and 0 where y is 0 even if x is infinite or not a number."""
    with name_scope(name, "multiply_no_nan", [x, y]) as name:
        x = conversion.convert_to_tensor(x, name="x")
        y = conversion.convert_to_tensor(y, name="y", dtype=x.dtype.base_dtype)
        return mul_no_nan(x, y, name=name)


@export("math.reciprocal_no_nan")
def reciprocal_no_nan(x: Any, name: str | None = None) -> Any:
    """1 / x, elementwise, and 0 where x is 0."""
    with name_scope(name, "reciprocal_no_nan", [x]) as scope:
        x = conversion.convert_to_tensor(x, name="x")
        one = conversion.convert_to_tensor(1, dtype=x.dtype.base_dtype, name="one")
        return div_no_nan(one, x, name=scope)
