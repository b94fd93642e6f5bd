"""What is best over all thresholds, or at the one at which something else is as wanted."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from weft.contrib.metrics.rates import EPSILON
from weft.framework import dtypes
from weft.framework.export import export
from weft.framework.graph import control_dependencies
from weft.framework.scopes import name_scope
from weft.metrics.streaming import aligned, collected, metric_variable
from weft.metrics.thresholds import Outcomes, evenly, in_unit
from weft.ops.array.concat import stack
from weft.ops.array.select import where
from weft.ops.by_name import raw
from weft.ops.flow.grouping import group
from weft.ops.math.cast import cast
from weft.ops.math.ranges import linspace
from weft.ops.math.reduce_functions import reduce_max, reduce_sum
from weft.ops.math.scans import cumsum
from weft.variables.assignment import scatter_add
from weft.variables.scope import variable_scope

PrecisionRecallData = namedtuple(
    "PrecisionRecallData", ["tp", "fp", "tn", "fn", "precision", "recall", "thresholds"]
)


def _at(x: Any, i: Any) -> Any:
    return raw.GatherV2(x, i, np.int32(0))


@export("contrib.metrics.f1_score")
def f1_score(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns the best F1 score over all thresholds so far, and the update."""

    def compute(name: str, tp: Any, fp: Any, fn: Any) -> Any:
        precision = raw.RealDiv(tp, EPSILON + tp + fp, name="precision_" + name)
        recall = raw.RealDiv(tp, EPSILON + tp + fn, name="recall_" + name)
        return reduce_max(2.0 * precision * recall / (precision + recall + EPSILON))

    with variable_scope(name, "f1", (labels, predictions, weights)):
        predictions, labels, weights = aligned(predictions, labels, weights)
        kinds = "tp", "fp", "fn"
        outcomes = Outcomes(labels, predictions, evenly(num_thresholds), weights, kinds)
        return outcomes.measured(compute, metrics_collections, updates_collections)


@export("contrib.metrics.precision_at_recall")
def precision_at_recall(
    labels: Any,
    predictions: Any,
    target_recall: float,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns the precision at the greatest threshold whose recall is what is wanted, and the update."""
    if target_recall < 0 or target_recall > 1:
        raise ValueError("`target_recall` must be in the range [0, 1].")

    def compute(name: str, tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
        enough = raw.RealDiv(tp, tp + fn + EPSILON) >= target_recall
        best = reduce_sum(cast(enough, dtypes.int64)) - 1  # recall falls as the threshold grows
        hits, misses = _at(tp, best), _at(fp, best)
        return raw.RealDiv(hits + EPSILON, hits + misses + EPSILON, name=name)

    with variable_scope(name, "precision_at_recall", (predictions, labels, weights)):
        outcomes = Outcomes(labels, predictions, evenly(num_thresholds), weights, of_unit=False)
        return outcomes.measured(compute, metrics_collections, updates_collections)


@export("contrib.metrics.recall_at_precision")
def recall_at_precision(
    labels: Any,
    predictions: Any,
    precision: float,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
    strict_mode: bool = False,
) -> tuple[Any, Any]:
    """Returns the recall at the threshold whose precision is nearest, and the update.

    With `strict_mode` the precision must be reached; the recall is 0 where it is not.
    """
    if not 0 <= precision <= 1:
        raise ValueError("`precision` must be in the range [0, 1].")

    def compute(name: str, tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
        found = raw.RealDiv(tp, tp + fp + EPSILON)
        if strict_mode:
            nearness = raw.RealDiv(raw.OnesLike(found), found - precision + EPSILON)
            best = raw.ArgMax(nearness, np.int32(0), output_type=dtypes.int32)
        else:
            best = raw.ArgMin(abs(found - precision), np.int32(0), output_type=dtypes.int32)
        hits, misses = _at(tp, best), _at(fn, best)
        recall = raw.RealDiv(hits, hits + misses + EPSILON, name=name)
        if not strict_mode:
            return recall
        return where(_at(found, best) >= precision, recall, raw.ZerosLike(recall))

    with variable_scope(name, "recall_at_precision", (predictions, labels, weights)):
        outcomes = Outcomes(labels, predictions, evenly(num_thresholds), weights, of_unit=False)
        return outcomes.measured(compute, metrics_collections, updates_collections)


@export("contrib.metrics.streaming_curve_points")
def streaming_curve_points(
    labels: Any = None,
    predictions: Any = None,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    curve: str = "ROC",
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns the points of the ROC or PR curve so far, a row for each threshold, and the update."""
    with variable_scope(name, "curve_points", (labels, predictions, weights)):
        if curve not in ("ROC", "PR"):
            raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
        epsilon = 1e-6
        outcomes = Outcomes(labels, predictions, evenly(num_thresholds), weights, of_unit=False)
        tp, fn, tn, fp = (outcomes.values[kind] for kind in ("tp", "fn", "tn", "fp"))
        recall = raw.RealDiv(tp + epsilon, tp + fn + epsilon)
        if curve == "ROC":
            x, y = raw.RealDiv(fp, fp + tn + epsilon), recall
        else:
            x, y = recall, raw.RealDiv(tp + epsilon, tp + fp + epsilon)
        points = stack([x, y], axis=1)
        update = group(*outcomes.updates.values())
        return collected(points, update, metrics_collections, updates_collections)


@export("contrib.metrics.precision_recall_at_equal_thresholds")
def precision_recall_at_equal_thresholds(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    num_thresholds: int | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns counts, precision and recall so far at thresholds in equal distances, and the update.

    Each prediction counts in one bucket, so that a batch costs no more for many thresholds.
    """
    num_thresholds = 201 if num_thresholds is None else num_thresholds
    weights = 1.0 if weights is None else weights
    use_locking = True if use_locking is None else use_locking
    if labels.dtype.base_dtype is not dtypes.bool:
        raise TypeError(f"labels must be of type {dtypes.bool!r}, but are {labels.dtype!r}")
    with variable_scope(
        name, "precision_recall_at_equal_thresholds", (labels, predictions, weights)
    ):
        with control_dependencies(in_unit(predictions)):
            predictions, labels, weights = aligned(predictions, labels, weights)
        is_true = cast(labels, dtypes.float64)
        weights = cast(weights, dtypes.float64)
        flat = raw.Reshape(predictions, [-1])
        bucket = cast(raw.Floor(flat * (num_thresholds - 1)), dtypes.int32)
        with name_scope("variables"):
            true = metric_variable([num_thresholds], dtypes.float64, name="tp_buckets")
            false = metric_variable([num_thresholds], dtypes.float64, name="fp_buckets")
        with name_scope("update_op"):
            of_true = raw.Reshape(is_true * weights, [-1])
            of_false = raw.Reshape((1.0 - is_true) * weights, [-1])
            more_true = scatter_add(true, bucket, of_true, use_locking=use_locking)
            more_false = scatter_add(false, bucket, of_false, use_locking=use_locking)
        tp = cumsum(true, reverse=True, name="tp")
        fp = cumsum(false, reverse=True, name="fp")
        tn, fn = fp[0] - fp, tp[0] - tp
        epsilon = np.float64(1e-7)
        precision = tp / raw.Maximum(epsilon, tp + fp)
        recall = tp / raw.Maximum(epsilon, tp + fn)
        thresholds = linspace(0.0, 1.0, num_thresholds)
        parts = [tp, fp, tn, fn, precision, recall, thresholds]
        result = PrecisionRecallData(*[cast(p, predictions.dtype) for p in parts])
        return result, group(more_true, more_false)
