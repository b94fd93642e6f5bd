"""Inception v1, "GoogLeNet" (Szegedy et al. 2014)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft as tf
from weft.contrib.framework.arguments import arg_scope
from weft.contrib.layers.convolutions import convolution2d
from weft.contrib.layers.dense import dropout, fully_connected
from weft.contrib.layers.normalization import batch_norm
from weft.contrib.layers.pooling import avg_pool2d, max_pool2d
from weft.contrib.layers.shapes import softmax
from weft.contrib.slim.nets import inception_utils


def _module(name: str, *depths: int, last: str = "0b") -> tuple[str, ...]:
    a, b, c, d, e, f = depths
    return (
        name,
        f"0a:1x1:{a}",
        f"0a:1x1:{b} 0b:3x3:{c}",
        f"0a:1x1:{d} {last}:3x3:{e}",
        f"0a:max 0b:1x1:{f}",
    )


_TABLE: list[str | tuple[str, ...]] = [
    "1a:7x7:64/2",
    "2a:max/2",
    "2b:1x1:64",
    "2c:3x3:192",
    "3a:max/2",
    _module("Mixed_3b", 64, 96, 128, 16, 32, 32),
    _module("Mixed_3c", 128, 128, 192, 32, 96, 64),
    "4a:max/2",
    _module("Mixed_4b", 192, 96, 208, 16, 48, 64),
    _module("Mixed_4c", 160, 112, 224, 24, 64, 64),
    _module("Mixed_4d", 128, 128, 256, 24, 64, 64),
    _module("Mixed_4e", 112, 144, 288, 32, 64, 64),
    _module("Mixed_4f", 256, 160, 320, 32, 128, 128),
    "5a:max2/2",
    _module("Mixed_5b", 256, 160, 320, 32, 128, 128, last="0a"),  # so it's called in checkpoints
    _module("Mixed_5c", 384, 192, 384, 48, 128, 128),
]


def inception_v1_base(
    inputs: Any, final_endpoint: str = "Mixed_5c", scope: Any = "InceptionV1"
) -> tuple[Any, dict[str, Any]]:
    """The features of images: the last layer that is wanted, and all layers by name."""
    with (
        tf.variable_scope(scope, "InceptionV1", [inputs]),
        arg_scope(
            [convolution2d, fully_connected], weights_initializer=inception_utils.truncated(0.01)
        ),
        arg_scope([convolution2d, max_pool2d], stride=1, padding="SAME"),
    ):
        layers = inception_utils.layers_of(inputs, _TABLE, lambda depth: depth)
        return inception_utils.until(final_endpoint, layers)


def inception_v1(
    inputs: Any,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: float = 0.8,
    prediction_fn: Callable = softmax,
    spatial_squeeze: bool = True,
    reuse: Any = None,
    scope: Any = "InceptionV1",
) -> tuple[Any, dict[str, Any]]:
    """The logits of images, and all layers by name."""
    with (
        tf.variable_scope(scope, "InceptionV1", [inputs, num_classes], reuse=reuse) as scope,
        arg_scope([batch_norm, dropout], is_training=is_training),
    ):
        net, end_points = inception_v1_base(inputs, scope=scope)
        with tf.variable_scope("Logits"):
            net = avg_pool2d(net, [7, 7], stride=1, scope="MaxPool_0a_7x7")
            net = dropout(net, dropout_keep_prob, scope="Dropout_0b")
            logits = inception_utils.logits_of(net, num_classes, "Conv2d_0c_1x1", spatial_squeeze)
            end_points["Logits"] = logits
            end_points["Predictions"] = prediction_fn(logits, scope="Predictions")
    return logits, end_points


inception_v1.default_image_size = 224  # type: ignore[attr-defined]


def inception_v1_arg_scope(
    weight_decay: float = 0.00004,
    use_batch_norm: bool = True,
    batch_norm_var_collection: str = "moving_vars",
) -> Any:
    """The arguments that the network was trained with."""
    return inception_utils.inception_arg_scope(
        weight_decay, use_batch_norm, batch_norm_var_collection
    )
