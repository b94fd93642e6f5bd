"""Labels and what is predicted for them, side by side."""

from __future__ import annotations

from typing import Any

from weft.framework import conversion, dtypes
from weft.metrics.confusion_matrix import remove_squeezable_dimensions
from weft.ops.by_name import raw
from weft.ops.flow.cond import cond
from weft.ops.math.cast import cast


def required(**given: Any) -> None:
    """Raises ValueError for an argument that is None."""
    for name, value in given.items():
        if value is None:
            raise ValueError(f"{name} must not be None.")


def as_floats(labels: Any, predictions: Any) -> tuple[Any, Any]:
    """Both as float32, whose shapes must fit."""
    predictions = cast(predictions, dtypes.float32)
    labels = cast(labels, dtypes.float32)
    predictions.shape.assert_is_compatible_with(labels.shape)
    return labels, predictions


def as_logits(labels: Any, logits: Any) -> tuple[Any, Any]:
    """The labels in the dtype of the logits; the shapes must fit."""
    logits = conversion.convert_to_tensor(logits)
    labels = cast(labels, logits.dtype)
    logits.shape.assert_is_compatible_with(labels.shape)
    return labels, logits


def without_extra_dimension(labels: Any, logits: Any, weights: Any) -> tuple[Any, Any, Any]:
    """Labels with one dimension less than logits, and weights as labels; one of size 1 too many goes."""
    labels, logits = remove_squeezable_dimensions(labels, logits, expected_rank_diff=1)
    if weights is None:
        return labels, logits, None
    weights = conversion.convert_to_tensor(weights)
    w, n = weights._dims, labels._rank()
    if w is not None and n is not None:
        return labels, logits, squeezed(weights) if len(w) == n + 1 else weights
    if w is None or (w and w[-1] in (1, None)):
        one_more = raw.Equal(raw.Rank(weights) - raw.Rank(labels), 1)
        weights = cond(one_more, lambda: squeezed(weights), lambda: weights)
    return labels, logits, weights


def squeezed(x: Any) -> Any:
    return raw.Squeeze(x, squeeze_dims=[-1])
