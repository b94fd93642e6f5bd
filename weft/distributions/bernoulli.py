"""The Bernoulli distribution: a coin."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.distributions.arguments import casts_to, logits_and_probs
from weft.distributions.base import (
    NOT_REPARAMETERIZED,
    ScalarDistribution,
    parameter,
    parameters_of,
)
from weft.distributions.divergence import RegisterKL
from weft.framework.export import export


@export("distributions.Bernoulli", "contrib.distributions.Bernoulli")
class Bernoulli(ScalarDistribution):
    """1 with probability `probs`, else 0."""

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = tf.int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Bernoulli",
    ):
        parameters = parameters_of(locals())
        with tf.name_scope(name) as name:
            self._logits, self._probs = logits_and_probs(
                logits, probs, validate_args=validate_args, name=name
            )
        super().__init__(
            dtype=tf.as_dtype(dtype),
            reparameterization_type=NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._logits, self._probs],
            name=name,
        )

    logits = parameter("logits", "log(probs / (1 - probs)).")
    probs = parameter("probs", "The probability of 1.")
    _shaped_as_samples = ("logits",)

    def _batch_parameters(self):
        return [self._logits]

    def _sample_n(self, n, seed=None):
        shape = self._sample_shape(n)
        uniform = tf.random_uniform(shape, seed=seed, dtype=self.probs.dtype.base_dtype)
        return tf.cast(uniform < self.probs, self.dtype)

    def _log_prob(self, event):
        if self.validate_args:
            event = casts_to(event, tf.bool)
        event = tf.cast(event, self.logits.dtype.base_dtype)
        logits = self.logits
        if not (event.shape.is_fully_defined() and event.shape == logits.shape):
            logits, event = tf.ones_like(event) * logits, tf.ones_like(logits) * event
        return -tf.nn.sigmoid_cross_entropy_with_logits(labels=event, logits=logits)

    def _entropy(self):
        return -self.logits * (tf.sigmoid(self.logits) - 1.0) + tf.nn.softplus(-self.logits)

    def _mean(self):
        return tf.identity(self.probs)

    def _variance(self):
        return self._mean() * (1.0 - self.probs)

    def _mode(self):
        return tf.cast(self.probs > 0.5, self.dtype)


@RegisterKL(Bernoulli, Bernoulli)
def _kl(a: Any, b: Any, name: str | None = None) -> Any:
    with tf.name_scope(name, "kl_bernoulli_bernoulli", values=[a.logits, b.logits]):
        softplus = tf.nn.softplus
        off = softplus(-b.logits) - softplus(-a.logits)
        on = softplus(b.logits) - softplus(a.logits)
        return tf.sigmoid(a.logits) * off + tf.sigmoid(-a.logits) * on
