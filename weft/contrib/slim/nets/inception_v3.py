"""Inception v3 (Szegedy et al. 2015)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import weft as tf
from weft.contrib.framework.arguments import arg_scope
from weft.contrib.layers.convolutions import convolution2d
from weft.contrib.layers.dense import dropout
from weft.contrib.layers.normalization import batch_norm
from weft.contrib.layers.pooling import avg_pool2d, max_pool2d
from weft.contrib.layers.shapes import softmax
from weft.contrib.slim.nets import inception_utils
from weft.framework.graph_keys import GraphKeys

_TREE = "0a:1x1:64 0b:3x3:96 0c:3x3:96"


def _sevens(name: str, n: int) -> tuple[str, ...]:
    return (
        name,
        "0a:1x1:192",
        f"0a:1x1:{n} 0b:1x7:{n} 0c:7x1:192",
        f"0a:1x1:{n} 0b:7x1:{n} 0c:1x7:{n} 0d:7x1:{n} 0e:1x7:192",
        "0a:avg 0b:1x1:192",
    )


def _forked(name: str, second: str) -> tuple[str, ...]:
    return (
        name,
        "0a:1x1:320",
        f"0a:1x1:384 0b:1x3:384+{second}:3x1:384",
        "0a:1x1:448 0b:3x3:384 0c:1x3:384+0d:3x1:384",
        "0a:avg 0b:1x1:192",
    )


_STEM = [
    "1a:3x3:32/2",
    "2a:3x3:32",
    "2b:3x3:64s",
    "3a:max/2",
    "3b:1x1:80",
    "4a:3x3:192",
    "5a:max/2",
]
# Some layers have names that do not fit them: so they are called in the checkpoints.
_MODULES: list[tuple[str, ...]] = [
    ("Mixed_5b", "0a:1x1:64", "0a:1x1:48 0b:5x5:64", _TREE, "0a:avg 0b:1x1:32"),
    ("Mixed_5c", "0a:1x1:64", "0b:1x1:48 0c:5x5:64=Conv_1_0c_5x5", _TREE, "0a:avg 0b:1x1:64"),
    ("Mixed_5d", "0a:1x1:64", "0a:1x1:48 0b:5x5:64", _TREE, "0a:avg 0b:1x1:64"),
    (
        "Mixed_6a",
        "1a:3x3:384/2v=Conv2d_1a_1x1",
        "0a:1x1:64 0b:3x3:96 1a:3x3:96/2v=Conv2d_1a_1x1",
        "1a:max/2v",
    ),
    _sevens("Mixed_6b", 128),
    _sevens("Mixed_6c", 160),
    _sevens("Mixed_6d", 160),
    _sevens("Mixed_6e", 192),
    (
        "Mixed_7a",
        "0a:1x1:192 1a:3x3:320/2v",
        "0a:1x1:192 0b:1x7:192 0c:7x1:192 1a:3x3:192/2v",
        "1a:max/2v",
    ),
    _forked("Mixed_7b", "0b"),
    _forked("Mixed_7c", "0c"),
]
_LAYERS = [convolution2d, max_pool2d, avg_pool2d]


def inception_v3_base(
    inputs: Any,
    final_endpoint: str = "Mixed_7c",
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    scope: Any = None,
) -> tuple[Any, dict[str, Any]]:
    """The features of images: the last layer that is wanted, and all layers by name."""
    depth = inception_utils.scaled(depth_multiplier, min_depth)

    def layers() -> Iterator[tuple[str, Any]]:
        net = inputs
        for table, padding in ((_STEM, "VALID"), (_MODULES, "SAME")):
            with arg_scope(_LAYERS, stride=1, padding=padding):
                parts = inception_utils.layers_of(net, table, depth)  # type: ignore[arg-type]
                for name, net in parts:
                    yield name, net

    with tf.variable_scope(scope, "InceptionV3", [inputs]):
        return inception_utils.until(final_endpoint, layers())


def _auxiliary_logits(
    net: Any, num_classes: int, depth: Callable[[int], int], spatial_squeeze: bool
) -> Any:
    """The second exit of the network, half-way."""
    with tf.variable_scope("AuxLogits"), arg_scope(_LAYERS, stride=1, padding="SAME"):
        net = avg_pool2d(net, [5, 5], stride=3, padding="VALID", scope="AvgPool_1a_5x5")
        net = convolution2d(net, depth(128), [1, 1], scope="Conv2d_1b_1x1")
        size = inception_utils.fitting(net, 5)
        name = "Conv2d_2a_{}x{}".format(*size)
        init = inception_utils.truncated(0.01)
        net = convolution2d(
            net, depth(768), size, weights_initializer=init, padding="VALID", scope=name
        )
        with arg_scope([convolution2d], weights_initializer=inception_utils.truncated(0.001)):
            return inception_utils.logits_of(net, num_classes, "Conv2d_2b_1x1", spatial_squeeze)


def inception_v3(
    inputs: Any,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: float = 0.8,
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    prediction_fn: Callable = softmax,
    spatial_squeeze: bool = True,
    reuse: Any = None,
    scope: Any = "InceptionV3",
) -> tuple[Any, dict[str, Any]]:
    """The logits of images, and all layers by name."""
    depth = inception_utils.scaled(depth_multiplier, min_depth)
    with (
        tf.variable_scope(scope, "InceptionV3", [inputs, num_classes], reuse=reuse) as scope,
        arg_scope([batch_norm, dropout], is_training=is_training),
    ):
        net, end_points = inception_v3_base(
            inputs, scope=scope, min_depth=min_depth, depth_multiplier=depth_multiplier
        )
        end_points["AuxLogits"] = _auxiliary_logits(
            end_points["Mixed_6e"], num_classes, depth, spatial_squeeze
        )
        logits = inception_utils.pooled_logits(
            net, 8, num_classes, dropout_keep_prob, spatial_squeeze, end_points
        )
        end_points["Logits"] = logits
        end_points["Predictions"] = prediction_fn(logits, scope="Predictions")
    return logits, end_points


inception_v3.default_image_size = 299  # type: ignore[attr-defined]


def inception_v3_arg_scope(
    weight_decay: float = 0.00004,
    batch_norm_var_collection: str = "moving_vars",
    batch_norm_decay: float = 0.9997,
    batch_norm_epsilon: float = 0.001,
    updates_collections: Any = GraphKeys.UPDATE_OPS,
    use_fused_batchnorm: bool = True,
) -> Any:
    """The arguments that the network was trained with."""
    return inception_utils.inception_arg_scope(
        weight_decay,
        True,
        batch_norm_var_collection,
        batch_norm_decay,
        batch_norm_epsilon,
        updates_collections,
        fused=use_fused_batchnorm,
    )
