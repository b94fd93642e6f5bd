"""Losses of sequences that are lists of steps, and models for several lengths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft as tf
from weft.framework.export import export


@export("contrib.legacy_seq2seq.sequence_loss_by_example")
def sequence_loss_by_example(
    logits: Any,
    targets: Any,
    weights: Any,
    average_across_timesteps: bool = True,
    softmax_loss_function: Callable | None = None,
    name: str | None = None,
) -> Any:
    """The weighted cross entropy of each sequence."""
    if len(targets) != len(logits) or len(weights) != len(logits):
        raise ValueError(
            "Lengths of logits, weights, and targets must be the same "
            f"{len(logits)}, {len(weights)}, {len(targets)}."
        )
    with tf.name_scope(name, "sequence_loss_by_example", logits + targets + weights):
        losses = []
        for logit, target, weight in zip(logits, targets, weights):
            if softmax_loss_function is None:
                loss = tf.nn.sparse_softmax_cross_entropy_with_logits(
                    labels=tf.reshape(target, [-1]), logits=logit
                )
            else:
                loss = softmax_loss_function(labels=target, logits=logit)
            losses.append(loss * weight)
        total = tf.add_n(losses)
        if average_across_timesteps:
            total /= tf.add_n(weights) + 1e-12  # of a sequence without weights the loss is zero
    return total


@export("contrib.legacy_seq2seq.sequence_loss")
def sequence_loss(
    logits: Any,
    targets: Any,
    weights: Any,
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    softmax_loss_function: Callable | None = None,
    name: str | None = None,
) -> Any:
    """The weighted cross entropy of all sequences."""
    with tf.name_scope(name, "sequence_loss", logits + targets + weights):
        cost = tf.reduce_sum(
            sequence_loss_by_example(
                logits,
                targets,
                weights,
                average_across_timesteps=average_across_timesteps,
                softmax_loss_function=softmax_loss_function,
            )
        )
        if not average_across_batch:
            return cost
        return cost / tf.cast(tf.shape(targets[0])[0], cost.dtype)


@export("contrib.legacy_seq2seq.model_with_buckets")
def model_with_buckets(
    encoder_inputs: Any,
    decoder_inputs: Any,
    targets: Any,
    weights: Any,
    buckets: Any,
    seq2seq: Callable,
    softmax_loss_function: Callable | None = None,
    per_example_loss: bool = False,
    name: str | None = None,
) -> tuple[list[Any], list[Any]]:
    """One model for each pair of lengths, with the same variables: their outputs and losses."""
    for what, given, needed in (
        ("encoder_inputs", encoder_inputs, buckets[-1][0]),
        ("targets", targets, buckets[-1][1]),
        ("weights", weights, buckets[-1][1]),
    ):
        if len(given) < needed:
            raise ValueError(
                f"Length of {what} ({len(given)}) must be at least that of last bucket ({needed})."
            )
    loss_of = sequence_loss_by_example if per_example_loss else sequence_loss
    losses, outputs = [], []
    with tf.name_scope(
        name, "model_with_buckets", encoder_inputs + decoder_inputs + targets + weights
    ):
        for i, (source, target) in enumerate(buckets):
            with tf.variable_scope(tf.get_variable_scope(), reuse=True if i > 0 else None):
                found, _ = seq2seq(encoder_inputs[:source], decoder_inputs[:target])
                outputs.append(found)
                losses.append(
                    loss_of(
                        found,
                        targets[:target],
                        weights[:target],
                        softmax_loss_function=softmax_loss_function,
                    )
                )
    return outputs, losses
