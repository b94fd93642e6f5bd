"""Initializers that draw numbers by how many inputs and outputs a weight has."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import weft as tf
from weft.contrib.layers.layer import exported
from weft.framework import dtypes


@exported("xavier_initializer", "xavier_initializer_conv2d")
def xavier_initializer(
    uniform: bool = True, seed: int | None = None, dtype: Any = dtypes.float32
) -> Callable:
    """An initializer after Glorot and Bengio 2010: gradients keep their size through layers."""
    return variance_scaling_initializer(1.0, "FAN_AVG", uniform, seed, dtype)


@exported("variance_scaling_initializer")
def variance_scaling_initializer(
    factor: float = 2.0,
    mode: str = "FAN_IN",
    uniform: bool = False,
    seed: int | None = None,
    dtype: Any = dtypes.float32,
) -> Callable:
    """An initializer with variance `factor` over the number of inputs, of outputs, or their mean."""
    if not dtypes.as_dtype(dtype).is_floating:
        raise TypeError("Cannot create initializer for non-floating point type.")
    if mode not in ("FAN_IN", "FAN_OUT", "FAN_AVG"):
        raise TypeError("Unknown mode %s [FAN_IN, FAN_OUT, FAN_AVG]", mode)

    def initializer(shape: Any, dtype: Any = dtype, partition_info: Any = None) -> Any:
        if not dtypes.as_dtype(dtype).is_floating:
            raise TypeError("Cannot create initializer for non-floating point type.")
        sizes = [int(s) for s in shape]
        window = math.prod(sizes[:-2])
        fan_in = float(sizes[-2] if len(sizes) > 1 else sizes[-1]) * window if sizes else 1.0
        fan_out = float(sizes[-1]) * window if sizes else 1.0
        n = {"FAN_IN": fan_in, "FAN_OUT": fan_out, "FAN_AVG": (fan_in + fan_out) / 2}[mode]
        if uniform:
            limit = math.sqrt(3.0 * factor / n)
            return tf.random_uniform(sizes, -limit, limit, dtype, seed=seed)
        # Values beyond two deviations are drawn again, which takes from the variance what 1.3 gives back.
        return tf.truncated_normal(sizes, 0.0, math.sqrt(1.3 * factor / n), dtype, seed=seed)

    return initializer
