"""Complex numbers: their parts, modulus and angle."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import conversion, dtypes
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import broadcasting, same
from weft.ops.by_name import raw
from weft.ops.math.broadcasting import elementwise_gradient

_TO_REAL = "T: type in {complex64, complex128} = complex64; Tout: type in {float, double} = float"


def _zero(like: Any) -> Any:
    return np.zeros((), like.dtype.base_dtype.np)


@op("Real", "input: T -> output: Tout", _TO_REAL)
def real_op(xp, input, *, Tout):
    """The real part."""
    return xp.real(input).astype(Tout.np)


real_op.shape(same)


@real_op.gradient
def _(op, grad):
    return complex(grad, _zero(grad))


@op("Imag", "input: T -> output: Tout", _TO_REAL)
def imag_op(xp, input, *, Tout):
    """The imaginary part."""
    return xp.imag(input).astype(Tout.np)


imag_op.shape(same)


@imag_op.gradient
def _(op, grad):
    return complex(_zero(grad), grad)


@op("Angle", "input: T -> output: Tout", _TO_REAL)
def angle_op(xp, input, *, Tout):
    """The argument, in (-pi, pi]."""
    return xp.angle(input).astype(Tout.np)


angle_op.shape(same)


@angle_op.gradient
def _(op, grad):
    x = op.inputs[0]
    z = raw.Reciprocal(complex(imag(x), real(x)))
    return -complex(grad, _zero(grad)) * z


@op("ComplexAbs", "x: T -> y: Tout", _TO_REAL)
def complex_abs(xp, x, *, Tout):
    """The modulus."""
    return xp.abs(x).astype(Tout.np)


complex_abs.shape(same)


@complex_abs.gradient
def _(op, grad):
    y = op.outputs[0]
    direction = complex(grad, raw.ZerosLike(grad)) * op.inputs[0]
    return raw.DivNoNan(direction, complex(y, raw.ZerosLike(y)))


@op("Conj", "input: T -> output: T", "T: type in {complex64, complex128, variant} = complex64")
def conj_op(xp, input):
    """The complex conjugate."""
    return xp.conj(input) if hasattr(input, "dtype") else input.map(xp.conj)


conj_op.shape(same)


@conj_op.gradient
def _(op, grad):
    return conj(grad)


@op(
    "Complex",
    "real: T, imag: T -> out: Tout",
    "T: type in {float, double} = float; Tout: type in {complex64, complex128} = complex64",
)
def complex_op(xp, real, imag, *, Tout):
    """The complex number with these parts."""
    if not xp.is_numpy:
        real, imag = xp.broadcast_arrays(real, imag)
        return xp.lax.complex(real, imag).astype(Tout.np)
    out = np.empty(np.broadcast_shapes(real.shape, imag.shape), Tout.np)
    out.real, out.imag = real, imag
    return out


complex_op.shape(broadcasting)
complex_op.gradient(elementwise_gradient((lambda g, x, y, z: real(g), lambda g, x, y, z: imag(g))))


@export("complex", "dtypes.complex")
def complex(real: Any, imag: Any, name: str | None = None) -> Any:
    """Makes complex numbers of their parts."""
    real = conversion.convert_to_tensor(real, name="real")
    imag = conversion.convert_to_tensor(imag, name="imag", dtype_hint=real.dtype.base_dtype)
    with name_scope(name, "Complex", [real, imag]) as name:
        types = (real.dtype.base_dtype, imag.dtype.base_dtype)
        if types == (dtypes.float64, dtypes.float64):
            out = dtypes.complex128
        elif types == (dtypes.float32, dtypes.float32):
            out = dtypes.complex64
        else:
            raise TypeError(
                f"real and imag have incorrect types: {real.dtype.name} {imag.dtype.name}"
            )
        return complex_op(real, imag, Tout=out, name=name)


def _part(decl: Any, input: Any, name: str | None, real_of_real: Any) -> Any:
    input = conversion.convert_to_tensor(input, name="input")
    if input.dtype.is_complex:
        return decl(input, Tout=input.dtype.real_dtype.base_dtype, name=name)
    return real_of_real(input)


@export("real", "math.real")
def real(input: Any, name: str | None = None) -> Any:
    """The real part, elementwise."""
    with name_scope(name, "Real", [input]) as name:
        return _part(real_op, input, name, lambda x: x)


@export("imag", "math.imag")
def imag(input: Any, name: str | None = None) -> Any:
    """The imaginary part, elementwise; zeros of a real tensor."""
    with name_scope(name, "Imag", [input]) as name:
        return _part(imag_op, input, name, raw.ZerosLike)


@export("angle", "math.angle")
def angle(input: Any, name: str | None = None) -> Any:
    """The argument, elementwise; 0 or pi of a real number."""

    def of_real(x: Any) -> Any:
        pi, zero = (np.array(v, x.dtype.base_dtype.np) for v in (np.pi, 0))
        return raw.Select(x < 0, raw.OnesLike(x) * pi, raw.OnesLike(x) * zero)

    with name_scope(name, "Angle", [input]) as name:
        return _part(angle_op, input, name, of_real)


@export("conj", "math.conj")
def conj(x: Any, name: str | None = None) -> Any:
    """The complex conjugate, elementwise; a real tensor as it is."""
    if hasattr(x, "dtype") and hasattr(x.dtype, "is_floating"):
        if x.dtype.is_floating or x.dtype.is_integer:
            return x
    with name_scope(name, "Conj", [x]) as name:
        x = conversion.convert_to_tensor(x, name="x")
        if x.dtype.is_complex or x.dtype.base_dtype is dtypes.variant:
            return conj_op(x, name=name)
        if x.dtype.is_floating or x.dtype.is_integer:
            return x
        raise TypeError(f"Expected numeric or variant tensor, got dtype {x.dtype!r}")
