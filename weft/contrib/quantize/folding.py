"""Batch normalization folded into the layer before it: its scale into the weights, its shift into a bias.

While training the weights are scaled by the moving statistics, which change slowly, and the result is corrected for
those of the batch, so that the network computes what it did.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import weft as tf
from weft.contrib.quantize.patterns import ANY, Either, Pattern, matches, reroute
from weft.contrib.quantize.ranges import quantization_step

_FOLDED_GRADIENT = "FoldFusedBatchNormGrad"


class Moving(NamedTuple):
    """A moving average: its value, how quickly it moves, and the operations that take it from there."""

    value: Any
    decay: Any
    update: Any


class Norm(NamedTuple):
    """A batch normalization after a layer."""

    layer: Any
    inputs: Any
    weights: Any
    output: Any
    gamma: Any
    beta: Any
    mean: Any
    variance: Any
    epsilon: Any
    batch_to_space: Any
    moving: tuple[Moving, Moving] | None


def fold_batch_norms(graph: Any, is_training: bool, freeze_delay: int | None) -> None:
    """Folds all batch normalizations that follow a convolution or a product."""
    for norm in [*_fused(graph), *_unfused(graph, is_training)]:
        scope = norm.layer.name.rpartition("/")[0]
        prefix = f"{scope}/" if scope else ""
        with tf.name_scope(prefix or None):
            output = _folded(graph, norm, prefix, freeze_delay)
        if not reroute(output, norm.output):
            raise ValueError(f"Folding batch norms failed, {norm.output.name} had no outputs.")


def _folded(graph: Any, norm: Norm, prefix: str, freeze_delay: int | None) -> Any:
    with tf.name_scope(f"{prefix}BatchNorm_Fold/"):
        scale = tf.rsqrt(norm.variance + norm.epsilon)
        if norm.gamma is not None:
            scale = norm.gamma * scale
        bias = tf.subtract(norm.beta, norm.mean * scale, name="bias")
        corrections = None
        if norm.moving is not None:
            corrections = _corrections(graph, norm, norm.moving, freeze_delay)
        depthwise = norm.layer.type == "DepthwiseConv2dNative"
        weights_shape = norm.weights.shape.as_list()[2:]
        if depthwise:
            scale = tf.reshape(scale, weights_shape, name="scale_reshape")
    weights = norm.weights
    if corrections is not None:
        of_weights = corrections[0]
        if depthwise:
            of_weights = tf.reshape(of_weights, weights_shape, name="correction_reshape")
        weights = tf.multiply(of_weights, weights, name="correction_mult")
    output = _clone(norm, tf.multiply(weights, scale, name="mul_fold"))
    if _channels_first(norm.layer):
        bias = tf.reshape(bias, [1, -1, 1, 1])
    if corrections is not None:
        of_output, offset = corrections[1:]
        if _channels_first(norm.layer):
            of_output, offset = (tf.reshape(t, [1, -1, 1, 1]) for t in (of_output, offset))
        output = tf.multiply(of_output, output, name="post_conv_mul")
        output = tf.add(output, offset, name="correction_add")
    return tf.add(output, bias, name="add_fold")


def _channels_first(layer: Any) -> bool:
    return layer.type != "MatMul" and layer.get_attr("data_format") == b"NCHW"


def _corrections(
    graph: Any, norm: Norm, moving: tuple[Moving, Moving], freeze_delay: int | None
) -> tuple[Any, Any, Any]:
    """The factors of the weights and of the output, and what is added to it.

    Until the moving averages are frozen the output is as with the statistics of the batch, from then on as with them.
    """
    with tf.name_scope("batch_norm_correction"):
        moving_scale = tf.rsqrt(moving[1].value + norm.epsilon)
        batch_scale = tf.rsqrt(norm.variance + norm.epsilon)
        of_weights = tf.identity(moving_scale / batch_scale, name="correction_scale")
        of_output = tf.reciprocal(of_weights, name="reciprocal_compute")
        offset = norm.mean * batch_scale - moving[0].value * moving_scale
        if norm.gamma is not None:
            offset = tf.multiply(norm.gamma, offset, name="offset_compute")
        if freeze_delay is None:
            return of_weights, of_output, tf.zeros_like(offset)
        frozen = tf.greater_equal(quantization_step(graph), freeze_delay, name="use_moving_average")
        for average, name in zip(moving, ("freeze_moving_mean", "freeze_moving_var")):
            decay = average.decay
            held = tf.cond(frozen, lambda: 0.0, lambda decay=decay: decay, name=name)
            reroute(held, decay, [average.update])
        ones, zeros = tf.ones_like(of_output), tf.zeros_like(offset)
        return (
            of_weights,
            tf.cond(frozen, lambda: ones, lambda: of_output, name="correction_recip"),
            tf.cond(frozen, lambda: offset, lambda: zeros, name="correction_offset"),
        )


def _clone(norm: Norm, weights: Any) -> Any:
    """The layer with other weights."""
    layer, name = norm.layer, norm.layer.name.rpartition("/")[2] + "_Fold"
    if layer.type == "MatMul":
        return tf.matmul(
            norm.inputs,
            weights,
            transpose_a=layer.get_attr("transpose_a"),
            transpose_b=layer.get_attr("transpose_b"),
            name=name,
        )
    how = {key: layer.get_attr(key) for key in ("strides", "padding", "data_format", "dilations")}
    how = {k: v.decode() if isinstance(v, bytes) else v for k, v in how.items()}
    make = tf.raw_ops.Conv2D if layer.type == "Conv2D" else tf.raw_ops.DepthwiseConv2dNative
    output = make(input=norm.inputs, filter=weights, name=name, **how)
    if norm.batch_to_space is not None:
        op = norm.batch_to_space
        output = tf.batch_to_space_nd(
            output, op.inputs[1], op.inputs[2], name=op.name.rpartition("/")[2] + "_Fold"
        )
    return output


# -- finding them -----------------------------------------------------------------------------------------


class _LayerBelow:
    """The patterns of a layer whose output a batch normalization takes, perhaps by a reshape or an identity."""

    def __init__(self) -> None:
        self.inputs, self.weights = Pattern("*"), Pattern("*")
        self.layer = Pattern("Conv2D|DepthwiseConv2dNative|MatMul", self.inputs, self.weights)
        self.batch_to_space = Pattern("BatchToSpaceND", self.layer, ANY, ANY)
        output = Either(self.batch_to_space, self.layer)
        output = Either(Pattern("Identity", output), output)
        self.output = Either(Pattern("Reshape", output, ANY), output)

    def of(self, found: Any) -> dict[str, Any]:
        to_space = found.get(self.batch_to_space)
        return {
            "layer": found[self.layer].op,
            "inputs": found[self.inputs],
            "weights": found[self.weights],
            "batch_to_space": None if to_space is None else to_space.op,
        }


def _fused(graph: Any) -> Iterator[Norm]:
    below = _LayerBelow()
    arguments = [Pattern("*") for _ in range(4)]
    pattern = Pattern("FusedBatchNorm|FusedBatchNormV2|FusedBatchNormV3", below.output, *arguments)
    reshaped = Pattern("Reshape", pattern, ANY)
    seen = set()
    for found in list(matches(graph, Either(reshaped, pattern))):
        op, layer = found[pattern].op, found[below.layer].op
        output = found.get(reshaped, op.outputs[0])
        if layer in seen or (layer.type == "MatMul" and reshaped not in found):
            continue  # a product's is found by the reshape after it
        if not output.consumers():
            continue
        seen.add(layer)
        gamma, beta, mean, variance = (found[a] for a in arguments)
        moving = None
        if op.get_attr("is_training"):
            # The gradient of its own knows nothing of the statistics that it gives.
            op._set_attr("_gradient_op_type", _FOLDED_GRADIENT.encode())
            moving = (_moving(graph, op.outputs[1]), _moving(graph, op.outputs[2]))
            mean = op.outputs[1]
            prefix = op.name.rpartition("/")[0]
            with tf.name_scope(f"{prefix}/" if prefix else None):
                # Moving averages take the unbiased variance, normalization the biased one.
                count = tf.cast(tf.size(found[below.layer]) / tf.size(mean), tf.float32)
                unbias = (count - 1) / count
                variance = tf.multiply(op.outputs[2], unbias, name="Undo_Bessel_Correction")
        yield Norm(
            output=output,
            gamma=gamma,
            beta=beta,
            mean=mean,
            variance=variance,
            epsilon=op.get_attr("epsilon"),
            moving=moving,
            **below.of(found),
        )


def _unfused(graph: Any, is_training: bool) -> Iterator[Norm]:
    below = _LayerBelow()
    variance, epsilon, gamma, mean, beta = (Pattern("*") for _ in range(5))
    deviation = Pattern("Rsqrt", Pattern("Add|AddV2", variance, epsilon))
    scale = Either(Pattern("Mul", deviation, gamma), deviation)
    shift = Pattern("Sub", beta, Pattern("Mul", mean, scale))
    pattern = Pattern("Add|AddV2", Pattern("Mul", below.output, scale), shift)
    for found in list(matches(graph, pattern)):
        if not found[pattern].consumers():
            continue
        moving = None
        if is_training:
            moving = (_moving(graph, found[mean]), _moving(graph, found[variance]))
        yield Norm(
            output=found[pattern],
            gamma=found.get(gamma),
            beta=found[beta],
            mean=found[mean],
            variance=found[variance],
            epsilon=found[epsilon],
            moving=moving,
            **below.of(found),
        )


def _moving(graph: Any, value: Any) -> Moving:
    """The moving average that takes in a value: `(average - value) * decay` is subtracted from it."""
    for op in value.consumers():
        if op.type == "Sub" and op.inputs[1] is value:
            for update in op.outputs[0].consumers():
                if update.type == "Mul":
                    return Moving(op.inputs[0], update.inputs[1], update)
    raise ValueError(
        f"Folding batch norms failed: no moving average takes in {value.name}. Build the model with "
        "is_training=True for create_training_graph, with is_training=False for create_eval_graph."
    )


@tf.RegisterGradient(_FOLDED_GRADIENT)
def _(op: Any, *grads: Any) -> tuple[Any, ...]:
    """Of the mean and the variance of a batch, by its values: all that is left of a folded normalization."""
    x, mean = op.inputs[0], op.outputs[1]
    of_mean, of_variance = grads[1], grads[2]
    count = tf.cast(tf.size(x) / tf.size(mean), tf.float32)
    channels = [1, -1, 1, 1] if op.get_attr("data_format") == b"NCHW" else [-1]
    mean, of_mean, of_variance = (tf.reshape(t, channels) for t in (mean, of_mean, of_variance))
    return of_mean / count + 2 * of_variance * (x - mean) / (count - 1), None, None, None, None
