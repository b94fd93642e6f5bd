"""The multinomial distribution."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.distributions.arguments import counts as checked_counts
from weft.distributions.arguments import log_combinations, logits_and_probs, with_checks
from weft.distributions.base import (
    NOT_REPARAMETERIZED,
    Distribution,
    parameter,
    parameters_of,
)
from weft.framework.export import export


def counts_of(counts: Any, total: Any, message: str) -> Any:
    """Counts of events, checked to be whole and to sum up."""
    counts = checked_counts(counts)
    total = tf.assert_equal(total, tf.reduce_sum(counts, -1), message=message)
    return with_checks([total], counts)


@export("distributions.Multinomial", "contrib.distributions.Multinomial")
class Multinomial(Distribution):
    """How often each category comes in `total_count` draws."""

    def __init__(
        self,
        total_count: Any,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Multinomial",
    ):
        parameters = parameters_of(locals())
        with tf.name_scope(name, values=[total_count, logits, probs]) as name:
            self._total_count = tf.convert_to_tensor(total_count, name="total_count")
            if validate_args:
                self._total_count = checked_counts(self._total_count)
            self._logits, self._probs = logits_and_probs(
                logits, probs, multidimensional=True, validate_args=validate_args, name=name
            )
            self._mean_val = self._total_count[..., None] * self._probs
        super().__init__(
            dtype=self._probs.dtype,
            reparameterization_type=NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._total_count, self._logits, self._probs],
            name=name,
        )

    total_count = parameter("total_count", "The number of draws.")
    logits = parameter("logits", "Logarithms of probabilities, up to a constant.")
    probs = parameter("probs", "The probability of each category.")

    def _batch_shape_tensor(self):
        return tf.shape(self._mean_val)[:-1]

    def _batch_shape(self):
        return self._mean_val.shape.with_rank_at_least(1)[:-1]

    def _event_shape_tensor(self):
        return tf.shape(self._mean_val)[-1:]

    def _event_shape(self):
        return self._mean_val.shape.with_rank_at_least(1)[-1:]

    def _sample_n(self, n, seed=None):
        draws = tf.cast(self.total_count, dtype=tf.int32)
        size = self.event_shape_tensor()[0]
        draws = tf.ones_like(self.logits[..., 0], dtype=tf.int32) * draws
        logits = tf.ones_like(draws[..., None], dtype=self.logits.dtype.base_dtype) * self.logits

        def of_one(item: Any) -> Any:
            logits, draws = item
            drawn = tf.multinomial(logits[None, ...], draws, seed)  # for all samples at once
            # in the dtype of the results, which the mapped function declares
            ones = tf.one_hot(tf.reshape(drawn, [n, -1]), depth=size, dtype=self.dtype.base_dtype)
            return tf.reduce_sum(ones, axis=-2)

        # One after the other: how many are drawn differs.
        x = tf.map_fn(
            of_one,
            [tf.reshape(logits, [-1, size]), n * tf.reshape(draws, [-1])],
            dtype=self.dtype.base_dtype,
        )
        shape = tf.concat([[n], self.batch_shape_tensor(), [size]], 0)
        return tf.reshape(tf.transpose(x, [1, 0, 2]), shape)

    def _log_prob(self, counts):
        if self.validate_args:
            message = "counts must sum to `self.total_count`"
            counts = counts_of(counts, self.total_count, message)
        logs = tf.reduce_sum(counts * tf.nn.log_softmax(self.logits), -1)
        return logs + log_combinations(self.total_count, counts)

    def _mean(self):
        return tf.identity(self._mean_val)

    def _probs_of_batch(self):
        return self.probs * tf.ones_like(self.total_count)[..., None]

    def _covariance(self):
        outer = tf.matmul(self._mean_val[..., None], self._probs_of_batch()[..., None, :])
        return tf.matrix_set_diag(-outer, self._variance())

    def _variance(self):
        return self._mean_val - self._mean_val * self._probs_of_batch()
