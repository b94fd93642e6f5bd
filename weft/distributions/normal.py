"""The normal distribution."""

from __future__ import annotations

import math
from typing import Any

import weft as tf
from weft.distributions import special
from weft.distributions.arguments import after, same_float_dtype
from weft.distributions.base import (
    FULLY_REPARAMETERIZED,
    ScalarDistribution,
    parameter,
    parameters_of,
)
from weft.distributions.divergence import RegisterKL
from weft.framework.export import export


@export("distributions.Normal", "contrib.distributions.Normal")
class Normal(ScalarDistribution):
    """Normal numbers of mean `loc` and standard deviation `scale`."""

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Normal",
    ):
        parameters = parameters_of(locals())
        with tf.name_scope(name, values=[loc, scale]) as name:
            checks = [tf.assert_positive(scale)] if validate_args else []
            with after(checks):
                self._loc = tf.identity(loc, name="loc")
                self._scale = tf.identity(scale, name="scale")
                same_float_dtype(self._loc, self._scale)
        super().__init__(
            dtype=self._scale.dtype,
            reparameterization_type=FULLY_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._loc, self._scale],
            name=name,
        )

    loc = parameter("loc", "The mean.")
    scale = parameter("scale", "The standard deviation.")
    _shaped_as_samples = ("loc", "scale")

    def _batch_parameters(self):
        return [self.loc, self.scale]

    def _sample_n(self, n, seed=None):
        drawn = tf.random_normal(self._sample_shape(n), dtype=self.loc.dtype.base_dtype, seed=seed)
        return drawn * self.scale + self.loc

    def _z(self, x):
        with tf.name_scope("standardize", values=[x]):
            return (x - self.loc) / self.scale

    def _log_prob(self, x):
        return -0.5 * tf.square(self._z(x)) - self._log_normalization()

    def _log_normalization(self):
        return 0.5 * math.log(2.0 * math.pi) + tf.log(self.scale)

    def _cdf(self, x):
        return special.ndtr(self._z(x))

    def _log_cdf(self, x):
        return special.log_ndtr(self._z(x))

    def _survival_function(self, x):
        return special.ndtr(-self._z(x))

    def _log_survival_function(self, x):
        return special.log_ndtr(-self._z(x))

    def _quantile(self, p):
        with tf.name_scope("reconstruct", values=[p]):
            return special.ndtri(p) * self.scale + self.loc

    def _entropy(self):
        scale = self.scale * tf.ones_like(self.loc)
        return 0.5 * math.log(2.0 * math.pi * math.e) + tf.log(scale)

    def _mean(self):
        return self.loc * tf.ones_like(self.scale)

    def _stddev(self):
        return self.scale * tf.ones_like(self.loc)

    def _mode(self):
        return self._mean()


@export("contrib.distributions.NormalWithSoftplusScale")
class NormalWithSoftplusScale(Normal):
    """`Normal` of which `scale` is given before softplus."""

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "NormalWithSoftplusScale",
    ):
        parameters = parameters_of(locals())
        with tf.name_scope(name, values=[scale]) as name:
            scale = tf.nn.softplus(scale, name="softplus_scale")
            super().__init__(loc, scale, validate_args, allow_nan_stats, name)
        self._parameters = parameters


@RegisterKL(Normal, Normal)
def _kl(a: Any, b: Any, name: str | None = None) -> Any:
    with tf.name_scope(name, "kl_normal_normal", [a.loc, b.loc]):
        variance = tf.square(b.scale)
        ratio = tf.square(a.scale) / variance
        distance = tf.squared_difference(a.loc, b.loc) / (2.0 * variance)
        return distance + 0.5 * (ratio - 1.0 - tf.log(ratio))
