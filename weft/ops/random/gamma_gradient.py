"""How a gamma-distributed sample depends on its shape parameter."""

from __future__ import annotations

from typing import Any

import numpy as np

_MOST_TERMS = 4000
_PRECISION = 1e-14


def sample_derivative(xp: Any, alpha: Any, sample: Any) -> Any:
    """The derivative of `sample` by `alpha` while its quantile P(alpha, sample) stays the same.

    It is -(dP / dalpha) / density, computed in float64: from the power series of P where the sample
    is at most alpha or 1, else from the continued fraction of 1 - P.
    """
    dtype = sample.dtype
    if not xp.is_numpy:
        a, x = xp.broadcast_arrays(alpha, sample)
        return xp.lax.random_gamma_grad(a.astype(xp.float64), x.astype(xp.float64)).astype(dtype)
    a, x = np.broadcast_arrays(alpha, sample)
    a, x = a.astype(np.float64).reshape(-1), x.astype(np.float64).reshape(-1)
    result = np.full(a.shape, np.nan)
    with np.errstate(all="ignore"):
        series = (x > 0) & (a > 0) & ((x <= 1) | (x <= a))
        fraction = (x > 0) & (a > 0) & ~series & np.isfinite(x)
        result[series] = _by_series(xp, a[series], x[series])
        result[fraction] = _by_fraction(xp, a[fraction], x[fraction])
        result[(x == 0) & (a > 0)] = 0
        return result.reshape(np.broadcast_shapes(alpha.shape, sample.shape)).astype(dtype)


def _by_series(xp: Any, a: np.ndarray, x: np.ndarray) -> np.ndarray:
    # P = x**a exp(-x) / gamma(a + 1) * (1 + x / (a + 1) + x**2 / ((a + 1) (a + 2)) + ...)
    term, slope = np.ones_like(a), np.zeros_like(a)
    total, total_slope = term.copy(), slope.copy()
    for n in range(1, _MOST_TERMS):
        factor = x / (a + n)
        slope = slope * factor - term * factor / (a + n)
        term = term * factor
        total, total_slope = total + term, total_slope + slope
        if (np.abs(slope) <= _PRECISION * np.abs(total_slope)).all():
            break
    return -(x / a) * (total * (np.log(x) - xp.special.digamma(a + 1)) + total_slope)


def _by_fraction(xp: Any, a: np.ndarray, x: np.ndarray) -> np.ndarray:
    # 1 - P = x**a exp(-x) / gamma(a) / (b0 + a1 / (b1 + a2 / (b2 + ...))), b_n = x + 2n + 1 - a,
    # a_n = n (a - n): Lentz's method, with the derivative of each step.
    value = c = x + 1 - a
    value_slope = c_slope = np.full_like(a, -1.0)
    d, d_slope = np.zeros_like(a), np.zeros_like(a)
    for n in range(1, _MOST_TERMS):
        top, bottom = n * (a - n), x + 2 * n + 1 - a
        inverse = 1 / (bottom + top * d)
        d_slope = -(-1 + n * d + top * d_slope) * inverse**2
        d = inverse
        c_slope = -1 + (n - top * c_slope / c) / c
        c = bottom + top / c
        step, step_slope = c * d, c_slope * d + c * d_slope
        value, value_slope = value * step, value_slope * step + value * step_slope
        if ((np.abs(step - 1) <= _PRECISION) & (np.abs(step_slope) <= _PRECISION)).all():
            break
    fraction, slope = 1 / value, -value_slope / value**2
    return x * (fraction * (np.log(x) - xp.special.digamma(a)) + slope)
