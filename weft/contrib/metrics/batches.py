"""Measures of one batch, and what puts metrics together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.framework import dtypes
from weft.framework.export import export
from weft.framework.scopes import name_scope
from weft.ops.by_name import raw
from weft.ops.math.cast import cast
from weft.ops.math.reduce_functions import reduce_mean, reduce_sum


@export("contrib.metrics.accuracy")
def accuracy(predictions: Any, labels: Any, weights: Any = None, name: str | None = None) -> Any:
    """Returns how often the predictions of a batch are equal to its labels."""
    kind = labels.dtype
    if not (kind.is_integer or kind.base_dtype in (dtypes.bool, dtypes.string)):
        raise ValueError(f"Labels should have bool, integer, or string dtype, not {kind!r}")
    if not kind.is_compatible_with(predictions.dtype):
        raise ValueError(
            f"Dtypes of predictions and labels should match. Given: predictions ({predictions.dtype!r}) and "
            f"labels ({kind!r})"
        )
    with name_scope(name, "accuracy", [predictions, labels]):
        correct = cast(raw.Equal(predictions, labels), dtypes.float32)
        if weights is None:
            return reduce_mean(correct)
        weighted = correct * weights
        return reduce_sum(weighted) / reduce_sum(weights * raw.OnesLike(weighted))


@export("contrib.metrics.aggregate_metrics")
def aggregate_metrics(*value_update_tuples: Any) -> tuple[list[Any], list[Any]]:
    """Returns the values of several metrics, and their updates."""
    if not value_update_tuples:
        raise ValueError("Expected at least one value_tensor/update_op pair")
    values, updates = zip(*value_update_tuples)
    return list(values), list(updates)


@export("contrib.metrics.aggregate_metric_map")
def aggregate_metric_map(names_to_tuples: Mapping[str, Any]) -> tuple[dict, dict]:
    """Returns the values of named metrics, and their updates, by name."""
    values = {name: value for name, (value, _) in names_to_tuples.items()}
    return values, {name: update for name, (_, update) in names_to_tuples.items()}
