"""Addition, multiplication, powers of two tensors and roots of one, with their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import conversion
from weft.framework.export import export
from weft.framework.scopes import name_scope
from weft.framework.tensor import Tensor
from weft.ops.by_name import raw
from weft.ops.math.dtype_sets import (
    ADDABLE,
    ARITHMETIC,
    FLOATS_COMPLEX,
    SIGNED,
    SIGNED_COMPLEX,
)
from weft.ops.math.makers import binary, conjugate, public_binary, public_unary, unary


def _add(xp, x, y):
    return x + y


_SUM_PARTS = (lambda g, x, y, z: g, lambda g, x, y, z: g)

add = binary("Add", ADDABLE[:-1] + ", string}", _add, "x + y; strings are joined.", _SUM_PARTS)
add_v2 = binary("AddV2", ADDABLE, _add, "x + y.", _SUM_PARTS, commutative=True, aggregate=True)
sub = binary(
    "Sub",
    ARITHMETIC,
    lambda xp, x, y: x - y,
    "x - y.",
    (lambda g, x, y, z: g, lambda g, x, y, z: -g),
)
mul = binary(
    "Mul",
    ARITHMETIC,
    lambda xp, x, y: x * y,
    "x * y.",
    (lambda g, x, y, z: mul(g, conjugate(y)), lambda g, x, y, z: mul(conjugate(x), g)),
    commutative=True,
)


def _of_difference(g, x, y, z):
    gx = scalar_mul(2.0, g) * (x - y)
    return gx, -gx


squared_difference = binary(
    "SquaredDifference",
    SIGNED_COMPLEX,
    lambda xp, x, y: (x - y) * xp.conj(x - y) if x.dtype.kind == "c" else xp.square(x - y),
    "(x - y) * conj(x - y).",
    _of_difference,
    commutative=True,
)


def _chosen(select: str) -> Any:
    """The gradient goes to the input that was chosen; to x where both are equal."""

    def parts(g, x, y, z):
        mask, zeros = getattr(raw, select)(x, y), raw.ZerosLike(g)
        return raw.Select(mask, g, zeros), raw.Select(mask, zeros, g)

    return parts


maximum = binary(
    "Maximum",
    SIGNED,
    lambda xp, x, y: xp.maximum(x, y),
    "The larger of x and y.",
    _chosen("GreaterEqual"),
)
minimum = binary(
    "Minimum",
    SIGNED,
    lambda xp, x, y: xp.minimum(x, y),
    "The smaller of x and y.",
    _chosen("LessEqual"),
)

neg = unary("Neg", SIGNED_COMPLEX, lambda xp, x: -x, "-x.", lambda op, grad: -grad)
abs_op = unary(
    "Abs",
    "type in {bfloat16, half, float, double, int8, int16, int32, int64}",
    lambda xp, x: xp.abs(x),
    "The absolute value.",
    lambda op, grad: grad * sign(op.inputs[0]),
)


def _sign(xp, x):
    if x.dtype.kind == "c":
        size = xp.abs(x)
        return xp.where(size == 0, 0, x / xp.where(size == 0, 1, size)).astype(x.dtype)
    return (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype)  # NaN has none


sign = unary(
    "Sign",
    SIGNED_COMPLEX,
    _sign,
    "-1, 0 or 1 as x is negative, zero or positive; x / |x| of a complex number.",
    lambda op, grad: raw.ZerosLike(op.inputs[0]),
)
square = unary(
    "Square",
    SIGNED_COMPLEX,
    lambda xp, x: x * x,
    "x * x.",
    lambda op, grad: mul(grad, mul(conjugate(op.inputs[0]), _number(2, grad))),
)


def _number(value: float, like: Any) -> Any:
    """A scalar constant of the dtype of a gradient."""
    return np.array(value, like.dtype.base_dtype.np)


# -- roots and reciprocals, whose gradients are ops of their own


def _root_grad(xp, y, dy):
    half = np.array(0.5, y.dtype)
    return dy * half / xp.conj(y)


def _sqrt_grad_grad(op, grad):
    ga = grad / op.inputs[0]
    return -conjugate(ga) * op.outputs[0], _number(0.5, grad) * ga


sqrt = unary(
    "Sqrt",
    FLOATS_COMPLEX,
    lambda xp, x: xp.sqrt(x),
    "The square root.",
    lambda op, grad: sqrt_grad(op.outputs[0], grad),
)
sqrt_grad = binary(
    "SqrtGrad", FLOATS_COMPLEX, _root_grad, "The gradient of Sqrt.", args="y: T, dy: T -> z: T"
)
sqrt_grad.gradient(_sqrt_grad_grad)


def _rsqrt_grad(xp, y, dy):
    y = xp.conj(y)
    return dy * np.array(-0.5, y.dtype) * (y * y * y)


def _rsqrt_grad_grad(op, grad):
    a, b = conjugate(op.inputs[0]), op.inputs[1]
    grad_a = _number(-1.5, grad) * conjugate(grad) * b * square(a)
    return grad_a, rsqrt_grad(a, grad)


rsqrt = unary(
    "Rsqrt",
    FLOATS_COMPLEX,
    lambda xp, x: xp.reciprocal(xp.sqrt(x)),
    "1 / sqrt(x).",
    lambda op, grad: rsqrt_grad(op.outputs[0], grad),
)
rsqrt_grad = binary(
    "RsqrtGrad", FLOATS_COMPLEX, _rsqrt_grad, "The gradient of Rsqrt.", args="y: T, dy: T -> z: T"
)
rsqrt_grad.gradient(_rsqrt_grad_grad)


def _reciprocal(xp, x):
    if x.dtype.kind in "iu":
        xp.check(x != 0, lambda: "Integer division by zero")
        return xp.where(xp.abs(x) == 1, x, 0).astype(x.dtype)
    return xp.reciprocal(x)


def _reciprocal_grad(xp, y, dy):
    y = xp.conj(y)
    return -dy * y * y


def _reciprocal_grad_grad(op, grad):
    a, b = conjugate(op.inputs[0]), op.inputs[1]
    return conjugate(grad) * _number(-2, grad) * b * a, reciprocal_grad(a, grad)


inv, reciprocal = (
    unary(
        name,
        SIGNED_COMPLEX,
        _reciprocal,
        "1 / x.",
        lambda op, grad: reciprocal_grad(op.outputs[0], grad),
    )
    for name in ("Inv", "Reciprocal")
)
inv_grad, reciprocal_grad = (
    binary(
        name, FLOATS_COMPLEX, _reciprocal_grad, "The gradient of 1 / x.", args="y: T, dy: T -> z: T"
    )
    for name in ("InvGrad", "ReciprocalGrad")
)
inv_grad.gradient(_reciprocal_grad_grad)
reciprocal_grad.gradient(_reciprocal_grad_grad)

# -- public functions

public_binary(add, "add", "math.add")
public_binary(sub, "subtract", "math.subtract")
public_binary(maximum, "maximum", "math.maximum")
public_binary(minimum, "minimum", "math.minimum")
public_binary(squared_difference, "squared_difference", "math.squared_difference")
public_unary(neg, "negative", "math.negative")
public_unary(sign, "sign", "math.sign")
public_unary(square, "square", "math.square")
public_unary(sqrt, "sqrt", "math.sqrt")
public_unary(rsqrt, "rsqrt", "math.rsqrt")
public_unary(reciprocal, "reciprocal", "math.reciprocal")


@export("multiply", "math.multiply")
def multiply(x: Any, y: Any, name: str | None = None) -> Any:
    """x * y, elementwise."""
    return mul(x, y, name=name)


@export("abs", "math.abs")
def absolute(x: Any, name: str | None = None) -> Any:
    """The absolute value, elementwise; the modulus of a complex number."""
    if not isinstance(x, Tensor):
        with name_scope(name, "Abs", [x]) as name:
            return absolute(conversion.convert_to_tensor(x, name="x"), name)
    if x.dtype.is_complex:
        return raw.ComplexAbs(x, Tout=x.dtype.real_dtype.base_dtype, name=name or "Abs")
    return abs_op(x, name=name)


@export("scalar_mul", "math.scalar_mul")
def scalar_mul(scalar: Any, x: Any, name: str | None = None) -> Any:
    """Multiplies a Tensor or IndexedSlices by a scalar."""
    scalar = conversion.convert_to_tensor(scalar, dtype=x.dtype.base_dtype, name="scalar")
    if scalar.dims not in (None, ()):
        raise ValueError(f"Only scalar multiply works, got shape {scalar.shape}")
    if getattr(x, "_is_indexed_slices", False):
        return type(x)(mul(scalar, x.values, name=name), x.indices, x.dense_shape)
    return mul(scalar, x, name=name)
