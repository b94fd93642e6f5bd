"""The confusion matrix of a classification."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.checks.values import assert_less, assert_non_negative
from weft.framework import conversion, dtypes
from weft.framework.context import executing_eagerly
from weft.framework.export import export
from weft.framework.graph import control_dependencies
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import merge
from weft.ops.by_name import raw
from weft.ops.flow.cond import cond
from weft.ops.math.cast import cast
from weft.ops.math.reduce_functions import reduce_max


def remove_squeezable_dimensions(
    labels: Any, predictions: Any, expected_rank_diff: int = 0, name: str | None = None
) -> tuple[Any, Any]:
    """Squeezes the last axis of the one whose rank is one too high; gives labels and predictions.

    `expected_rank_diff` is the rank of the predictions less that of the labels.
    """
    with name_scope(name, "remove_squeezable_dimensions", [labels, predictions]):
        predictions = conversion.convert_to_tensor(predictions)
        labels = conversion.convert_to_tensor(labels)
        if labels.dims is not None and predictions.dims is not None:
            difference = len(predictions.dims) - len(labels.dims)
            if difference == expected_rank_diff + 1:
                predictions = _squeezed(predictions)
            elif difference == expected_rank_diff - 1:
                labels = _squeezed(labels)
            return labels, predictions
        difference = raw.Rank(predictions) - raw.Rank(labels)
        return (
            _squeezed_if(labels, difference, expected_rank_diff - 1),
            _squeezed_if(predictions, difference, expected_rank_diff + 1),
        )


def _squeezed(tensor: Any) -> Any:
    return raw.Squeeze(tensor, squeeze_dims=[-1])


def _squeezed_if(tensor: Any, difference: Any, wanted: int) -> Any:
    if tensor.dims is not None and (not tensor.dims or tensor.dims[-1] not in (None, 1)):
        return tensor
    same = raw.Equal(difference, np.int32(wanted))
    return cond(same, lambda: _squeezed(tensor), lambda: tensor)


def _after(check: Any, tensor: Any) -> Any:
    """The tensor, available once the check has passed."""
    if check is None or executing_eagerly():
        return tensor
    with control_dependencies([check]):
        return raw.Identity(tensor)


@export("confusion_matrix", "math.confusion_matrix")
def confusion_matrix(
    labels: Any,
    predictions: Any,
    num_classes: Any = None,
    dtype: Any = dtypes.int32,
    name: str | None = None,
    weights: Any = None,
) -> Any:
    """Counts (or adds the weights of) each pair of a label, by row, and a predicted class, by column.

    The number of classes follows from the greatest one where it is not given.
    """
    with name_scope(name, "confusion_matrix", (predictions, labels, num_classes, weights)):
        labels, predictions = remove_squeezable_dimensions(
            conversion.convert_to_tensor(labels, name="labels"),
            conversion.convert_to_tensor(predictions, name="predictions"),
        )
        predictions, labels = cast(predictions, dtypes.int64), cast(labels, dtypes.int64)
        labels = _after(
            assert_non_negative(labels, message="`labels` contains negative values"), labels
        )
        predictions = _after(
            assert_non_negative(predictions, message="`predictions` contains negative values"),
            predictions,
        )
        if num_classes is None:
            count = raw.Maximum(reduce_max(predictions), reduce_max(labels)) + 1
        else:
            count = cast(num_classes, dtypes.int64)
            labels = _after(assert_less(labels, count, message="`labels` out of bound"), labels)
            predictions = _after(
                assert_less(predictions, count, message="`predictions` out of bound"), predictions
            )
        if weights is None:
            ones = np.ones((), dtypes.as_dtype(dtype).np)
            values = raw.Fill(raw.Shape(predictions), ones)
        else:
            weights = conversion.convert_to_tensor(weights, name="weights")
            merge(predictions.dims, weights.dims, "Shapes of predictions and weights differ")
            values = cast(weights, dtype)
        pairs = raw.Pack([labels, predictions], axis=1)
        return raw.ScatterNd(pairs, values, raw.Pack([count, count]))
