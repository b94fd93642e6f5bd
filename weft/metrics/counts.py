"""Counts of the four outcomes of a yes or no that is predicted, and what follows from them."""

from __future__ import annotations

from typing import Any

from weft.checks.shapes import assert_rank_in
from weft.framework import dtypes
from weft.framework.graph import control_dependencies
from weft.metrics.streaming import aligned, collected, metric, metric_variable, of_all
from weft.ops.array import shape_of
from weft.ops.array.select import where
from weft.ops.by_name import raw
from weft.ops.math.cast import cast
from weft.ops.math.reduce_functions import reduce_sum
from weft.variables.assignment import assign_add
from weft.variables.scope import variable_scope


def as_bools(predictions: Any, labels: Any, weights: Any) -> tuple[Any, Any, Any]:
    return aligned(cast(predictions, dtypes.bool), cast(labels, dtypes.bool), weights)


def _count(
    events: Any, weights: Any, metrics_collections: Any = None, updates_collections: Any = None
) -> tuple[Any, Any]:
    """How often something has been the case, with weights."""
    count = metric_variable([], dtypes.float32, name="count")
    values = cast(events, dtypes.float32)
    if weights is not None:
        check = assert_rank_in(weights, (0, shape_of.rank(values)))
        with control_dependencies([] if check is None else [check]):
            values = values * cast(weights, dtypes.float32)
    value = raw.Identity(of_all(count))
    update = assign_add(count, reduce_sum(values))
    return collected(value, update, metrics_collections, updates_collections)


def _outcome(
    kind: str,
    labels: Any,
    predictions: Any,
    weights: Any,
    metrics_collections: Any,
    updates_collections: Any,
    name: str | None,
) -> tuple[Any, Any]:
    """Counts an outcome such as `false_positives`."""
    with variable_scope(name, kind, (predictions, labels, weights)):
        predictions, labels, weights = as_bools(predictions, labels, weights)
        positive = predictions if kind.endswith("positives") else raw.LogicalNot(predictions)
        agree = raw.Equal(predictions, labels)
        right = agree if kind.startswith("true") else raw.LogicalNot(agree)
        events = raw.LogicalAnd(right, positive)
        return _count(events, weights, metrics_collections, updates_collections)


@metric
def true_positives(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns how often true has been predicted and the label, and the operation that adds a batch."""
    rest = metrics_collections, updates_collections, name
    return _outcome("true_positives", labels, predictions, weights, *rest)


@metric
def true_negatives(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns how often false has been predicted and the label, and the operation that adds a batch."""
    rest = metrics_collections, updates_collections, name
    return _outcome("true_negatives", labels, predictions, weights, *rest)


@metric
def false_positives(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns how often true has been predicted for a label false, and the operation that adds a batch."""
    rest = metrics_collections, updates_collections, name
    return _outcome("false_positives", labels, predictions, weights, *rest)


@metric
def false_negatives(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns how often false has been predicted for a label true, and the operation that adds a batch."""
    rest = metrics_collections, updates_collections, name
    return _outcome("false_negatives", labels, predictions, weights, *rest)


def part(hits: Any, misses: Any, name: str) -> Any:
    """The part of the hits in both; 0 if there are none."""
    both = hits + misses
    return where(raw.Greater(both, 0.0), raw.RealDiv(hits, both), raw.ZerosLike(both), name)


@metric
def precision(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns how many of what has been predicted true were so, and the operation that adds a batch."""
    with variable_scope(name, "precision", (predictions, labels, weights)):
        predictions, labels, weights = as_bools(predictions, labels, weights)
        hits, more_hits = true_positives(labels, predictions, weights)
        misses, more_misses = false_positives(labels, predictions, weights)
        value = part(of_all(hits), of_all(misses), "value")
        update = part(more_hits, more_misses, "update_op")
        return collected(value, update, metrics_collections, updates_collections)


@metric
def recall(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns how many of what was true have been predicted so, and the operation that adds a batch."""
    with variable_scope(name, "recall", (predictions, labels, weights)):
        predictions, labels, weights = as_bools(predictions, labels, weights)
        hits, more_hits = true_positives(labels, predictions, weights)
        misses, more_misses = false_negatives(labels, predictions, weights)
        value = part(of_all(hits), of_all(misses), "value")
        update = part(more_hits, more_misses, "update_op")
        return collected(value, update, metrics_collections, updates_collections)
