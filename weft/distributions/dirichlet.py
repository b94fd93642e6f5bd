"""The Dirichlet distribution, and the multinomial one of which it is the prior."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.distributions.arguments import (
    another_seed,
    categories,
    counts,
    log_combinations,
    nan_where_not,
    with_checks,
)
from weft.distributions.base import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Distribution,
    parameter,
    parameters_of,
)
from weft.distributions.divergence import RegisterKL
from weft.distributions.multinomial import counts_of
from weft.framework.export import export

_POSITIVE = "Concentration parameter must be positive."


class _ByConcentration(Distribution):
    """A distribution over vectors with one concentration for each element."""

    concentration = parameter("concentration", "The parameter of each element.")
    total_concentration = parameter("total_concentration", "Their sum.")

    def _batch_shape_tensor(self):
        return tf.shape(self.total_concentration)

    def _batch_shape(self):
        return self.total_concentration.shape

    def _event_shape_tensor(self):
        return tf.shape(self.concentration)[-1:]

    def _event_shape(self):
        return self.concentration.shape.with_rank_at_least(1)[-1:]

    def _total(self):
        return self.total_concentration[..., None]

    def _scale(self):
        raise NotImplementedError

    def _covariance(self):
        x = self._scale() * self._mean()
        outer = tf.matmul(x[..., None], x[..., None, :])
        return tf.matrix_set_diag(-outer, self._variance())


@export("distributions.Dirichlet", "contrib.distributions.Dirichlet")
class Dirichlet(_ByConcentration):
    """Vectors of positive numbers that sum to 1, with density ~ prod x ** (concentration - 1)."""

    def __init__(
        self,
        concentration: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Dirichlet",
    ):
        parameters = parameters_of(locals())
        with tf.name_scope(name, values=[concentration]) as name:
            self._concentration = tf.convert_to_tensor(concentration, name="concentration")
            if validate_args:
                self._concentration = _checked(self._concentration)
            self._total_concentration = tf.reduce_sum(self._concentration, -1)
        super().__init__(
            dtype=self._concentration.dtype,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            reparameterization_type=FULLY_REPARAMETERIZED,
            parameters=parameters,
            graph_parents=[self._concentration, self._total_concentration],
            name=name,
        )

    def _sample_n(self, n, seed=None):
        drawn = tf.random_gamma([n], self.concentration, dtype=self.dtype.base_dtype, seed=seed)
        return drawn / tf.reduce_sum(drawn, -1, keepdims=True)

    def _log_prob(self, x):
        if self.validate_args:
            one = tf.ones([], dtype=self.dtype.base_dtype)
            message = "sample last-dimension must sum to `1`"
            checks = [
                tf.assert_positive(x, message="samples must be positive"),
                tf.assert_near(one, tf.reduce_sum(x, -1), message=message),
            ]
            x = with_checks(checks, x)
        powers = tf.reduce_sum(tf.math.xlogy(self.concentration - 1.0, x), -1)
        return powers - tf.math.lbeta(self.concentration)

    def _size(self):
        return tf.cast(self.event_shape_tensor()[0], self.dtype.base_dtype)

    def _entropy(self):
        a, total = self.concentration, self.total_concentration
        each = tf.reduce_sum((a - 1.0) * tf.math.digamma(a), axis=-1)
        return tf.math.lbeta(a) + (total - self._size()) * tf.math.digamma(total) - each

    def _mean(self):
        return self.concentration / self._total()

    def _scale(self):
        return tf.rsqrt(1.0 + self._total())

    def _variance(self):
        scale = self._scale()
        x = scale * self._mean()
        return x * (scale - x)

    def _mode(self):
        mode = (self.concentration - 1.0) / (self._total() - self._size())
        if self.allow_nan_stats:
            defined = tf.reduce_all(self.concentration > 1.0, axis=-1, keepdims=True)
            return nan_where_not(defined, mode)
        one = tf.ones([], self.dtype.base_dtype)
        message = "Mode undefined when any concentration <= 1"
        return with_checks([tf.assert_less(one, self.concentration, message=message)], mode)


def _checked(concentration: Any) -> Any:
    checks = [
        tf.assert_positive(concentration, message=_POSITIVE),
        tf.assert_rank_at_least(
            concentration, 1, message="Concentration parameter must have >=1 dimensions."
        ),
        tf.assert_less(
            1,
            tf.shape(concentration)[-1],
            message="Concentration parameter must have event_size >= 2.",
        ),
    ]
    return with_checks(checks, concentration)


@RegisterKL(Dirichlet, Dirichlet)
def _kl(a: Any, b: Any, name: str | None = None) -> Any:
    with tf.name_scope(name, "kl_dirichlet_dirichlet", values=[a.concentration, b.concentration]):
        total = tf.reduce_sum(a.concentration, axis=-1, keepdims=True)
        # What the logarithm of an element is on average
        logs = tf.math.digamma(a.concentration) - tf.math.digamma(total)
        difference = tf.reduce_sum((a.concentration - b.concentration) * logs, axis=-1)
        return difference - tf.math.lbeta(a.concentration) + tf.math.lbeta(b.concentration)


@export("distributions.DirichletMultinomial", "contrib.distributions.DirichletMultinomial")
class DirichletMultinomial(_ByConcentration):
    """Counts of `total_count` draws from probabilities that are themselves drawn from a Dirichlet one."""

    def __init__(
        self,
        total_count: Any,
        concentration: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "DirichletMultinomial",
    ):
        parameters = parameters_of(locals())
        with tf.name_scope(name, values=[total_count, concentration]) as name:
            self._total_count = tf.convert_to_tensor(total_count, name="total_count")
            self._concentration = tf.convert_to_tensor(concentration, name="concentration")
            if validate_args:
                self._total_count = counts(self._total_count)
                self._concentration = categories(self._concentration)
                positive = tf.assert_positive(self._concentration, message=_POSITIVE)
                self._concentration = with_checks([positive], self._concentration)
            self._total_concentration = tf.reduce_sum(self._concentration, -1)
        super().__init__(
            dtype=self._concentration.dtype,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            reparameterization_type=NOT_REPARAMETERIZED,
            parameters=parameters,
            graph_parents=[self._total_count, self._concentration],
            name=name,
        )

    total_count = parameter("total_count", "The number of draws.")

    def _sample_n(self, n, seed=None):
        size = self.event_shape_tensor()[0]
        gammas = tf.random_gamma([n], self.concentration, dtype=self.dtype.base_dtype, seed=seed)
        draws = tf.multinomial(
            logits=tf.reshape(tf.log(gammas), [-1, size]),
            num_samples=tf.cast(self.total_count, tf.int32),
            seed=another_seed(seed, "dirichlet_multinomial"),
        )
        x = tf.reduce_sum(tf.one_hot(draws, depth=size), -2)
        shape = tf.concat([[n], self.batch_shape_tensor(), [size]], 0)
        return tf.cast(tf.reshape(x, shape), self.dtype)

    def _log_prob(self, counts):
        if self.validate_args:
            message = "counts last-dimension must sum to `self.total_count`"
            counts = counts_of(counts, self.total_count, message)
        after = tf.math.lbeta(self.concentration + counts)
        ordered = after - tf.math.lbeta(self.concentration)
        return ordered + log_combinations(self.total_count, counts)

    def _mean(self):
        return self.total_count * (self.concentration / self._total())

    def _scale(self):
        total = self._total()
        return tf.sqrt((1.0 + total / self.total_count) / (1.0 + total))

    def _variance(self):
        scale = self._scale()
        x = scale * self._mean()
        return x * (self.total_count * scale - x)
