"""BiasAdd and its gradient."""

from __future__ import annotations

from typing import Any

from weft.framework.conversion import convert_to_tensor
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import ShapeError, merge_dim, rank, rank_at_least

_FORMAT = "T: numbers; data_format: string in {NHWC, NCHW} = 'NHWC'"


def channel_axis(ndim: int, data_format: str) -> int:
    """The axis of the channels: the last, or, channels first, the third from the end as TensorFlow
    has it."""
    return ndim - 1 if data_format == "NHWC" else 1


def _add(xp, value, bias, data_format):
    axis = channel_axis(value.ndim, data_format)
    return value + bias.reshape([-1 if i == axis else 1 for i in range(value.ndim)])


@op("BiasAdd", "value: T, bias: T -> output: T", _FORMAT)
def bias_add_op(xp, value, bias, *, data_format):
    """Adds the vector `bias` along the channel axis of `value`."""
    return _add(xp, value, bias, data_format)


def _bias_shape(value, bias, data_format):
    bias = rank(bias, 1, "bias")
    value = rank_at_least(value, 2, "value")
    if value is None:
        return None
    axis = channel_axis(len(value), data_format)
    channels = merge_dim(
        value[axis],
        bias[0],
        "Must provide as many biases as the channel dimension of the input tensor: Dimensions must be equal",
    )
    return (*value[:axis], channels, *value[axis + 1 :])


@bias_add_op.shape
def _(value, bias, *, data_format):
    return _bias_shape(value, bias, data_format)


@bias_add_op.gradient
def _(op, grad):
    return grad, bias_add_grad(grad, data_format=op.get_attr("data_format"))


@op("BiasAddV1", "value: T, bias: T -> output: T", "T: numbers")
def bias_add_v1_op(xp, value, bias):
    """Adds the vector `bias` along the last axis of `value`."""
    return _add(xp, value, bias, "NHWC")


@bias_add_v1_op.shape
def _(value, bias):
    return _bias_shape(value, bias, "NHWC")


@bias_add_v1_op.gradient
def _(op, grad):
    from weft.ops.by_name import raw

    axes = raw.Range(0, raw.Sub(raw.Rank(op.inputs[0]), 1), 1)
    return grad, raw.Sum(grad, axes)


@op("BiasAddGrad", "out_backprop: T -> output: T", _FORMAT)
def bias_add_grad(xp, out_backprop, *, data_format):
    """Sums over all axes but the channels'."""
    axis = channel_axis(out_backprop.ndim, data_format)
    axes = tuple(i for i in range(out_backprop.ndim) if i != axis)
    return xp.sum(out_backprop, axis=axes, dtype=out_backprop.dtype)


@bias_add_grad.shape
def _(out_backprop, *, data_format):
    rank_at_least(out_backprop, 2, "out_backprop")
    if out_backprop is None:
        return (None,)
    return (out_backprop[channel_axis(len(out_backprop), data_format)],)


@bias_add_grad.gradient
def _(op, received):
    from weft.ops.by_name import raw

    shape = raw.Shape(op.inputs[0])
    data_format = op.get_attr("data_format")
    if data_format == b"NCHW":
        ndim = len(op.inputs[0].shape)
        received = raw.Reshape(received, [-1] + [1] * (ndim - 2))
    return raw.BroadcastTo(received, shape)


@export("nn.bias_add")
def bias_add(value: Any, bias: Any, data_format: str | None = None, name: str | None = None) -> Any:
    """Adds `bias` to `value` along the axis of the channels."""
    with name_scope(name, "BiasAdd", [value, bias]) as scope:
        if data_format is not None:
            if data_format.startswith("NC"):
                data_format = "NCHW"
            elif data_format.startswith("N") and data_format.endswith("C"):
                data_format = "NHWC"
            else:
                raise ValueError("data_format must be of the form `N...C` or `NC...`")
        value = convert_to_tensor(value, name="input")
        bias = convert_to_tensor(bias, dtype=value.dtype.base_dtype, name="bias")
        return bias_add_op(value, bias, data_format=data_format, name=scope)


__all__ = ["ShapeError", "bias_add"]
