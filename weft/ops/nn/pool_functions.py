"""`tf.nn.max_pool*`, `tf.nn.avg_pool*` and `tf.nn.pool`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.framework import dtypes
from weft.framework.conversion import convert_to_tensor
from weft.framework.export import export
from weft.framework.registry import OpDecl
from weft.framework.scopes import name_scope
from weft.ops.by_name import raw
from weft.ops.math.reduce_functions import chosen
from weft.ops.nn import pool as ops
from weft.ops.nn.conv_functions import strides_and_dilation
from weft.ops.nn.sequences import channel_index, per_axis
from weft.ops.nn.space_to_batch import with_space_to_batch


def _pool(
    decl: OpDecl,
    x: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str,
    n: int,
    name: str | None,
) -> Any:
    channels = channel_index(data_format, n)
    return decl(
        x,
        ksize=per_axis(ksize, n, channels, "ksize"),
        strides=per_axis(strides, n, channels, "strides"),
        padding=padding,
        data_format=data_format,
        name=name,
    )


def _pool_1d(
    decl: OpDecl,
    x: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None,
    name: str | None,
) -> Any:
    data_format = data_format or "NWC"
    channels = channel_index(data_format, 1)
    axis = 2 if channels == 1 else 1
    result = decl(
        raw.ExpandDims(x, axis),
        ksize=[1, *per_axis(ksize, 1, channels, "ksize")],
        strides=[1, *per_axis(strides, 1, channels, "strides")],
        padding=padding,
        data_format="NHWC" if data_format == "NWC" else "NCHW",
        name=name,
    )
    return raw.Squeeze(result, squeeze_dims=[axis])


def _by_rank(kind: str, input: Any, how: dict[str, Any]) -> Any:
    shape = getattr(input, "shape", None)
    if shape is None and not hasattr(input, "shape"):
        shape = np.shape(input)
    if shape is not None and getattr(shape, "ndims", 0) is not None:
        n = len(shape) - 2
    elif how["data_format"] is not None:
        n = len(how["data_format"]) - 2
    else:
        raise ValueError("The input must have a rank or a data format must be given.")
    if not 1 <= n <= 3:
        raise ValueError(f"Input tensor must be of rank 3, 4 or 5 but was {n + 2}.")
    if n == 1:
        return (max_pool1d if kind == "max" else avg_pool1d)(input, **how)
    decls = {
        ("max", 2): ops.max_pool_op,
        ("max", 3): ops.max_pool3d_op,
        ("avg", 2): ops.avg_pool_op,
        ("avg", 3): ops.avg_pool3d_op,
    }
    how["data_format"] = how["data_format"] or ("NHWC" if n == 2 else "NDHWC")
    return _pool(decls[kind, n], input, n=n, **how)


# -- maximum ---------------------------------------------------------------------------------------


@export("nn.max_pool")
def max_pool(
    value: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = "NHWC",
    name: str | None = None,
    input: Any = None,
) -> Any:
    """Takes the greatest element of each window over two spatial axes."""
    value = chosen("value", value, "input", input)
    with name_scope(name, "MaxPool", [value]) as name:
        data_format = data_format or "NHWC"
        ksize = per_axis(ksize, 2, channel_index(data_format, 2), "ksize")
        if any(k == 0 for k in ksize):
            raise ValueError("ksize cannot be zero.")
        return _pool(ops.max_pool_op, value, ksize, strides, padding, data_format, 2, name)


@export("nn.max_pool_v2")
def max_pool_v2(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = None,
    name: str | None = None,
) -> Any:
    """Takes the greatest element of each window over one to three spatial axes."""
    how = {"ksize": ksize, "strides": strides, "padding": padding}
    return _by_rank("max", input, {**how, "data_format": data_format, "name": name})


@export("nn.max_pool1d")
def max_pool1d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = "NWC",
    name: str | None = None,
) -> Any:
    """Takes the greatest element of each window over one spatial axis."""
    with name_scope(name, "MaxPool1d", [input]) as name:
        return _pool_1d(ops.max_pool_op, input, ksize, strides, padding, data_format, name)


@export("nn.max_pool2d")
def max_pool2d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = "NHWC",
    name: str | None = None,
) -> Any:
    """Takes the greatest element of each window over two spatial axes."""
    with name_scope(name, "MaxPool2d", [input]) as name:
        data_format = data_format or "NHWC"
        return _pool(ops.max_pool_op, input, ksize, strides, padding, data_format, 2, name)


@export("nn.max_pool3d")
def max_pool3d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = "NDHWC",
    name: str | None = None,
) -> Any:
    """Takes the greatest element of each window over three spatial axes."""
    with name_scope(name, "MaxPool3D", [input]) as name:
        data_format = data_format or "NDHWC"
        return _pool(ops.max_pool3d_op, input, ksize, strides, padding, data_format, 3, name)


@export("nn.max_pool_with_argmax")
def max_pool_with_argmax(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    Targmax: Any = None,
    name: str | None = None,
    output_dtype: Any = None,
    include_batch_in_index: bool = False,
) -> Any:
    """Takes the greatest element of each window, and says where it lies in the flattened input."""
    if data_format != "NHWC":
        raise ValueError("Data formats other than 'NHWC' are not yet supported")
    dtype = chosen("Targmax", Targmax, "output_dtype", output_dtype)
    return ops.max_pool_with_argmax_op(
        input,
        ksize=ksize,
        strides=strides,
        padding=padding,
        Targmax=dtypes.int64 if dtype is None else dtypes.as_dtype(dtype),
        include_batch_in_index=include_batch_in_index,
        name=name,
    )


# -- average ---------------------------------------------------------------------------------------


@export("nn.avg_pool", "nn.avg_pool2d")
def avg_pool(
    value: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = "NHWC",
    name: str | None = None,
    input: Any = None,
) -> Any:
    """Takes the mean of each window over two spatial axes."""
    with name_scope(name, "AvgPool", [value]) as name:
        value = chosen("value", value, "input", input)
        data_format = data_format or "NHWC"
        return _pool(ops.avg_pool_op, value, ksize, strides, padding, data_format, 2, name)


@export("nn.avg_pool_v2")
def avg_pool_v2(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = None,
    name: str | None = None,
) -> Any:
    """Takes the mean of each window over one to three spatial axes."""
    how = {"ksize": ksize, "strides": strides, "padding": padding}
    return _by_rank("avg", input, {**how, "data_format": data_format, "name": name})


@export("nn.avg_pool1d")
def avg_pool1d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = "NWC",
    name: str | None = None,
) -> Any:
    """Takes the mean of each window over one spatial axis."""
    with name_scope(name, "AvgPool1D", [input]) as name:
        return _pool_1d(ops.avg_pool_op, input, ksize, strides, padding, data_format, name)


@export("nn.avg_pool3d")
def avg_pool3d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = "NDHWC",
    name: str | None = None,
) -> Any:
    """Takes the mean of each window over three spatial axes."""
    with name_scope(name, "AvgPool3D", [input]) as name:
        data_format = data_format or "NDHWC"
        return _pool(ops.avg_pool3d_op, input, ksize, strides, padding, data_format, 3, name)


# -- any number of spatial axes, dilated -----------------------------------------------------------


@export("nn.pool")
def pool(
    input: Any,
    window_shape: Any,
    pooling_type: str,
    padding: str,
    dilation_rate: Any = None,
    strides: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Any:
    """Pools over one to three spatial axes, with strides or with a dilated window."""
    dilation_rate = chosen("dilation_rate", dilation_rate, "dilations", dilations)
    with name_scope(name, f"{pooling_type.lower()}_pool", [input]) as scope:
        input = convert_to_tensor(input, name="input")
        n = len(window_shape)
        if not 1 <= n <= 3:
            raise ValueError("It is required that 1 <= num_spatial_dims <= 3.")
        input.shape.with_rank(n + 2)
        steps, rates = strides_and_dilation(n, strides, dilation_rate)
        if padding == "SAME" and (rates > 1).any():
            raise ValueError("pooling with SAME padding is not implemented for dilation_rate > 1")
        if (steps > np.asarray(window_shape)).any():
            raise ValueError(
                "strides > window_shape not supported due to inconsistency between CPU and GPU "
                "implementations"
            )
        functions: dict[tuple[str, int], Callable[..., Any]] = {
            ("MAX", 1): max_pool1d,
            ("MAX", 2): max_pool,
            ("MAX", 3): max_pool3d,
            ("AVG", 1): avg_pool1d,
            ("AVG", 2): avg_pool,
            ("AVG", 3): avg_pool3d,
        }
        function = functions.get((pooling_type, n))
        if function is None:
            raise ValueError(f"{n}-D {pooling_type} pooling is not supported.")
        if n == 1 and data_format not in (None, "NWC", "NCW"):
            raise ValueError('data_format must be either "NWC" or "NCW".')

        def apply(blocks: Any, _: int, padding: str) -> Any:
            return function(
                blocks, list(window_shape), steps.tolist(), padding, data_format, name=scope
            )

        first = 2 if data_format is not None and data_format.startswith("NC") else 1
        return with_space_to_batch(
            input,
            rates,
            padding,
            apply,
            spatial_dims=range(first, first + n),
            filter_shape=window_shape,
        )
