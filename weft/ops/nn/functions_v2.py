"""`tf.compat.v2.nn`: the functions whose arguments TensorFlow 2 orders or names in another way."""

from __future__ import annotations

from typing import Any

from weft.framework import dtypes, random_seed
from weft.framework.export import export, export_all
from weft.ops.nn import conv_functions as conv
from weft.ops.nn import fractional_pool, lrn, moments, morphology, space_to_batch
from weft.ops.nn import pool_functions as pool
from weft.ops.nn.sequences import per_axis

export_all(
    "compat.v2.nn",
    atrous_conv2d=conv.atrous_conv2d,
    atrous_conv2d_transpose=conv.atrous_conv2d_transpose,
    avg_pool=pool.avg_pool_v2,
    avg_pool1d=pool.avg_pool1d,
    avg_pool3d=pool.avg_pool3d,
    batch_normalization=moments.batch_normalization,
    conv1d_transpose=conv.conv1d_transpose,
    conv_transpose=conv.conv_transpose,
    depthwise_conv2d_backprop_filter=conv.depthwise_conv2d_native_backprop_filter,
    depthwise_conv2d_backprop_input=conv.depthwise_conv2d_native_backprop_input,
    local_response_normalization=lrn.lrn,
    lrn=lrn.lrn,
    max_pool=pool.max_pool_v2,
    max_pool1d=pool.max_pool1d,
    max_pool2d=pool.max_pool2d,
    max_pool3d=pool.max_pool3d,
    normalize_moments=moments.normalize_moments,
    with_space_to_batch=space_to_batch.with_space_to_batch,
)


@export("compat.v2.nn.convolution")
def convolution(
    input: Any,
    filters: Any,
    strides: Any = None,
    padding: Any = "VALID",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    """Convolves over one to three spatial axes."""
    return conv.convolution(input, filters, padding, strides, dilations, name, data_format)


@export("compat.v2.nn.conv1d")
def conv1d(
    input: Any,
    filters: Any,
    stride: Any,
    padding: Any,
    data_format: str = "NWC",
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    """Convolves over one spatial axis."""
    how = {"data_format": data_format, "dilations": dilations, "name": name}
    return conv.conv1d(input, filters, stride, padding, **how)


@export("compat.v2.nn.conv2d")
def conv2d(
    input: Any,
    filters: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    """Convolves over two spatial axes."""
    how = {"data_format": data_format, "dilations": dilations, "name": name}
    return conv.conv2d(input, filters, strides, padding, **how)


@export("compat.v2.nn.conv2d_transpose")
def conv2d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: Any = "SAME",
    data_format: str = "NHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    """The transpose (gradient) of `conv2d`."""
    how = {"data_format": data_format, "dilations": dilations, "name": name}
    return conv.conv2d_transpose(input, filters, output_shape, strides, padding, **how)


@export("compat.v2.nn.conv3d")
def conv3d(
    input: Any,
    filters: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NDHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    """Convolves over three spatial axes."""
    return conv.conv3d(input, filters, strides, padding, data_format, dilations, name)


@export("compat.v2.nn.conv3d_transpose")
def conv3d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: Any = "SAME",
    data_format: str = "NDHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    """The transpose (gradient) of `conv3d`."""
    how = {"data_format": data_format, "dilations": dilations, "name": name}
    return conv.conv3d_transpose(input, filters, output_shape, strides, padding, **how)


@export("compat.v2.nn.depthwise_conv2d")
def depthwise_conv2d(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    """Convolves each channel with filters of its own."""
    how = {"rate": dilations, "name": name, "data_format": data_format}
    return conv.depthwise_conv2d(input, filter, strides, padding, **how)


@export("compat.v2.nn.separable_conv2d")
def separable_conv2d(
    input: Any,
    depthwise_filter: Any,
    pointwise_filter: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    """Convolves each channel by itself, then mixes the channels."""
    filters = (depthwise_filter, pointwise_filter)
    how = {"rate": dilations, "name": name, "data_format": data_format}
    return conv.separable_conv2d(input, *filters, strides, padding, **how)


@export("compat.v2.nn.avg_pool2d")
def avg_pool2d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    name: str | None = None,
) -> Any:
    """Takes the mean of each window over two spatial axes."""
    return pool.avg_pool(input, ksize, strides, padding, data_format, name or "AvgPool2D")


@export("compat.v2.nn.max_pool_with_argmax")
def max_pool_with_argmax(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    output_dtype: Any = dtypes.int64,
    include_batch_in_index: bool = False,
    name: str | None = None,
) -> Any:
    """Takes the greatest element of each window, and says where it lies."""
    return pool.max_pool_with_argmax(
        input,
        per_axis(ksize, 2, 3, "ksize"),
        per_axis(strides, 2, 3, "strides"),
        padding,
        data_format,
        output_dtype,
        name,
        include_batch_in_index=include_batch_in_index,
    )


@export("compat.v2.nn.pool")
def pool_v2(
    input: Any,
    window_shape: Any,
    pooling_type: str,
    strides: Any = None,
    padding: str = "VALID",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    """Pools over one to three spatial axes."""
    how = {"dilation_rate": dilations, "strides": strides, "name": name, "data_format": data_format}
    return pool.pool(input, window_shape, pooling_type, padding, **how)


def _nhwc(data_format: str) -> None:
    if data_format != "NHWC":
        raise ValueError("Data formats other than NHWC are not yet supported")


@export("compat.v2.nn.dilation2d")
def dilation2d(
    input: Any,
    filters: Any,
    strides: Any,
    padding: Any,
    data_format: str,
    dilations: Any,
    name: str | None = None,
) -> Any:
    """Greyscale dilation: the greatest sum of window and filter."""
    _nhwc(data_format)
    return morphology.dilation2d(input, filters, strides, dilations, padding, name)


@export("compat.v2.nn.erosion2d")
def erosion2d(
    value: Any,
    filters: Any,
    strides: Any,
    padding: Any,
    data_format: str,
    dilations: Any,
    name: str | None = None,
) -> Any:
    """Greyscale erosion: the least difference of window and filter."""
    _nhwc(data_format)
    return morphology.erosion2d(value, filters, strides, dilations, padding, name)


def _fractional(function: Any, value: Any, ratio: Any, attrs: tuple, seed: int, name: Any) -> Any:
    seeds = (0, 0) if seed == 0 else random_seed.get_seed(seed)
    return function(value, ratio, *attrs, seed != 0, *seeds, name)


@export("compat.v2.nn.fractional_max_pool")
def fractional_max_pool(
    value: Any,
    pooling_ratio: Any,
    pseudo_random: bool = False,
    overlapping: bool = False,
    seed: int = 0,
    name: str | None = None,
) -> Any:
    """Fractional max pooling: returns the result and both pooling sequences."""
    ratio = per_axis(pooling_ratio, 2, 3, "pooling_ratio")
    attrs = (pseudo_random, overlapping)
    return _fractional(fractional_pool.fractional_max_pool, value, ratio, attrs, seed, name)


@export("compat.v2.nn.fractional_avg_pool")
def fractional_avg_pool(
    value: Any,
    pooling_ratio: Any,
    pseudo_random: bool = False,
    overlapping: bool = False,
    seed: int = 0,
    name: str | None = None,
) -> Any:
    """Fractional average pooling: returns the result and both pooling sequences."""
    attrs = (pseudo_random, overlapping)
    return _fractional(fractional_pool.fractional_avg_pool, value, pooling_ratio, attrs, seed, name)


@export("compat.v2.nn.moments")
def moments_v2(
    x: Any, axes: Any, shift: Any = None, keepdims: bool = False, name: str | None = None
) -> tuple[Any, Any]:
    """Returns the mean and variance of `x` over `axes`."""
    return moments.moments(x, axes, shift, name, keepdims)


@export("compat.v2.nn.weighted_moments")
def weighted_moments(
    x: Any, axes: Any, frequency_weights: Any, keepdims: bool = False, name: str | None = None
) -> tuple[Any, Any]:
    """Returns the mean and variance of `x`, whose elements count by their weights."""
    return moments.weighted_moments(x, axes, frequency_weights, name, keepdims)


@export("compat.v2.nn.sufficient_statistics")
def sufficient_statistics(
    x: Any, axes: Any, shift: Any = None, keepdims: bool = False, name: str | None = None
) -> tuple[Any, Any, Any, Any]:
    """Returns the count, the shifted sum and sum of squares over `axes`, and the shift."""
    return moments.sufficient_statistics(x, axes, shift, keepdims, name)


@export("compat.v2.nn.batch_norm_with_global_normalization")
def batch_norm_with_global_normalization(
    input: Any,
    mean: Any,
    variance: Any,
    beta: Any,
    gamma: Any,
    variance_epsilon: Any,
    scale_after_normalization: bool,
    name: str | None = None,
) -> Any:
    """Normalises with given statistics."""
    scale = gamma if scale_after_normalization else None
    return moments.batch_normalization(input, mean, variance, beta, scale, variance_epsilon, name)
