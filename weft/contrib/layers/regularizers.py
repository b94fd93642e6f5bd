"""Penalties on weights, as functions of the weights."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

import weft as tf
from weft.contrib.layers.layer import exported
from weft.framework.graph_keys import GraphKeys
from weft.platform import tf_logging


def _scaled(name: str, scale: Any, scope: Any, measure: Callable) -> Callable:
    """A regularizer: `scale` times a measure of the weights."""
    if isinstance(scale, numbers.Integral):
        raise ValueError(f"scale cannot be an integer: {scale}")
    if isinstance(scale, numbers.Real):
        if scale < 0.0:
            raise ValueError(f"Setting a scale less than 0 on a regularizer: {scale:g}")
        if scale == 0.0:
            tf_logging.info("Scale of 0 disables regularizer.")
            return lambda _: None

    def regularizer(weights: Any, name: str | None = None) -> Any:
        with tf.name_scope(scope, f"{regularizer.__name__}_regularizer", [weights]) as full:
            factor = tf.convert_to_tensor(scale, dtype=weights.dtype.base_dtype, name="scale")
            return tf.multiply(factor, measure(weights), name=full)

    regularizer.__name__ = name
    return regularizer


@exported("l1_regularizer")
def l1_regularizer(scale: Any, scope: str | None = None) -> Callable:
    """A regularizer by the sum of magnitudes."""
    return _scaled("l1", scale, scope, lambda w: tf.reduce_sum(tf.abs(w)))


@exported("l2_regularizer")
def l2_regularizer(scale: Any, scope: str | None = None) -> Callable:
    """A regularizer by half the sum of squares."""
    return _scaled("l2", scale, scope, tf.nn.l2_loss)


@exported("l1_l2_regularizer")
def l1_l2_regularizer(
    scale_l1: Any = 1.0, scale_l2: Any = 1.0, scope: str | None = None
) -> Callable | None:
    """The sum of `l1_regularizer` and `l2_regularizer`."""
    for name, scale in (("scale_l1", scale_l1), ("scale_l2", scale_l2)):
        if isinstance(scale, numbers.Integral):
            raise ValueError(f"{name} cannot be an integer: {scale}")
    scope = scope or "l1_l2_regularizer"
    if scale_l1 == 0.0:
        return l2_regularizer(scale_l2, scope)
    if scale_l2 == 0.0:
        return l1_regularizer(scale_l1, scope)
    return sum_regularizer([l1_regularizer(scale_l1), l2_regularizer(scale_l2)], scope=scope)


@exported("sum_regularizer")
def sum_regularizer(regularizer_list: Any, scope: str | None = None) -> Callable | None:
    """The sum of regularizers; None where there is none."""
    regularizers = [r for r in regularizer_list if r is not None]
    if not regularizers:
        return None

    def sum_reg(weights: Any) -> Any:
        with tf.name_scope(scope, "sum_regularizer", [weights]) as name:
            parts = [p for p in (r(weights) for r in regularizers) if p is not None]
            return tf.add_n(parts, name=name) if parts else None

    return sum_reg


@exported("apply_regularization")
def apply_regularization(regularizer: Callable, weights_list: Any = None) -> Any:
    """The sum of a regularizer over weights, which joins the regularization losses."""
    weights_list = weights_list or tf.get_collection(GraphKeys.WEIGHTS)
    if not weights_list:
        raise ValueError("No weights to regularize.")
    with tf.name_scope("get_regularization_penalty", values=weights_list) as scope:
        parts = [regularizer(w) for w in weights_list]
        parts = [tf.constant(0.0) if p is None else p for p in parts]
        for p in parts:
            if p.get_shape().ndims != 0:
                raise ValueError(
                    "regularizer must return a scalar Tensor instead of a Tensor with rank "
                    f"{p.get_shape().ndims}."
                )
        total = tf.add_n(parts, name=scope)
        tf.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, total)
        return total
