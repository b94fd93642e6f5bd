"""What all metrics have in common: their variables, their collections, and values beside weights."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from weft.framework import context, conversion, replication
from weft.framework.export import export
from weft.framework.graph_keys import GraphKeys
from weft.metrics.confusion_matrix import remove_squeezable_dimensions
from weft.ops.array.fill import zeros
from weft.ops.array.reshape import expand_dims
from weft.ops.by_name import raw
from weft.ops.flow.cond import cond
from weft.variables.base import VariableV1
from weft.variables.collections import add_to_collections
from weft.variables.modes import VariableAggregation, VariableSynchronization

F = TypeVar("F", bound=Callable)


def metric(function: F) -> F:
    """Exports a function of `tf.metrics`; there are none under eager execution."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if context.executing_eagerly():
            raise RuntimeError(
                f"tf.metrics.{function.__name__} is not supported when eager execution is enabled."
            )
        return function(*args, **kwargs)

    return export(f"metrics.{function.__name__}")(wrapper)  # type: ignore[return-value]


def metric_variable(shape: Any, dtype: Any, validate_shape: bool = True, name: Any = None) -> Any:
    """A local variable that starts with zeros."""
    return VariableV1(
        lambda: zeros(shape, dtype),
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES],
        validate_shape=validate_shape,
        name=name,
        synchronization=VariableSynchronization.ON_READ,
        aggregation=VariableAggregation.SUM,
    )


def of_all(variable: Any) -> Any:
    """What the variable of a metric holds: where a strategy replicates the program, the sum over its replicas."""
    replica = replication.replica()
    if replica is None or not hasattr(variable, "primary"):
        return variable
    return replica.merge_call(lambda strategy, v: strategy.extended.read_var(v), args=(variable,))


def collected(
    value: Any, update: Any, metrics_collections: Any, updates_collections: Any
) -> tuple[Any, Any]:
    """A metric and its update, each in its collections."""
    if metrics_collections:
        add_to_collections(metrics_collections, value)
    if updates_collections:
        add_to_collections(updates_collections, update)
    return value, update


def aligned(predictions: Any, labels: Any, weights: Any) -> tuple[Any, Any, Any]:
    """Predictions, labels and weights as tensors of one rank: a last dimension of size 1 comes or goes."""
    predictions = conversion.convert_to_tensor(predictions)
    if labels is not None:
        labels, predictions = remove_squeezable_dimensions(labels, predictions)
        predictions.shape.assert_is_compatible_with(labels.shape)
    if weights is None:
        return predictions, labels, None
    weights = conversion.convert_to_tensor(weights)
    w, n = weights._dims, predictions._rank()
    if w == ():
        return predictions, labels, weights
    if w is not None and n is not None:
        if len(w) == n + 1:
            weights = _squeezed(weights)
        elif len(w) == n - 1:
            weights = expand_dims(weights, -1)
        return predictions, labels, weights
    more = raw.Rank(weights) - raw.Rank(predictions)

    def without_last() -> Any:
        return weights if w and w[-1] not in (None, 1) else _squeezed(weights)

    def adjusted() -> Any:
        return cond(raw.Equal(more, 1), without_last, with_last)

    def with_last() -> Any:
        return cond(raw.Equal(more, -1), lambda: expand_dims(weights, -1), lambda: weights)

    is_scalar = raw.Equal(raw.Rank(weights), 0)
    return predictions, labels, cond(is_scalar, lambda: weights, adjusted)


def _squeezed(x: Any) -> Any:
    return raw.Squeeze(x, squeeze_dims=[-1])


def flat(x: Any) -> Any:
    """A tensor of more than one dimension as a vector."""
    return raw.Reshape(x, [-1]) if x.shape.rank is None or x.shape.rank > 1 else x
