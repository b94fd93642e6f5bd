"""What both kinds of residual networks are made of."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import weft as tf
from weft.contrib.framework.arguments import add_arg_scope, arg_scope
from weft.contrib.layers import utils
from weft.contrib.layers.convolutions import convolution2d
from weft.contrib.layers.initializers import variance_scaling_initializer
from weft.contrib.layers.normalization import batch_norm
from weft.contrib.layers.pooling import max_pool2d
from weft.contrib.layers.regularizers import l2_regularizer
from weft.contrib.layers.shapes import softmax
from weft.framework.graph_keys import GraphKeys


class Block(collections.namedtuple("Block", ["scope", "unit_fn", "args"])):
    """A block: its scope, the function of its units, and the arguments of each unit."""


def subsample(inputs: Any, factor: int, scope: Any = None) -> Any:
    """Every so-many-th pixel."""
    return inputs if factor == 1 else max_pool2d(inputs, [1, 1], stride=factor, scope=scope)


def conv2d_same(
    inputs: Any, num_outputs: int, kernel_size: int, stride: int, rate: int = 1, scope: Any = None
) -> Any:
    """A convolution that pads as without a stride, so that what is left out by the stride is all that differs."""
    if stride == 1:
        return convolution2d(
            inputs, num_outputs, kernel_size, stride=1, rate=rate, padding="SAME", scope=scope
        )
    total = (kernel_size - 1) * rate
    pad = [total // 2, total - total // 2]
    return convolution2d(
        tf.pad(inputs, [[0, 0], pad, pad, [0, 0]]),
        num_outputs,
        kernel_size,
        stride=stride,
        rate=rate,
        padding="VALID",
        scope=scope,
    )


@add_arg_scope
def stack_blocks_dense(
    net: Any, blocks: Any, output_stride: Any = None, outputs_collections: Any = None
) -> Any:
    """Blocks one after the other. Once the strides have come to `output_stride`, filters are dilated instead."""
    stride, rate = 1, 1
    for block in blocks:
        with tf.variable_scope(block.scope, "block", [net]) as sc:
            for i, unit in enumerate(block.args):
                if output_stride is not None and stride > output_stride:
                    raise ValueError("The target output_stride cannot be reached.")
                with tf.variable_scope(f"unit_{i + 1}", values=[net]):
                    if output_stride is not None and stride == output_stride:
                        net = block.unit_fn(net, rate=rate, **{**unit, "stride": 1})
                        rate *= unit.get("stride", 1)
                    else:
                        net = block.unit_fn(net, rate=1, **unit)
                        stride *= unit.get("stride", 1)
            net = utils.collect_named_outputs(outputs_collections, sc.name, net)
    if output_stride is not None and stride != output_stride:
        raise ValueError("The target output_stride cannot be reached.")
    return net


def resnet_arg_scope(
    weight_decay: float = 0.0001,
    batch_norm_decay: float = 0.997,
    batch_norm_epsilon: float = 1e-5,
    batch_norm_scale: bool = True,
) -> Any:
    """The arguments that residual networks were trained with."""
    norm = {
        "decay": batch_norm_decay,
        "epsilon": batch_norm_epsilon,
        "scale": batch_norm_scale,
        "updates_collections": GraphKeys.UPDATE_OPS,
    }
    with arg_scope(
        [convolution2d],
        weights_regularizer=l2_regularizer(weight_decay),
        weights_initializer=variance_scaling_initializer(),
        activation_fn=tf.nn.relu,
        normalizer_fn=batch_norm,
        normalizer_params=norm,
    ):
        with arg_scope([batch_norm], **norm):
            with arg_scope([max_pool2d], padding="SAME") as scope:
                return scope


# -- a whole network, of either kind -------------------------------------------------------------------


def network(
    inputs: Any,
    blocks: Any,
    num_classes: int | None,
    is_training: Any,
    global_pool: bool,
    output_stride: Any,
    include_root_block: bool,
    reuse: Any,
    scope: Any,
    default_name: str,
    bottleneck: Any,
    preactivated: bool,
) -> tuple[Any, Any]:
    """The logits (or features) of images, and all layers by name."""
    with tf.variable_scope(scope, default_name, [inputs], reuse=reuse) as sc:
        collection = sc.original_name_scope + "_end_points"
        with (
            arg_scope(
                [convolution2d, bottleneck, stack_blocks_dense], outputs_collections=collection
            ),
            arg_scope([batch_norm], is_training=is_training),
        ):
            net = inputs
            if include_root_block:
                if output_stride is not None:
                    if output_stride % 4 != 0:
                        raise ValueError("The output_stride needs to be a multiple of 4.")
                    output_stride /= 4
                # Units that normalize first take a plain convolution.
                plain = {"activation_fn": None, "normalizer_fn": None} if preactivated else {}
                with arg_scope([convolution2d], **plain):
                    net = conv2d_same(net, 64, 7, stride=2, scope="conv1")
                net = max_pool2d(net, [3, 3], stride=2, scope="pool1")
            net = stack_blocks_dense(net, blocks, output_stride)
            if preactivated:
                net = batch_norm(net, activation_fn=tf.nn.relu, scope="postnorm")
            if global_pool:
                net = tf.reduce_mean(net, [1, 2], name="pool5", keepdims=True)
            if num_classes is not None:
                net = convolution2d(
                    net,
                    num_classes,
                    [1, 1],
                    activation_fn=None,
                    normalizer_fn=None,
                    scope="logits",
                )
            end_points = utils.convert_collection_to_dict(collection)
            if num_classes is not None:
                end_points["predictions"] = softmax(net, scope="predictions")
            return net, end_points


def block_of(
    bottleneck: Callable, scope: str, base_depth: int, num_units: int, stride: int
) -> Block:
    """A block of units of which the last one has a stride."""
    unit = {"depth": base_depth * 4, "depth_bottleneck": base_depth, "stride": 1}
    return Block(scope, bottleneck, [unit] * (num_units - 1) + [{**unit, "stride": stride}])


UNITS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3), 200: (3, 24, 36, 3)}


def of_depth(depth: int, name: str, make: Callable, block: Callable) -> Callable:
    """The function of a network with so many layers."""

    def resnet(
        inputs: Any,
        num_classes: int | None = None,
        is_training: Any = True,
        global_pool: bool = True,
        output_stride: Any = None,
        reuse: Any = None,
        scope: Any = name,
    ) -> tuple[Any, Any]:
        blocks = [
            block(f"block{i + 1}", base_depth=64 << i, num_units=n, stride=2 if i < 3 else 1)
            for i, n in enumerate(UNITS[depth])
        ]
        return make(
            inputs,
            blocks,
            num_classes,
            is_training,
            global_pool,
            output_stride,
            include_root_block=True,
            reuse=reuse,
            scope=scope,
        )

    resnet.__name__ = resnet.__qualname__ = name
    resnet.__doc__ = f"A residual network of {depth} layers."
    return resnet
