"""Max and average pooling over two and three spatial axes, and their gradients as ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.framework import errors
from weft.framework.registry import OpDecl, op
from weft.framework.shape_rules import Shape, ShapeError, rank, text
from weft.ops.array.shape_of import shape
from weft.ops.by_name import raw
from weft.ops.nn import pooling_arrays as arrays
from weft.ops.nn import sliding
from weft.ops.nn.layout import (
    batch_and_channels,
    is_channels_last,
    spatial,
    with_layout,
)
from weft.ops.nn.windows import Window, output_size, windows

_POOLED = "half, bfloat16, float, double"
_REALS = "float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64"
_ATTRS_2D = (
    "ksize: list(int) >= 4; strides: list(int) >= 4; padding: string in {SAME, VALID}; "
    "data_format: string in {NHWC, NCHW} = 'NHWC'"
)
_ATTRS_3D = (
    "ksize: list(int) >= 5; strides: list(int) >= 5; padding: string in {SAME, VALID}; "
    "data_format: string in {NDHWC, NCDHW} = 'NDHWC'"
)
_ATTRS_V2 = "padding: string in {SAME, VALID}; data_format: string in {NHWC, NCHW} = 'NHWC'"


# What the ops share. `how` are ksize, strides, padding, data format.


def _windows(shape: Sequence[int], how: tuple) -> list[Window]:
    ksize, strides, padding, data_format = how
    sizes = spatial(shape, data_format)
    return windows(sizes, spatial(ksize, data_format), spatial(strides, data_format), None, padding)


def pooled_shape(x: Shape, how: tuple, name: str = "Pooling") -> Shape:
    """The shape of what pooling gives."""
    ksize, strides, padding, data_format = how
    count = len(data_format)
    for what, values in (("ksize", ksize), ("stride", strides)):
        if len(values) != count:
            raise ShapeError(
                f"Sliding window {what} field must specify {count} dimensions: {name} requires the {what} attribute "
                f"to contain {count} values, but got: {len(values)}"
            )
        if min(values) <= 0:
            raise ShapeError(f"Sliding window {what} must be positive, but is {list(values)}")
        batch, depth = batch_and_channels(values, data_format)
        if batch != 1:
            raise errors.UnimplementedError(
                None, None, "Pooling is not yet supported on the batch dimension."
            )
        if depth != 1 and count == 5:
            raise errors.UnimplementedError(
                None, None, "Pooling is not yet supported on the depth dimension."
            )
    x = rank(x, count)
    batch, channels = batch_and_channels(x, data_format)
    rows = zip(spatial(x, data_format), spatial(ksize, data_format), spatial(strides, data_format))
    sizes = [output_size(n, k, s, 1, padding) for n, k, s in rows]
    depth = batch_and_channels(ksize, data_format)[1]
    if depth != 1:
        _check_depthwise(sizes, ksize, strides, data_format, channels, depth)
        channels = None if channels is None else channels // depth
    return with_layout(batch, sizes, channels, data_format)


def _check_depthwise(
    sizes: Any, ksize: Any, strides: Any, data_format: str, channels: Any, depth: int
) -> None:
    window, step = spatial(ksize, data_format), spatial(strides, data_format)
    if any(k != 1 for k in window) or any(s != 1 for s in step):
        raise errors.UnimplementedError(
            None,
            None,
            "MaxPooling supports exactly one of pooling across depth or pooling across width/height.",
        )
    if channels is not None and channels % depth:
        raise errors.UnimplementedError(
            None,
            None,
            "Depthwise max pooling requires the depth window to evenly divide the input depth",
        )
    if batch_and_channels(strides, data_format)[1] != depth:
        raise errors.UnimplementedError(
            None, None, "Depthwise max pooling requires the depth window to equal the depth stride."
        )


def _pool(xp: Any, function: Any, x: Any, how: tuple) -> Any:
    last = is_channels_last(how[-1])
    pooled = function(xp, sliding.to_last(xp, x, last), _windows(x.shape, how))
    return sliding.from_last(xp, pooled, last)


def _max_pool(xp: Any, x: Any, how: tuple) -> Any:
    depth = batch_and_channels(how[0], how[-1])[1]
    if depth == 1:
        return _pool(xp, arrays.max_pool, x, how)
    last = is_channels_last(how[-1])
    x = sliding.to_last(xp, x, last)
    pooled = x.reshape(*x.shape[:-1], x.shape[-1] // depth, depth).max(axis=-1)
    return sliding.from_last(xp, pooled, last)


def _same_shape(name: str, given: Any, x: Any, how: tuple, what: str) -> None:
    wanted = pooled_shape(tuple(x.shape), how)
    if tuple(given.shape) != wanted:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"{name}: Expected {what} shape to be {text(wanted)}, but got {text(tuple(given.shape))}",
        )


def _max_gradient(xp: Any, name: str, x: Any, y: Any, dy: Any, how: tuple) -> Any:
    _same_shape(name, y, x, how, "orig_output")
    _same_shape(name, dy, x, how, "grad")
    last = is_channels_last(how[-1])
    ws = _windows(x.shape, how)
    depth = batch_and_channels(how[0], how[-1])[1]
    x, y, dy = (sliding.to_last(xp, v, last) for v in (x, y, dy))
    if depth != 1:
        dx = _depth_gradient(xp, x, dy, depth)
    elif len(ws) == 3:
        dx = arrays.max_pool_gradient_of_near(xp, x, y, dy, ws)
    else:
        dx = arrays.max_pool_gradient(xp, x, dy, ws)
    return sliding.from_last(xp, dx, last)


def _depth_gradient(xp: Any, x: Any, dy: Any, depth: int) -> Any:
    split = x.reshape(*x.shape[:-1], x.shape[-1] // depth, depth)
    first = split.argmax(axis=-1)[..., None] == np.arange(depth)
    return xp.where(first, dy[..., None], np.zeros((), dy.dtype)).reshape(x.shape)


def _max_second(xp: Any, name: str, x: Any, y: Any, v: Any, how: tuple) -> Any:
    _same_shape(name, y, x, how, "orig_output")
    if tuple(v.shape) != tuple(x.shape):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"{name}: Expected grad shape to be {text(tuple(x.shape))}, but got {text(tuple(v.shape))}",
        )
    last = is_channels_last(how[-1])
    ws = _windows(x.shape, how)
    x, v = (sliding.to_last(xp, u, last) for u in (x, v))
    picked = arrays.pick_greatest(xp, x, v, ws)
    return sliding.from_last(xp, picked, last)


def _list(values: Any) -> list[int]:
    return [int(v) for v in np.asarray(values).reshape(-1)]


# -- maximum, two spatial axes ---------------------------------------------------------------------

_MAX_TYPES = "type in {half, bfloat16, float, double, int32, int64, uint8, int16, int8, uint16, qint8} = float"
_FORMATS = "data_format: string in {NHWC, NCHW, NCHW_VECT_C} = 'NHWC'"


def _plain_format(data_format: str) -> str:
    if data_format == "NCHW_VECT_C":
        raise errors.InvalidArgumentError(
            None,
            None,
            "Pooling of NCHW_VECT_C is for quantized GPU kernels only; use NHWC or NCHW.",
        )
    return data_format


@op(
    "MaxPool",
    "input: T -> output: T",
    f"T: {_MAX_TYPES}; ksize: list(int) >= 4; strides: list(int) >= 4; padding: string in {{SAME, VALID}}; {_FORMATS}",
)
def max_pool_op(xp, input, *, ksize, strides, padding, data_format):
    """The greatest element of each window."""
    return _max_pool(xp, input, (ksize, strides, padding, _plain_format(data_format)))


@max_pool_op.shape
def _(input, *, ksize, strides, padding, data_format):
    if data_format == "NCHW_VECT_C":
        return (None,) * 5
    return pooled_shape(input, (ksize, strides, padding, data_format))


@op(
    "MaxPoolV2",
    "input: T, ksize: int32, strides: int32 -> output: T",
    f"T: {_MAX_TYPES}; padding: string in {{SAME, VALID}}; {_FORMATS}",
    static=("ksize", "strides"),
)
def max_pool_v2_op(xp, input, ksize, strides, *, padding, data_format):
    """The greatest element of each window, whose size is an input."""
    how = (_list(ksize), _list(strides), padding, _plain_format(data_format))
    return _max_pool(xp, input, how)


@max_pool_v2_op.shape
def _(input, ksize, strides, *, padding, data_format, const):
    known, steps = const("ksize"), const("strides")
    if known is None or steps is None or data_format == "NCHW_VECT_C":
        return (None,) * (5 if data_format == "NCHW_VECT_C" else 4)
    return pooled_shape(input, (_list(known), _list(steps), padding, data_format))


@op(
    "MaxPoolGrad",
    "orig_input: T, orig_output: T, grad: T -> output: T",
    f"{_ATTRS_2D}; T: type in {{{_REALS}}} = float",
)
def max_pool_grad(xp, orig_input, orig_output, grad, *, ksize, strides, padding, data_format):
    """The gradient of MaxPool: to the first greatest element of each window."""
    how = (ksize, strides, padding, data_format)
    return _max_gradient(xp, "MaxPoolGrad", orig_input, orig_output, grad, how)


@op(
    "MaxPoolGradV2",
    "orig_input: T, orig_output: T, grad: T, ksize: int32, strides: int32 -> output: T",
    f"{_ATTRS_V2}; T: type in {{{_REALS}}} = float",
    static=("ksize", "strides"),
)
def max_pool_grad_v2(xp, orig_input, orig_output, grad, ksize, strides, *, padding, data_format):
    """The gradient of MaxPoolV2."""
    how = (_list(ksize), _list(strides), padding, data_format)
    return _max_gradient(xp, "MaxPoolGradV2", orig_input, orig_output, grad, how)


@op(
    "MaxPoolGradGrad",
    "orig_input: T, orig_output: T, grad: T -> output: T",
    f"{_ATTRS_2D}; T: type in {{{_REALS}}}",
)
def max_pool_grad_grad(xp, orig_input, orig_output, grad, *, ksize, strides, padding, data_format):
    """The gradient of MaxPoolGrad: of each window what stands at its greatest element."""
    how = (ksize, strides, padding, data_format)
    return _max_second(xp, "MaxPoolGradGrad", orig_input, orig_output, grad, how)


@op(
    "MaxPoolGradGradV2",
    "orig_input: T, orig_output: T, grad: T, ksize: int32, strides: int32 -> output: T",
    f"{_ATTRS_V2}; T: type in {{{_REALS}}}",
    static=("ksize", "strides"),
)
def max_pool_grad_grad_v2(
    xp, orig_input, orig_output, grad, ksize, strides, *, padding, data_format
):
    """The gradient of MaxPoolGradV2."""
    how = (_list(ksize), _list(strides), padding, data_format)
    return _max_second(xp, "MaxPoolGradGradV2", orig_input, orig_output, grad, how)


max_pool_grad.shape(lambda orig_input, orig_output, grad: rank(orig_input, 4))
max_pool_grad_v2.shape(lambda orig_input, orig_output, grad, ksize, strides: rank(orig_input, 4))


@max_pool_grad_grad.shape
def _(orig_input, orig_output, grad, *, ksize, strides, padding, data_format):
    how = (ksize, strides, padding, data_format)
    return pooled_shape(orig_input, how)


max_pool_grad_grad_v2.shape(
    lambda orig_input, orig_output, grad, ksize, strides: rank(orig_output, 4)
)


def _how(op: Any) -> dict[str, Any]:
    return {name: op.get_attr(name) for name in ("ksize", "strides", "padding", "data_format")}


def _how_v2(op: Any) -> dict[str, Any]:
    return {name: op.get_attr(name) for name in ("padding", "data_format")}


def _zeros(op: Any) -> tuple[Any, Any]:
    return raw.ZerosLike(op.inputs[0]), raw.ZerosLike(op.inputs[1])


@max_pool_op.gradient
def _(op, grad):
    return max_pool_grad(op.inputs[0], op.outputs[0], grad, **_how(op))


@max_pool_v2_op.gradient
def _(op, grad):
    x, ksize, strides = op.inputs
    return max_pool_grad_v2(x, op.outputs[0], grad, ksize, strides, **_how_v2(op)), None, None


@max_pool_grad.gradient
def _(op, grad):
    return *_zeros(op), max_pool_grad_grad(op.inputs[0], op.inputs[1], grad, **_how(op))


@max_pool_grad_v2.gradient
def _(op, grad):
    x, y, _, ksize, strides = op.inputs
    second = max_pool_grad_grad_v2(x, y, grad, ksize, strides, **_how_v2(op))
    return *_zeros(op), second, None, None


@max_pool_grad_grad.gradient
def _(op, grad):
    return *_zeros(op), max_pool_grad(op.inputs[0], op.inputs[1], grad, **_how(op))


# -- maximum with its place ------------------------------------------------------------------------

_ARGMAX_ATTRS = (
    "ksize: list(int) >= 4; strides: list(int) >= 4; {targmax}; padding: string in {{SAME, VALID}}; "
    "include_batch_in_index: bool = false; T: type in {{" + _REALS + "}}"
)
_GRAD_ARGMAX_ATTRS = (
    "ksize: list(int) >= 4; strides: list(int) >= 4; padding: string in {SAME, VALID}; "
    "include_batch_in_index: bool = false; Targmax: type in {int32, int64}; T: type in {"
    + _REALS
    + "}"
)


@op(
    "MaxPoolWithArgmax",
    "input: T -> output: T, argmax: Targmax",
    _ARGMAX_ATTRS.format(targmax="Targmax: type in {int32, int64} = int64"),
)
def max_pool_with_argmax_op(xp, input, *, ksize, strides, padding, include_batch_in_index, Targmax):
    """The greatest element of each window, and where it lies in the flattened input."""
    how = (ksize, strides, padding, "NHWC")
    ws = _windows(input.shape, how)
    number = arrays.max_position(xp, input, ws)
    index = arrays.flat_index(xp, number, ws, include_batch_in_index, Targmax.np)
    return arrays.max_pool(xp, input, ws), index


@max_pool_with_argmax_op.shape
def _(input, *, ksize, strides, padding):
    out = pooled_shape(input, (ksize, strides, padding, "NHWC"))
    return out, out


def _flat_places(xp: Any, x: Any, index: Any, with_batch: bool) -> Any:
    """The places in the flattened input of all examples."""
    index = index.astype(xp.int64)
    each = int(np.prod(x.shape[1:], dtype=np.int64))
    if not with_batch:
        batch = np.arange(x.shape[0], dtype=np.int64) * each
        index = index + batch.reshape((-1,) + (1,) * (index.ndim - 1))
    total = each * x.shape[0]
    xp.check(
        ((index >= 0) & (index < total)).all() if index.size else True,
        lambda: f"Invalid output index, not in [0, {total})",
    )
    return index.reshape(-1)


@op("MaxPoolGradWithArgmax", "input: T, grad: T, argmax: Targmax -> output: T", _GRAD_ARGMAX_ATTRS)
def max_pool_grad_with_argmax(
    xp, input, grad, argmax, *, ksize, strides, padding, include_batch_in_index
):
    """The gradient of MaxPoolWithArgmax: to the places that it gave."""
    how = (ksize, strides, padding, "NHWC")
    _same_shape("MaxPoolGradWithArgmax", grad, input, how, "grad")
    _same_shape("MaxPoolGradWithArgmax", argmax, input, how, "argmax")
    places = _flat_places(xp, input, argmax, include_batch_in_index)
    zeros = xp.zeros(input.size, grad.dtype)
    return xp.scatter(zeros, (places,), grad.reshape(-1), "add").reshape(input.shape)


max_pool_grad_with_argmax.shape(lambda input, grad, argmax: rank(input, 4))


@op(
    "MaxPoolGradGradWithArgmax",
    "input: T, grad: T, argmax: Targmax -> output: T",
    _GRAD_ARGMAX_ATTRS,
)
def max_pool_grad_grad_with_argmax(
    xp, input, grad, argmax, *, ksize, strides, padding, include_batch_in_index
):
    """The gradient of MaxPoolGradWithArgmax: what stands at the places that it was given."""
    _same_shape(
        "MaxPoolGradGradWithArgmax", argmax, input, (ksize, strides, padding, "NHWC"), "argmax"
    )
    if tuple(grad.shape) != tuple(input.shape):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Expected grad shape to be {text(tuple(input.shape))}, but got {text(tuple(grad.shape))}",
        )
    places = _flat_places(xp, input, argmax, include_batch_in_index)
    return grad.reshape(-1)[places].reshape(argmax.shape)


@max_pool_grad_grad_with_argmax.shape
def _(input, grad, argmax, *, ksize, strides, padding):
    return pooled_shape(input, (ksize, strides, padding, "NHWC"))


@max_pool_with_argmax_op.gradient
def _(op, grad, _):
    names = ("ksize", "strides", "padding", "include_batch_in_index")
    how = {name: op.get_attr(name) for name in names}
    return max_pool_grad_with_argmax(op.inputs[0], grad, op.outputs[1], **how)


# -- maximum, three spatial axes -------------------------------------------------------------------


@op("MaxPool3D", "input: T -> output: T", f"{_ATTRS_3D}; T: type in {{half, bfloat16, float}}")
def max_pool3d_op(xp, input, *, ksize, strides, padding, data_format):
    """The greatest element of each window over three spatial axes."""
    return _pool(xp, arrays.max_pool, input, (ksize, strides, padding, data_format))


@op(
    "MaxPool3DGrad",
    "orig_input: TInput, orig_output: TInput, grad: T -> output: T",
    f"{_ATTRS_3D}; T: type in {{half, bfloat16, float}} = float; TInput: type in {{half, bfloat16, float}} = float",
)
def max_pool3d_grad(xp, orig_input, orig_output, grad, *, ksize, strides, padding, data_format):
    """The gradient of MaxPool3D: to all elements that are the greatest but for 1e-5."""
    how = (ksize, strides, padding, data_format)
    return _max_gradient(xp, "MaxPool3DGrad", orig_input, orig_output, grad, how)


@op(
    "MaxPool3DGradGrad",
    "orig_input: T, orig_output: T, grad: T -> output: T",
    f"{_ATTRS_3D}; T: type in {{{_REALS}}}",
)
def max_pool3d_grad_grad(
    xp, orig_input, orig_output, grad, *, ksize, strides, padding, data_format
):
    """The gradient of MaxPool3DGrad: of each window what stands at its greatest element."""
    how = (ksize, strides, padding, data_format)
    return _max_second(xp, "MaxPool3DGradGrad", orig_input, orig_output, grad, how)


max_pool3d_grad.shape(lambda orig_input, orig_output, grad: rank(orig_input, 5))


@max_pool3d_grad_grad.shape
def _(orig_input, orig_output, grad, *, ksize, strides, padding, data_format):
    return pooled_shape(orig_input, (ksize, strides, padding, data_format))


@max_pool3d_op.gradient
def _(op, grad):
    return max_pool3d_grad(op.inputs[0], op.outputs[0], grad, **_how(op))


@max_pool3d_grad.gradient
def _(op, grad):
    return *_zeros(op), max_pool3d_grad_grad(op.inputs[0], op.inputs[1], grad, **_how(op))


@max_pool3d_grad_grad.gradient
def _(op, grad):
    return *_zeros(op), max_pool3d_grad(op.inputs[0], op.inputs[1], grad, **_how(op))


# -- average ---------------------------------------------------------------------------------------


@op("AvgPool", "value: T -> output: T", f"{_ATTRS_2D}; T: type in {{{_POOLED}}}")
def avg_pool_op(xp, value, *, ksize, strides, padding, data_format):
    """The mean of each window."""
    return _pool(xp, arrays.avg_pool, value, (ksize, strides, padding, data_format))


@op("AvgPool3D", "input: T -> output: T", f"{_ATTRS_3D}; T: type in {{{_POOLED}}}")
def avg_pool3d_op(xp, input, *, ksize, strides, padding, data_format):
    """The mean of each window over three spatial axes."""
    return _pool(xp, arrays.avg_pool, input, (ksize, strides, padding, data_format))


def _no_depth(ksize: Any, data_format: str) -> None:
    if batch_and_channels(ksize, data_format)[1] != 1:
        raise errors.UnimplementedError(
            None, None, "Non-spatial pooling is not yet supported: the window's depth must be 1."
        )


for _decl in (avg_pool_op, avg_pool3d_op, max_pool3d_op):

    @_decl.shape
    def _(x, *, ksize, strides, padding, data_format):
        shape = pooled_shape(x, (ksize, strides, padding, data_format))
        _no_depth(ksize, data_format)
        return shape


def _avg_gradient(xp: Any, name: str, sizes: Any, grad: Any, how: tuple) -> Any:
    shape = tuple(_list(sizes))
    wanted = pooled_shape(shape, how)
    if tuple(grad.shape) != wanted:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"{name}: Expected grad shape to be {text(wanted)}, but got {text(tuple(grad.shape))}",
        )
    if 0 in shape or grad.size == 0:
        return xp.zeros(shape, grad.dtype)
    last = is_channels_last(how[-1])
    dx = arrays.avg_pool_gradient(xp, sliding.to_last(xp, grad, last), _windows(shape, how))
    return sliding.from_last(xp, dx, last)


@op(
    "AvgPoolGrad",
    "orig_input_shape: int32, grad: T -> output: T",
    f"{_ATTRS_2D}; T: type in {{{_POOLED}}}",
    static=("orig_input_shape",),
)
def avg_pool_grad(xp, orig_input_shape, grad, *, ksize, strides, padding, data_format):
    """The gradient of AvgPool: each window's share for its elements."""
    how = (ksize, strides, padding, data_format)
    return _avg_gradient(xp, "AvgPoolGrad", orig_input_shape, grad, how)


@op(
    "AvgPool3DGrad",
    "orig_input_shape: int32, grad: T -> output: T",
    f"{_ATTRS_3D}; T: type in {{{_POOLED}}}",
    static=("orig_input_shape",),
)
def avg_pool3d_grad(xp, orig_input_shape, grad, *, ksize, strides, padding, data_format):
    """The gradient of AvgPool3D."""
    how = (ksize, strides, padding, data_format)
    return _avg_gradient(xp, "AvgPool3DGrad", orig_input_shape, grad, how)


avg_pool_grad.shape(
    lambda orig_input_shape, grad, *, const: rank(const.shape("orig_input_shape"), 4)
)
avg_pool3d_grad.shape(
    lambda orig_input_shape, grad, *, const: rank(const.shape("orig_input_shape"), 5)
)


def _average_gradients(forward: OpDecl, backward: OpDecl) -> None:
    @forward.gradient
    def _(op, grad):
        return backward(shape(op.inputs[0]), grad, **_how(op))

    @backward.gradient
    def _(op, grad):
        return raw.StopGradient(op.inputs[0]), forward(grad, **_how(op))


_average_gradients(avg_pool_op, avg_pool_grad)
_average_gradients(avg_pool3d_op, avg_pool3d_grad)
