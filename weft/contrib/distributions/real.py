"""Distributions of single real numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import weft as tf
from weft.distributions import special
from weft.distributions.arguments import (
    after,
    nan_where_not,
    same_float_dtype,
    with_checks,
)
from weft.distributions.base import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    ScalarDistribution,
    parameter,
    parameters_of,
)
from weft.distributions.divergence import RegisterKL
from weft.distributions.gamma import Gamma
from weft.framework.export import export

_SPACE = "contrib.distributions."


class _LocationAndScale(ScalarDistribution):
    """A standard distribution, moved by `loc` and scaled by `scale`."""

    def __init__(self, loc: Any, scale: Any, validate_args: bool, allow_nan_stats: bool, name: str):
        parameters = {
            "loc": loc,
            "scale": scale,
            "validate_args": validate_args,
            "allow_nan_stats": allow_nan_stats,
            "name": name,
        }
        with tf.name_scope(name, values=[loc, scale]) as name:
            scale = tf.convert_to_tensor(scale)
            if validate_args:
                scale = with_checks([tf.assert_positive(scale)], scale)
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

    loc = parameter("loc", "Where it is.")
    scale = parameter("scale", "How wide it is.")
    _shaped_as_samples = ("loc", "scale")

    def _batch_parameters(self):
        return [self.loc, self.scale]

    def _z(self, x: Any) -> Any:
        with tf.name_scope("standardize", values=[x]):
            return (x - self.loc) / self.scale

    def _uniform(self, n: Any, seed: Any, least: Any = None) -> Any:
        dtype = self.dtype.base_dtype
        tiny = np.finfo(dtype.as_numpy_dtype).tiny if least is None else least
        shape = self._sample_shape(n)
        return tf.random_uniform(shape, minval=tiny, maxval=1.0, dtype=dtype, seed=seed)

    def _mode(self):
        return self.loc * tf.ones_like(self.scale)


@export(_SPACE + "Logistic")
class Logistic(_LocationAndScale):
    """Numbers whose distribution function is the sigmoid of (x - loc) / scale."""

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Logistic",
    ):
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)

    def _sample_n(self, n, seed=None):
        uniform = self._uniform(n, seed)
        return (tf.log(uniform) - tf.log1p(-uniform)) * self.scale + self.loc

    def _log_prob(self, x):
        z = self._z(x)
        return -z - 2.0 * tf.nn.softplus(-z) - tf.log(self.scale)

    def _cdf(self, x):
        return tf.sigmoid(self._z(x))

    def _log_cdf(self, x):
        return -tf.nn.softplus(-self._z(x))

    def _survival_function(self, x):
        return tf.sigmoid(-self._z(x))

    def _log_survival_function(self, x):
        return -tf.nn.softplus(self._z(x))

    def _entropy(self):
        return 2.0 + tf.log(self.scale * tf.ones_like(self.loc))

    def _mean(self):
        return self.loc * tf.ones_like(self.scale)

    def _stddev(self):
        return self.scale * tf.ones_like(self.loc) * math.pi / math.sqrt(3)


@export(_SPACE + "Cauchy")
class Cauchy(_LocationAndScale):
    """The ratio of two normal numbers: it has a median, and no mean."""

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Cauchy",
    ):
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)

    def _sample_n(self, n, seed=None):
        return self._quantile(self._uniform(n, seed, least=0.0))

    def _log_prob(self, x):
        return -tf.log1p(tf.square(self._z(x))) - math.log(math.pi) - tf.log(self.scale)

    def _cdf(self, x):
        return tf.atan(self._z(x)) / math.pi + 0.5

    def _log_cdf(self, x):
        return tf.log1p(2.0 / math.pi * tf.atan(self._z(x))) - math.log(2.0)

    def _quantile(self, p):
        return self.loc + self.scale * tf.tan(math.pi * (p - 0.5))

    def _entropy(self):
        return math.log(4.0 * math.pi) + tf.log(self.scale + tf.zeros_like(self.loc))

    def _undefined(self, what: str) -> Any:
        if self.allow_nan_stats:
            nan = self.dtype.as_numpy_dtype(np.nan)
            return tf.fill(self.batch_shape_tensor(), nan, name="nan")
        raise ValueError(f"`{what}` is undefined for Cauchy distribution.")

    def _mean(self):
        return self._undefined("mean")

    def _stddev(self):
        return self._undefined("stddev")


@export(_SPACE + "HalfNormal")
class HalfNormal(ScalarDistribution):
    """The size of normal numbers of mean 0."""

    def __init__(
        self,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "HalfNormal",
    ):
        parameters = parameters_of(locals())
        with tf.name_scope(name, values=[scale]) as name:
            scale = tf.convert_to_tensor(scale)
            if validate_args:
                scale = with_checks([tf.assert_positive(scale)], scale)
            self._scale = tf.identity(scale, name="scale")
        super().__init__(
            dtype=self._scale.dtype,
            reparameterization_type=FULLY_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._scale],
            name=name,
        )

    scale = parameter("scale", "The standard deviation of the normal numbers.")
    _shaped_as_samples = ("scale",)

    def _batch_parameters(self):
        return [self.scale]

    def _sample_n(self, n, seed=None):
        shape = self._sample_shape(n)
        drawn = tf.random_normal(shape, dtype=self.dtype.base_dtype, seed=seed)
        return tf.abs(drawn * self.scale)

    def _prob(self, x):
        coefficient = math.sqrt(2.0) / self.scale / math.sqrt(math.pi)
        density = coefficient * tf.exp(-0.5 * tf.square(x / self.scale))
        return density * tf.cast(x >= 0.0, self.dtype.base_dtype)

    def _cdf(self, x):
        return tf.erf(tf.nn.relu(x) / self.scale / math.sqrt(2.0))

    def _entropy(self):
        return 0.5 * tf.log(math.pi * tf.square(self.scale) / 2.0) + 0.5

    def _mean(self):
        return self.scale * math.sqrt(2.0) / math.sqrt(math.pi)

    def _quantile(self, p):
        return self.scale * special.ndtri((p + 1.0) / 2.0)

    def _mode(self):
        return tf.zeros(self.batch_shape_tensor(), self.dtype.base_dtype)

    def _variance(self):
        return tf.square(self.scale) * (1.0 - 2.0 / math.pi)


@RegisterKL(HalfNormal, HalfNormal)
def _kl_half_normal(a: Any, b: Any, name: str | None = None) -> Any:
    with tf.name_scope(name, "kl_half_normal_half_normal", [a.scale, b.scale]):
        ratio = tf.square(a.scale) / tf.square(b.scale)
        return -0.5 * tf.log(ratio) + 0.5 * (ratio - 1.0)


@export(_SPACE + "InverseGamma")
class InverseGamma(ScalarDistribution):
    """The inverse of gamma-distributed numbers."""

    def __init__(
        self,
        concentration: Any,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "InverseGamma",
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
            reparameterization_type=NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._concentration, self._rate],
            name=name,
        )

    concentration = parameter("concentration", "That of the gamma distribution.")
    rate = parameter("rate", "That of the gamma distribution.")
    _shaped_as_samples = ("concentration", "rate")

    def _batch_parameters(self):
        return [self.concentration, self.rate]

    def _sample_n(self, n, seed=None):
        return 1.0 / tf.random_gamma(
            [n], self.concentration, self.rate, dtype=self.dtype.base_dtype, seed=seed
        )

    def _checked(self, x: Any) -> Any:
        return with_checks([tf.assert_positive(x)], x) if self.validate_args else x

    def _log_prob(self, x):
        x = self._checked(x)
        density = -(1.0 + self.concentration) * tf.log(x) - self.rate / x
        constant = tf.math.lgamma(self.concentration) - self.concentration * tf.log(self.rate)
        return density - constant

    def _cdf(self, x):
        return tf.math.igammac(self.concentration, self.rate / self._checked(x))

    def _entropy(self):
        a = self.concentration
        return a + tf.log(self.rate) + tf.math.lgamma(a) - (1.0 + a) * tf.math.digamma(a)

    def _if_defined(self, what: str, least: float, value: Any) -> Any:
        if self.allow_nan_stats:
            return nan_where_not(self.concentration > least, value)
        bound = tf.constant(least, dtype=self.dtype.base_dtype)
        message = f"{what} undefined when any concentration <= {least:g}"
        return with_checks([tf.assert_less(bound, self.concentration, message=message)], value)

    def _mean(self):
        return self._if_defined("mean", 1.0, self.rate / (self.concentration - 1.0))

    def _variance(self):
        a = self.concentration
        variance = tf.square(self.rate) / tf.square(a - 1.0) / (a - 2.0)
        return self._if_defined("variance", 2.0, variance)

    def _mode(self):
        return self.rate / (1.0 + self.concentration)


@export(_SPACE + "InverseGammaWithSoftplusConcentrationRate")
class InverseGammaWithSoftplusConcentrationRate(InverseGamma):
    """`InverseGamma` of which both parameters are given before softplus."""

    def __init__(
        self,
        concentration: Any,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "InverseGammaWithSoftplusConcentrationRate",
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


@export(_SPACE + "Chi2")
class Chi2(Gamma):
    """The sum of the squares of `df` standard normal numbers."""

    def __init__(
        self,
        df: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Chi2",
    ):
        parameters = parameters_of(locals())
        with tf.name_scope(name, values=[df]) as name:
            df = tf.convert_to_tensor(df, name="df")
            if validate_args:
                df = with_checks([tf.assert_positive(df)], df)
            self._df = df
            half = tf.constant(0.5, dtype=df.dtype.base_dtype)
            super().__init__(half * df, half, validate_args, allow_nan_stats, name)
        self._parameters = parameters

    df = parameter("df", "The number of squares.")
    _shaped_as_samples = ("df",)


@export(_SPACE + "Chi2WithAbsDf")
class Chi2WithAbsDf(Chi2):
    """`Chi2` of floor(|df|) squares."""

    def __init__(
        self,
        df: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Chi2WithAbsDf",
    ):
        parameters = parameters_of(locals())
        with tf.name_scope(name, values=[df]) as name:
            df = tf.floor(tf.abs(df, name="abs_df"), name="floor_abs_df")
            super().__init__(df, validate_args, allow_nan_stats, name)
        self._parameters = parameters
