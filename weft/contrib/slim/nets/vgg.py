"""VGG networks (Simonyan and Zisserman 2014)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft as tf
from weft.contrib.framework.arguments import arg_scope
from weft.contrib.layers import utils
from weft.contrib.layers.convolutions import convolution2d
from weft.contrib.layers.dense import dropout, fully_connected, repeat
from weft.contrib.layers.pooling import max_pool2d
from weft.contrib.layers.regularizers import l2_regularizer


def vgg_arg_scope(weight_decay: float = 0.0005) -> Any:
    """The arguments that VGG networks were trained with."""
    with arg_scope(
        [convolution2d, fully_connected],
        activation_fn=tf.nn.relu,
        weights_regularizer=l2_regularizer(weight_decay),
        biases_initializer=tf.zeros_initializer(),
    ):
        with arg_scope([convolution2d], padding="SAME") as scope:
            return scope


def _vgg(name: str, layers: tuple[int, ...]) -> Callable:
    """The function of a network with so many convolutions before each pooling."""

    def vgg(
        inputs: Any,
        num_classes: int = 1000,
        is_training: Any = True,
        dropout_keep_prob: float = 0.5,
        spatial_squeeze: bool = True,
        scope: Any = name,
    ) -> tuple[Any, Any]:
        with tf.variable_scope(scope, name, [inputs]) as sc:
            collection = sc.original_name_scope + "_end_points"
            with arg_scope(
                [convolution2d, fully_connected, max_pool2d], outputs_collections=collection
            ):
                net = inputs
                for i, (count, channels) in enumerate(zip(layers, (64, 128, 256, 512, 512)), 1):
                    net = repeat(net, count, convolution2d, channels, [3, 3], scope=f"conv{i}")
                    net = max_pool2d(net, [2, 2], scope=f"pool{i}")
                net = convolution2d(net, 4096, [7, 7], padding="VALID", scope="fc6")
                net = dropout(net, dropout_keep_prob, is_training=is_training, scope="dropout6")
                net = convolution2d(net, 4096, [1, 1], scope="fc7")
                net = dropout(net, dropout_keep_prob, is_training=is_training, scope="dropout7")
                net = convolution2d(
                    net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope="fc8"
                )
                end_points = utils.convert_collection_to_dict(collection)
                if spatial_squeeze:
                    net = tf.squeeze(net, [1, 2], name="fc8/squeezed")
                    end_points[f"{sc.name}/fc8"] = net
                return net, end_points

    vgg.__name__ = vgg.__qualname__ = name
    vgg.__doc__ = f"A VGG network of {sum(layers) + 3} layers: logits, and all layers by name."
    vgg.default_image_size = 224  # type: ignore[attr-defined]
    return vgg


vgg_a = _vgg("vgg_a", (1, 1, 2, 2, 2))
vgg_16 = vgg_d = _vgg("vgg_16", (2, 2, 3, 3, 3))
vgg_19 = vgg_e = _vgg("vgg_19", (2, 2, 4, 4, 4))
