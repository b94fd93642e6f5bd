"""Measures of the k classes with the best predictions, of which several may be right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.framework import conversion, dtypes
from weft.framework.graph import control_dependencies
from weft.framework.scopes import name_scope
from weft.framework.sparse_tensor import SparseTensor, is_sparse
from weft.losses.weights import assert_broadcastable, broadcast_weights
from weft.metrics.row_sets import RowSets
from weft.metrics.streaming import collected, metric, metric_variable, of_all
from weft.ops.array.select import where_v2
from weft.ops.array.shape_of import shape, size
from weft.ops.by_name import raw
from weft.ops.math.cast import cast
from weft.ops.math.division import div_no_nan
from weft.ops.math.reduce_functions import reduce_sum
from weft.ops.math.scans import cumsum
from weft.ops.nn.top_k import top_k
from weft.variables.assignment import assign_add

_double = dtypes.float64


def at_k_name(what: str, k: Any, class_id: Any = None) -> str:
    name = f"{what}_at_k" if k is None else f"{what}_at_{k:d}"
    return name if class_id is None else f"{name}_class{class_id}"


def _streamed(scope: str, counts: Any, weights: Any) -> tuple[Any, Any]:
    """A variable with the sum of counts, and the operation that adds those of a batch."""
    with name_scope(None, scope, (counts, weights)) as name:
        if weights is not None:
            check = assert_broadcastable(weights, counts)
            with control_dependencies([] if check is None else [check]):
                counts = counts * cast(weights, _double)
        total = metric_variable([], _double, name=name)
        return total, assign_add(total, reduce_sum(counts), name="update")


def _hits_part(
    labels: Any,
    predictions_idx: Any,
    k: Any,
    class_id: Any,
    weights: Any,
    misses_name: str,
    misses_of: Callable,
    collections: tuple[Any, Any],
    scope: str,
) -> tuple[Any, Any]:
    """The part of the hits in hits and misses: those of the predictions, or those of the labels."""
    predicted = RowSets.of(predictions_idx)
    wanted = RowSets.of(labels, like=predicted.numbers)
    if class_id is not None:
        predicted, wanted = predicted.only(class_id), wanted.only(class_id)
    hits = predicted.size_with(wanted)
    misses = misses_of(predicted, wanted) - hits
    tp, more_tp = _streamed(at_k_name("true_positive", k, class_id), hits, weights)
    other, more_other = _streamed(at_k_name(misses_name, k, class_id), misses, weights)
    tp, other = of_all(tp), of_all(other)
    value = raw.RealDiv(tp, tp + other, name=scope)
    update = raw.RealDiv(more_tp, more_tp + more_other, name="update")
    return collected(value, update, *collections)


@metric
def precision_at_top_k(
    labels: Any,
    predictions_idx: Any,
    k: int | None = None,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns how many of the predicted classes so far were among the labels, and the update.

    Labels are a tensor or SparseTensor with a row for each row of `predictions_idx`.
    """
    with name_scope(name, at_k_name("precision", k, class_id), (predictions_idx, weights)) as scope:
        return _hits_part(
            labels,
            predictions_idx,
            k,
            class_id,
            weights,
            "false_positive",
            lambda predicted, wanted: predicted.size(),
            (metrics_collections, updates_collections),
            scope,
        )


@metric
def recall_at_top_k(
    labels: Any,
    predictions_idx: Any,
    k: int | None = None,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns how many of the labels so far were among the predicted classes, and the update.

    Labels are a tensor or SparseTensor with a row for each row of `predictions_idx`.
    """
    with name_scope(name, at_k_name("recall", k, class_id), (predictions_idx, weights)) as scope:
        return _hits_part(
            labels,
            predictions_idx,
            k,
            class_id,
            weights,
            "false_negative",
            lambda predicted, wanted: wanted.size(),
            (metrics_collections, updates_collections),
            scope,
        )


@metric
def precision_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns how many of the k best predictions so far were among the labels, and the update."""
    with name_scope(name, at_k_name("precision", k, class_id), (predictions, weights)) as scope:
        _, best = top_k(predictions, k)
        rest = metrics_collections, updates_collections, scope
        return precision_at_top_k(labels, best, k, class_id, weights, *rest)


@metric
def recall_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns how many of the labels so far were among the k best predictions, and the update."""
    with name_scope(name, at_k_name("recall", k, class_id), (predictions, weights)) as scope:
        _, best = top_k(predictions, k)
        rest = metrics_collections, updates_collections, scope
        return recall_at_top_k(labels, best, k, class_id, weights, *rest)


@metric
def sparse_precision_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Deprecated: `precision_at_k`."""
    rest = metrics_collections, updates_collections, name
    return precision_at_k(labels, predictions, k, class_id, weights, *rest)


# -- average precision -----------------------------------------------------------------------------------------


def _within(labels: Any, classes: Any) -> Any:
    """Labels with -1 in place of those that are no class."""
    if is_sparse(labels):
        values = conversion.convert_to_tensor(labels.values)
        return SparseTensor(labels.indices, _within(values, classes), labels.dense_shape)
    labels = conversion.convert_to_tensor(labels)
    minus_one = raw.OnesLike(labels) * -1
    return where_v2(labels >= cast(classes, labels.dtype), minus_one, labels)


def average_precision(labels: Any, predictions_idx: Any) -> Any:
    """The mean, over the labels of a row, of the precision at each that is found in the predictions."""
    with name_scope(None, "average_precision", [predictions_idx]) as scope:
        predictions_idx = cast(predictions_idx, dtypes.int64, name="predictions_idx")
        if predictions_idx.shape.rank == 0:
            raise ValueError("The rank of predictions_idx must be at least 1.")
        dims = predictions_idx.shape.dims_tuple
        k = None if dims is None else dims[-1]
        if k is None:
            raise ValueError("The last dimension of predictions_idx must be set.")
        wanted = RowSets.of(labels, like=predictions_idx)
        found = cast(wanted.holds(predictions_idx), _double)
        so_far = cumsum(found, -1, name="tp_per_k")
        out_of = cumsum(raw.OnesLike(found), -1, name="retrieved_per_k")
        total = reduce_sum(raw.RealDiv(so_far, out_of) * found, -1, name="precision_sum")
        if is_sparse(labels):
            count = wanted.size()
        else:
            count = reduce_sum(cast(wanted.numbers >= 0, _double), -1)
        return raw.RealDiv(total, raw.Minimum(count, float(k)), name=scope)


@metric
def average_precision_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns the mean of the average precisions of the rows so far, and the operation that adds a batch."""
    if k < 1:
        raise ValueError(f"Invalid k={k}.")
    with name_scope(name, at_k_name("average_precision", k), (predictions, weights)) as scope:
        _, best = top_k(predictions, k)
        labels = _within(labels, shape(predictions, out_type=dtypes.int64)[-1])
        rest = metrics_collections, updates_collections, scope
        return average_precision_at_top_k(labels, best, weights, *rest)


def average_precision_at_top_k(
    labels: Any,
    predictions_idx: Any,
    weights: Any,
    metrics_collections: Any,
    updates_collections: Any,
    name: str | None,
) -> tuple[Any, Any]:
    """The mean of the average precisions of the rows so far, and the operation that adds a batch."""
    with name_scope(name, "average_precision_at_top_k", (predictions_idx, weights)) as scope:
        each = average_precision(labels, predictions_idx)
        if weights is not None:
            weights = broadcast_weights(cast(weights, _double), each)
            each = each * weights
        count = cast(size(each), _double) if weights is None else reduce_sum(weights)
        most, more = _streamed("max", count, None)
        total, longer = _streamed("total", reduce_sum(each), None)
        value = div_no_nan(of_all(total), of_all(most), name="mean")
        update = div_no_nan(longer, more, name=scope)
        return collected(value, update, metrics_collections, updates_collections)


@metric
def sparse_average_precision_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Deprecated: `average_precision_at_k`."""
    rest = metrics_collections, updates_collections, name
    return average_precision_at_k(labels, predictions, k, weights, *rest)
