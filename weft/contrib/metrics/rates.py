"""Rates of errors, of a yes or no and at thresholds, and counts at thresholds."""

from __future__ import annotations

from typing import Any

from weft.framework.export import export
from weft.framework.graph import control_dependencies
from weft.losses.weights import broadcast_weights
from weft.metrics.counts import (
    as_bools,
    false_negatives,
    false_positives,
    part,
    true_negatives,
    true_positives,
)
from weft.metrics.streaming import aligned, collected, metric_variable
from weft.metrics.thresholds import NAMES, Outcomes
from weft.ops.array.shape_of import size
from weft.ops.by_name import raw
from weft.ops.math.cast import cast
from weft.ops.math.reduce_functions import reduce_sum
from weft.variables.assignment import assign_add
from weft.variables.scope import variable_scope

EPSILON = 1e-7


def _rate(
    name: str | None,
    scope: str,
    errors_of: Any,
    others_of: Any,
    given: tuple[Any, Any, Any],
    collections: tuple[Any, Any],
) -> tuple[Any, Any]:
    predictions, labels, weights = given
    with variable_scope(name, scope, given):
        predictions, labels, weights = as_bools(predictions, labels, weights)
        errors, more_errors = errors_of(labels, predictions, weights)
        others, more_others = others_of(labels, predictions, weights)
        value = part(errors, others, "value")
        update = part(more_errors, more_others, "update_op")
        return collected(value, update, *collections)


@export("contrib.metrics.streaming_false_positive_rate")
def streaming_false_positive_rate(
    predictions: Any,
    labels: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns how much of what was false so far has been predicted true, and the update."""
    given = predictions, labels, weights
    collections = metrics_collections, updates_collections
    outcomes = false_positives, true_negatives
    return _rate(name, "false_positive_rate", *outcomes, given, collections)


@export("contrib.metrics.streaming_false_negative_rate")
def streaming_false_negative_rate(
    predictions: Any,
    labels: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns how much of what was true so far has been predicted false, and the update."""
    given = predictions, labels, weights
    collections = metrics_collections, updates_collections
    outcomes = false_negatives, true_positives
    return _rate(name, "false_negative_rate", *outcomes, given, collections)


@export("contrib.metrics.streaming_false_positive_rate_at_thresholds")
def streaming_false_positive_rate_at_thresholds(
    predictions: Any,
    labels: Any,
    thresholds: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns the false positive rate so far at each threshold, and the update."""

    def compute(name: str, fp: Any, tn: Any) -> Any:
        return raw.RealDiv(fp, EPSILON + fp + tn, name="fpr_" + name)

    given = predictions, labels, weights
    with variable_scope(name, "false_positive_rate_at_thresholds", given):
        outcomes = Outcomes(labels, predictions, thresholds, weights, ("fp", "tn"), of_unit=False)
        return outcomes.measured(compute, metrics_collections, updates_collections)


@export("contrib.metrics.streaming_false_negative_rate_at_thresholds")
def streaming_false_negative_rate_at_thresholds(
    predictions: Any,
    labels: Any,
    thresholds: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns the false negative rate so far at each threshold, and the update."""

    def compute(name: str, fn: Any, tp: Any) -> Any:
        return raw.RealDiv(fn, EPSILON + fn + tp, name="fnr_" + name)

    given = predictions, labels, weights
    with variable_scope(name, "false_negative_rate_at_thresholds", given):
        outcomes = Outcomes(labels, predictions, thresholds, weights, ("fn", "tp"), of_unit=False)
        return outcomes.measured(compute, metrics_collections, updates_collections)


def _count_at_thresholds(kind: str) -> None:
    def function(predictions, labels, thresholds, weights=None):
        outcomes = Outcomes(labels, predictions, thresholds, weights, (kind,), of_unit=False)
        return outcomes.values[kind], outcomes.updates[kind]

    name = f"streaming_{NAMES[kind]}_at_thresholds"
    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"Returns the {NAMES[kind].replace('_', ' ')} so far at each threshold, and the update."
    )
    export(f"contrib.metrics.{name}")(function)


for _kind in NAMES:
    _count_at_thresholds(_kind)


@export("contrib.metrics.count")
def count(
    values: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns the number of values so far (the sum of their weights), and the update."""
    with variable_scope(name, "count", (values, weights)):
        total = metric_variable([], "float32", name="count")
        if weights is None:
            number = cast(size(values), "float32")
        else:
            values, _, weights = aligned(cast(values, "float32"), None, weights)
            number = reduce_sum(broadcast_weights(cast(weights, "float32"), values))
        with control_dependencies([values]):
            update = assign_add(total, number)
        return collected(raw.Identity(total), update, metrics_collections, updates_collections)
