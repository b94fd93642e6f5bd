"""The beta distribution."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.distributions.arguments import (
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
from weft.distributions.divergence import RegisterKL
from weft.framework.export import export


def _positive(concentration: Any, name: str, validate_args: bool) -> Any:
    concentration = tf.convert_to_tensor(concentration, name=name)
    if not validate_args:
        return concentration
    message = "Concentration parameter must be positive."
    return with_checks([tf.assert_positive(concentration, message=message)], concentration)


@export("distributions.Beta", "contrib.distributions.Beta")
class Beta(ScalarDistribution):
    """Numbers in (0, 1) with density ~ x ** (concentration1 - 1) * (1 - x) ** (concentration0 - 1)."""

    def __init__(
        self,
        concentration1: Any = None,
        concentration0: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Beta",
    ):
        parameters = parameters_of(locals())
        with tf.name_scope(name, values=[concentration1, concentration0]) as name:
            self._concentration1 = _positive(concentration1, "concentration1", validate_args)
            self._concentration0 = _positive(concentration0, "concentration0", validate_args)
            same_float_dtype(self._concentration1, self._concentration0)
            self._total_concentration = self._concentration1 + self._concentration0
        super().__init__(
            dtype=self._total_concentration.dtype,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            reparameterization_type=FULLY_REPARAMETERIZED,
            parameters=parameters,
            graph_parents=[
                self._concentration1,
                self._concentration0,
                self._total_concentration,
            ],
            name=name,
        )

    concentration1 = parameter("concentration1", "That of 1, often called alpha.")
    concentration0 = parameter("concentration0", "That of 0, often called beta.")
    total_concentration = parameter("total_concentration", "The sum of both.")
    _shaped_as_samples = ("concentration1", "concentration0")

    def _batch_parameters(self):
        return [self.total_concentration]

    def _sample_n(self, n, seed=None):
        ones = tf.ones_like(self.total_concentration, dtype=self.dtype.base_dtype)

        def gamma(alpha, seed):
            return tf.random_gamma([n], ones * alpha, dtype=self.dtype.base_dtype, seed=seed)

        first = gamma(self.concentration1, seed)
        return first / (first + gamma(self.concentration0, another_seed(seed, "beta")))

    def _log_prob(self, x):
        if self.validate_args:
            one = tf.ones([], self.dtype.base_dtype)
            checks = [
                tf.assert_positive(x, message="sample must be positive"),
                tf.assert_less(x, one, message="sample must be less than `1`."),
            ]
            x = with_checks(checks, x)
        powers = tf.math.xlogy(self.concentration1 - 1.0, x)
        powers += (self.concentration0 - 1.0) * tf.log1p(-x)
        return powers - self._log_normalization()

    def _log_normalization(self):
        gammas = tf.math.lgamma(self.concentration1) + tf.math.lgamma(self.concentration0)
        return gammas - tf.math.lgamma(self.total_concentration)

    def _cdf(self, x):
        return tf.math.betainc(self.concentration1, self.concentration0, x)

    def _entropy(self):
        digamma = tf.math.digamma
        return (
            self._log_normalization()
            - (self.concentration1 - 1.0) * digamma(self.concentration1)
            - (self.concentration0 - 1.0) * digamma(self.concentration0)
            + (self.total_concentration - 2.0) * digamma(self.total_concentration)
        )

    def _mean(self):
        return self.concentration1 / self.total_concentration

    def _variance(self):
        mean = self._mean()
        return mean * (1.0 - mean) / (1.0 + self.total_concentration)

    def _mode(self):
        mode = (self.concentration1 - 1.0) / (self.total_concentration - 2.0)
        both = (self.concentration1, self.concentration0)
        if self.allow_nan_stats:
            return nan_where_not(tf.logical_and(both[0] > 1.0, both[1] > 1.0), mode)
        one = tf.ones([], dtype=self.dtype.base_dtype)
        checks = [
            tf.assert_less(one, value, message=f"Mode undefined for concentration{i} <= 1.")
            for i, value in zip((1, 0), both)
        ]
        return with_checks(checks, mode)


@export("contrib.distributions.BetaWithSoftplusConcentration")
class BetaWithSoftplusConcentration(Beta):
    """`Beta` of which both parameters are given before softplus."""

    def __init__(
        self,
        concentration1: Any,
        concentration0: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "BetaWithSoftplusConcentration",
    ):
        parameters = parameters_of(locals())
        with tf.name_scope(name, values=[concentration1, concentration0]) as name:
            super().__init__(
                tf.nn.softplus(concentration1, name="softplus_concentration1"),
                tf.nn.softplus(concentration0, name="softplus_concentration0"),
                validate_args,
                allow_nan_stats,
                name,
            )
        self._parameters = parameters


@RegisterKL(Beta, Beta)
def _kl(a: Any, b: Any, name: str | None = None) -> Any:
    names = ("concentration1", "concentration0", "total_concentration")
    values = [getattr(d, which) for d in (a, b) for which in names]
    with tf.name_scope(name, "kl_beta_beta", values=values):
        first, second, total = (
            tf.math.digamma(getattr(a, which)) * (getattr(b, which) - getattr(a, which))
            for which in names
        )
        return b._log_normalization() - a._log_normalization() - first - second + total
