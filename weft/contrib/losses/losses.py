"""Losses as means over what has a weight, which join a collection."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.contrib.framework.arguments import add_arg_scope
from weft.framework.export import export
from weft.framework.graph_keys import GraphKeys


def _weighted_sum(losses: Any, weights: Any) -> Any:
    """The sum of losses, those of each example (or of what the weights are for) times its weight."""
    axes = list(range(weights.get_shape().ndims, losses.get_shape().ndims))
    return tf.reduce_sum(tf.reduce_sum(losses, axis=axes) * weights)


def _present(losses: Any, weights: Any, per_batch: bool = False) -> Any:
    """How many losses have a weight that is not zero."""
    rank = weights.get_shape().ndims
    if rank == 0:
        batch = tf.shape(losses)[0]
        each = tf.cast(tf.size(losses), tf.float32) / tf.cast(batch, tf.float32)
        counts = tf.ones([batch]) * tf.where(tf.equal(weights, 0), 0.0, each)
    else:
        nonzero = tf.cast(tf.not_equal(weights, 0), tf.float32)
        rest = tf.cast(tf.reduce_prod(tf.shape(losses)[rank:]), tf.float32)
        counts = tf.reduce_sum(nonzero, axis=list(range(1, rank))) * rest
    return counts if per_batch else tf.reduce_sum(counts)


def _float(x: Any) -> Any:
    return tf.cast(tf.convert_to_tensor(x), tf.float32)


def _alike(predictions: Any, labels: Any) -> None:
    predictions.get_shape().assert_is_compatible_with(labels.get_shape())


@export("contrib.losses.compute_weighted_loss")
def compute_weighted_loss(losses: Any, weights: Any = 1.0, scope: Any = None) -> Any:
    """The mean of losses over those whose weight is not zero."""
    with tf.name_scope(scope, "weighted_loss", [losses, weights]):
        losses = tf.convert_to_tensor(losses)
        dtype, losses, weights = losses.dtype, _float(losses), _float(weights)
        if losses.get_shape().ndims is None:
            raise ValueError("losses.get_shape().ndims cannot be None")
        shape = weights.get_shape()
        if shape.ndims is None:
            raise ValueError("weights.get_shape().ndims cannot be None")
        if shape.ndims > 1 and shape.dims[-1].is_compatible_with(1):
            weights = tf.squeeze(weights, [-1])
        mean = tf.div_no_nan(
            _weighted_sum(losses, weights), _present(losses, weights), name="value"
        )
        mean = tf.cast(mean, dtype)
        add_loss(mean)
        return mean


@export("contrib.losses.add_loss")
@add_arg_scope
def add_loss(loss: Any, loss_collection: str | None = GraphKeys.LOSSES) -> None:
    """Adds a loss to a collection."""
    if loss_collection:
        tf.add_to_collection(loss_collection, loss)


@export("contrib.losses.get_losses")
def get_losses(scope: str | None = None, loss_collection: str = GraphKeys.LOSSES) -> list[Any]:
    """The losses of a collection."""
    return tf.get_collection(loss_collection, scope)


@export("contrib.losses.get_regularization_losses")
def get_regularization_losses(scope: str | None = None) -> list[Any]:
    """The penalties on weights."""
    return tf.get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


@export("contrib.losses.get_total_loss")
def get_total_loss(add_regularization_losses: bool = True, name: str = "total_loss") -> Any:
    """The sum of all losses."""
    losses = get_losses()
    if add_regularization_losses:
        losses = losses + get_regularization_losses()
    return tf.add_n(losses, name=name)


@export("contrib.losses.absolute_difference")
def absolute_difference(
    predictions: Any, labels: Any = None, weights: Any = 1.0, scope: Any = None
) -> Any:
    """The mean distance of predictions and labels."""
    with tf.name_scope(scope, "absolute_difference", [predictions, labels, weights]) as scope:
        _alike(predictions, labels)
        losses = tf.abs(_float(predictions) - _float(labels))
        return compute_weighted_loss(losses, weights, scope=scope)


@export("contrib.losses.mean_squared_error")
def mean_squared_error(
    predictions: Any, labels: Any = None, weights: Any = 1.0, scope: Any = None
) -> Any:
    """The mean of squared differences."""
    with tf.name_scope(scope, "mean_squared_error", [predictions, labels, weights]) as scope:
        _alike(predictions, labels)
        losses = tf.squared_difference(_float(predictions), _float(labels))
        return compute_weighted_loss(losses, weights, scope=scope)


@export("contrib.losses.log_loss")
def log_loss(
    predictions: Any,
    labels: Any = None,
    weights: Any = 1.0,
    epsilon: float = 1e-7,
    scope: Any = None,
) -> Any:
    """The mean of minus the logarithm of what was predicted for the label."""
    with tf.name_scope(scope, "log_loss", [predictions, labels, weights]) as scope:
        _alike(predictions, labels)
        p, y = _float(predictions), _float(labels)
        losses = -y * tf.log(p + epsilon) - (1 - y) * tf.log(1 - p + epsilon)
        return compute_weighted_loss(losses, weights, scope=scope)


@export("contrib.losses.hinge_loss")
def hinge_loss(logits: Any, labels: Any = None, scope: Any = None) -> Any:
    """How far each logit is from 1 on the side of its label; neither weighted nor collected."""
    with tf.name_scope(scope, "hinge_loss", [logits, labels]):
        _alike(logits, labels)
        return tf.nn.relu(1.0 - (2 * _float(labels) - 1.0) * logits)


@export("contrib.losses.sigmoid_cross_entropy")
def sigmoid_cross_entropy(
    logits: Any,
    multi_class_labels: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0,
    scope: Any = None,
) -> Any:
    """The mean cross entropy of independent classes."""
    with tf.name_scope(
        scope, "sigmoid_cross_entropy_loss", [logits, multi_class_labels, weights]
    ) as scope:
        _alike(logits, multi_class_labels)
        labels = tf.cast(multi_class_labels, logits.dtype)
        if label_smoothing > 0:
            labels = labels * (1 - label_smoothing) + 0.5 * label_smoothing
        losses = tf.nn.sigmoid_cross_entropy_with_logits(
            labels=labels, logits=logits, name="xentropy"
        )
        return compute_weighted_loss(losses, weights, scope=scope)


@export("contrib.losses.softmax_cross_entropy")
def softmax_cross_entropy(
    logits: Any,
    onehot_labels: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0,
    scope: Any = None,
) -> Any:
    """The mean cross entropy of classes that exclude each other."""
    with tf.name_scope(
        scope, "softmax_cross_entropy_loss", [logits, onehot_labels, weights]
    ) as scope:
        _alike(logits, onehot_labels)
        labels = tf.cast(onehot_labels, logits.dtype)
        if label_smoothing > 0:
            classes = tf.cast(tf.shape(labels)[1], logits.dtype)
            labels = labels * (1.0 - label_smoothing) + label_smoothing / classes
        losses = tf.nn.softmax_cross_entropy_with_logits_v2(
            labels=tf.stop_gradient(labels), logits=logits, name="xentropy"
        )
        return compute_weighted_loss(losses, weights, scope=scope)


@export("contrib.losses.sparse_softmax_cross_entropy")
def sparse_softmax_cross_entropy(
    logits: Any, labels: Any, weights: Any = 1.0, scope: Any = None
) -> Any:
    """The mean cross entropy of classes that exclude each other, given by number."""
    with tf.name_scope(
        scope, "sparse_softmax_cross_entropy_loss", [logits, labels, weights]
    ) as scope:
        labels = tf.reshape(labels, [tf.shape(labels)[0]])
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=labels, logits=logits, name="xentropy"
        )
        return compute_weighted_loss(losses, weights, scope=scope)


@export("contrib.losses.mean_pairwise_squared_error")
def mean_pairwise_squared_error(
    predictions: Any, labels: Any = None, weights: Any = 1.0, scope: Any = None
) -> Any:
    """How much the differences within predictions differ from those within labels."""
    with tf.name_scope(scope, "mean_pairwise_squared_error", [predictions, labels, weights]):
        _alike(predictions, labels)
        difference, weights = _float(predictions) - _float(labels), _float(weights)
        if difference.get_shape().ndims is None:
            raise ValueError("diffs.get_shape().ndims cannot be None")
        if weights.get_shape().ndims is None:
            raise ValueError("weights.get_shape().ndims cannot be None")
        axes = list(range(1, difference.get_shape().ndims))
        counts = _present(difference, weights, per_batch=True)
        squares = tf.reduce_sum(tf.square(difference), axis=axes)
        total = tf.reduce_sum(difference, axis=axes)
        each = 2.0 * tf.div_no_nan(squares, counts) - 2.0 * tf.div_no_nan(
            tf.square(total), tf.square(counts)
        )
        loss = _weighted_sum(each, weights)
        mean = tf.where(tf.reduce_sum(counts) > 0, loss, tf.zeros_like(loss), name="value")
        add_loss(mean)
        return mean


@export("contrib.losses.cosine_distance")
def cosine_distance(
    predictions: Any,
    labels: Any = None,
    axis: int | None = None,
    weights: Any = 1.0,
    scope: Any = None,
    dim: int | None = None,
) -> Any:
    """One minus the product of predictions and labels, which have length 1 along an axis."""
    if axis is not None and dim is not None:
        raise ValueError("Cannot specify both 'axis' and 'dim'")
    axis = dim if axis is None else axis
    if axis is None:
        raise ValueError("You must specify 'axis'.")
    with tf.name_scope(scope, "cosine_distance_loss", [predictions, labels, weights]) as scope:
        _alike(predictions, labels)
        products = _float(predictions) * _float(labels)
        losses = 1 - tf.reduce_sum(products, axis=[axis])
        return compute_weighted_loss(losses, weights, scope=scope)
