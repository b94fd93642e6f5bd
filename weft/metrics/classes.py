"""Measures over classes: mean_iou and mean_per_class_accuracy."""

from __future__ import annotations

from typing import Any

from weft.framework import conversion, dtypes
from weft.metrics.confusion_matrix import confusion_matrix
from weft.metrics.streaming import collected, flat, metric, metric_variable, of_all
from weft.ops.array.fill import ones
from weft.ops.array.select import where
from weft.ops.array.shape_of import size
from weft.ops.by_name import raw
from weft.ops.math.cast import cast
from weft.ops.math.division import div_no_nan
from weft.ops.math.reduce_functions import reduce_mean, reduce_sum
from weft.variables.assignment import assign_add, scatter_add
from weft.variables.scope import variable_scope


@metric
def mean_iou(
    labels: Any,
    predictions: Any,
    num_classes: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns the mean over the classes that occurred of intersection over union, and the update.

    The update adds a batch to the confusion matrix, which it returns.
    """
    with variable_scope(name, "mean_iou", (predictions, labels, weights)):
        labels = conversion.convert_to_tensor(labels)
        predictions = conversion.convert_to_tensor(predictions)
        predictions.shape.assert_is_compatible_with(labels.shape)
        if weights is not None:
            weights = flat(conversion.convert_to_tensor(weights))
        total = metric_variable(
            [num_classes, num_classes], dtypes.float64, name="total_confusion_matrix"
        )
        of_batch = confusion_matrix(
            flat(cast(labels, dtypes.int64)),
            flat(cast(predictions, dtypes.int64)),
            cast(num_classes, dtypes.int64),
            weights=weights,
            dtype=dtypes.float64,
        )
        update = assign_add(total, of_batch)
        total = of_all(total)
        predicted = cast(reduce_sum(total, 0), dtypes.float32)
        labelled = cast(reduce_sum(total, 1), dtypes.float32)
        right = cast(raw.DiagPart(total), dtypes.float32)
        either = predicted + labelled - right
        classes = reduce_sum(cast(raw.NotEqual(either, 0.0), dtypes.float32))
        parts = raw.RealDiv(right, where(either > 0, either, raw.OnesLike(either)))
        value = reduce_sum(parts, name="mean_iou") / classes
        value = where(classes > 0, value, raw.ZerosLike(value))
        return collected(value, update, metrics_collections, updates_collections)


@metric
def mean_per_class_accuracy(
    labels: Any,
    predictions: Any,
    num_classes: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns the mean of the accuracies so far of the classes, and the update, which returns these."""
    with variable_scope(name, "mean_accuracy", (predictions, labels, weights)):
        labels = flat(cast(labels, dtypes.int64))
        predictions = flat(conversion.convert_to_tensor(predictions))
        predictions.shape.assert_is_compatible_with(labels.shape)
        total = metric_variable([num_classes], dtypes.float32, name="total")
        count = metric_variable([num_classes], dtypes.float32, name="count")
        if labels.dtype != predictions.dtype:
            predictions = cast(predictions, labels.dtype)
        correct = cast(raw.Equal(predictions, labels), dtypes.float32)
        seen = ones([size(labels)], dtypes.float32)
        if weights is not None:
            weights = flat(cast(weights, dtypes.float32))
            correct, seen = correct * weights, seen * weights
        more = scatter_add(total, labels, seen)
        more_correct = scatter_add(count, labels, correct)
        each = div_no_nan(of_all(count), raw.Maximum(of_all(total), 0.0))
        value = reduce_mean(each, name="mean_accuracy")
        update = div_no_nan(more_correct, raw.Maximum(more, 0.0), name="update_op")
        return collected(value, update, metrics_collections, updates_collections)
