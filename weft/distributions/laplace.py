"""The Laplace distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import weft as tf
from weft.distributions import special
from weft.distributions.arguments import after, same_float_dtype
from weft.distributions.base import (
    FULLY_REPARAMETERIZED,
    ScalarDistribution,
    parameter,
    parameters_of,
)
from weft.framework.export import export


@export("distributions.Laplace", "contrib.distributions.Laplace")
class Laplace(ScalarDistribution):
    """Numbers whose distance from `loc` is exponential, `scale` on average."""

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Laplace",
    ):
        parameters = parameters_of(locals())
        with tf.name_scope(name, values=[loc, scale]) as name:
            checks = [tf.assert_positive(scale)] if validate_args else []
            with after(checks):
                self._loc = tf.identity(loc, name="loc")
                self._scale = tf.identity(scale, name="scale")
                same_float_dtype(self._loc, self._scale)
            super().__init__(
                dtype=self._loc.dtype,
                reparameterization_type=FULLY_REPARAMETERIZED,
                validate_args=validate_args,
                allow_nan_stats=allow_nan_stats,
                parameters=parameters,
                graph_parents=[self._loc, self._scale],
                name=name,
            )

    loc = parameter("loc", "The middle.")
    scale = parameter("scale", "The mean distance from the middle.")
    _shaped_as_samples = ("loc", "scale")

    def _batch_parameters(self):
        return [self.loc, self.scale]

    def _sample_n(self, n, seed=None):
        number = self.dtype.as_numpy_dtype
        # From the open interval (-1, 1): -1 would give infinity.
        uniform = tf.random_uniform(
            self._sample_shape(n),
            minval=np.nextafter(number(-1.0), number(0.0)),
            maxval=1.0,
            dtype=self.dtype.base_dtype,
            seed=seed,
        )
        return self.loc - self.scale * tf.sign(uniform) * tf.log1p(-tf.abs(uniform))

    def _z(self, x):
        return (x - self.loc) / self.scale

    def _log_prob(self, x):
        return -tf.abs(self._z(x)) - (math.log(2.0) + tf.log(self.scale))

    def _cdf(self, x):
        z = self._z(x)
        return 0.5 + 0.5 * tf.sign(z) * (1.0 - tf.exp(-tf.abs(z)))

    def _log_cdf(self, x):
        return special.log_cdf_laplace(self._z(x))

    def _log_survival_function(self, x):
        return special.log_cdf_laplace(-self._z(x))

    def _entropy(self):
        return math.log(2.0) + 1.0 + tf.log(self.scale + tf.zeros_like(self.loc))

    def _mean(self):
        return self.loc + tf.zeros_like(self.scale)

    def _stddev(self):
        return math.sqrt(2.0) * self.scale + tf.zeros_like(self.loc)

    def _mode(self):
        return self._mean()


@export("contrib.distributions.LaplaceWithSoftplusScale")
class LaplaceWithSoftplusScale(Laplace):
    """`Laplace` of which `scale` is given before softplus."""

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "LaplaceWithSoftplusScale",
    ):
        parameters = parameters_of(locals())
        with tf.name_scope(name, values=[loc, scale]) as name:
            scale = tf.nn.softplus(scale, name="softplus_scale")
            super().__init__(loc, scale, validate_args, allow_nan_stats, name)
        self._parameters = parameters
