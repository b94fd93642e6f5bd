"""OverFeat (Sermanet et al. 2013)."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.contrib.framework.arguments import arg_scope
from weft.contrib.layers.convolutions import convolution2d
from weft.contrib.layers.dense import fully_connected
from weft.contrib.layers.pooling import max_pool2d
from weft.contrib.slim.nets import fully_convolutional


def overfeat_arg_scope(weight_decay: float = 0.0005) -> Any:
    """The arguments that the network was trained with."""
    return fully_convolutional.trained_with(weight_decay, tf.zeros_initializer())


def overfeat(
    inputs: Any,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: float = 0.5,
    spatial_squeeze: bool = True,
    scope: Any = "overfeat",
) -> tuple[Any, dict[str, Any]]:
    """The logits of images, and all layers by name."""
    with tf.variable_scope(scope, "overfeat", [inputs]) as sc:
        collection = sc.name + "_end_points"
        with arg_scope(
            [convolution2d, fully_connected, max_pool2d], outputs_collections=collection
        ):
            net = convolution2d(inputs, 64, [11, 11], 4, padding="VALID", scope="conv1")
            net = max_pool2d(net, [2, 2], scope="pool1")
            net = convolution2d(net, 256, [5, 5], padding="VALID", scope="conv2")
            net = max_pool2d(net, [2, 2], scope="pool2")
            net = convolution2d(net, 512, [3, 3], scope="conv3")
            net = convolution2d(net, 1024, [3, 3], scope="conv4")
            net = convolution2d(net, 1024, [3, 3], scope="conv5")
            net = max_pool2d(net, [2, 2], scope="pool5")
            return fully_convolutional.classified(
                net,
                3072,
                6,
                num_classes,
                is_training,
                dropout_keep_prob,
                spatial_squeeze,
                collection,
                sc.name,
            )
