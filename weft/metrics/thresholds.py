"""The four outcomes where a probability is predicted and each of several thresholds makes a yes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.checks.values import assert_greater_equal, assert_less_equal
from weft.framework import conversion, dtypes
from weft.framework.graph import control_dependencies
from weft.losses.weights import broadcast_weights
from weft.metrics.streaming import aligned, collected, metric, metric_variable, of_all
from weft.ops.array.gather import gather
from weft.ops.by_name import raw
from weft.ops.math.cast import cast
from weft.ops.math.scans import cumsum
from weft.variables.assignment import assign_add
from weft.variables.scope import variable_scope

NAMES = {
    "tp": "true_positives",
    "fn": "false_negatives",
    "tn": "true_negatives",
    "fp": "false_positives",
}
_EPSILON = 1e-7


class Outcomes:
    """Counts at each threshold: the variables, and the operations that add a batch to them."""

    def __init__(
        self,
        labels: Any,
        predictions: Any,
        thresholds: list[float],
        weights: Any = None,
        kinds: tuple[str, ...] = ("tp", "fn", "tn", "fp"),
        of_unit: bool = True,
    ):
        predictions = conversion.convert_to_tensor(predictions)
        with control_dependencies(in_unit(predictions) if of_unit else []):
            predictions, labels, weights = aligned(
                cast(predictions, dtypes.float32), cast(labels, dtypes.bool), weights
            )
        if weights is None:
            weights = raw.OnesLike(predictions)
        else:
            weights = broadcast_weights(cast(weights, dtypes.float32), predictions)
        buckets = _Buckets(thresholds, predictions)
        self.values: dict[str, Any] = {}
        self.updates: dict[str, Any] = {}
        for kind in kinds:
            # The label is what was said where that was true, and the other where it was false.
            is_so = labels if kind in ("tp", "fn") else raw.LogicalNot(labels)
            found = buckets.above if kind[1] == "p" else buckets.below
            count = metric_variable([len(thresholds)], dtypes.float32, name=NAMES[kind])
            self.values[kind] = count
            self.updates[kind] = assign_add(count, found(cast(is_so, dtypes.float32) * weights))

    def measured(
        self, compute: Callable, metrics_collections: Any, updates_collections: Any
    ) -> tuple[Any, Any]:
        """`compute(name, tp=, fn=, ...)` of the counts so far, and of those with a batch."""
        value = compute("value", **{kind: of_all(v) for kind, v in self.values.items()})
        update = compute("update_op", **self.updates)
        return collected(value, update, metrics_collections, updates_collections)


class _Buckets:
    """Sums over what is above or below each threshold: each prediction counts once, between two of them."""

    def __init__(self, thresholds: Any, predictions: Any):
        bounds = np.array(thresholds, np.float32)
        order = np.argsort(bounds, kind="stable")
        self.count = bounds.size
        self._in_order = bool(np.all(order == np.arange(bounds.size)))
        self._back = np.argsort(order, kind="stable")
        flat = raw.Reshape(predictions, [1, -1])
        # How many thresholds are less than each prediction.
        self._bucket = raw.Reshape(raw.LowerBound(bounds[order][None], flat), [-1])

    def above(self, weights: Any) -> Any:
        """The sum of the weights of the predictions that are greater than each threshold."""
        return self._given_order(cumsum(self._sums(weights), reverse=True)[1:])

    def below(self, weights: Any) -> Any:
        """The sum of the weights of the others."""
        return self._given_order(cumsum(self._sums(weights))[:-1])

    def _sums(self, weights: Any) -> Any:
        flat = raw.Reshape(weights, [-1])
        return raw.UnsortedSegmentSum(flat, self._bucket, np.int32(self.count + 1))

    def _given_order(self, sums: Any) -> Any:
        return sums if self._in_order else gather(sums, self._back)


def in_unit(predictions: Any) -> list[Any]:
    """Checks that predictions are probabilities."""
    what = "predictions must be in [0, 1]"
    zero, one = (cast(x, predictions.dtype) for x in (0.0, 1.0))
    checks = [
        assert_greater_equal(predictions, zero, message=what),
        assert_less_equal(predictions, one, message=what),
    ]
    return [c for c in checks if c is not None]


def evenly(count: int, last: float = 1.0 + _EPSILON) -> list[float]:
    """So many thresholds from just below 0 to just above 1."""
    inner = [(i + 1) * 1.0 / (count - 1) for i in range(count - 2)]
    return [0.0 - _EPSILON, *inner, last]


def _at_thresholds(
    kind: str,
    labels: Any,
    predictions: Any,
    thresholds: Any,
    weights: Any,
    metrics_collections: Any,
    updates_collections: Any,
    name: str | None,
) -> tuple[Any, Any]:
    with variable_scope(name, NAMES[kind], (predictions, labels, weights)):
        outcomes = Outcomes(labels, predictions, list(thresholds), weights, (kind,))
        value = raw.Identity(of_all(outcomes.values[kind]))
        update = outcomes.updates[kind]
        return collected(value, update, metrics_collections, updates_collections)


@metric
def true_positives_at_thresholds(
    labels: Any,
    predictions: Any,
    thresholds: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns the true positives so far at each threshold, and the operation that adds a batch."""
    rest = weights, metrics_collections, updates_collections, name
    return _at_thresholds("tp", labels, predictions, thresholds, *rest)


@metric
def true_negatives_at_thresholds(
    labels: Any,
    predictions: Any,
    thresholds: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns the true negatives so far at each threshold, and the operation that adds a batch."""
    rest = weights, metrics_collections, updates_collections, name
    return _at_thresholds("tn", labels, predictions, thresholds, *rest)


@metric
def false_positives_at_thresholds(
    labels: Any,
    predictions: Any,
    thresholds: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns the false positives so far at each threshold, and the operation that adds a batch."""
    rest = weights, metrics_collections, updates_collections, name
    return _at_thresholds("fp", labels, predictions, thresholds, *rest)


@metric
def false_negatives_at_thresholds(
    labels: Any,
    predictions: Any,
    thresholds: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns the false negatives so far at each threshold, and the operation that adds a batch."""
    rest = weights, metrics_collections, updates_collections, name
    return _at_thresholds("fn", labels, predictions, thresholds, *rest)


@metric
def precision_at_thresholds(
    labels: Any,
    predictions: Any,
    thresholds: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns the precision so far at each threshold, and the operation that adds a batch."""

    def compute(name: str, tp: Any, fp: Any) -> Any:
        return raw.RealDiv(tp, _EPSILON + tp + fp, name="precision_" + name)

    with variable_scope(name, "precision_at_thresholds", (predictions, labels, weights)):
        outcomes = Outcomes(labels, predictions, list(thresholds), weights, ("tp", "fp"))
        return outcomes.measured(compute, metrics_collections, updates_collections)


@metric
def recall_at_thresholds(
    labels: Any,
    predictions: Any,
    thresholds: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns the recall so far at each threshold, and the operation that adds a batch."""

    def compute(name: str, tp: Any, fn: Any) -> Any:
        return raw.RealDiv(tp, _EPSILON + tp + fn, name="recall_" + name)

    with variable_scope(name, "recall_at_thresholds", (predictions, labels, weights)):
        outcomes = Outcomes(labels, predictions, list(thresholds), weights, ("tp", "fn"))
        return outcomes.measured(compute, metrics_collections, updates_collections)


def _check_unit(name: str, value: float) -> None:
    if value < 0 or value > 1:
        raise ValueError(f"`{name}` must be in the range [0, 1].")


@metric
def sensitivity_at_specificity(
    labels: Any,
    predictions: Any,
    specificity: float,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns the sensitivity at the threshold whose specificity is nearest, and the update."""
    _check_unit("specificity", specificity)

    def compute(name: str, tp: Any, tn: Any, fp: Any, fn: Any) -> Any:
        found = raw.RealDiv(tn, tn + fp + _EPSILON)
        best = cast(raw.ArgMin(abs(found - specificity), np.int32(0)), dtypes.int32)
        hits, misses = raw.GatherV2(tp, best, 0), raw.GatherV2(fn, best, 0)
        return raw.RealDiv(hits, hits + misses + _EPSILON, name=name)

    with variable_scope(name, "sensitivity_at_specificity", (predictions, labels, weights)):
        outcomes = Outcomes(labels, predictions, evenly(num_thresholds), weights)
        return outcomes.measured(compute, metrics_collections, updates_collections)


@metric
def specificity_at_sensitivity(
    labels: Any,
    predictions: Any,
    sensitivity: float,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns the specificity at the last threshold whose sensitivity is nearest, and the update."""
    _check_unit("sensitivity", sensitivity)

    def compute(name: str, tp: Any, tn: Any, fp: Any, fn: Any) -> Any:
        away = abs(raw.RealDiv(tp, tp + fn + _EPSILON) - sensitivity)
        nearest = raw.Equal(away, raw.Min(away, np.array([0], np.int32)))
        # The number of nearest ones so far is greatest from the last one on.
        so_far = raw.Cumsum(cast(nearest, dtypes.int64), np.int32(0))
        best = cast(raw.ArgMax(so_far, np.int32(0)), dtypes.int32)
        right, wrong = raw.GatherV2(tn, best, 0), raw.GatherV2(fp, best, 0)
        return raw.RealDiv(right, right + wrong + _EPSILON, name=name)

    with variable_scope(name, "specificity_at_sensitivity", (predictions, labels, weights)):
        thresholds = evenly(num_thresholds, last=1.0 - _EPSILON)
        outcomes = Outcomes(labels, predictions, thresholds, weights)
        return outcomes.measured(compute, metrics_collections, updates_collections)
