"""The categorical distribution."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.distributions.arguments import casts_to, categories, logits_and_probs
from weft.distributions.base import (
    NOT_REPARAMETERIZED,
    ScalarDistribution,
    parameter,
    parameters_of,
)
from weft.distributions.divergence import RegisterKL
from weft.framework.export import export


def _broadcast(event: Any, params: Any, dtype: Any) -> tuple[Any, Any]:
    """Events and parameters (which have one axis more), each for every one of the other."""
    if event.dtype.is_floating:
        event = tf.cast(event, tf.int32)
    elif not event.dtype.is_integer:
        raise TypeError(f"`value` should have integer `dtype` or `self.dtype` ({dtype})")
    batch = params.shape[:-1] if params.shape.ndims is not None else params.shape
    if batch.is_fully_defined() and event.shape.is_fully_defined() and batch == event.shape:
        return event, params
    params *= tf.ones_like(event[..., None], dtype=params.dtype.base_dtype)
    event *= tf.ones(tf.shape(params)[:-1], dtype=event.dtype.base_dtype)
    if params.shape.ndims is not None and not tf.executing_eagerly():
        event.set_shape(params.shape[:-1])
    return event, params


@export("distributions.Categorical", "contrib.distributions.Categorical")
class Categorical(ScalarDistribution):
    """One of the numbers 0, 1, ..., by probabilities along the last axis of the parameters."""

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = tf.int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Categorical",
    ):
        parameters = parameters_of(locals())
        with tf.name_scope(name, values=[logits, probs]) as name:
            self._logits, self._probs = logits_and_probs(
                logits, probs, multidimensional=True, validate_args=validate_args, name=name
            )
            if validate_args:
                self._logits = categories(self._logits)
            static = self._logits.shape.with_rank_at_least(1)
            shape = tf.shape(self._logits, name="logits_shape")
            if static.ndims is not None and static[-1:].is_fully_defined():
                self._event_size = tf.constant(static.as_list()[-1], name="event_size")
            else:
                self._event_size = tf.identity(shape[-1], name="event_size")
            self._batch_shape_val = tf.identity(shape[:-1], name="batch_shape")
        super().__init__(
            dtype=tf.as_dtype(dtype),
            reparameterization_type=NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._logits, self._probs],
            name=name,
        )

    event_size = parameter("event_size", "The number of categories, a tensor.")
    logits = parameter("logits", "Logarithms of probabilities, up to a constant.")
    probs = parameter("probs", "The probability of each category.")

    def _batch_shape_tensor(self):
        return tf.identity(self._batch_shape_val)

    def _batch_shape(self):
        shape = self.logits.shape
        return shape if shape.ndims is None else shape[:-1]

    def _sample_n(self, n, seed=None):
        logits = self.logits
        if logits.shape.ndims != 2:
            logits = tf.reshape(logits, [-1, self.event_size])
        kind = tf.int64 if self.dtype.size > 4 else tf.int32
        draws = tf.transpose(tf.multinomial(logits, n, seed=seed, output_dtype=kind))
        return tf.cast(tf.reshape(draws, self._sample_shape(n)), self.dtype)

    def _events(self, k, params):
        k = tf.convert_to_tensor(k, name="k")
        if self.validate_args:
            k = casts_to(k, tf.int32)
        return _broadcast(k, params, self.dtype.base_dtype)

    def _cdf(self, k):
        # The sum of the probabilities before k: TensorFlow's, which leaves out that of k.
        k, probs = self._events(k, self.probs)
        rows = tf.reshape(probs, [-1, self._event_size])
        counted = tf.sequence_mask(tf.reshape(k, [-1]), self._event_size)
        sums = tf.reduce_sum(tf.where(counted, rows, tf.zeros_like(rows)), axis=-1)
        return tf.reshape(sums, tf.shape(k))

    def _log_prob(self, k):
        k, logits = self._events(k, self.logits)
        return -tf.nn.sparse_softmax_cross_entropy_with_logits(labels=k, logits=logits)

    def _entropy(self):
        return -tf.reduce_sum(tf.nn.log_softmax(self.logits) * self.probs, axis=-1)

    def _mode(self):
        mode = tf.cast(tf.argmax(self.logits, axis=-1), self.dtype)
        if not tf.executing_eagerly():
            mode.set_shape(self.batch_shape)
        return mode


def relative_entropy(a: Any, b: Any) -> Any:
    """The divergence of categories by logits."""
    difference = tf.nn.log_softmax(a.logits) - tf.nn.log_softmax(b.logits)
    return tf.reduce_sum(tf.nn.softmax(a.logits) * difference, axis=-1)


@RegisterKL(Categorical, Categorical)
def _kl(a: Any, b: Any, name: str | None = None) -> Any:
    with tf.name_scope(name, "kl_categorical_categorical", values=[a.logits, b.logits]):
        return relative_entropy(a, b)
