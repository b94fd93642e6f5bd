"""The derivative of the incomplete gamma function with respect to its first argument, which SciPy lacks.

For x below 1 or a it follows from the power series of the lower function, elsewhere from the continued
fraction of the upper one, each differentiated term by term (Moore 1982, algorithm AS 187).
"""

from __future__ import annotations

import numpy as np

_STEPS = 2000
_BIG = 2.0**52


def igamma_grad_a_of(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The derivative of P(a, x) with respect to a; NaN outside of a > 0 and x >= 0."""
    dtype = x.dtype
    a, x = np.broadcast_arrays(a.astype(np.float64), x.astype(np.float64))
    with np.errstate(all="ignore"):
        out = np.full(x.shape, np.nan)
        valid = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
        by_series = valid & ((x <= 1) | (x <= a))
        by_fraction = valid & ~by_series
        out[by_series] = _series(a[by_series], x[by_series])
        out[by_fraction] = -_fraction(a[by_fraction], x[by_fraction])
        out[(x == 0) & (a > 0)] = 0.0
    return out.astype(dtype)


def _series(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    from scipy import special

    epsilon = np.finfo(np.float64).eps
    r, term, total = a.copy(), np.ones_like(a), np.ones_like(a)
    d_term, d_total = np.zeros_like(a), np.zeros_like(a)
    for _ in range(_STEPS):
        r += 1
        factor = x / r
        d_term = factor * d_term - factor / r * term
        term = term * factor
        total, d_total = total + term, d_total + d_term
        if (np.abs(d_term) <= epsilon * np.abs(d_total)).all():
            break
    front = np.exp(a * np.log(x) - x - special.gammaln(a + 1))
    return front * (d_total + total * (np.log(x) - special.digamma(a + 1)))


def _fraction(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    from scipy import special

    epsilon = np.finfo(np.float64).eps
    y, z, c = 1 - a, x + 2 - a, 0.0
    # Numerators and denominators of the last two convergents, and their derivatives.
    p2, q2, p1, q1 = np.ones_like(x), x.copy(), x + 1, z * x
    dp2, dq2, dp1, dq1 = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x), -x
    value = p1 / q1
    slope = (dp1 - value * dq1) / q1
    for _ in range(_STEPS):
        c += 1
        y, z = y + 1, z + 2
        yc = y * c
        p, q = p1 * z - p2 * yc, q1 * z - q2 * yc
        dp = dp1 * z - p1 - dp2 * yc + p2 * c
        dq = dq1 * z - q1 - dq2 * yc + q2 * c
        good = q != 0
        value = np.where(good, p / np.where(good, q, 1), value)
        new = np.where(good, (dp - value * dq) / np.where(good, q, 1), slope)
        done = (np.abs(new - slope) <= epsilon * np.abs(new)).all()
        slope = new
        p2, q2, p1, q1, dp2, dq2, dp1, dq1 = p1, q1, p, q, dp1, dq1, dp, dq
        scale = np.where(np.abs(p) > _BIG, 1 / _BIG, 1.0)
        p2, q2, p1, q1 = p2 * scale, q2 * scale, p1 * scale, q1 * scale
        dp2, dq2, dp1, dq1 = dp2 * scale, dq2 * scale, dp1 * scale, dq1 * scale
        if done:
            break
    front = np.exp(a * np.log(x) - x - special.gammaln(a))
    return front * (slope + value * (np.log(x) - special.digamma(a)))
