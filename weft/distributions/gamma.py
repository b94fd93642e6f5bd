"""The gamma and the exponential distribution."""

from __future__ import annotations

from typing import Any

import numpy as np

import weft as tf
from weft.distributions.arguments import after, nan_where_not, same_float_dtype, with_checks
from weft.distributions.base import (
    FULLY_REPARAMETERIZED,
    ScalarDistribution,
    parameter,
    parameters_of,
)
from weft.distributions.divergence import RegisterKL
from weft.framework.export import export


@export("distributions.Gamma", "contrib.distributions.Gamma")
class Gamma(ScalarDistribution):
    """Positive numbers with density ~ x ** (concentration - 1) * exp(-rate * x)."""

    def __init__(
        self,
        concentration: Any,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Gamma",
    ):
        parameters = parameters_of(locals())
        with tf.name_scope(name, values=[concentration, rate]) as name:
            checks = []
            if validate_args:
                checks = [tf.assert_positive(concentration), tf.assert_positive(rate)]
            with after(checks):
                self._concentration = tf.identity(concentration, name="concentration")
                self._rate = tf.identity(rate, name="rate")
                same_float_dtype(self._concentration, self._rate)
        super().__init__(
            dtype=self._concentration.dtype,
            reparameterization_type=FULLY_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._concentration, self._rate],
            name=name,
        )

    concentration = parameter("concentration", "The shape, often called alpha.")
    rate = parameter("rate", "The inverse of the scale, often called beta.")
    _shaped_as_samples: tuple[str, ...] = ("concentration", "rate")

    def _batch_parameters(self):
        return [self.concentration, self.rate]

    def _sample_n(self, n, seed=None):
        return tf.random_gamma(
            shape=[n],
            alpha=self.concentration,
            beta=self.rate,
            dtype=self.dtype.base_dtype,
            seed=seed,
        )

    def _checked(self, x):
        same_float_dtype(x, self._concentration)
        return with_checks([tf.assert_positive(x)], x) if self.validate_args else x

    def _log_prob(self, x):
        x = self._checked(x)
        powers = tf.math.xlogy(self.concentration - 1.0, x) - self.rate * x
        return powers - self._log_normalization()

    def _log_normalization(self):
        return tf.math.lgamma(self.concentration) - self.concentration * tf.log(self.rate)

    def _cdf(self, x):
        return tf.math.igamma(self.concentration, self.rate * self._checked(x))

    def _entropy(self):
        a = self.concentration
        return a - tf.log(self.rate) + tf.math.lgamma(a) + (1.0 - a) * tf.math.digamma(a)

    def _mean(self):
        return self.concentration / self.rate

    def _variance(self):
        return self.concentration / tf.square(self.rate)

    def _stddev(self):
        return tf.sqrt(self.concentration) / self.rate

    def _mode(self):
        mode = (self.concentration - 1.0) / self.rate
        if self.allow_nan_stats:
            return nan_where_not(self.concentration > 1.0, mode)
        one = tf.ones([], self.dtype.base_dtype)
        message = "mode not defined when any concentration <= 1"
        return with_checks([tf.assert_less(one, self.concentration, message=message)], mode)


@export("contrib.distributions.GammaWithSoftplusConcentrationRate")
class GammaWithSoftplusConcentrationRate(Gamma):
    """`Gamma` of which both parameters are given before softplus."""

    def __init__(
        self,
        concentration: Any,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "GammaWithSoftplusConcentrationRate",
    ):
        parameters = parameters_of(locals())
        with tf.name_scope(name, values=[concentration, rate]) as name:
            super().__init__(
                tf.nn.softplus(concentration, name="softplus_concentration"),
                tf.nn.softplus(rate, name="softplus_rate"),
                validate_args,
                allow_nan_stats,
                name,
            )
        self._parameters = parameters


@RegisterKL(Gamma, Gamma)
def _kl(a: Any, b: Any, name: str | None = None) -> Any:
    values = [a.concentration, a.rate, b.concentration, b.rate]
    with tf.name_scope(name, "kl_gamma_gamma", values=values):
        return (
            (a.concentration - b.concentration) * tf.math.digamma(a.concentration)
            + tf.math.lgamma(b.concentration)
            - tf.math.lgamma(a.concentration)
            + b.concentration * tf.log(a.rate)
            - b.concentration * tf.log(b.rate)
            + a.concentration * (b.rate / a.rate - 1.0)
        )


@export("distributions.Exponential", "contrib.distributions.Exponential")
class Exponential(Gamma):
    """Positive numbers with density rate * exp(-rate * x)."""

    def __init__(
        self,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Exponential",
    ):
        parameters = parameters_of(locals())
        with tf.name_scope(name, values=[rate]) as name:
            rate = tf.convert_to_tensor(rate, name="rate")
        one = tf.ones([], dtype=rate.dtype.base_dtype)
        super().__init__(one, rate, validate_args, allow_nan_stats, name)
        self._parameters = parameters

    _shaped_as_samples = ("rate",)

    def _log_survival_function(self, value):
        return self._log_prob(value) - tf.log(self._rate)

    def _sample_n(self, n, seed=None):
        # From the open interval (0, 1): 0 would give infinity.
        uniform = tf.random_uniform(
            tf.concat([[n], tf.shape(self._rate)], 0),
            minval=np.finfo(self.dtype.as_numpy_dtype).tiny,
            maxval=1.0,
            seed=seed,
            dtype=self.dtype.base_dtype,
        )
        return -tf.log(uniform) / self._rate


@export("contrib.distributions.ExponentialWithSoftplusRate")
class ExponentialWithSoftplusRate(Exponential):
    """`Exponential` of which `rate` is given before softplus."""

    def __init__(
        self,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "ExponentialWithSoftplusRate",
    ):
        parameters = parameters_of(locals())
        with tf.name_scope(name, values=[rate]) as name:
            rate = tf.nn.softplus(rate, name="softplus_rate")
            super().__init__(rate, validate_args, allow_nan_stats, name)
        self._parameters = parameters
