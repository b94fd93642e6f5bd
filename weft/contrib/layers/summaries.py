"""Summaries of tensors and of collections."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import weft as tf
from weft.contrib.layers.layer import exported
from weft.framework.graph_keys import GraphKeys


def _scalar(tensor: Any, tag: str | None = None) -> Any:
    tensor.get_shape().assert_has_rank(0)
    return tf.summary.scalar(tag or f"{tensor.op.name}_summary", tensor)


@exported("summarize_activation")
def summarize_activation(op: Any) -> Any:
    """A histogram of an activation, and how much of it is cut off."""
    kind, name = op.op.type, op.op.name
    before = op.op.inputs[0] if kind in ("Relu", "Softplus", "Relu6") else None
    if before is not None:
        below = tf.less(before, tf.cast(0.0, before.dtype))
        _scalar(tf.reduce_mean(tf.cast(below, tf.float32)), f"{name}/zeros")
        if kind == "Relu6":
            above = tf.greater(before, tf.cast(6.0, before.dtype))
            _scalar(tf.reduce_mean(tf.cast(above, tf.float32)), f"{name}/sixes")
    return tf.summary.histogram(f"{name}/activation", op)


@exported("summarize_tensor")
def summarize_tensor(tensor: Any, tag: str | None = None) -> Any:
    """A scalar or a histogram; None for strings and truth values."""
    if tensor.dtype.is_compatible_with(tf.string) or tensor.dtype.base_dtype == tf.bool:
        return None
    if tensor.get_shape().ndims == 0:
        return _scalar(tensor, tag)
    return tf.summary.histogram(tag or f"{tensor.op.name}_summary", tensor)


@exported("summarize_tensors")
def summarize_tensors(tensors: Any, summarizer: Callable = summarize_tensor) -> list[Any]:
    """A summary of each tensor."""
    return [summarizer(tensor) for tensor in tensors]


@exported("summarize_collection")
def summarize_collection(
    collection: str, name_filter: str | None = None, summarizer: Callable = summarize_tensor
) -> list[Any]:
    """A summary of each member of a collection whose name matches."""
    members = tf.get_collection(collection)
    return [
        summarizer(x) for x in members if name_filter is None or re.match(name_filter, x.op.name)
    ]


summarize_variables = exported("summarize_variables")(
    functools.partial(summarize_collection, GraphKeys.GLOBAL_VARIABLES)
)
summarize_weights = exported("summarize_weights")(
    functools.partial(summarize_collection, GraphKeys.WEIGHTS)
)
summarize_biases = exported("summarize_biases")(
    functools.partial(summarize_collection, GraphKeys.BIASES)
)


@exported("summarize_activations")
def summarize_activations(
    name_filter: str | None = None, summarizer: Callable = summarize_activation
) -> list[Any]:
    """A summary of each activation whose name matches."""
    return summarize_collection(GraphKeys.ACTIVATIONS, name_filter, summarizer)
