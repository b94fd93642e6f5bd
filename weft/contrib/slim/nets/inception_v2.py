"""Inception v2: normalized in batches (Ioffe and Szegedy 2015)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import weft as tf
from weft.contrib.framework.arguments import arg_scope
from weft.contrib.layers.convolutions import convolution2d, separable_convolution2d
from weft.contrib.layers.dense import dropout
from weft.contrib.layers.normalization import batch_norm
from weft.contrib.layers.pooling import avg_pool2d, max_pool2d
from weft.contrib.layers.shapes import softmax
from weft.contrib.slim.nets import inception_utils


def _module(name: str, *depths: int, pool: str = "avg") -> tuple[str, ...]:
    a, b, c, d, e, f = depths
    return (
        name,
        f"0a:1x1:{a}",
        f"0a:1x1:{b}~0.09 0b:3x3:{c}",
        f"0a:1x1:{d}~0.09 0b:3x3:{e} 0c:3x3:{e}",
        f"0a:{pool} 0b:1x1:{f}~0.1",
    )


def _reduction(name: str, a: int, b: int, c: int, d: int) -> tuple[str, ...]:
    return (
        name,
        f"0a:1x1:{a}~0.09 1a:3x3:{b}/2",
        f"0a:1x1:{c}~0.09 0b:3x3:{d} 1a:3x3:{d}/2",
        "1a:max/2",
    )


_TABLE: list[str | tuple[str, ...]] = [
    "2a:max/2",
    "2b:1x1:64~0.1",
    "2c:3x3:192",
    "3a:max/2",
    _module("Mixed_3b", 64, 64, 64, 64, 96, 32),
    _module("Mixed_3c", 64, 64, 96, 64, 96, 64),
    _reduction("Mixed_4a", 128, 160, 64, 96),
    _module("Mixed_4b", 224, 64, 96, 96, 128, 128),
    _module("Mixed_4c", 192, 96, 128, 96, 128, 128),
    _module("Mixed_4d", 160, 128, 160, 128, 160, 96),
    _module("Mixed_4e", 96, 128, 192, 160, 192, 96),
    _reduction("Mixed_5a", 128, 192, 192, 256),
    _module("Mixed_5b", 352, 192, 320, 160, 224, 128),
    _module("Mixed_5c", 352, 192, 320, 192, 224, 128, pool="max"),
]


def inception_v2_base(
    inputs: Any,
    final_endpoint: str = "Mixed_5c",
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    scope: Any = None,
) -> tuple[Any, dict[str, Any]]:
    """The features of images: the last layer that is wanted, and all layers by name."""
    depth = inception_utils.scaled(depth_multiplier, min_depth)

    def layers() -> Iterator[tuple[str, Any]]:
        first = "Conv2d_1a_7x7"
        net = separable_convolution2d(
            inputs,
            depth(64),
            [7, 7],
            depth_multiplier=min(int(depth(64) / 3), 8),
            stride=2,
            weights_initializer=inception_utils.truncated(1.0),
            scope=first,
        )
        yield first, net
        yield from inception_utils.layers_of(net, _TABLE, depth)

    with (
        tf.variable_scope(scope, "InceptionV2", [inputs]),
        arg_scope(
            [convolution2d, max_pool2d, avg_pool2d, separable_convolution2d],
            stride=1,
            padding="SAME",
        ),
    ):
        return inception_utils.until(final_endpoint, layers())


def inception_v2(
    inputs: Any,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: float = 0.8,
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    prediction_fn: Callable = softmax,
    spatial_squeeze: bool = True,
    reuse: Any = None,
    scope: Any = "InceptionV2",
) -> tuple[Any, dict[str, Any]]:
    """The logits of images, and all layers by name."""
    if depth_multiplier <= 0:
        raise ValueError("depth_multiplier is not greater than zero.")
    with (
        tf.variable_scope(scope, "InceptionV2", [inputs, num_classes], reuse=reuse) as scope,
        arg_scope([batch_norm, dropout], is_training=is_training),
    ):
        net, end_points = inception_v2_base(
            inputs, scope=scope, min_depth=min_depth, depth_multiplier=depth_multiplier
        )
        logits = inception_utils.pooled_logits(
            net, 7, num_classes, dropout_keep_prob, spatial_squeeze, end_points
        )
        del end_points["PreLogits"]
        end_points["Logits"] = logits
        end_points["Predictions"] = prediction_fn(logits, scope="Predictions")
    return logits, end_points


inception_v2.default_image_size = 224  # type: ignore[attr-defined]


def inception_v2_arg_scope(
    weight_decay: float = 0.00004, batch_norm_var_collection: str = "moving_vars"
) -> Any:
    """The arguments that the network was trained with."""
    return inception_utils.inception_arg_scope(
        weight_decay, batch_norm_var_collection=batch_norm_var_collection
    )
