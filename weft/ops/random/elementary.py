"""Logarithm, sine and cosine of float32 numbers, the same bits in NumPy and in XLA.

The libraries that the two engines use differ in the last bits of float32 functions. Here each
function is a polynomial in float64, rounded once: correct to half a unit in the last place but for
one number in some thousands, so that both tiers (and TensorFlow, whose C library rounds correctly
too) draw the same normal numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# Fitted for the least greatest relative error: log(1 + x) / x on [sqrt(1/2) - 1, sqrt(2) - 1],
# 1.6e-11.
_LOG = (
    0.9999999999859576, -0.5000000002940784, 0.33333334333729026, -0.2499999408103468,
    0.19999881144888615, -0.1666694337298414, 0.14290986922947585, -0.12497485456592697,
    0.11005084030280528, -0.09922848832728827, 0.10033196998921746, -0.09900869772657657,
    0.053629087607772956,
)  # fmt: skip
# sin(r) / r and cos(r) in powers of r * r, |r| <= pi / 4: 4.6e-12 and 5.6e-11.
_SIN = (
    0.9999999999954468, -0.16666666630431654, 0.008333328688742217, -0.00019839177932288356,
    2.7171489133422505e-06,
)  # fmt: skip
_COS = (
    0.9999999999439091, -0.49999999571380727, 0.041666613217065766, -0.0013886528666182773,
    2.437263569294274e-05,
)  # fmt: skip
_SQRT_HALF_BITS = np.int32(0x3F3504F3)
_MANTISSA_BITS = np.int32(23)


def log(xp: Any, x: Any) -> Any:
    """The natural logarithm of positive, normal float32 numbers."""
    bits = xp.bitcast(x, xp.int32)
    exponent = (bits - _SQRT_HALF_BITS) >> _MANTISSA_BITS
    mantissa = xp.bitcast(bits - (exponent << _MANTISSA_BITS), xp.float32)
    t = mantissa.astype(xp.float64) - 1.0
    return (_polynomial(_LOG, t) * t + exponent.astype(xp.float64) * np.log(2.0)).astype(xp.float32)


def sin_or_cos(xp: Any, angle: Any, is_cosine: Any) -> Any:
    """The sine, or where `is_cosine` the cosine, of float32 angles in [0, 2 pi]."""
    angle = angle.astype(xp.float64)
    turns = xp.floor(angle * (2 / np.pi) + 0.5)
    rest = angle - turns * (np.pi / 2)
    quadrant = turns.astype(xp.int32) + is_cosine.astype(xp.int32)
    swapped = (quadrant & np.int32(1)) != 0
    square = rest * rest
    if xp.is_numpy:
        value = np.where(swapped, _polynomial(_COS, square), _polynomial(_SIN, square) * rest)
    else:  # one polynomial whose coefficients are selected
        value = xp.where(swapped, _COS[-1], _SIN[-1])
        for c, s in zip(_COS[-2::-1], _SIN[-2::-1]):
            value = value * square + xp.where(swapped, c, s)
        value = value * xp.where(swapped, 1.0, rest)
    value = value.astype(xp.float32)
    return xp.where((quadrant & np.int32(2)) != 0, -value, value)


def _polynomial(coefficients: tuple[float, ...], x: Any) -> Any:
    value = x * coefficients[-1] + coefficients[-2]
    for c in coefficients[-3::-1]:
        value = value * x + c
    return value
