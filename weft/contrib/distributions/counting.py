"""Distributions of counts."""

from __future__ import annotations

from typing import Any

import numpy as np

import weft as tf
from weft.distributions.arguments import another_seed, counts, logits_and_probs, with_checks
from weft.distributions.base import (
    NOT_REPARAMETERIZED,
    ScalarDistribution,
    parameter,
    parameters_of,
)
from weft.framework.export import export

_SPACE = "contrib.distributions."


class _Counts(ScalarDistribution):
    """A distribution over whole numbers that are not negative, given as floats."""

    def _whole(self, x: Any) -> Any:
        return counts(x) if self.validate_args else x

    def _uniform(self, n: Any, seed: Any) -> Any:
        dtype = self.dtype.base_dtype
        tiny = np.finfo(dtype.as_numpy_dtype).tiny
        shape = self._sample_shape(n)
        return tf.random_uniform(shape, minval=tiny, maxval=1.0, seed=seed, dtype=dtype)


@export(_SPACE + "Poisson")
class Poisson(_Counts):
    """How often what happens `rate` times on average happens."""

    def __init__(
        self,
        rate: Any = None,
        log_rate: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Poisson",
    ):
        parameters = parameters_of(locals())
        with tf.name_scope(name, values=[rate]) as name:
            if (rate is None) == (log_rate is None):
                raise ValueError("Must specify exactly one of `rate` and `log_rate`.")
            given = tf.convert_to_tensor(
                rate if log_rate is None else log_rate,
                name="rate" if log_rate is None else "log_rate",
            )
            if not given.dtype.is_floating:
                raise TypeError(f"The rate's dtype ({given.dtype.name}) is a not a float-type.")
            if log_rate is None:
                if validate_args:
                    given = with_checks([tf.assert_positive(given)], given)
                self._rate = tf.identity(given, name="rate")
                self._log_rate = tf.log(given, name="log_rate")
            else:
                self._rate = tf.exp(given, name="rate")
                self._log_rate = given
        super().__init__(
            dtype=self._rate.dtype,
            reparameterization_type=NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._rate],
            name=name,
        )

    rate = parameter("rate", "The mean.")
    log_rate = parameter("log_rate", "Its logarithm.")

    def _batch_parameters(self):
        return [self.rate]

    def _sample_n(self, n, seed=None):
        return tf.random_poisson(self.rate, [n], dtype=self.dtype.base_dtype, seed=seed)

    def _log_prob(self, x):
        x = self._whole(x)
        return x * self.log_rate - tf.math.lgamma(1.0 + x) - self.rate

    def _cdf(self, x):
        return tf.math.igammac(1.0 + self._whole(x), self.rate)

    def _mean(self):
        return tf.identity(self.rate)

    def _variance(self):
        return tf.identity(self.rate)

    def _mode(self):
        return tf.floor(self.rate)


class _CountsOfTrials(_Counts):
    """A distribution of `total_count` and the probability of one trial."""

    def __init__(
        self,
        total_count: Any,
        logits: Any,
        probs: Any,
        validate_args: bool,
        allow_nan_stats: bool,
        parameters: dict[str, Any],
        name: str,
    ):
        with tf.name_scope(name, values=[total_count, logits, probs]) as name:
            self._logits, self._probs = logits_and_probs(
                logits, probs, validate_args=validate_args, name=name
            )
            self._total_count = tf.convert_to_tensor(total_count, name="total_count")
            if validate_args:
                self._total_count = self._checked_total(self._total_count)
        super().__init__(
            dtype=self._probs.dtype,
            reparameterization_type=NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._total_count, self._logits, self._probs],
            name=name,
        )

    total_count = parameter("total_count", "The number of trials, or of failures.")
    logits = parameter("logits", "log(probs / (1 - probs)).")
    probs = parameter("probs", "The probability of success.")

    def _checked_total(self, total: Any) -> Any:
        return counts(total)

    def _batch_parameters(self):
        return [self.total_count, self.probs]


@export(_SPACE + "Binomial")
class Binomial(_CountsOfTrials):
    """The number of successes in `total_count` trials."""

    def __init__(
        self,
        total_count: Any,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Binomial",
    ):
        parameters = parameters_of(locals())
        super().__init__(
            total_count, logits, probs, validate_args, allow_nan_stats, parameters, name
        )

    def _checked(self, x: Any) -> Any:
        if not self.validate_args:
            return x
        message = "counts are not less than or equal to n."
        return with_checks([tf.assert_less_equal(counts(x), self.total_count, message=message)], x)

    def _log_prob(self, x):
        x, n = self._checked(x), self.total_count
        lgamma = tf.math.lgamma
        ways = lgamma(1.0 + n) - lgamma(1.0 + x) - lgamma(1.0 + n - x)
        return x * tf.log(self.probs) + (n - x) * tf.log1p(-self.probs) + ways

    def _cdf(self, x):
        x = self._checked(x)
        probs, x = self.probs + tf.zeros_like(x), x + tf.zeros_like(self.probs)
        # Where everything counts the incomplete beta function is not defined, nor is its gradient.
        is_all = tf.equal(x, self.total_count)
        rest = tf.where_v2(is_all, tf.ones_like(x), self.total_count - x)
        part = tf.math.betainc(rest, x + 1.0, 1.0 - probs)
        return tf.where_v2(is_all, tf.ones_like(part), part)

    def _mean(self):
        return self.total_count * self.probs

    def _variance(self):
        return self._mean() * (1.0 - self.probs)

    def _mode(self):
        return tf.floor((1.0 + self.total_count) * self.probs)


@export(_SPACE + "NegativeBinomial")
class NegativeBinomial(_CountsOfTrials):
    """The number of successes before `total_count` failures."""

    def __init__(
        self,
        total_count: Any,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "NegativeBinomial",
    ):
        parameters = parameters_of(locals())
        super().__init__(
            total_count, logits, probs, validate_args, allow_nan_stats, parameters, name
        )

    def _checked_total(self, total: Any) -> Any:
        return with_checks([tf.assert_positive(total)], total)

    def _sample_n(self, n, seed=None):
        dtype = self.dtype.base_dtype
        rate = tf.random_gamma([n], self.total_count, tf.exp(-self.logits), dtype=dtype, seed=seed)
        return tf.random_poisson(rate, [], dtype=dtype, seed=another_seed(seed, "negative_binom"))

    def _log_prob(self, x):
        x, n = self._whole(x), self.total_count
        lgamma = tf.math.lgamma
        ways = lgamma(n + x) - lgamma(1.0 + x) - lgamma(n)
        return n * tf.log_sigmoid(-self.logits) + x * tf.log_sigmoid(self.logits) + ways

    def _cdf(self, x):
        return tf.math.betainc(self.total_count, 1.0 + self._whole(x), tf.sigmoid(-self.logits))

    def _mean(self):
        return self.total_count * tf.exp(self.logits)

    def _variance(self):
        return self._mean() / tf.sigmoid(-self.logits)

    def _mode(self):
        n = self.total_count
        fewer = tf.where_v2(n > 1.0, n - 1.0, tf.zeros_like(n))
        return tf.floor(fewer * tf.exp(self.logits))


@export(_SPACE + "Geometric")
class Geometric(_Counts):
    """The number of failures before the first success."""

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Geometric",
    ):
        parameters = parameters_of(locals())
        with tf.name_scope(name, values=[logits, probs]) as name:
            self._logits, self._probs = logits_and_probs(
                logits, probs, validate_args=validate_args, name=name
            )
            if validate_args:
                self._probs = with_checks([tf.assert_positive(self._probs)], self._probs)
        super().__init__(
            dtype=self._probs.dtype,
            reparameterization_type=NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._probs, self._logits],
            name=name,
        )

    logits = parameter("logits", "log(probs / (1 - probs)).")
    probs = parameter("probs", "The probability of success.")

    def _batch_parameters(self):
        return [self.probs]

    def _sample_n(self, n, seed=None):
        return tf.floor(tf.log(self._uniform(n, seed)) / tf.log1p(-self.probs))

    def _of_event(self, x: Any) -> Any:
        x = counts(x) if self.validate_args else tf.floor(x)
        return x * tf.ones_like(self.probs)

    def _cdf(self, x):
        x = self._of_event(x)
        part = -tf.expm1((1.0 + x) * tf.log1p(-self.probs))
        return tf.where(x < 0.0, tf.zeros_like(x), part)

    def _log_prob(self, x):
        x = self._of_event(x)
        probs = self.probs * tf.ones_like(x)
        # With probability 1 it is 0 times minus infinity.
        safe = tf.where(tf.equal(x, 0.0), tf.zeros_like(probs), probs)
        return x * tf.log1p(-safe) + tf.log(probs)

    def _entropy(self):
        return tf.nn.softplus(self.logits) / self.probs - self.logits

    def _mean(self):
        return tf.exp(-self.logits)

    def _variance(self):
        return self._mean() / self.probs

    def _mode(self):
        return tf.zeros(self.batch_shape_tensor(), dtype=self.dtype.base_dtype)
