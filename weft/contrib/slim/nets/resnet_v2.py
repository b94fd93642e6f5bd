"""Residual networks that normalize before they convolve (He et al. 2016)."""

from __future__ import annotations

import functools
from typing import Any

import weft as tf
from weft.contrib.framework.arguments import add_arg_scope
from weft.contrib.layers import utils
from weft.contrib.layers.convolutions import convolution2d
from weft.contrib.layers.normalization import batch_norm
from weft.contrib.slim.nets import resnet_utils

resnet_arg_scope = resnet_utils.resnet_arg_scope


@add_arg_scope
def bottleneck(
    inputs: Any,
    depth: int,
    depth_bottleneck: int,
    stride: int,
    rate: int = 1,
    outputs_collections: Any = None,
    scope: Any = None,
) -> Any:
    """A unit: fewer channels, a convolution, and more channels, added to the inputs."""
    with tf.variable_scope(scope, "bottleneck_v2", [inputs]) as sc:
        plain = {"normalizer_fn": None, "activation_fn": None}
        before = batch_norm(inputs, activation_fn=tf.nn.relu, scope="preact")
        if depth == utils.last_dimension(inputs.get_shape(), min_rank=4):
            shortcut = resnet_utils.subsample(inputs, stride, "shortcut")
        else:
            shortcut = convolution2d(
                before, depth, [1, 1], stride=stride, scope="shortcut", **plain
            )
        net = convolution2d(before, depth_bottleneck, [1, 1], stride=1, scope="conv1")
        net = resnet_utils.conv2d_same(net, depth_bottleneck, 3, stride, rate=rate, scope="conv2")
        net = convolution2d(net, depth, [1, 1], stride=1, scope="conv3", **plain)
        outputs = shortcut + net
        return utils.collect_named_outputs(outputs_collections, sc.name, outputs)


def resnet_v2(
    inputs: Any,
    blocks: Any,
    num_classes: int | None = None,
    is_training: Any = True,
    global_pool: bool = True,
    output_stride: Any = None,
    include_root_block: bool = True,
    reuse: Any = None,
    scope: Any = None,
) -> tuple[Any, Any]:
    """A network of blocks: the logits (or features) of images, and all layers by name."""
    arguments = dict(locals())
    return resnet_utils.network(
        default_name="resnet_v2", bottleneck=bottleneck, preactivated=True, **arguments
    )


resnet_v2.default_image_size = 224  # type: ignore[attr-defined]
resnet_v2_block = functools.partial(resnet_utils.block_of, bottleneck)
resnet_v2_50 = resnet_utils.of_depth(50, "resnet_v2_50", resnet_v2, resnet_v2_block)
resnet_v2_101 = resnet_utils.of_depth(101, "resnet_v2_101", resnet_v2, resnet_v2_block)
resnet_v2_152 = resnet_utils.of_depth(152, "resnet_v2_152", resnet_v2, resnet_v2_block)
resnet_v2_200 = resnet_utils.of_depth(200, "resnet_v2_200", resnet_v2, resnet_v2_block)
