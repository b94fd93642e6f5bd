"""What AlexNet and OverFeat share: three layers at their end that are convolutions."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.contrib.framework.arguments import arg_scope
from weft.contrib.layers import utils
from weft.contrib.layers.convolutions import convolution2d
from weft.contrib.layers.dense import dropout, fully_connected
from weft.contrib.layers.pooling import max_pool2d
from weft.contrib.layers.regularizers import l2_regularizer


def trained_with(weight_decay: float, biases_initializer: Any) -> Any:
    """The arguments that such networks were trained with."""
    with (
        arg_scope(
            [convolution2d, fully_connected],
            activation_fn=tf.nn.relu,
            biases_initializer=biases_initializer,
            weights_regularizer=l2_regularizer(weight_decay),
        ),
        arg_scope([convolution2d], padding="SAME"),
        arg_scope([max_pool2d], padding="VALID") as scope,
    ):
        return scope


def classified(
    net: Any,
    depth: int,
    size: int,
    num_classes: int,
    is_training: Any,
    keep_prob: float,
    spatial_squeeze: bool,
    collection: str,
    name: str,
) -> tuple[Any, dict[str, Any]]:
    """The last three layers: logits, and all layers by name."""
    with arg_scope(
        [convolution2d],
        weights_initializer=tf.truncated_normal_initializer(0.0, 0.005),
        biases_initializer=tf.constant_initializer(0.1),
    ):
        net = convolution2d(net, depth, [size, size], padding="VALID", scope="fc6")
        net = dropout(net, keep_prob, is_training=is_training, scope="dropout6")
        net = convolution2d(net, 4096, [1, 1], scope="fc7")
        net = dropout(net, keep_prob, is_training=is_training, scope="dropout7")
        net = convolution2d(
            net,
            num_classes,
            [1, 1],
            activation_fn=None,
            normalizer_fn=None,
            biases_initializer=tf.zeros_initializer(),
            scope="fc8",
        )
    end_points = utils.convert_collection_to_dict(collection)
    if spatial_squeeze:
        net = tf.squeeze(net, [1, 2], name="fc8/squeezed")
        end_points[f"{name}/fc8"] = net
    return net, end_points
