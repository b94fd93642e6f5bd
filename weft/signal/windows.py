"""Windows: weights that let frames of a signal fade in and out."""

from __future__ import annotations

import math
from typing import Any

import weft as tf
from weft.framework.constant_value import constant_value
from weft.framework.export import export


def _raised_cosine(
    name: str | None, default: str, window_length: Any, periodic: Any, dtype: Any, a: float
) -> Any:
    """`a - (1 - a) cos(2 pi n / period)`."""
    dtype = tf.as_dtype(dtype)
    if not dtype.is_floating:
        raise ValueError(f"dtype must be a floating point type. Found {dtype}")
    with tf.name_scope(name, default, [window_length, periodic]):
        length = tf.convert_to_tensor(window_length, dtype=tf.int32, name="window_length")
        length.shape.assert_has_rank(0)
        known = constant_value(length)
        if known is not None and known == 1:
            return tf.ones([1], dtype=dtype)
        periodic = tf.convert_to_tensor(periodic, dtype=tf.bool, name="periodic")
        periodic.shape.assert_has_rank(0)
        # Only a window of even length differs when it is periodic.
        even = 1 - tf.mod(length, 2)
        period = tf.cast(length + tf.cast(periodic, tf.int32) * even - 1, dtype)

        def weights() -> Any:
            count = tf.cast(tf.range(length), dtype)
            turn = tf.constant(2 * math.pi, dtype) * count / period
            return tf.cast(a - (1 - a) * tf.cos(turn), dtype)

        if known is not None:
            return weights()
        return tf.cond(tf.equal(length, 1), lambda: tf.ones([1], dtype=dtype), weights)


@export("signal.hann_window")
def hann_window(
    window_length: Any, periodic: Any = True, dtype: Any = tf.float32, name: str | None = None
) -> Any:
    """A cosine wave lifted to run from 0 to 1."""
    return _raised_cosine(name, "hann_window", window_length, periodic, dtype, 0.5)


@export("signal.hamming_window")
def hamming_window(
    window_length: Any, periodic: Any = True, dtype: Any = tf.float32, name: str | None = None
) -> Any:
    """A cosine wave lifted to run from 0.08 to 1."""
    return _raised_cosine(name, "hamming_window", window_length, periodic, dtype, 0.54)
