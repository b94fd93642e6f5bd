"""Convolutions of two and three spatial axes, and their gradients as ops."""

from __future__ import annotations

from typing import Any

from weft.framework.registry import op
from weft.framework.shape_rules import ShapeError, rank
from weft.ops.array.shape_of import shape
from weft.ops.nn import convolution_arrays as arrays
from weft.ops.nn.layout import (
    batch_and_channels,
    check_groups,
    check_output_gradient,
    convolution_shape,
    explicit_pairs,
    geometry,
    is_channels_last,
    per_axis,
    refuse,
)

_TYPES = "T: type in {half, bfloat16, float, double}"
_ATTRS_2D = (
    "strides: list(int); use_cudnn_on_gpu: bool = true; padding: string in {SAME, VALID, EXPLICIT}; "
    "explicit_paddings: list(int) = []; data_format: string in {NHWC, NCHW} = 'NHWC'; "
    "dilations: list(int) = [1, 1, 1, 1]"
)
_ATTRS_3D = (
    "strides: list(int) >= 5; padding: string in {SAME, VALID}; "
    "data_format: string in {NDHWC, NCDHW} = 'NDHWC'; dilations: list(int) = [1, 1, 1, 1, 1]"
)
_OLD_3D = (
    "T: type in {half, float, double}; strides: list(int) >= 5; padding: string in {SAME, VALID}; "
    "dilations: list(int) = [1, 1, 1, 1, 1]"
)


# What the ops of both ranks do. `how` are strides, dilations, padding, explicit paddings, data
# format.


def forward(xp: Any, x: Any, w: Any, how: tuple) -> Any:
    ws = geometry(x.shape, w.shape[:-2], *how)
    return arrays.convolve(xp, x, w, ws, is_channels_last(how[-1]))


def _input_gradient(xp: Any, name: str, sizes: Any, w: Any, dy: Any, how: tuple) -> Any:
    shape = tuple(int(n) for n in sizes)
    if len(shape) == w.ndim - 2:  # the spatial part alone
        batch, _ = batch_and_channels(dy.shape, how[-1])
        shape = (
            (batch, *shape, w.shape[-2])
            if is_channels_last(how[-1])
            else (batch, w.shape[-2], *shape)
        )
    batch, channels = batch_and_channels(shape, how[-1])
    check_groups(channels, w.shape)
    ws = geometry(shape, w.shape[:-2], *how)
    check_output_gradient(name, dy, batch, ws, w.shape[-1], how[-1])
    return arrays.input_gradient(xp, shape, w, dy, ws, is_channels_last(how[-1]))


def _filter_gradient(xp: Any, name: str, x: Any, sizes: Any, dy: Any, how: tuple) -> Any:
    shape = tuple(int(n) for n in sizes)
    batch, channels = batch_and_channels(x.shape, how[-1])
    check_groups(channels, shape)
    ws = geometry(x.shape, shape[:-2], *how)
    check_output_gradient(name, dy, batch, ws, shape[-1], how[-1])
    return arrays.filter_gradient(xp, x, shape, dy, ws, is_channels_last(how[-1]))


def _gradient_shape(name: str, known: Any, dy: Any, how: tuple) -> Any:
    """The static shape of a gradient whose shape is an input's value."""
    strides, dilations, padding, explicit, data_format = how
    count = len(data_format)
    rank(dy, count)
    per_axis(name, "stride", strides, count, data_format)
    per_axis(name, "dilation", dilations, count, data_format)
    try:
        explicit_pairs(padding, explicit, data_format)
    except ShapeError as e:
        refuse(str(e))
    if known is not None and len(known) == count - 2:
        return (None,) * count
    return rank(known, count)


# -- two spatial axes ------------------------------------------------------------------------------


@op("Conv2D", "input: T, filter: T -> output: T", f"{_TYPES}; {_ATTRS_2D}")
def conv2d_op(xp, input, filter, *, strides, dilations, padding, explicit_paddings, data_format):
    """Slides a filter over two spatial axes."""
    how = (strides, dilations, padding, explicit_paddings, data_format)
    return forward(xp, input, filter, how)


@conv2d_op.shape
def _(input, filter, *, strides, dilations, padding, explicit_paddings, data_format):
    how = (strides, dilations, padding, explicit_paddings, data_format)
    return convolution_shape("Conv2D", input, filter, *how)


@op(
    "Conv2DBackpropInput",
    "input_sizes: int32, filter: T, out_backprop: T -> output: T",
    f"{_TYPES}; {_ATTRS_2D}",
    static=("input_sizes",),
)
def conv2d_backprop_input_op(
    xp,
    input_sizes,
    filter,
    out_backprop,
    *,
    strides,
    dilations,
    padding,
    explicit_paddings,
    data_format,
):
    """The gradient of Conv2D for its input."""
    how = (strides, dilations, padding, explicit_paddings, data_format)
    name = "Conv2DBackpropInput"
    return _input_gradient(xp, name, input_sizes, filter, out_backprop, how)


@conv2d_backprop_input_op.shape
def _(
    input_sizes,
    filter,
    out_backprop,
    *,
    strides,
    dilations,
    padding,
    explicit_paddings,
    data_format,
    const,
):
    how = (strides, dilations, padding, explicit_paddings, data_format)
    return _gradient_shape("Conv2DBackpropInput", const.shape("input_sizes"), out_backprop, how)


@op(
    "Conv2DBackpropFilter",
    "input: T, filter_sizes: int32, out_backprop: T -> output: T",
    f"{_TYPES}; {_ATTRS_2D}",
    static=("filter_sizes",),
)
def conv2d_backprop_filter_op(
    xp,
    input,
    filter_sizes,
    out_backprop,
    *,
    strides,
    dilations,
    padding,
    explicit_paddings,
    data_format,
):
    """The gradient of Conv2D for its filter."""
    how = (strides, dilations, padding, explicit_paddings, data_format)
    name = "Conv2DBackpropFilter"
    return _filter_gradient(xp, name, input, filter_sizes, out_backprop, how)


@conv2d_backprop_filter_op.shape
def _(
    input,
    filter_sizes,
    out_backprop,
    *,
    strides,
    dilations,
    padding,
    explicit_paddings,
    data_format,
    const,
):
    how = (strides, dilations, padding, explicit_paddings, data_format)
    return _gradient_shape("Conv2DBackpropFilter", const.shape("filter_sizes"), out_backprop, how)


def _how_2d(op: Any) -> dict[str, Any]:
    names = (
        "strides",
        "padding",
        "use_cudnn_on_gpu",
        "explicit_paddings",
        "data_format",
        "dilations",
    )
    return {name: op.get_attr(name) for name in names}


@conv2d_op.gradient
def _(op, grad):
    x_shape, w_shape = shape(op.inputs[0]), shape(op.inputs[1])
    how = _how_2d(op)
    return (
        conv2d_backprop_input_op(x_shape, op.inputs[1], grad, **how),
        conv2d_backprop_filter_op(op.inputs[0], w_shape, grad, **how),
    )


@conv2d_backprop_input_op.gradient
def _(op, grad):
    how = _how_2d(op)
    return (
        None,
        conv2d_backprop_filter_op(grad, shape(op.inputs[1]), op.inputs[2], **how),
        conv2d_op(grad, op.inputs[1], **how),
    )


@conv2d_backprop_filter_op.gradient
def _(op, grad):
    how = _how_2d(op)
    return (
        conv2d_backprop_input_op(shape(op.inputs[0]), grad, op.inputs[2], **how),
        None,
        conv2d_op(op.inputs[0], grad, **how),
    )


# -- three spatial axes ----------------------------------------------------------------------------


@op("Conv3D", "input: T, filter: T -> output: T", f"{_TYPES}; {_ATTRS_3D}")
def conv3d_op(xp, input, filter, *, strides, dilations, padding, data_format):
    """Slides a filter over three spatial axes."""
    return forward(xp, input, filter, (strides, dilations, padding, (), data_format))


@conv3d_op.shape
def _(input, filter, *, strides, dilations, padding, data_format):
    how = (strides, dilations, padding, (), data_format)
    return convolution_shape("Conv3D", input, filter, *how)


@op(
    "Conv3DBackpropInputV2",
    "input_sizes: Tshape, filter: T, out_backprop: T -> output: T",
    f"{_TYPES}; {_ATTRS_3D}; Tshape: type in {{int32, int64}} = int32",
    static=("input_sizes",),
)
def conv3d_backprop_input_op(
    xp, input_sizes, filter, out_backprop, *, strides, dilations, padding, data_format
):
    """The gradient of Conv3D for its input."""
    how = (strides, dilations, padding, (), data_format)
    name = "Conv3DBackpropInputV2"
    return _input_gradient(xp, name, input_sizes, filter, out_backprop, how)


@conv3d_backprop_input_op.shape
def _(input_sizes, filter, out_backprop, *, strides, dilations, padding, data_format, const):
    how = (strides, dilations, padding, (), data_format)
    return _gradient_shape("Conv3DBackpropInputV2", const.shape("input_sizes"), out_backprop, how)


@op(
    "Conv3DBackpropFilterV2",
    "input: T, filter_sizes: int32, out_backprop: T -> output: T",
    f"{_TYPES}; {_ATTRS_3D}",
    static=("filter_sizes",),
)
def conv3d_backprop_filter_op(
    xp, input, filter_sizes, out_backprop, *, strides, dilations, padding, data_format
):
    """The gradient of Conv3D for its filter."""
    how = (strides, dilations, padding, (), data_format)
    name = "Conv3DBackpropFilterV2"
    return _filter_gradient(xp, name, input, filter_sizes, out_backprop, how)


@conv3d_backprop_filter_op.shape
def _(input, filter_sizes, out_backprop, *, strides, dilations, padding, data_format, const):
    how = (strides, dilations, padding, (), data_format)
    return _gradient_shape("Conv3DBackpropFilterV2", const.shape("filter_sizes"), out_backprop, how)


@op(
    "Conv3DBackpropInput",
    "input: T, filter: T, out_backprop: T -> output: T",
    _OLD_3D,
)
def conv3d_backprop_input_v1(xp, input, filter, out_backprop, *, strides, dilations, padding):
    """The gradient of Conv3D for its input, which is given for its shape."""
    how = (strides, dilations, padding, (), "NDHWC")
    return _input_gradient(xp, "Conv3DBackpropInput", input.shape, filter, out_backprop, how)


conv3d_backprop_input_v1.shape(lambda input, filter, out_backprop: rank(input, 5))


@op(
    "Conv3DBackpropFilter",
    "input: T, filter: T, out_backprop: T -> output: T",
    _OLD_3D,
)
def conv3d_backprop_filter_v1(xp, input, filter, out_backprop, *, strides, dilations, padding):
    """The gradient of Conv3D for its filter, which is given for its shape."""
    how = (strides, dilations, padding, (), "NDHWC")
    return _filter_gradient(xp, "Conv3DBackpropFilter", input, filter.shape, out_backprop, how)


conv3d_backprop_filter_v1.shape(lambda input, filter, out_backprop: rank(filter, 5))


def _how_3d(op: Any) -> dict[str, Any]:
    return {name: op.get_attr(name) for name in ("strides", "padding", "data_format", "dilations")}


@conv3d_op.gradient
def _(op, grad):
    how = _how_3d(op)
    return (
        conv3d_backprop_input_op(shape(op.inputs[0]), op.inputs[1], grad, **how),
        conv3d_backprop_filter_op(op.inputs[0], shape(op.inputs[1]), grad, **how),
    )


@conv3d_backprop_input_op.gradient
def _(op, grad):
    how = _how_3d(op)
    return (
        None,
        conv3d_backprop_filter_op(grad, shape(op.inputs[1]), op.inputs[2], **how),
        conv3d_op(grad, op.inputs[1], **how),
    )


@conv3d_backprop_filter_op.gradient
def _(op, grad):
    how = _how_3d(op)
    return (
        conv3d_backprop_input_op(shape(op.inputs[0]), grad, op.inputs[2], **how),
        None,
        conv3d_op(op.inputs[0], grad, **how),
    )
