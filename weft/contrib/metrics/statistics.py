"""Covariance, correlation and agreement, and all values so far."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import dtypes
from weft.framework.export import export
from weft.framework.graph import control_dependencies
from weft.losses.weights import broadcast_weights
from weft.metrics.confusion_matrix import confusion_matrix
from weft.metrics.streaming import aligned, collected, metric_variable
from weft.ops.array.concat import concat
from weft.ops.array.reshape import squeeze
from weft.ops.array.select import where
from weft.ops.array.shape_of import shape, size
from weft.ops.array.transpose import transpose
from weft.ops.by_name import raw
from weft.ops.math.cast import cast
from weft.ops.math.division import div_no_nan
from weft.ops.math.reduce_functions import reduce_sum
from weft.variables.assignment import assign, assign_add
from weft.variables.scope import variable_scope


@export("contrib.metrics.streaming_covariance")
def streaming_covariance(
    predictions: Any,
    labels: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns the unbiased covariance of predictions and labels so far, and the update.

    The means and the comoment of a batch are joined to those of all before, which stays exact for any number.
    """
    with variable_scope(name, "covariance", (predictions, labels, weights)):
        predictions, labels, weights = aligned(predictions, labels, weights)
        count, mean_x, mean_y, comoment = (
            metric_variable([], dtypes.float32, name=name)
            for name in ("count", "mean_prediction", "mean_label", "comoment")
        )
        if weights is None:
            weight = raw.OnesLike(labels)
            number = cast(size(labels), dtypes.float32)
        else:
            weight = broadcast_weights(weights, labels)
            number = reduce_sum(weight)
        total = assign_add(count, number)

        def joined(values: Any, mean: Any) -> tuple[Any, Any]:
            """The mean of a batch, and the one before it; the variable becomes that of both."""
            of_batch = div_no_nan(reduce_sum(values * weight), number)
            change = div_no_nan((of_batch - mean) * number, total)
            return of_batch, assign_add(mean, change) - change

        batch_x, before_x = joined(predictions, mean_x)
        batch_y, before_y = joined(labels, mean_y)
        of_batch = reduce_sum((predictions - batch_x) * (labels - batch_y) * weight)
        apart = (before_x - batch_x) * (before_y - batch_y)
        change = of_batch + apart * ((total - number) * number / total)
        more = assign_add(comoment, change)

        def covariance(name: str) -> Any:
            nan = np.array(np.nan, np.float32)
            n = raw.Identity(count)
            return where(n <= 1.0, nan, raw.Identity(comoment) / (n - 1.0), name=name)

        value = covariance("covariance")
        with control_dependencies([more]):
            update = covariance("update_op")
    return collected(value, update, metrics_collections, updates_collections)


@export("contrib.metrics.streaming_pearson_correlation")
def streaming_pearson_correlation(
    predictions: Any,
    labels: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns Pearson's correlation of predictions and labels so far, and the update."""
    with variable_scope(name, "pearson_r", (predictions, labels, weights)):
        predictions, labels, weights = aligned(predictions, labels, weights)
        if weights is not None:
            weights = broadcast_weights(weights, labels)
        both = streaming_covariance(predictions, labels, weights, name="covariance")
        x = streaming_covariance(predictions, predictions, weights, name="variance_predictions")
        y = streaming_covariance(labels, labels, weights, name="variance_labels")
        value, update = (
            raw.RealDiv(c, raw.Sqrt(v) * raw.Sqrt(w), name=name)
            for c, v, w, name in zip(both, x, y, ("pearson_r", "update_op"))
        )
    return collected(value, update, metrics_collections, updates_collections)


@export("contrib.metrics.streaming_concat")
def streaming_concat(
    values: Any,
    axis: int = 0,
    max_size: int | None = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns all values so far, one after another along `axis`, the first `max_size`; and the update."""
    with variable_scope(name, "streaming_concat", (values,)):
        dims = values.shape.dims_tuple
        if dims is None:
            raise ValueError("`values` must have known statically known rank")
        rank = len(dims)
        axis = axis + rank if axis < 0 else axis
        if not 0 <= axis < rank:
            raise ValueError(f"axis = {axis!r} not in [0, {rank!r})")
        rest = [d for i, d in enumerate(dims) if i != axis]
        if None in rest:
            raise ValueError(
                "all dimensions of `values` other than the dimension to concatenate along must have statically "
                "known size"
            )
        # A variable of the values alone: those that come are put behind them as a new array.
        kept = metric_variable([0, *rest], values.dtype, validate_shape=False, name="array")
        count = metric_variable([], dtypes.int32, name="size")
        rows = transpose(values, [axis, *[i for i in range(rank) if i != axis]])
        if max_size is not None:
            left = raw.Minimum(shape(rows)[0], max_size - raw.Identity(count))
            rows = rows[:left]
        with control_dependencies([rows]):
            all_rows = concat([_rows_of(kept, rest), rows], 0)
        new = assign(kept, all_rows, validate_shape=False)
        with control_dependencies([new]):
            update = assign(count, shape(all_rows)[0])
        value = transpose(_rows_of(kept, rest), _back(axis, rank), name="concat")
        return collected(value, update, metrics_collections, updates_collections)


def _rows_of(variable: Any, rest: list[int]) -> Any:
    """The value of a variable whose number of rows changes."""
    value = raw.Identity(variable)
    value.set_shape([None, *rest])
    return value


def _back(axis: int, rank: int) -> list[int]:
    order = list(range(1, rank))
    order.insert(axis, 0)
    return order


@export("contrib.metrics.cohen_kappa")
def cohen_kappa(
    labels: Any,
    predictions_idx: Any,
    num_classes: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns Cohen's kappa so far: how far labels and predictions agree beyond chance; and the update."""
    if num_classes < 2:
        raise ValueError(f"`num_classes` must be >= 2.Found: {num_classes}")
    with variable_scope(name, "cohen_kappa", (labels, predictions_idx, weights)):
        labels.shape.with_rank_at_most(2)
        if labels.shape.rank == 2:
            labels = squeeze(labels, axis=[-1])
        predictions, labels, weights = aligned(predictions_idx, labels, weights)
        exact = weights is None or weights.dtype.is_integer
        kind = dtypes.int64 if exact else dtypes.float32
        table = confusion_matrix(labels, predictions, num_classes, kind, "counts_in_table", weights)
        parts = {
            "po": raw.DiagPart(table),
            "pe_row": reduce_sum(table, axis=0),
            "pe_col": reduce_sum(table, axis=1),
        }
        kept = [metric_variable([num_classes], kind, name=name) for name in parts]
        more = [assign_add(k, p) for k, p in zip(kept, parts.values())]

        def kappa(name: str, agreed: Any, rows: Any, columns: Any) -> Any:
            rows, columns = raw.Identity(rows), raw.Identity(columns)
            double = dtypes.float64
            total = cast(reduce_sum(rows), double)
            by_chance = reduce_sum(div_no_nan(cast(rows * columns, double), total))
            agreed = cast(reduce_sum(agreed), double)
            return div_no_nan(agreed - by_chance, total - by_chance, name=name)

        value, update = kappa("value", *kept), kappa("update_op", *more)
        return collected(value, update, metrics_collections, updates_collections)
