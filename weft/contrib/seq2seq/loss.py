"""The loss of sequences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft as tf
from weft.framework.export import export


@export("contrib.seq2seq.sequence_loss")
def sequence_loss(
    logits: Any,
    targets: Any,
    weights: Any,
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    sum_over_timesteps: bool = False,
    sum_over_batch: bool = False,
    softmax_loss_function: Callable | None = None,
    name: str | None = None,
) -> Any:
    """The weighted cross entropy of sequences, averaged over steps and sequences as asked."""
    for what, tensor, rank, axes in (
        ("Logits", logits, 3, "[batch_size x sequence_length x logits]"),
        ("Targets", targets, 2, "[batch_size x sequence_length]"),
        ("Weights", weights, 2, "[batch_size x sequence_length]"),
    ):
        if len(tensor.get_shape()) != rank:
            raise ValueError(f"{what} must be a {axes} tensor")
    for what, average, total in (
        ("timesteps", average_across_timesteps, sum_over_timesteps),
        ("batch", average_across_batch, sum_over_batch),
    ):
        if average and total:
            raise ValueError(
                f"average_across_{what} and sum_over_{what} cannot be set to True at same time."
            )
    with tf.name_scope(name, "sequence_loss", [logits, targets, weights]):
        flat = tf.reshape(logits, [-1, tf.shape(logits)[2]])
        labels = tf.reshape(targets, [-1])
        loss_of = softmax_loss_function or tf.nn.sparse_softmax_cross_entropy_with_logits
        losses = loss_of(labels=labels, logits=flat) * tf.reshape(weights, [-1])
        if average_across_timesteps and average_across_batch:
            return tf.div_no_nan(tf.reduce_sum(losses), tf.reduce_sum(weights))
        if sum_over_timesteps and sum_over_batch:
            count = tf.cast(tf.count_nonzero(weights), losses.dtype)
            return tf.div_no_nan(tf.reduce_sum(losses), count)
        losses = tf.reshape(losses, tf.shape(logits)[:2])
        if average_across_timesteps or average_across_batch:
            axis = [0] if average_across_batch else [1]
            return tf.div_no_nan(tf.reduce_sum(losses, axis), tf.reduce_sum(weights, axis))
        if sum_over_timesteps or sum_over_batch:
            axis = [0] if sum_over_batch else [1]
            count = tf.cast(tf.count_nonzero(weights, axis=axis), losses.dtype)
            return tf.div_no_nan(tf.reduce_sum(losses, axis), count)
        return losses
