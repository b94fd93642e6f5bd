"""Means: of values, of whole tensors, of errors."""

from __future__ import annotations

from typing import Any

from weft.framework import conversion, dtypes
from weft.framework.graph import control_dependencies
from weft.losses.weights import broadcast_weights
from weft.metrics.confusion_matrix import remove_squeezable_dimensions
from weft.metrics.streaming import aligned, collected, metric, metric_variable, of_all
from weft.ops.array import shape_of
from weft.ops.array.select import where
from weft.ops.by_name import raw
from weft.ops.math.cast import cast
from weft.ops.math.division import div, div_no_nan
from weft.ops.math.reduce_functions import reduce_sum
from weft.variables.assignment import assign_add
from weft.variables.scope import variable_scope

_float = dtypes.float32


def _weighted(values: Any, weights: Any) -> tuple[Any, Any]:
    """Values times their weights, and the weights."""
    values, _, weights = aligned(values, None, weights)
    weights = broadcast_weights(cast(weights, _float), values)
    return values * weights, weights


def _quotient(total: Any, count: Any, name: str) -> Any:
    return div_no_nan(total, raw.Maximum(count, 0.0), name=name)


@metric
def mean(
    values: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns the weighted mean of the values so far, and the operation that adds the values of a batch."""
    with variable_scope(name, "mean", (values, weights)):
        values = cast(values, _float)
        total = metric_variable([], _float, name="total")
        count = metric_variable([], _float, name="count")
        if weights is None:
            number = cast(shape_of.size(values), _float)
        else:
            values, weights = _weighted(values, weights)
            number = reduce_sum(weights)
        more = assign_add(total, reduce_sum(values))
        with control_dependencies([values]):
            longer = assign_add(count, number)
        value = _quotient(of_all(total), of_all(count), "value")
        update = _quotient(more, longer, "update_op")
        return collected(value, update, metrics_collections, updates_collections)


@metric
def mean_tensor(
    values: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns the weighted mean of each element of the tensors so far, and the operation that adds one."""
    with variable_scope(name, "mean", (values, weights)):
        values = cast(values, _float)
        total = metric_variable(values.shape, _float, name="total_tensor")
        count = metric_variable(values.shape, _float, name="count_tensor")
        number = raw.OnesLike(values)
        if weights is not None:
            values, weights = _weighted(values, weights)
            number = number * weights
        more = assign_add(total, values)
        with control_dependencies([values]):
            longer = assign_add(count, number)
        value = _quotient(of_all(total), of_all(count), "value")
        update = _quotient(more, longer, "update_op")
        return collected(value, update, metrics_collections, updates_collections)


@metric
def accuracy(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns how often predictions have been equal to labels so far, and the operation that adds a batch."""
    predictions, labels, weights = aligned(predictions, labels, weights)
    if labels.dtype != predictions.dtype:
        predictions = cast(predictions, labels.dtype)
    correct = cast(raw.Equal(predictions, labels), _float)
    return mean(correct, weights, metrics_collections, updates_collections, name or "accuracy")


@metric
def percentage_below(
    values: Any,
    threshold: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns the part of the values so far that are less than `threshold`, and the update."""
    below = cast(raw.Less(values, threshold), _float)
    name = name or "percentage_below_threshold"
    return mean(below, weights, metrics_collections, updates_collections, name)


@metric
def mean_absolute_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns the mean absolute error so far, and the operation that adds a batch."""
    predictions, labels, weights = aligned(predictions, labels, weights)
    name = name or "mean_absolute_error"
    errors = abs(predictions - labels)
    return mean(errors, weights, metrics_collections, updates_collections, name)


@metric
def mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns the mean squared error so far, and the operation that adds a batch."""
    predictions, labels, weights = aligned(predictions, labels, weights)
    name = name or "mean_squared_error"
    errors = raw.SquaredDifference(labels, predictions)
    return mean(errors, weights, metrics_collections, updates_collections, name)


@metric
def root_mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns the root of the mean squared error so far, and the operation that adds a batch."""
    predictions, labels, weights = aligned(predictions, labels, weights)
    name = name or "root_mean_squared_error"
    value, update = mean_squared_error(labels, predictions, weights, None, None, name)
    roots = raw.Sqrt(value), raw.Sqrt(update)
    return collected(*roots, metrics_collections, updates_collections)


@metric
def mean_relative_error(
    labels: Any,
    predictions: Any,
    normalizer: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns the mean of the absolute errors, each divided by its normalizer (0 where that is 0), so far."""
    predictions, labels, weights = aligned(predictions, labels, weights)
    predictions, normalizer = remove_squeezable_dimensions(predictions, normalizer)
    predictions.shape.assert_is_compatible_with(normalizer.shape)
    errors = where(
        raw.Equal(normalizer, normalizer.dtype.np.type(0)),
        raw.ZerosLike(labels),
        div(abs(labels - predictions), normalizer),
    )
    name = name or "mean_relative_error"
    return mean(errors, weights, metrics_collections, updates_collections, name)


@metric
def mean_cosine_distance(
    labels: Any,
    predictions: Any,
    dim: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns the mean cosine distance so far along `dim`, of vectors of length 1, and the update."""
    predictions, labels, weights = aligned(predictions, labels, weights)
    products = reduce_sum(predictions * labels, axis=[dim], keepdims=True)
    name = name or "mean_cosine_distance"
    value, update = mean(products, weights, None, None, name)
    distances = conversion.convert_to_tensor(1.0) - value, 1.0 - update
    return collected(*distances, metrics_collections, updates_collections)
