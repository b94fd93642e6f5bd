"""Categories as vectors of zeros and a one."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.distributions.arguments import logits_and_probs, with_checks
from weft.distributions.base import (
    NOT_REPARAMETERIZED,
    Distribution,
    parameter,
    parameters_of,
)
from weft.distributions.categorical import relative_entropy
from weft.distributions.divergence import RegisterKL
from weft.framework.export import export


class OverCategories(Distribution):
    """A distribution over vectors of as many elements as there are categories."""

    logits = parameter("logits", "Logarithms of probabilities, up to a constant.")
    probs = parameter("probs", "The probability of each category.")

    @property
    def event_size(self) -> Any:
        """The number of categories, a tensor."""
        return tf.shape(self.logits)[-1]

    def _batch_shape_tensor(self):
        return tf.shape(self.logits)[:-1]

    def _batch_shape(self):
        shape = self.logits.shape
        return shape if shape.ndims is None else shape[:-1]

    def _event_shape_tensor(self):
        return tf.shape(self.logits)[-1:]

    def _event_shape(self):
        return self.logits.shape.with_rank_at_least(1)[-1:]

    def _alike(self, x: Any) -> tuple[Any, Any]:
        """Events and logits, each for every one of the other."""
        logits = self.logits
        if x.shape.is_fully_defined() and x.shape == logits.shape:
            return x, logits
        logits = tf.ones_like(x, dtype=logits.dtype.base_dtype) * logits
        return tf.ones_like(logits, dtype=x.dtype.base_dtype) * x, logits


@export("contrib.distributions.OneHotCategorical")
class OneHotCategorical(OverCategories):
    """Vectors that are 1 in the place of the category, else 0."""

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = tf.int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "OneHotCategorical",
    ):
        parameters = parameters_of(locals())
        with tf.name_scope(name, values=[logits, probs]) as name:
            self._logits, self._probs = logits_and_probs(
                logits, probs, multidimensional=True, validate_args=validate_args, name=name
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

    def _sample_n(self, n, seed=None):
        size = self.event_size
        rows = tf.reshape(self.logits, [-1, size])
        draws = tf.one_hot(tf.transpose(tf.multinomial(rows, n, seed=seed)), size, dtype=self.dtype)
        return tf.reshape(draws, tf.concat([[n], tf.shape(self.logits)], 0))

    def _log_prob(self, x):
        if self.validate_args:
            one = tf.ones([], x.dtype.base_dtype)
            message = "the elements of a sample must sum to 1"
            checks = [
                tf.assert_non_negative(x),
                tf.assert_equal(one, tf.reduce_sum(x, -1), message=message),
            ]
            x = with_checks(checks, x)
        x, logits = self._alike(x)
        labels = tf.cast(x, logits.dtype.base_dtype)
        return -tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits)

    def _entropy(self):
        return -tf.reduce_sum(tf.nn.log_softmax(self.logits) * self.probs, axis=-1)

    def _mode(self):
        mode = tf.one_hot(tf.argmax(self.logits, axis=-1), self.event_size, dtype=self.dtype)
        if not tf.executing_eagerly():
            mode.set_shape(self.logits.shape)
        return mode

    def _mean(self):
        return tf.identity(self.probs)

    def _variance(self):
        return self.probs * (1.0 - self.probs)

    def _covariance(self):
        outer = tf.matmul(self.probs[..., None], self.probs[..., None, :])
        return tf.matrix_set_diag(-outer, self._variance())


@RegisterKL(OneHotCategorical, OneHotCategorical)
def _kl(a: Any, b: Any, name: str | None = None) -> Any:
    with tf.name_scope(name, "kl_categorical_categorical", values=[a.logits, b.logits]):
        return relative_entropy(a, b)
