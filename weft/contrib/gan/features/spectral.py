"""Weights divided by their largest singular value (Miyato et al. 2018)."""

from __future__ import annotations

import numbers
import re
from collections.abc import Callable
from typing import Any

import weft as tf
from weft.framework.export import export

_SUFFIX = "spectral_norm_u"  # of the variable that keeps where the power iteration was


@export("contrib.gan.features.compute_spectral_norm")
def compute_spectral_norm(
    w_tensor: Any, power_iteration_rounds: int = 1, name: str | None = None
) -> Any:
    """The largest singular value, nearer with each step."""
    with tf.variable_scope(name, "spectral_norm"):
        w = tf.reshape(w_tensor, (-1, w_tensor.get_shape().as_list()[-1]))
        kept = tf.get_variable(
            _SUFFIX,
            shape=(w.shape.as_list()[0], 1),
            dtype=w.dtype,
            initializer=tf.random_normal_initializer(),
            trainable=False,
        )
        u, v = kept, None
        for _ in range(power_iteration_rounds):
            v = tf.nn.l2_normalize(tf.matmul(tf.transpose(w), u))
            u = tf.nn.l2_normalize(tf.matmul(w, v))
        with tf.control_dependencies([kept.assign(u, name="update_u")]):
            u = tf.identity(u)
        u, v = tf.stop_gradient(u), tf.stop_gradient(v)
        norm = tf.matmul(tf.matmul(tf.transpose(u), w), v)
        norm.shape.assert_is_compatible_with([1, 1])
        return norm[0][0]


@export("contrib.gan.features.spectral_normalize")
def spectral_normalize(w: Any, power_iteration_rounds: int = 1, name: str | None = None) -> Any:
    """Weights whose largest singular value is one."""
    with tf.variable_scope(name, "spectral_normalize"):
        normalized = w / compute_spectral_norm(w, power_iteration_rounds=power_iteration_rounds)
        return tf.reshape(normalized, w.get_shape())


@export("contrib.gan.features.spectral_norm_regularizer")
def spectral_norm_regularizer(
    scale: float, power_iteration_rounds: int = 1, scope: Any = None
) -> Callable:
    """A regularizer by the largest singular value."""
    if isinstance(scale, numbers.Integral):
        raise ValueError(f"scale cannot be an integer: {scale}")
    if isinstance(scale, numbers.Real):
        if scale < 0.0:
            raise ValueError(f"Setting a scale less than 0 on a regularizer: {scale:g}")
        if scale == 0.0:
            tf.logging.info("Scale of 0 disables regularizer.")
            return lambda _: None

    def regularize(weights: Any, name: str | None = None) -> Any:
        with tf.name_scope(scope, "SpectralNormRegularizer", [weights]) as entered:
            factor = tf.convert_to_tensor(scale, dtype=weights.dtype.base_dtype, name="scale")
            norm = compute_spectral_norm(weights, power_iteration_rounds=power_iteration_rounds)
            return tf.multiply(factor, norm, name=entered)

    return regularize


def _is_weight(name: str) -> bool:
    return re.match(r"(.*\/)?(depthwise_|pointwise_)?(weights|kernel)$", name) is not None


@export("contrib.gan.features.spectral_normalization_custom_getter")
def spectral_normalization_custom_getter(
    name_filter: Callable = _is_weight, power_iteration_rounds: int = 1
) -> Callable:
    """A custom getter for variable scopes in which weights are normalized."""
    if not callable(name_filter):
        raise ValueError("name_filter must be callable")

    def get(getter: Callable, name: str, *args: Any, **kwargs: Any) -> Any:
        if not name_filter(name):
            return getter(name, *args, **kwargs)
        if name.endswith(_SUFFIX):
            raise ValueError(
                "Cannot apply Spectral Normalization to internal variables created for Spectral "
                f"Normalization. Tried to normalized variable [{name}]"
            )
        if kwargs["dtype"] not in (tf.float16, tf.float32, tf.float64):
            raise ValueError(f"Disallowed data type {kwargs['dtype']}")
        w = getter(name, *args, **kwargs)
        if len(w.get_shape()) < 2:
            raise ValueError("Spectral norm can only be applied to multi-dimensional tensors")
        return spectral_normalize(
            w, power_iteration_rounds=power_iteration_rounds, name=name + "/spectral_normalize"
        )

    return get
