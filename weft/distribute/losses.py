"""Losses of replicas: each gives its share of what one device would have for the whole batch."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.distribute import context as where
from weft.framework.export import export


@export("nn.compute_average_loss", "compat.v2.nn.compute_average_loss")
def compute_average_loss(
    per_example_loss: Any, sample_weight: Any = None, global_batch_size: Any = None
) -> Any:
    """The sum of losses, with weights, over the size of the batch of all replicas: as many times this replica's as
    there are replicas, unless it is given."""
    losses = tf.convert_to_tensor(per_example_loss)
    dtype, rank = losses.dtype, losses.shape.ndims
    if rank == 0:
        raise ValueError(
            "Invalid value passed for `per_example_loss`. Expected a tensor with at least rank 1, received: "
            f"{per_example_loss}"
        )
    checks = []
    if rank is None:
        message = (
            "Invalid value passed for `per_example_loss`. Expected a tensor with at least rank 1."
        )
        checks.append(tf.debugging.assert_greater_equal(tf.rank(losses), 1, message=message))
    with tf.control_dependencies(checks):
        if sample_weight is not None:
            weights = tf.cast(tf.convert_to_tensor(sample_weight), tf.float32)
            losses = tf.cast(
                tf.losses.compute_weighted_loss(
                    tf.cast(losses, tf.float32),
                    weights,
                    loss_collection=None,
                    reduction=tf.losses.Reduction.NONE,
                ),
                dtype,
            )
        if global_batch_size is None:
            _refuse_across_replicas("compute_average_loss")
            replicas = where.get_strategy().num_replicas_in_sync
            global_batch_size = tf.shape(losses)[0] * replicas
        return tf.reduce_sum(losses) / tf.cast(global_batch_size, dtype)


@export("nn.scale_regularization_loss", "compat.v2.nn.scale_regularization_loss")
def scale_regularization_loss(regularization_loss: Any) -> Any:
    """A replica's share of a loss that all replicas have alike, such as that of weights."""
    _refuse_across_replicas("scale_regularization_loss")
    replicas = where.get_strategy().num_replicas_in_sync
    return tf.reduce_sum(regularization_loss) / tf.cast(
        replicas, tf.convert_to_tensor(regularization_loss).dtype
    )


def _refuse_across_replicas(name: str) -> None:
    if where.in_cross_replica_context():
        raise RuntimeError(
            f"You are calling `{name}` in cross replica context, while it was expected to be called in replica "
            "context."
        )
