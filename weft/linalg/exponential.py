"""`tf.linalg.expm`: the exponential of matrices, by Padé approximants of their scaled form.

Higham, "The scaling and squaring method for the matrix exponential revisited" (2005).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import weft as tf
from weft.framework.export import export

# The greatest 1-norm for which the approximant of a degree is exact to the last bit, and the degrees.
_Plan = tuple[tuple[float, ...], tuple[int, ...], float]
_SINGLE: _Plan = ((4.258730016922831e-1, 1.880152677804762), (3, 5, 7), 3.925724783138660)
_DOUBLE: _Plan = (
    (1.495585217958292e-2, 2.539398330063230e-1, 9.504178996162932e-1, 2.097847961257068),
    (3, 5, 7, 9, 13),
    5.371920351148152,
)


def _coefficients(degree: int) -> list[float]:
    """Of the numerator of the diagonal approximant, scaled such that the last one is 1."""
    m = degree
    return [
        float(math.factorial(2 * m - k) * math.comb(m, k) // math.factorial(m))
        for k in range(m + 1)
    ]


def _approximant(x: Any, powers: list[Any], degree: int) -> tuple[Any, Any]:
    """Odd and even part of the numerator; the denominator has the odd one with the other sign."""
    b = [tf.constant(c, x.dtype) for c in _coefficients(degree)]
    odd, even = b[1] * powers[0], b[0] * powers[0]
    for k in range(2, degree, 2):
        odd, even = odd + b[k + 1] * powers[k // 2], even + b[k] * powers[k // 2]
    return tf.matmul(x, odd), even


@export("linalg.expm")
def matrix_exponential(input: Any, name: str | None = None) -> Any:
    """The sums of `x ** n / n!`, of square matrices."""
    with tf.name_scope(name, "matrix_exponential", [input]):
        matrix = tf.convert_to_tensor(input, name="input")
        kind = matrix.dtype.base_dtype
        if kind in (tf.float16, tf.float32, tf.complex64):
            limits, degrees, most = _SINGLE
        elif kind in (tf.float64, tf.complex128):
            limits, degrees, most = _DOUBLE
        else:
            raise ValueError(f"tf.linalg.expm does not support matrices of type {kind}")
        if matrix.shape[-2:] == [0, 0]:
            return matrix
        shape = tf.shape(matrix)
        x = tf.reshape(matrix, tf.concat([[-1], shape[-2:]], 0))
        if matrix.shape.ndims is not None:
            x.set_shape([None, *matrix.shape.as_list()[-2:]])
        norm = tf.reduce_max(tf.reduce_sum(tf.abs(x), axis=-2), axis=-1)
        real = norm.dtype

        def number(value: float) -> Any:
            return tf.constant(value, real)

        halvings = tf.floor(tf.log(norm / number(most)) / number(math.log(2.0)))
        # An infinite norm would have it halved for ever.
        most_of_all = number(float(np.finfo(real.as_numpy_dtype).maxexp))
        halvings = tf.clip_by_value(halvings, number(0.0), most_of_all)
        scale = tf.cast(tf.pow(number(2.0), halvings), kind)
        parts = []
        for degree in degrees:
            y = x / scale[:, tf.newaxis, tf.newaxis] if degree == degrees[-1] else x
            parts.append(_approximant(y, _even_powers(y, degree), degree))
        odd, even = parts[-1]
        for limit, (lower_odd, lower_even) in zip(limits[::-1], parts[-2::-1]):
            small = norm < number(limit)
            odd, even = tf.where(small, lower_odd, odd), tf.where(small, lower_even, even)
        result = tf.linalg.solve(even - odd, even + odd)
        most_halvings = tf.reduce_max(halvings)

        def square(i: Any, r: Any) -> tuple[Any, Any]:
            return i + 1, tf.where(i < halvings, tf.matmul(r, r), r)

        _, result = tf.while_loop(lambda i, r: i < most_halvings, square, [number(0.0), result])
        result = tf.reshape(result, shape)
        result.set_shape(matrix.shape)
        return result


def _even_powers(x: Any, degree: int) -> list[Any]:
    """I, x**2, x**4, ..."""
    unit = tf.eye(tf.shape(x)[-1], batch_shape=tf.shape(x)[:1], dtype=x.dtype)
    square = tf.matmul(x, x)
    powers = [unit, square]
    while len(powers) <= degree // 2:
        powers.append(tf.matmul(powers[-1], square))
    return powers
