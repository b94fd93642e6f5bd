"""Losses of classes that are predicted."""

from __future__ import annotations

from typing import Any

from weft.framework.export import export
from weft.framework.graph_keys import GraphKeys
from weft.framework.scopes import name_scope
from weft.losses.pairs import as_floats, as_logits, required, without_extra_dimension
from weft.losses.weighted import Reduction, compute_weighted_loss
from weft.ops.array import shape_of
from weft.ops.by_name import raw
from weft.ops.math.cast import cast
from weft.ops.nn.losses import sigmoid_cross_entropy_with_logits
from weft.ops.nn.softmax import (
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
)

_BY_NONZERO = Reduction.SUM_BY_NONZERO_WEIGHTS


@export("losses.hinge_loss")
def hinge_loss(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = _BY_NONZERO,
) -> Any:
    """Returns the weighted losses max(0, 1 - logit) for a label 1, max(0, 1 + logit) for 0, reduced."""
    required(labels=labels, logits=logits)
    with name_scope(scope, "hinge_loss", (logits, labels, weights)) as scope:
        labels, logits = as_floats(labels, logits)
        losses = raw.Relu(1.0 - (2.0 * labels - 1.0) * logits)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


@export("losses.log_loss")
def log_loss(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    epsilon: float = 1e-7,
    scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = _BY_NONZERO,
) -> Any:
    """Returns the weighted cross entropies of predicted probabilities, reduced."""
    required(labels=labels, predictions=predictions)
    with name_scope(scope, "log_loss", (predictions, labels, weights)) as scope:
        labels, predictions = as_floats(labels, predictions)
        of_ones = labels * raw.Log(predictions + epsilon)
        of_zeros = (1 - labels) * raw.Log(1 - predictions + epsilon)
        losses = -of_ones - of_zeros
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


@export("losses.sigmoid_cross_entropy")
def sigmoid_cross_entropy(
    multi_class_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = _BY_NONZERO,
) -> Any:
    """Returns the weighted cross entropies of classes that do not exclude each other, reduced.

    `label_smoothing` brings labels nearer to 1/2.
    """
    required(multi_class_labels=multi_class_labels, logits=logits)
    with name_scope(
        scope, "sigmoid_cross_entropy_loss", (logits, multi_class_labels, weights)
    ) as scope:
        labels, logits = as_logits(multi_class_labels, logits)
        if label_smoothing > 0:
            labels = labels * (1 - label_smoothing) + 0.5 * label_smoothing
        losses = sigmoid_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


@export("losses.softmax_cross_entropy")
def softmax_cross_entropy(
    onehot_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = _BY_NONZERO,
) -> Any:
    """Returns the weighted cross entropies of distributions over classes, reduced; labels get no gradient.

    `label_smoothing` brings labels nearer to the uniform distribution.
    """
    required(onehot_labels=onehot_labels, logits=logits)
    with name_scope(scope, "softmax_cross_entropy_loss", (logits, onehot_labels, weights)) as scope:
        labels, logits = as_logits(onehot_labels, logits)
        if label_smoothing > 0:
            classes = cast(shape_of.shape(labels)[-1], logits.dtype)
            labels = labels * (1.0 - label_smoothing) + label_smoothing / classes
        labels = raw.StopGradient(labels, name="labels_stop_gradient")
        losses = softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


@export("losses.sparse_softmax_cross_entropy")
def sparse_softmax_cross_entropy(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = _BY_NONZERO,
) -> Any:
    """Returns the weighted cross entropies of classes, given by their numbers, reduced."""
    required(labels=labels, logits=logits)
    with name_scope(scope, "sparse_softmax_cross_entropy_loss", (logits, labels, weights)) as scope:
        labels, logits, weights = without_extra_dimension(labels, logits, weights)
        losses = sparse_softmax_cross_entropy_with_logits(
            labels=labels, logits=logits, name="xentropy"
        )
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)
