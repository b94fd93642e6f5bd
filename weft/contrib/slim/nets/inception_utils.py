"""What the three Inception networks are made of: layers by name, and modules of branches, read from tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import weft as tf
from weft.contrib.framework.arguments import arg_scope
from weft.contrib.layers.convolutions import convolution2d
from weft.contrib.layers.dense import dropout, fully_connected
from weft.contrib.layers.initializers import variance_scaling_initializer
from weft.contrib.layers.normalization import batch_norm
from weft.contrib.layers.pooling import avg_pool2d, max_pool2d
from weft.contrib.layers.regularizers import l2_regularizer
from weft.framework.graph_keys import GraphKeys

# A layer in a table is `2c:3x3:192`: tag, size of the filter and depth, or `3a:max` for pooling. After it may follow
# `/2` the stride, `v` padding VALID (or `s`, SAME), `~0.1` the spread of the weights, `=Name` another name.
_LAYER = re.compile(
    r"(?P<tag>\w+):(?:(?P<pool>max|avg)(?P<size>\d)?|(?P<height>\d)x(?P<width>\d):(?P<depth>\d+))"
    r"(?:/(?P<stride>\d))?(?P<padding>[sv])?(?:~(?P<spread>[\d.]+))?(?:=(?P<name>\w+))?"
)


def truncated(spread: float) -> Any:
    return tf.truncated_normal_initializer(0.0, spread)


def one_layer(net: Any, text: str, depth: Callable[[int], int]) -> tuple[str, Any]:
    """The layer that a table describes: its name and its output."""
    found = _LAYER.fullmatch(text)
    if found is None:
        raise ValueError(f"Not a layer: {text}")
    changed: dict[str, Any] = {}
    if found["stride"]:
        changed["stride"] = int(found["stride"])
    if found["padding"]:
        changed["padding"] = {"s": "SAME", "v": "VALID"}[found["padding"]]
    if found["pool"]:
        side = int(found["size"] or 3)
        pool = max_pool2d if found["pool"] == "max" else avg_pool2d
        name = found["name"] or f"{found['pool'].capitalize()}Pool_{found['tag']}_{side}x{side}"
        return name, pool(net, [side, side], scope=name, **changed)
    if found["spread"]:
        changed["weights_initializer"] = truncated(float(found["spread"]))
    name = found["name"] or f"Conv2d_{found['tag']}_{found['height']}x{found['width']}"
    size = [int(found["height"]), int(found["width"])]
    return name, convolution2d(net, depth(int(found["depth"])), size, scope=name, **changed)


def module(net: Any, name: str, branches: Iterable[str], depth: Callable[[int], int]) -> Any:
    """Branches side by side. `a+b` in a branch are two layers on the same input."""
    with tf.variable_scope(name):
        outputs = []
        for i, branch in enumerate(branches):
            with tf.variable_scope(f"Branch_{i}"):
                out = net
                for step in branch.split():
                    parts = [one_layer(out, text, depth)[1] for text in step.split("+")]
                    out = parts[0] if len(parts) == 1 else tf.concat(parts, 3)
                outputs.append(out)
        return tf.concat(outputs, 3)


def layers_of(
    net: Any, table: Iterable[str | tuple[str, ...]], depth: Callable[[int], int]
) -> Iterator[tuple[str, Any]]:
    """The layers and modules of a table one after the other: name and output of each."""
    for entry in table:
        if isinstance(entry, str):
            name, net = one_layer(net, entry, depth)
        else:
            name, net = entry[0], module(net, entry[0], entry[1:], depth)
        yield name, net


def until(final_endpoint: str, parts: Iterable[tuple[str, Any]]) -> tuple[Any, dict[str, Any]]:
    """Builds layers up to the one of this name: its output, and all of them by name."""
    end_points: dict[str, Any] = {}
    for name, net in parts:
        end_points[name] = net
        if name == final_endpoint:
            return net, end_points
    raise ValueError(f"Unknown final endpoint {final_endpoint}")


def scaled(depth_multiplier: float, min_depth: int) -> Callable[[int], int]:
    """How deep a layer becomes in a network that is made thinner or thicker."""
    if depth_multiplier <= 0:
        raise ValueError("depth_multiplier is not greater than zero.")
    return lambda depth: max(int(depth * depth_multiplier), min_depth)


def fitting(net: Any, side: int) -> list[int]:
    """A square filter, made smaller where the image is."""
    height, width = net.get_shape().as_list()[1:3]
    if height is None or width is None:
        return [side, side]
    return [min(height, side), min(width, side)]


def logits_of(net: Any, num_classes: int, scope: str, spatial_squeeze: bool) -> Any:
    """The last layer, without activation."""
    logits = convolution2d(
        net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope=scope
    )
    return tf.squeeze(logits, [1, 2], name="SpatialSqueeze") if spatial_squeeze else logits


def pooled_logits(
    net: Any,
    side: int,
    num_classes: int,
    keep_prob: float,
    spatial_squeeze: bool,
    end_points: dict[str, Any],
) -> Any:
    """The end of the second and third network: the mean of the image, and logits."""
    with tf.variable_scope("Logits"):
        size = fitting(net, side)
        name = "AvgPool_1a_{}x{}".format(*size)
        net = avg_pool2d(net, size, padding="VALID", scope=name)
        net = dropout(net, keep_prob=keep_prob, scope="Dropout_1b")
        end_points["PreLogits"] = net
        return logits_of(net, num_classes, "Conv2d_1c_1x1", spatial_squeeze)


def inception_arg_scope(
    weight_decay: float,
    use_batch_norm: bool = True,
    batch_norm_var_collection: str = "moving_vars",
    batch_norm_decay: float = 0.9997,
    batch_norm_epsilon: float = 0.001,
    updates_collections: Any = GraphKeys.UPDATE_OPS,
    **more: Any,
) -> Any:
    """The arguments that Inception networks were trained with."""
    moving = [batch_norm_var_collection]
    norm = {
        "decay": batch_norm_decay,
        "epsilon": batch_norm_epsilon,
        "updates_collections": updates_collections,
        "variables_collections": {
            "beta": None,
            "gamma": None,
            "moving_mean": moving,
            "moving_variance": moving,
        },
        **more,
    }
    with arg_scope(
        [convolution2d, fully_connected], weights_regularizer=l2_regularizer(weight_decay)
    ):
        with arg_scope(
            [convolution2d],
            weights_initializer=variance_scaling_initializer(),
            activation_fn=tf.nn.relu,
            normalizer_fn=batch_norm if use_batch_norm else None,
            normalizer_params=norm if use_batch_norm else {},
        ) as scope:
            return scope
