"""Exponentials, logarithms, trigonometric and hyperbolic functions, and powers."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import conversion
from weft.framework.export import export
from weft.framework.scopes import name_scope
from weft.ops.by_name import raw
from weft.ops.math.dtype_sets import FLOATS, FLOATS_COMPLEX, SIGNED_COMPLEX
from weft.ops.math.makers import binary, conjugate, public_unary, unary


def _one(like: Any) -> Any:
    return np.ones((), like.dtype.base_dtype.np)


def _simple(name: str, function: str, doc: str, gradient: Any, types: str = FLOATS_COMPLEX) -> Any:
    """Declares an op that the array namespace has; the gradient is given by `(grad, conj(x), conj(y))`."""

    def rule(op, grad):
        return gradient(grad, conjugate(op.inputs[0]), op.outputs[0])

    return unary(name, types, lambda xp, x: getattr(xp, function)(x), doc, rule)


exp = _simple("Exp", "exp", "e to the power of x.", lambda g, x, y: g * conjugate(y))
expm1 = _simple("Expm1", "expm1", "exp(x) - 1, exact near 0.", lambda g, x, y: g * exp(x))
log = _simple("Log", "log", "The natural logarithm.", lambda g, x, y: g * raw.Reciprocal(x))
log1p = _simple(
    "Log1p", "log1p", "log(1 + x), exact near 0.", lambda g, x, y: g * raw.Reciprocal(1 + x)
)
sin = _simple("Sin", "sin", "The sine.", lambda g, x, y: g * cos(x))
cos = _simple("Cos", "cos", "The cosine.", lambda g, x, y: -g * sin(x))
tan = _simple(
    "Tan",
    "tan",
    "The tangent.",
    lambda g, x, y: raw.Square(raw.Reciprocal(cos(x))) * g,
    SIGNED_COMPLEX,
)
asin = _simple(
    "Asin",
    "arcsin",
    "The inverse sine.",
    lambda g, x, y: g * raw.Reciprocal(raw.Sqrt(raw.Sub(_one(g), raw.Square(x)))),
    SIGNED_COMPLEX,
)
acos = _simple(
    "Acos",
    "arccos",
    "The inverse cosine.",
    lambda g, x, y: -g * raw.Reciprocal(raw.Sqrt(raw.Sub(_one(g), raw.Square(x)))),
    SIGNED_COMPLEX,
)
atan = _simple(
    "Atan",
    "arctan",
    "The inverse tangent.",
    lambda g, x, y: g * raw.Reciprocal(raw.Add(_one(g), raw.Square(x))),
    SIGNED_COMPLEX,
)
sinh = _simple("Sinh", "sinh", "The hyperbolic sine.", lambda g, x, y: g * cosh(x))
cosh = _simple("Cosh", "cosh", "The hyperbolic cosine.", lambda g, x, y: g * sinh(x))
asinh = _simple(
    "Asinh", "arcsinh", "The inverse hyperbolic sine.", lambda g, x, y: g / cosh(conjugate(y))
)
acosh = _simple(
    "Acosh", "arccosh", "The inverse hyperbolic cosine.", lambda g, x, y: g / sinh(conjugate(y))
)
atanh = _simple(
    "Atanh",
    "arctanh",
    "The inverse hyperbolic tangent.",
    lambda g, x, y: g * raw.Reciprocal(raw.Sub(_one(g), raw.Square(x))),
)

# -- the two squashing functions, whose gradients are ops of their own


def _tanh_grad_grad(op, grad):
    a, b = conjugate(op.inputs[0]), conjugate(op.inputs[1])
    return grad * -2.0 * b * a, tanh_grad(a, grad)


tanh = _simple(
    "Tanh", "tanh", "The hyperbolic tangent.", lambda g, x, y: tanh_grad(conjugate(y), g)
)
tanh_grad = binary(
    "TanhGrad",
    FLOATS_COMPLEX,
    lambda xp, y, dy: dy * (1 - y * y),
    "The gradient of Tanh.",
    args="y: T, dy: T -> z: T",
)
tanh_grad.gradient(_tanh_grad_grad)


def _sigmoid_grad_grad(op, grad):
    a, b = conjugate(op.inputs[0]), conjugate(op.inputs[1])
    gb = grad * b
    return gb - 2.0 * gb * a, sigmoid_grad(a, grad)


sigmoid = unary(
    "Sigmoid",
    FLOATS_COMPLEX,
    lambda xp, x: xp.reciprocal(1 + xp.exp(-x)),
    "1 / (1 + exp(-x)).",
    lambda op, grad: sigmoid_grad(conjugate(op.outputs[0]), grad),
)
sigmoid_grad = binary(
    "SigmoidGrad",
    FLOATS_COMPLEX,
    lambda xp, y, dy: dy * y * (1 - y),
    "The gradient of Sigmoid.",
    args="y: T, dy: T -> z: T",
)
sigmoid_grad.gradient(_sigmoid_grad_grad)

# -- powers and angles of two tensors


def _pow(xp, x, y):
    if x.dtype.kind in "iu":
        xp.check(y >= 0, lambda: "Integers to negative integer powers are not allowed")
    return xp.power(x, y)


def _to_exponent(g, x, y, z):
    x, z = conjugate(x), conjugate(z)
    # There is no singularity at x = 0, and no real logarithm below it.
    mask = raw.NotEqual(x, np.zeros((), x.dtype.base_dtype.np)) if x.dtype.is_complex else x > 0
    safe = raw.Select(mask, x, raw.OnesLike(x))
    log_x = raw.Select(mask, log(safe), raw.ZerosLike(x))
    return g * z * log_x


def _to_base(g, x, y, z):
    x, y = conjugate(x), conjugate(y)
    return g * y * pow_op(x, y - 1)


pow_op = binary(
    "Pow",
    "type in {bfloat16, float, half, double, int32, int64, complex64, complex128}",
    _pow,
    "x to the power of y.",
    (_to_base, _to_exponent),
)


def _of_angle(g, y, x, z):
    scaled = g / (raw.Square(x) + raw.Square(y))
    return x * scaled, -y * scaled


atan2 = binary(
    "Atan2",
    FLOATS,
    lambda xp, y, x: xp.arctan2(y, x),
    "The angle of the point (x, y), in (-pi, pi].",
    _of_angle,
    args="y: T, x: T -> z: T",
)

# -- public functions

public_unary(exp, "exp", "math.exp")
public_unary(expm1, "expm1", "math.expm1")
public_unary(log, "log", "math.log")
public_unary(log1p, "log1p", "math.log1p")
public_unary(sin, "sin", "math.sin")
public_unary(cos, "cos", "math.cos")
public_unary(tan, "tan", "math.tan")
public_unary(asin, "asin", "math.asin")
public_unary(acos, "acos", "math.acos")
public_unary(atan, "atan", "math.atan")
public_unary(sinh, "sinh", "math.sinh")
public_unary(cosh, "cosh", "math.cosh")
public_unary(asinh, "asinh", "math.asinh")
public_unary(acosh, "acosh", "math.acosh")
public_unary(atanh, "atanh", "math.atanh")
public_unary(tanh, "tanh", "math.tanh", "nn.tanh")


@export("sigmoid", "math.sigmoid", "nn.sigmoid")
def _sigmoid(x: Any, name: str | None = None) -> Any:
    """1 / (1 + exp(-x)), elementwise."""
    with name_scope(name, "Sigmoid", [x]) as name:
        return sigmoid(conversion.convert_to_tensor(x, name="x"), name=name)


@export("pow", "math.pow")
def power(x: Any, y: Any, name: str | None = None) -> Any:
    """x to the power of y, elementwise."""
    with name_scope(name, "Pow", [x]) as name:
        return pow_op(x, y, name=name)


@export("atan2", "math.atan2")
def _atan2(y: Any, x: Any, name: str | None = None) -> Any:
    """The angle of the point (x, y), in (-pi, pi]."""
    return atan2(y, x, name=name)
