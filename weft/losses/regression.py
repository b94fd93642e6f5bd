"""Losses of numbers that are predicted."""

from __future__ import annotations

from typing import Any

from weft.framework import dtypes
from weft.framework.export import export
from weft.framework.graph import control_dependencies
from weft.framework.graph_keys import GraphKeys
from weft.framework.scopes import name_scope
from weft.losses.collected import add_loss
from weft.losses.pairs import as_floats, required
from weft.losses.weighted import (
    Reduction,
    all_but_first,
    compute_weighted_loss,
    count_with_weight,
)
from weft.losses.weights import assert_broadcastable
from weft.ops.array.select import where
from weft.ops.by_name import raw
from weft.ops.math.cast import cast
from weft.ops.math.division import div_no_nan
from weft.ops.math.reduce_functions import chosen, reduce_sum

_BY_NONZERO = Reduction.SUM_BY_NONZERO_WEIGHTS


@export("losses.absolute_difference")
def absolute_difference(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = _BY_NONZERO,
) -> Any:
    """Returns the weighted absolute differences, reduced."""
    required(labels=labels, predictions=predictions)
    with name_scope(scope, "absolute_difference", (predictions, labels, weights)) as scope:
        labels, predictions = as_floats(labels, predictions)
        losses = abs(predictions - labels)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


@export("losses.mean_squared_error")
def mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = _BY_NONZERO,
) -> Any:
    """Returns the weighted squares of the differences, reduced."""
    required(labels=labels, predictions=predictions)
    with name_scope(scope, "mean_squared_error", (predictions, labels, weights)) as scope:
        labels, predictions = as_floats(labels, predictions)
        losses = raw.SquaredDifference(predictions, labels)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


@export("losses.huber_loss")
def huber_loss(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    delta: float = 1.0,
    scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = _BY_NONZERO,
) -> Any:
    """Returns the weighted losses that are quadratic up to a difference of `delta` and linear beyond it."""
    required(labels=labels, predictions=predictions)
    with name_scope(scope, "huber_loss", (predictions, labels, weights)) as scope:
        labels, predictions = as_floats(labels, predictions)
        error = abs(predictions - labels)
        quadratic = raw.Minimum(error, delta)
        losses = 0.5 * (quadratic * quadratic) + delta * (error - quadratic)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


@export("losses.cosine_distance")
def cosine_distance(
    labels: Any,
    predictions: Any,
    axis: int | None = None,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = _BY_NONZERO,
    dim: int | None = None,
) -> Any:
    """Returns the weighted cosine distances along `axis`, of vectors that have length 1, reduced."""
    axis = chosen("dim", dim, "axis", axis)
    if axis is None:
        raise ValueError("You must specify 'axis'.")
    required(labels=labels, predictions=predictions)
    with name_scope(scope, "cosine_distance_loss", (predictions, labels, weights)) as scope:
        labels, predictions = as_floats(labels, predictions)
        losses = 1 - reduce_sum(predictions * labels, axis=(axis,), keepdims=True)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


@export("losses.mean_pairwise_squared_error")
def mean_pairwise_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES,
) -> Any:
    """Returns the sum over the batch of the mean squares of how much the differences of pairs of elements differ.

    For n elements with differences d that is 2 sum(d^2) / (n - 1) - 2 sum(d)^2 / (n (n - 1)).
    """
    required(labels=labels, predictions=predictions)
    with name_scope(scope, "mean_pairwise_squared_error", (predictions, labels, weights)) as scope:
        weights = cast(weights, dtypes.float32)
        check = assert_broadcastable(weights, cast(labels, dtypes.float32))
        with control_dependencies([] if check is None else [check]):
            labels, predictions = as_floats(labels, predictions)
            differences = predictions - labels
            axes = all_but_first(differences)
            squares = reduce_sum(raw.Square(differences), axes, keepdims=True)
            total = reduce_sum(differences, axes, keepdims=True)
            n = count_with_weight(differences, weights, per_row=True)
            less_one = raw.Maximum(n - 1, 0.0)
            of_squares = 2.0 * div_no_nan(squares, less_one, name="value")
            of_total = 2.0 * div_no_nan(raw.Square(total), n * less_one, name="value")
            loss = reduce_sum((of_squares - of_total) * weights)
            loss = where(reduce_sum(n) > 0, loss, raw.ZerosLike(loss), name="value")
            add_loss(loss, loss_collection)
            return loss
