"""Student's t-distribution."""

from __future__ import annotations

from typing import Any

import numpy as np

import weft as tf
from weft.distributions.arguments import (
    after,
    another_seed,
    nan_where_not,
    same_float_dtype,
    with_checks,
)
from weft.distributions.base import (
    FULLY_REPARAMETERIZED,
    ScalarDistribution,
    parameter,
    parameters_of,
)
from weft.framework.export import export


@export("distributions.StudentT", "contrib.distributions.StudentT")
class StudentT(ScalarDistribution):
    """Student's t with `df` degrees of freedom, moved by `loc` and scaled by `scale`."""

    def __init__(
        self,
        df: Any,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "StudentT",
    ):
        parameters = parameters_of(locals())
        with tf.name_scope(name, values=[df, loc, scale]) as name:
            checks = [tf.assert_positive(df)] if validate_args else []
            with after(checks):
                self._df = tf.identity(df, name="df")
                self._loc = tf.identity(loc, name="loc")
                self._scale = tf.identity(scale, name="scale")
                same_float_dtype(self._df, self._loc, self._scale)
        super().__init__(
            dtype=self._scale.dtype,
            reparameterization_type=FULLY_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._df, self._loc, self._scale],
            name=name,
        )

    df = parameter("df", "The degrees of freedom.")
    loc = parameter("loc", "The middle.")
    scale = parameter("scale", "The scale, whose sign says nothing.")
    _shaped_as_samples = ("df", "loc", "scale")

    def _batch_parameters(self):
        return [self.df, self.loc, self.scale]

    def _ones(self):
        return tf.ones(self.batch_shape_tensor(), dtype=self.dtype.base_dtype)

    def _sample_n(self, n, seed=None):
        dtype = self.dtype.base_dtype
        normal = tf.random_normal(self._sample_shape(n), dtype=dtype, seed=seed)
        df = self.df * self._ones()
        chi2 = tf.random_gamma(
            [n], 0.5 * df, beta=0.5, dtype=dtype, seed=another_seed(seed, "student_t")
        )
        return normal * tf.rsqrt(chi2 / df) * self.scale + self.loc

    def _log_prob(self, x):
        z = (x - self.loc) / self.scale
        density = -0.5 * (self.df + 1.0) * tf.log1p(tf.square(z) / self.df)
        return density - self._log_normalization()

    def _log_normalization(self):
        return (
            tf.log(tf.abs(self.scale))
            + 0.5 * tf.log(self.df)
            + 0.5 * np.log(np.pi)
            + tf.math.lgamma(0.5 * self.df)
            - tf.math.lgamma(0.5 * (self.df + 1.0))
        )

    def _cdf(self, x):
        z = (x - self.loc) / tf.abs(self.scale)
        below = 0.5 * tf.math.betainc(0.5 * self.df, 0.5, self.df / (tf.square(z) + self.df))
        return tf.where_v2(z < 0.0, below, 1.0 - below)

    def _entropy(self):
        ones = self._ones()[..., None]
        halves = tf.concat([ones * self.df[..., None], ones], -1) / 2.0
        df = self.df
        change = tf.math.digamma(0.5 * (df + 1.0)) - tf.math.digamma(0.5 * df)
        scale = tf.log(tf.abs(self.scale)) + 0.5 * tf.log(df)
        return scale + tf.math.lbeta(halves) + 0.5 * (df + 1.0) * change

    def _if_defined(self, what, value):
        """A statistic for which there must be more than one degree of freedom."""
        if self.allow_nan_stats:
            return nan_where_not(self.df > self._ones(), value)
        one = tf.ones([], dtype=self.dtype.base_dtype)
        message = f"{what} not defined for components of df <= 1"
        return with_checks([tf.assert_less(one, self.df, message=message)], value)

    def _mean(self):
        return self._if_defined("mean", self.loc * self._ones())

    def _variance(self):
        # What is not chosen must be finite too, or gradients are NaN.
        over = tf.where_v2(self.df > 2.0, self.df - 2.0, tf.ones_like(self.df))
        variance = self._ones() * tf.square(self.scale) * self.df / over
        infinity = tf.constant(np.inf, dtype=self.dtype.base_dtype)
        finite = tf.where_v2(self.df > 2.0 * self._ones(), variance, infinity)
        return self._if_defined("variance", finite)

    def _mode(self):
        return tf.identity(self.loc)


@export("contrib.distributions.StudentTWithAbsDfSoftplusScale")
class StudentTWithAbsDfSoftplusScale(StudentT):
    """`StudentT` of which `df` is floor(|df|) and `scale` is given before softplus."""

    def __init__(
        self,
        df: Any,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "StudentTWithAbsDfSoftplusScale",
    ):
        parameters = parameters_of(locals())
        with tf.name_scope(name, values=[df, scale]) as name:
            super().__init__(
                tf.floor(tf.abs(df)),
                loc,
                tf.nn.softplus(scale, name="softplus_scale"),
                validate_args,
                allow_nan_stats,
                name,
            )
        self._parameters = parameters
