"""AlexNet, in its second form (Krizhevsky 2014)."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.contrib.framework.arguments import arg_scope
from weft.contrib.layers.convolutions import convolution2d
from weft.contrib.layers.dense import fully_connected
from weft.contrib.layers.pooling import max_pool2d
from weft.contrib.slim.nets import fully_convolutional


def alexnet_v2_arg_scope(weight_decay: float = 0.0005) -> Any:
    """The arguments that the network was trained with."""
    return fully_convolutional.trained_with(weight_decay, tf.constant_initializer(0.1))


def alexnet_v2(
    inputs: Any,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: float = 0.5,
    spatial_squeeze: bool = True,
    scope: Any = "alexnet_v2",
) -> tuple[Any, dict[str, Any]]:
    """The logits of images, and all layers by name."""
    with tf.variable_scope(scope, "alexnet_v2", [inputs]) as sc:
        collection = sc.original_name_scope + "_end_points"
        with arg_scope(
            [convolution2d, fully_connected, max_pool2d], outputs_collections=[collection]
        ):
            net = convolution2d(inputs, 64, [11, 11], 4, padding="VALID", scope="conv1")
            net = max_pool2d(net, [3, 3], 2, scope="pool1")
            net = convolution2d(net, 192, [5, 5], scope="conv2")
            net = max_pool2d(net, [3, 3], 2, scope="pool2")
            net = convolution2d(net, 384, [3, 3], scope="conv3")
            net = convolution2d(net, 384, [3, 3], scope="conv4")
            net = convolution2d(net, 256, [3, 3], scope="conv5")
            net = max_pool2d(net, [3, 3], 2, scope="pool5")
            return fully_convolutional.classified(
                net,
                4096,
                5,
                num_classes,
                is_training,
                dropout_keep_prob,
                spatial_squeeze,
                collection,
                sc.name,
            )


alexnet_v2.default_image_size = 224  # type: ignore[attr-defined]
