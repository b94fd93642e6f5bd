"""Depthwise convolution: a filter of its own for each channel; and its gradients as ops."""

from __future__ import annotations

from typing import Any

from weft.framework.registry import op
from weft.framework.shape_rules import ShapeError, rank
from weft.ops.array.shape_of import shape
from weft.ops.nn import depthwise_arrays as arrays
from weft.ops.nn import sliding
from weft.ops.nn.layout import (
    batch_and_channels,
    check_output_gradient,
    convolution_shape,
    geometry,
    is_channels_last,
)

_ATTRS = (
    "T: type in {half, bfloat16, float, double}; strides: list(int); padding: string in {SAME, VALID}; "
    "data_format: string in {NHWC, NCHW} = 'NHWC'; dilations: list(int) = [1, 1, 1, 1]"
)


@op("DepthwiseConv2dNative", "input: T, filter: T -> output: T", _ATTRS)
def depthwise_conv2d_op(xp, input, filter, *, strides, dilations, padding, data_format):
    """Slides over each channel filters of its own."""
    last = is_channels_last(data_format)
    ws = geometry(input.shape, filter.shape[:2], strides, dilations, padding, (), data_format)
    out = arrays.depthwise(xp, sliding.to_last(xp, input, last), filter, ws)
    return sliding.from_last(xp, out, last)


@depthwise_conv2d_op.shape
def _(input, filter, *, strides, dilations, padding, data_format):
    how = (strides, dilations, padding, (), data_format)
    return convolution_shape("DepthwiseConv2dNative", input, filter, *how, depthwise=True)


def _checked(name: str, x: tuple, w: tuple, dy: Any, how: tuple) -> list:
    if len(x) != 4 or len(w) != 4:
        raise ShapeError(f"{name}: input and filter must be 4-dimensional")
    batch, channels = batch_and_channels(x, how[-1])
    if channels != w[2]:
        raise ShapeError(
            f"{name}: input and filter must have the same number of channels, but have {channels} and {w[2]}"
        )
    ws = geometry(x, w[:2], *how)
    check_output_gradient(name, dy, batch, ws, w[2] * w[3], how[-1])
    return ws


@op(
    "DepthwiseConv2dNativeBackpropInput",
    "input_sizes: int32, filter: T, out_backprop: T -> output: T",
    _ATTRS,
    static=("input_sizes",),
)
def depthwise_backprop_input_op(
    xp, input_sizes, filter, out_backprop, *, strides, dilations, padding, data_format
):
    """The gradient of DepthwiseConv2dNative for its input."""
    last = is_channels_last(data_format)
    shape = tuple(int(n) for n in input_sizes)
    how = (strides, dilations, padding, (), data_format)
    ws = _checked("Conv2DBackpropInput", shape, filter.shape, out_backprop, how)
    dy = sliding.to_last(xp, out_backprop, last)
    return sliding.from_last(xp, arrays.depthwise_input_gradient(xp, filter, dy, ws), last)


@depthwise_backprop_input_op.shape
def _(input_sizes, filter, out_backprop, *, const):
    return rank(const.shape("input_sizes"), 4)


@op(
    "DepthwiseConv2dNativeBackpropFilter",
    "input: T, filter_sizes: int32, out_backprop: T -> output: T",
    _ATTRS,
    static=("filter_sizes",),
)
def depthwise_backprop_filter_op(
    xp, input, filter_sizes, out_backprop, *, strides, dilations, padding, data_format
):
    """The gradient of DepthwiseConv2dNative for its filter."""
    last = is_channels_last(data_format)
    shape = tuple(int(n) for n in filter_sizes)
    how = (strides, dilations, padding, (), data_format)
    ws = _checked("Conv2DBackpropFilter", input.shape, shape, out_backprop, how)
    x, dy = (sliding.to_last(xp, v, last) for v in (input, out_backprop))
    return arrays.depthwise_filter_gradient(xp, x, shape, dy, ws)


@depthwise_backprop_filter_op.shape
def _(input, filter_sizes, out_backprop, *, const):
    return rank(const.shape("filter_sizes"), 4)


def _how(op: Any) -> dict[str, Any]:
    return {name: op.get_attr(name) for name in ("strides", "padding", "data_format", "dilations")}


@depthwise_conv2d_op.gradient
def _(op, grad):
    how = _how(op)
    return (
        depthwise_backprop_input_op(shape(op.inputs[0]), op.inputs[1], grad, **how),
        depthwise_backprop_filter_op(op.inputs[0], shape(op.inputs[1]), grad, **how),
    )


@depthwise_backprop_input_op.gradient
def _(op, grad):
    how = _how(op)
    return (
        None,
        depthwise_backprop_filter_op(grad, shape(op.inputs[1]), op.inputs[2], **how),
        depthwise_conv2d_op(grad, op.inputs[1], **how),
    )


@depthwise_backprop_filter_op.gradient
def _(op, grad):
    how = _how(op)
    return (
        depthwise_backprop_input_op(shape(op.inputs[0]), grad, op.inputs[2], **how),
        None,
        depthwise_conv2d_op(op.inputs[0], grad, **how),
    )
