"""The area under the ROC or PR curve from all predictions, or from histograms of them."""

from __future__ import annotations

from collections import namedtuple
from statistics import NormalDist
from typing import Any

import numpy as np

from weft.checks.values import assert_greater_equal, assert_less_equal
from weft.contrib.metrics.rates import EPSILON
from weft.contrib.metrics.statistics import streaming_concat
from weft.framework import conversion, dtypes
from weft.framework.export import export
from weft.framework.graph import control_dependencies
from weft.framework.graph_keys import GraphKeys
from weft.initializers.values import Zeros
from weft.metrics.confusion_matrix import remove_squeezable_dimensions
from weft.metrics.streaming import aligned, collected
from weft.ops.array.concat import concat
from weft.ops.array.gather import gather
from weft.ops.array.select import boolean_mask, where
from weft.ops.array.shape_of import size
from weft.ops.by_name import raw
from weft.ops.flow.cond import cond
from weft.ops.flow.grouping import group, no_op
from weft.ops.flow.logging_ops import assert_
from weft.ops.math.cast import cast
from weft.ops.math.counting import histogram_fixed_width
from weft.ops.math.reduce_functions import reduce_max, reduce_min, reduce_sum
from weft.ops.math.scans import cumsum
from weft.ops.math.segments import segment_sum
from weft.ops.nn.top_k import top_k
from weft.variables.scope import get_variable, variable_scope

AucData = namedtuple("AucData", ["auc", "lower", "upper"])
_double = dtypes.float64


def _zero_or_one(labels: Any) -> list[Any]:
    zero, one = np.int64(0), np.int64(1)
    checks = [
        assert_greater_equal(labels, zero, message="labels must be 0 or 1, at least one is <0"),
        assert_less_equal(labels, one, message="labels must be 0 or 1, at least one is >1"),
    ]
    return [c for c in checks if c is not None]


def _kept(values: Any, names: tuple[str, ...]) -> tuple[list[Any], list[Any]]:
    """All values so far of several vectors, and the operations that add a batch."""
    return tuple(zip(*[streaming_concat(v, name=n) for v, n in zip(values, names)]))  # type: ignore[return-value]


@export("contrib.metrics.streaming_dynamic_auc")
def streaming_dynamic_auc(
    labels: Any,
    predictions: Any,
    curve: str = "ROC",
    metrics_collections: Any = (),
    updates_collections: Any = (),
    name: str | None = None,
    weights: Any = None,
) -> tuple[Any, Any]:
    """Returns the area under the curve of all predictions so far, with a point for each, and the update."""
    if curve not in ("PR", "ROC"):
        raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
    with variable_scope(name, "dynamic_auc"):
        labels.shape.assert_is_compatible_with(predictions.shape)
        parts = [raw.Reshape(cast(predictions, _double), [-1])]
        parts.append(raw.Reshape(cast(labels, dtypes.int64), [-1]))
        if weights is not None:
            parts.append(raw.Reshape(cast(weights, _double), [-1]))
        with control_dependencies(_zero_or_one(parts[1])):
            names = "concat_preds", "concat_labels", "concat_weights"
            kept, updates = _kept(parts, names)
            value = _area(*kept, curve=curve)
            return collected(value, group(*updates), metrics_collections, updates_collections)


def _area(predictions: Any, labels: Any, weights: Any = None, *, curve: str) -> Any:
    if weights is None:
        weights = raw.OnesLike(cast(labels, _double))
    of_true = weights * cast(labels > 0, _double)
    total, total_true = reduce_sum(weights), reduce_sum(of_true)

    def area() -> Any:
        ordered, order = top_k(predictions, size(predictions))
        counts = raw.UniqueWithCounts(ordered, out_idx=dtypes.int32).count
        ends = _from_zero(cumsum(counts))  # equal predictions are one point
        true = gather(_from_zero(cumsum(gather(of_true, order))), ends)
        both = gather(_from_zero(cumsum(gather(weights, order))), ends)
        if curve == "ROC":
            x, y = (both - true) / (total - total_true), true / total_true
        else:
            x = true / total_true
            y = where(ends > 0, true / both, raw.OnesLike(true))
        return reduce_sum((y[1:] + y[:-1]) / 2.0 * abs(x[1:] - x[:-1]))

    one_kind = raw.LogicalOr(raw.Equal(total_true, np.float64(0)), raw.Equal(total_true, total))
    return cond(one_kind, lambda: conversion.convert_to_tensor(0.0, _double), area)


def _from_zero(x: Any) -> Any:
    return concat([np.zeros(1, x.dtype.base_dtype.np), x], 0)


@export("contrib.metrics.auc_with_confidence_intervals")
def auc_with_confidence_intervals(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    alpha: float = 0.95,
    logit_transformation: bool = True,
    metrics_collections: Any = (),
    updates_collections: Any = (),
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns the area under the ROC curve of all predictions so far, with bounds; and the update.

    The bounds hold with probability `alpha`, by DeLong's way: the variance of where each prediction of a kind
    is placed among those of the other kind.
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be between 0 and 1; currently {alpha:.02f}")
    if weights is None:
        weights = raw.OnesLike(conversion.convert_to_tensor(predictions))
    with variable_scope(name, "auc_with_confidence_intervals", [labels, predictions, weights]):
        predictions, labels, weights = aligned(predictions, labels, weights)
        total = reduce_sum(weights)
        weights = raw.Reshape(weights, [-1])
        predictions = raw.Reshape(cast(predictions, _double), [-1])
        labels = raw.Reshape(cast(labels, dtypes.int64), [-1])
        with control_dependencies(_zero_or_one(labels)):
            names = "concat_preds", "concat_labels", "concat_weights"
            enough = total >= 1.0
            kept, updates = _kept([predictions, labels, weights], names)
            both = raw.LogicalAnd(
                raw.Equal(reduce_min(labels), np.int64(0)),
                raw.Equal(reduce_max(labels), np.int64(1)),
            )
            update = cond(enough, lambda: group(*updates), no_op)
            result = _by_placement(*kept, alpha=alpha, logit=logit_transformation)
            valid = raw.LogicalAnd(both, enough)
            zero = np.float32(0)
            result = AucData(*[where(valid, x, raw.ZerosLike(x) + zero) for x in result])
            return collected(result, update, metrics_collections, updates_collections)


def _by_placement(predictions: Any, labels: Any, weights: Any, *, alpha: float, logit: bool) -> Any:
    ordered, order = top_k(predictions, size(predictions))
    first = np.zeros(1, np.int32)
    ordered, order = raw.ReverseV2(ordered, first), raw.ReverseV2(order, first)
    is_true = cast(gather(labels, order), dtypes.float32)
    weights = gather(weights, order)
    place = raw.Unique(ordered, out_idx=dtypes.int32).idx

    def measured(is_own: Any, is_other: Any, turned: bool) -> tuple[Any, Any, Any]:
        """Of the predictions of one kind: their weight, the area by them, and its variance."""
        others = segment_sum(weights * is_other, place)
        below = cumsum(others, exclusive=True) + others / 2.0
        placed = gather(below / (reduce_sum(others) + EPSILON), place) * is_own
        if turned:
            placed = 1.0 - placed
        own = weights * is_own
        total = reduce_sum(own)
        area = reduce_sum(own * placed) / (total + EPSILON)
        variance = reduce_sum(own * raw.SquaredDifference(placed, area)) / (total - 1.0 + EPSILON)
        return total, area, variance

    total_0, area_0, variance_0 = measured(1.0 - is_true, is_true, turned=True)
    total_1, area_1, variance_1 = measured(is_true, 1.0 - is_true, turned=False)
    auc = where(total_0 < total_1, area_1, area_0)
    error = raw.Sqrt(variance_0 / (total_0 + EPSILON) + variance_1 / (total_1 + EPSILON))
    z = NormalDist().inv_cdf((1.0 - alpha) / 2.0)
    if logit:
        rest = 1.0 - auc + EPSILON
        middle, error = raw.Log(auc / rest), error / (auc * rest)
        ends = [1.0 / (1.0 + raw.Exp(-(middle + s * error)) + EPSILON) for s in (z, -z)]
    else:
        ends = [auc + s * error for s in (z, -z)]
    certain = raw.LogicalOr(raw.Equal(auc, np.float32(1)), raw.Equal(auc, np.float32(0)))
    return [auc, *[where(certain, auc, end) for end in ends]]


@export("contrib.metrics.auc_using_histogram")
def auc_using_histogram(
    boolean_labels: Any,
    scores: Any,
    score_range: Any,
    nbins: int = 100,
    collections: Any = None,
    check_shape: bool = True,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns the area under the ROC curve of histograms of the scores of both kinds, and the update."""
    collections = [GraphKeys.LOCAL_VARIABLES] if collections is None else collections
    with variable_scope(name, "auc_using_histogram", [boolean_labels, scores, score_range]):
        scores, labels = remove_squeezable_dimensions(scores, boolean_labels)
        score_range = conversion.convert_to_tensor(score_range, name="score_range")
        if labels.dtype.base_dtype is not dtypes.bool:
            raise ValueError(
                f"Argument boolean_labels should have dtype bool.  Found: {labels.dtype!r}"
            )
        checks = []
        if check_shape:
            checks = [
                assert_(
                    raw.Equal(raw.Rank(x), np.int32(1)),
                    [f"Argument {what} should have rank 1.  Found: ", raw.Shape(x)],
                )
                for what, x in (("boolean_labels", labels), ("scores", scores))
            ]
        with control_dependencies(checks):
            labels, scores = raw.Identity(labels), raw.Identity(scores)
        kept, updates = [], []
        for which, chosen in (("true", labels), ("false", raw.LogicalNot(labels))):
            counts = histogram_fixed_width(
                boolean_mask(scores, chosen), score_range, nbins=nbins, dtype=dtypes.int64
            )
            with variable_scope("hist_accumulate"):
                total = get_variable(
                    f"hist_{which}_acc",
                    shape=[nbins],
                    dtype=dtypes.int64,
                    initializer=Zeros(),
                    collections=collections,
                    trainable=False,
                )
            kept.append(total)
            updates.append(total.assign_add(counts))
        # From the highest scores down: how much of each kind a bin adds.
        rises, runs = (
            cast(raw.ReverseV2(k / reduce_sum(k), np.zeros(1, np.int32)), dtypes.float32)
            for k in kept
        )
        height = _from_zero(cumsum(rises))
        auc = reduce_sum(runs * (height[1:] + height[:-1]) / 2.0, name="auc")
        return auc, group(*updates, name="update_op")
