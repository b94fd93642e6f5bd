"""The uniform distribution."""

from __future__ import annotations

import math
from typing import Any

import weft as tf
from weft.distributions.arguments import after, same_float_dtype
from weft.distributions.base import (
    FULLY_REPARAMETERIZED,
    ScalarDistribution,
    parameter,
    parameters_of,
)
from weft.framework.export import export


@export("distributions.Uniform", "contrib.distributions.Uniform")
class Uniform(ScalarDistribution):
    """Numbers in [low, high)."""

    def __init__(
        self,
        low: Any = 0.0,
        high: Any = 1.0,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Uniform",
    ):
        parameters = parameters_of(locals())
        with tf.name_scope(name, values=[low, high]) as name:
            message = "uniform not defined when low >= high."
            checks = [tf.assert_less(low, high, message=message)] if validate_args else []
            with after(checks):
                self._low = tf.identity(low, name="low")
                self._high = tf.identity(high, name="high")
                same_float_dtype(self._low, self._high)
        super().__init__(
            dtype=self._low.dtype,
            reparameterization_type=FULLY_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._low, self._high],
            name=name,
        )

    low = parameter("low", "The least number.")
    high = parameter("high", "The bound above.")
    _shaped_as_samples = ("low", "high")

    def range(self, name: str = "range") -> Any:
        """`high - low`."""
        with self._name_scope(name):
            return self.high - self.low

    def _batch_parameters(self):
        return [self.low, self.high]

    def _sample_n(self, n, seed=None):
        drawn = tf.random_uniform(self._sample_shape(n), dtype=self.dtype.base_dtype, seed=seed)
        return self.low + self.range() * drawn

    def _prob(self, x):
        x = x * tf.ones(self.batch_shape_tensor(), dtype=x.dtype.base_dtype)
        outside = tf.logical_or(x < self.low, x >= self.high)
        density = tf.where_v2(outside, tf.zeros_like(x), tf.ones_like(x) / self.range())
        return tf.where_v2(tf.is_nan(x), x, density)

    def _cdf(self, x):
        shape = tf.broadcast_dynamic_shape(tf.shape(x), self.batch_shape_tensor())
        zeros = tf.zeros(shape, dtype=self.dtype.base_dtype)
        ones = tf.ones(shape, dtype=self.dtype.base_dtype)
        part = tf.where_v2(x < self.low, zeros, (x * ones - self.low) / self.range())
        return tf.where_v2(x >= self.high, ones, part)

    def _entropy(self):
        return tf.log(self.range())

    def _mean(self):
        return (self.low + self.high) / 2.0

    def _variance(self):
        return tf.square(self.range()) / 12.0

    def _stddev(self):
        return self.range() / math.sqrt(12.0)
