"""Special functions: error, gamma, beta, zeta and Bessel functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import conversion
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import ShapeError, merge, text
from weft.ops.by_name import raw
from weft.ops.math.broadcasting import sum_to_inputs
from weft.ops.math.dtype_sets import FLOATS, WIDE_FLOATS
from weft.ops.math.incomplete_gamma import igamma_grad_a_of
from weft.ops.math.makers import binary, public_unary, unary
from weft.ops.math.reduce_functions import reduce_sum


def _special(xp: Any, function: str, *args: Any) -> Any:
    """Computes a special function; of short floats as float32."""
    dtype = args[0].dtype
    if dtype.itemsize == 2:
        args = tuple(a.astype(np.float32) for a in args)
    return getattr(xp.special, function)(*args).astype(dtype)


def _unary(name: str, function: str, doc: str, derivative: Any) -> Any:
    return unary(
        name,
        FLOATS,
        lambda xp, x: _special(xp, function, x),
        doc,
        lambda op, grad: grad * derivative(op.inputs[0], op.outputs[0]),
    )


def _constant(value: float, like: Any) -> np.ndarray:
    return np.array(value, like.dtype.base_dtype.np)


def _bell(x: Any, height: float) -> Any:
    """height * exp(-x^2)."""
    return raw.Exp(-raw.Square(x)) * _constant(height, x)


def _i1e_derivative(x: Any, y: Any) -> Any:
    # At 0 it is 0.5, where the formula divides by zero.
    epsilon = _constant(float(np.finfo(np.float32 if x.dtype.size < 8 else np.float64).eps), x)
    zeros = raw.ZerosLike(x)
    is_far = abs(x) > epsilon
    safe = raw.Select(is_far, x, zeros + epsilon)
    slope = bessel_i0e(safe) - y * (raw.Sign(safe) + raw.Reciprocal(safe))
    return raw.Select(is_far, slope, zeros + _constant(0.5, x))


_SLOPE = 2 / np.sqrt(np.pi)

erf = _unary("Erf", "erf", "The error function.", lambda x, y: _bell(x, _SLOPE))
erfc = _unary("Erfc", "erfc", "1 - erf(x).", lambda x, y: _bell(x, -_SLOPE))


def _lgamma(xp: Any, x: Any) -> Any:
    return xp.where(xp.isinf(x), np.array(np.inf, x.dtype), _special(xp, "gammaln", x))


def _digamma(xp: Any, x: Any) -> Any:
    is_pole = (x <= 0) & (x == xp.floor(x))
    return xp.where(is_pole, np.array(np.inf, x.dtype), _special(xp, "digamma", x))


lgamma = unary(
    "Lgamma",
    FLOATS,
    _lgamma,
    "log |gamma(x)|.",
    lambda op, grad: grad * digamma(op.inputs[0]),
)
digamma = unary(
    "Digamma",
    FLOATS,
    _digamma,
    "The derivative of lgamma.",
    lambda op, grad: grad * polygamma_op(_constant(1, op.inputs[0]), op.inputs[0]),
)
bessel_i0e = _unary(
    "BesselI0e",
    "i0e",
    "exp(-|x|) times the modified Bessel function of order 0.",
    lambda x, y: bessel_i1e(x) - raw.Sign(x) * y,
)
bessel_i1e = _unary(
    "BesselI1e",
    "i1e",
    "exp(-|x|) times the modified Bessel function of order 1.",
    _i1e_derivative,
)


# -- functions of two tensors


def _igamma(xp: Any, function: str, a: Any, x: Any, at_zero: float) -> Any:
    value = getattr(xp.special, function)(a, x)
    value = xp.where(x == 0, np.array(at_zero, value.dtype), value)
    return xp.where((a <= 0) | (x < 0), np.array(np.nan, value.dtype), value)


def _igamma_to_x(g: Any, a: Any, x: Any) -> Any:
    # In log space, since gamma(a) is large.
    return g * raw.Exp(-x + (a - 1) * raw.Log(x) - lgamma(a))


igamma_op = binary(
    "Igamma",
    WIDE_FLOATS,
    lambda xp, a, x: _igamma(xp, "gammainc", a, x, 0.0),
    "The lower regularized incomplete gamma function.",
    (lambda g, a, x, z: igamma_grad_a(a, x) * g, lambda g, a, x, z: _igamma_to_x(g, a, x)),
    args="a: T, x: T -> z: T",
)
igammac_op = binary(
    "Igammac",
    WIDE_FLOATS,
    lambda xp, a, x: _igamma(xp, "gammaincc", a, x, 1.0),
    "The upper regularized incomplete gamma function.",
    (lambda g, a, x, z: -(igamma_grad_a(a, x) * g), lambda g, a, x, z: -_igamma_to_x(g, a, x)),
    args="a: T, x: T -> z: T",
)
igamma_grad_a = binary(
    "IgammaGradA",
    WIDE_FLOATS,
    lambda xp, a, x: igamma_grad_a_of(a, x),
    "The derivative of Igamma with respect to a.",
    args="a: T, x: T -> z: T",
)


@igamma_grad_a.kernel_for("xla")
def _(xp, a, x):
    return xp.lax.igamma_grad_a(*xp.broadcast_arrays(a, x))


zeta_op = binary(
    "Zeta",
    WIDE_FLOATS,
    lambda xp, x, q: xp.special.zeta(x, q).astype(x.dtype),
    "The Hurwitz zeta function.",
    (None, lambda g, x, q, z: -x * zeta_op(x + 1, q) * g),
    args="x: T, q: T -> z: T",
)


def _polygamma(xp, a, x):
    if not xp.is_numpy:
        a, x = xp.broadcast_arrays(a, x)
        whole = (a >= 0) & (a == xp.floor(a))
        value = xp.special.polygamma(xp.where(whole, a, 1).astype(np.int32), x)
        return xp.where(whole, value, np.array(np.nan, x.dtype))
    whole = (a >= 0) & (a == np.floor(a))
    value = xp.special.polygamma(np.where(whole, a, 1).astype(int), x)
    return np.where(whole, value, np.nan).astype(x.dtype)


polygamma_op = binary(
    "Polygamma",
    WIDE_FLOATS,
    _polygamma,
    "The a-th derivative of digamma.",
    (None, lambda g, a, x, z: polygamma_op(a + 1, x) * g),
    args="a: T, x: T -> z: T",
)


@op("Betainc", "a: T, b: T, x: T -> z: T", f"T: {WIDE_FLOATS}")
def betainc_op(xp, a, b, x):
    """The regularized incomplete beta function."""
    value = xp.special.betainc(a, b, x)
    inside = (a > 0) & (b > 0) & (x >= 0) & (x <= 1)
    return xp.where(inside, value, np.array(np.nan, value.dtype)).astype(x.dtype)


@betainc_op.shape
def _(a, b, x):
    shapes = [s for s in (a, b, x) if s != ()]
    known = [s for s in shapes if s is not None]
    if any(len(s) != len(known[0]) for s in known):
        raise ShapeError(
            "Shapes of a, b and x must be equal, or those of scalars: Shape must be the same rank: "
            + ", ".join(map(text, (a, b, x)))
        )
    merged = () if not shapes else None
    for shape in shapes:
        merged = merge(merged, shape, "Shapes of a, b and x must be equal, or those of scalars")
    return merged


@betainc_op.gradient
def _(op, grad):
    a, b, x = op.inputs
    log_beta = lgamma(a) + lgamma(b) - lgamma(a + b)
    slope = raw.Exp((b - 1) * raw.Log(1 - x) + (a - 1) * raw.Log(x) - log_beta)
    _, gx = sum_to_inputs(a, x, None, slope * grad)
    return None, None, gx


# -- public functions

public_unary(erf, "erf", "math.erf")
public_unary(erfc, "erfc", "math.erfc")
public_unary(lgamma, "lgamma", "math.lgamma")
public_unary(digamma, "digamma", "math.digamma")
public_unary(bessel_i0e, "math.bessel_i0e")
public_unary(bessel_i1e, "math.bessel_i1e")


@export("igamma", "math.igamma")
def igamma(a: Any, x: Any, name: str | None = None) -> Any:
    """The lower regularized incomplete gamma function, elementwise."""
    return igamma_op(a, x, name=name)


@export("igammac", "math.igammac")
def igammac(a: Any, x: Any, name: str | None = None) -> Any:
    """The upper regularized incomplete gamma function, elementwise."""
    return igammac_op(a, x, name=name)


@export("zeta", "math.zeta")
def zeta(x: Any, q: Any, name: str | None = None) -> Any:
    """The Hurwitz zeta function, elementwise."""
    return zeta_op(x, q, name=name)


@export("polygamma", "math.polygamma")
def polygamma(a: Any, x: Any, name: str | None = None) -> Any:
    """The a-th derivative of digamma, elementwise."""
    return polygamma_op(a, x, name=name)


@export("betainc", "math.betainc")
def betainc(a: Any, b: Any, x: Any, name: str | None = None) -> Any:
    """The regularized incomplete beta function, elementwise."""
    return betainc_op(a, b, x, name=name)


@export("math.bessel_i0")
def bessel_i0(x: Any, name: str | None = None) -> Any:
    """The modified Bessel function of order 0, elementwise."""
    with name_scope(name, "bessel_i0", [x]):
        x = conversion.convert_to_tensor(x)
        return raw.Exp(abs(x)) * bessel_i0e(x)


@export("math.bessel_i1")
def bessel_i1(x: Any, name: str | None = None) -> Any:
    """The modified Bessel function of order 1, elementwise."""
    with name_scope(name, "bessel_i1", [x]):
        x = conversion.convert_to_tensor(x)
        return raw.Exp(abs(x)) * bessel_i1e(x)


@export("lbeta", "math.lbeta")
def lbeta(x: Any, name: str | None = None) -> Any:
    """log |beta(x)| of the vectors in the last axis."""
    with name_scope(name, "lbeta", [x]):
        x = conversion.convert_to_tensor(x, name="x")
        return reduce_sum(lgamma(x), axis=[-1]) - lgamma(reduce_sum(x, axis=[-1]))


@export("log_sigmoid", "math.log_sigmoid")
def log_sigmoid(x: Any, name: str | None = None) -> Any:
    """log(1 / (1 + exp(-x))), elementwise."""
    with name_scope(name, "LogSigmoid", [x]) as name:
        x = conversion.convert_to_tensor(x, name="x")
        return raw.Neg(raw.Softplus(-x), name=name)
