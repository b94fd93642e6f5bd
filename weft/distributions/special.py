"""The normal and the Laplace distribution function, where floats are precise."""

from __future__ import annotations

from typing import Any

import numpy as np

import weft as tf

# Where log(cdf) is computed as it stands: below, by an asymptotic series; above, by log(1 - p) = -p.
_SEGMENTS = {np.float32: (-10.0, 5.0), np.float64: (-20.0, 8.0)}


def _checked(x: Any, name: str) -> Any:
    x = tf.convert_to_tensor(x, name=name)
    if x.dtype.as_numpy_dtype not in _SEGMENTS:
        raise TypeError(f"{name}.dtype={x.dtype} is not handled, only float32 and float64 are.")
    return x


def ndtr(x: Any, name: str = "ndtr") -> Any:
    """The normal distribution function."""
    with tf.name_scope(name, values=[x]):
        return _ndtr(_checked(x, "x"))


def _ndtr(x: Any) -> Any:
    half_root = tf.constant(np.sqrt(0.5), dtype=x.dtype, name="half_sqrt_2")
    w = x * half_root
    z = tf.abs(w)
    tail = tf.where_v2(w > 0.0, 2.0 - tf.erfc(z), tf.erfc(z))
    return 0.5 * tf.where_v2(z < half_root, 1.0 + tf.erf(w), tail)


def log_ndtr(x: Any, series_order: int = 3, name: str = "log_ndtr") -> Any:
    """The logarithm of the normal distribution function."""
    if not isinstance(series_order, int):
        raise TypeError("series_order must be a Python integer.")
    if series_order < 0:
        raise ValueError("series_order must be non-negative.")
    if series_order > 30:
        raise ValueError("series_order must be <= 30.")
    with tf.name_scope(name, values=[x]):
        x = _checked(x, "x")
        low, high = (
            np.array(edge, x.dtype.as_numpy_dtype) for edge in _SEGMENTS[x.dtype.as_numpy_dtype]
        )
        # Branches that are not chosen get arguments at which their gradients are finite.
        middle = tf.log(_ndtr(tf.maximum(x, low)))
        lower = _log_ndtr_lower(tf.minimum(x, low), series_order)
        return tf.where_v2(x > high, -_ndtr(-x), tf.where_v2(x > low, middle, lower))


def _log_ndtr_lower(x: Any, order: int) -> Any:
    square = tf.square(x)
    log_scale = -0.5 * square - tf.log(-x) - 0.5 * np.log(2.0 * np.pi)
    total: Any = tf.ones_like(x)
    term: Any = tf.ones_like(x)
    for n in range(1, order + 1):  # 1 - 1/x^2 + 1*3/x^4 - 1*3*5/x^6 ...
        term = term * (-(2.0 * n - 1.0)) / square
        total = total + term
    return log_scale + tf.log(total)


# Cephes' rational approximations of the quantile: around the middle; in sqrt(-2 log p), below 8 and above.
_MIDDLE = (
    [
        -5.99633501014107895267e1,
        9.80010754185999661536e1,
        -5.66762857469070293439e1,
        1.39312609387279679503e1,
        -1.23916583867381258016e0,
    ],
    [
        1.0,
        1.95448858338141759834e0,
        4.67627912898881538453e0,
        8.63602421390890590575e1,
        -2.25462687854119370527e2,
        2.00260212380060660359e2,
        -8.20372256168333339912e1,
        1.59056225126211695515e1,
        -1.18331621121330003142e0,
    ],
)
_TAIL = (
    [
        4.05544892305962419923e0,
        3.15251094599893866154e1,
        5.71628192246421288162e1,
        4.40805073893200834700e1,
        1.46849561928858024014e1,
        2.18663306850790267539e0,
        -1.40256079171354495875e-1,
        -3.50424626827848203418e-2,
        -8.57456785154685413611e-4,
    ],
    [
        1.0,
        1.57799883256466749731e1,
        4.53907635128879210584e1,
        4.13172038254672030440e1,
        1.50425385692907503408e1,
        2.50464946208309415979e0,
        -1.42182922854787788574e-1,
        -3.80806407691578277194e-2,
        -9.33259480895457427372e-4,
    ],
)
_FAR = (
    [
        3.23774891776946035970e0,
        6.91522889068984211695e0,
        3.93881025292474443415e0,
        1.33303460815807542389e0,
        2.01485389549179081538e-1,
        1.23716634817820021358e-2,
        3.01581553508235416007e-4,
        2.65806974686737550832e-6,
        6.23974539184983293730e-9,
    ],
    [
        1.0,
        6.02427039364742014255e0,
        3.67983563856160859403e0,
        1.37702099489081330271e0,
        2.16236993594496635890e-1,
        1.34204006088543189037e-2,
        3.28014464682127739104e-4,
        2.89247864745380683936e-6,
        6.79019408009981274425e-9,
    ],
)


def _ratio(x: Any, coefficients: tuple) -> Any:
    def polynomial(c: list[float]) -> Any:
        dtype = x.dtype.as_numpy_dtype
        total: Any = dtype(c[0])
        for factor in c[1:]:
            total = total * x + dtype(factor)
        return total

    above, below = coefficients
    return polynomial(above) / polynomial(below)


def ndtri(p: Any, name: str = "ndtri") -> Any:
    """The quantile of the normal distribution."""
    with tf.name_scope(name, values=[p]):
        p = _checked(p, "p")
        edge = np.exp(-2.0)
        upper = tf.where_v2(p > 1.0 - edge, 1.0 - p, p)
        safe = tf.where_v2(upper <= 0.0, tf.fill(tf.shape(p), p.dtype.as_numpy_dtype(0.5)), upper)
        w = safe - 0.5
        square = tf.square(w)
        middle = (w + w * square * _ratio(square, _MIDDLE)) * -np.sqrt(2.0 * np.pi)
        z = tf.sqrt(-2.0 * tf.log(safe))
        first = z - tf.log(z) / z
        tail = first - _ratio(1.0 / z, _TAIL) / z
        far = first - _ratio(1.0 / z, _FAR) / z
        x = tf.where_v2(safe > edge, middle, tf.where_v2(z >= 8.0, far, tail))
        x = tf.where_v2(p > 1.0 - edge, x, -x)
        infinite = tf.fill(tf.shape(p), p.dtype.as_numpy_dtype(np.inf))
        return tf.where_v2(p <= 0.0, -infinite, tf.where_v2(p >= 1.0, infinite, x))


def log_cdf_laplace(x: Any, name: str = "log_cdf_laplace") -> Any:
    """The logarithm of the standard Laplace distribution function."""
    with tf.name_scope(name, values=[x]):
        x = tf.convert_to_tensor(x, name="x")
        upper = tf.log1p(-0.5 * tf.exp(-tf.abs(x)))
        return tf.where_v2(x < 0.0, x - np.log(2.0), upper)
