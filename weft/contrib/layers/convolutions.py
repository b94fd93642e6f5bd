"""Convolutions: `tf.contrib.layers.conv2d` and its kin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft as tf
from weft.contrib.framework.variables import model_variable
from weft.contrib.layers import utils
from weft.contrib.layers.initializers import xavier_initializer
from weft.contrib.layers.layer import (
    collect_variable,
    finished,
    keras_format,
    layer,
    parameter,
    variable_getter,
)
from weft.layers import convolutional

XAVIER, ZEROS = xavier_initializer(), tf.zeros_initializer()
# What layers call their variables, and what they are called here.
_NAMES = {"bias": "biases", "kernel": "weights"}
_FORMATS = (None, "NWC", "NCW", "NHWC", "NCHW", "NDHWC", "NCDHW")


@layer("convolution")
def convolution(
    inputs: Any,
    num_outputs: int,
    kernel_size: Any,
    stride: Any = 1,
    padding: Any = "SAME",
    data_format: str | None = None,
    rate: Any = 1,
    activation_fn: Callable | None = tf.nn.relu,
    normalizer_fn: Callable | None = None,
    normalizer_params: dict[str, Any] | None = None,
    weights_initializer: Any = XAVIER,
    weights_regularizer: Any = None,
    biases_initializer: Any = ZEROS,
    biases_regularizer: Any = None,
    reuse: bool | None = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
    conv_dims: int | None = None,
) -> Any:
    """A convolution over one to three axes, normalized or with biases, and activated."""
    if data_format not in _FORMATS:
        raise ValueError(f"Invalid data_format: {data_format!r}")
    with tf.variable_scope(
        scope, "Conv", [inputs], reuse=reuse, custom_getter=variable_getter(**_NAMES)
    ) as sc:
        inputs = tf.convert_to_tensor(inputs)
        rank = inputs.get_shape().ndims
        if conv_dims is not None and conv_dims + 2 != rank:
            raise ValueError(f"Convolution expects input with rank {conv_dims + 2}, got {rank}")
        classes = {
            3: convolutional.Conv1D,
            4: convolutional.Conv2D,
            5: convolutional.Conv3D,
        }
        if rank not in classes:
            raise ValueError("Convolution not supported for input with rank", rank)
        made: Any = classes[rank](
            filters=num_outputs,
            kernel_size=kernel_size,
            strides=stride,
            padding=padding,
            data_format=keras_format(data_format),
            dilation_rate=rate,
            use_bias=not normalizer_fn and biases_initializer is not None,
            kernel_initializer=weights_initializer,
            bias_initializer=biases_initializer,
            kernel_regularizer=weights_regularizer,
            bias_regularizer=biases_regularizer,
            trainable=trainable,
            name=sc.name,
            dtype=inputs.dtype.base_dtype,
            _scope=sc,
            _reuse=reuse,
        )
        outputs = made(inputs)
        collect_variable(made.kernel, variables_collections, "weights")
        collect_variable(made.bias, variables_collections, "biases")
        return finished(
            outputs, sc.name, outputs_collections, activation_fn, normalizer_fn, normalizer_params
        )


@layer("convolution1d", "conv1d")
def convolution1d(
    inputs: Any,
    num_outputs: int,
    kernel_size: Any,
    stride: Any = 1,
    padding: Any = "SAME",
    data_format: str | None = None,
    rate: Any = 1,
    activation_fn: Callable | None = tf.nn.relu,
    normalizer_fn: Callable | None = None,
    normalizer_params: dict[str, Any] | None = None,
    weights_initializer: Any = XAVIER,
    weights_regularizer: Any = None,
    biases_initializer: Any = ZEROS,
    biases_regularizer: Any = None,
    reuse: bool | None = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """A convolution over one axis."""
    arguments = dict(locals())
    return convolution(conv_dims=1, **arguments)


@layer("convolution2d", "conv2d")
def convolution2d(
    inputs: Any,
    num_outputs: int,
    kernel_size: Any,
    stride: Any = 1,
    padding: Any = "SAME",
    data_format: str | None = None,
    rate: Any = 1,
    activation_fn: Callable | None = tf.nn.relu,
    normalizer_fn: Callable | None = None,
    normalizer_params: dict[str, Any] | None = None,
    weights_initializer: Any = XAVIER,
    weights_regularizer: Any = None,
    biases_initializer: Any = ZEROS,
    biases_regularizer: Any = None,
    reuse: bool | None = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """A convolution over two axes."""
    arguments = dict(locals())
    return convolution(conv_dims=2, **arguments)


@layer("convolution3d", "conv3d")
def convolution3d(
    inputs: Any,
    num_outputs: int,
    kernel_size: Any,
    stride: Any = 1,
    padding: Any = "SAME",
    data_format: str | None = None,
    rate: Any = 1,
    activation_fn: Callable | None = tf.nn.relu,
    normalizer_fn: Callable | None = None,
    normalizer_params: dict[str, Any] | None = None,
    weights_initializer: Any = XAVIER,
    weights_regularizer: Any = None,
    biases_initializer: Any = ZEROS,
    biases_regularizer: Any = None,
    reuse: bool | None = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """A convolution over three axes."""
    arguments = dict(locals())
    return convolution(conv_dims=3, **arguments)


@layer("convolution2d_transpose", "conv2d_transpose")
def convolution2d_transpose(
    inputs: Any,
    num_outputs: int,
    kernel_size: Any,
    stride: Any = 1,
    padding: Any = "SAME",
    data_format: str = "NHWC",
    activation_fn: Callable | None = tf.nn.relu,
    normalizer_fn: Callable | None = None,
    normalizer_params: dict[str, Any] | None = None,
    weights_initializer: Any = XAVIER,
    weights_regularizer: Any = None,
    biases_initializer: Any = ZEROS,
    biases_regularizer: Any = None,
    reuse: bool | None = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """A transposed convolution over two axes."""
    arguments = dict(locals())
    return _transposed(
        convolutional.Conv2DTranspose, "Conv2d_transpose", ("NCHW", "NHWC"), **arguments
    )


@layer("convolution3d_transpose", "conv3d_transpose")
def convolution3d_transpose(
    inputs: Any,
    num_outputs: int,
    kernel_size: Any,
    stride: Any = 1,
    padding: Any = "SAME",
    data_format: str = "NDHWC",
    activation_fn: Callable | None = tf.nn.relu,
    normalizer_fn: Callable | None = None,
    normalizer_params: dict[str, Any] | None = None,
    weights_initializer: Any = XAVIER,
    weights_regularizer: Any = None,
    biases_initializer: Any = ZEROS,
    biases_regularizer: Any = None,
    reuse: bool | None = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """A transposed convolution over three axes."""
    arguments = dict(locals())
    return _transposed(
        convolutional.Conv3DTranspose, "Conv3d_transpose", ("NCDHW", "NDHWC"), **arguments
    )


def _transposed(
    layer_class: Any,
    default_name: str,
    formats: tuple[str, str],
    inputs: Any,
    num_outputs: int,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    data_format: str,
    activation_fn: Any,
    normalizer_fn: Any,
    normalizer_params: Any,
    weights_initializer: Any,
    weights_regularizer: Any,
    biases_initializer: Any,
    biases_regularizer: Any,
    reuse: Any,
    variables_collections: Any,
    outputs_collections: Any,
    trainable: bool,
    scope: Any,
) -> Any:
    with tf.variable_scope(
        scope, default_name, [inputs], reuse=reuse, custom_getter=variable_getter(**_NAMES)
    ) as sc:
        inputs = tf.convert_to_tensor(inputs)
        made = layer_class(
            filters=num_outputs,
            kernel_size=kernel_size,
            strides=stride,
            padding=padding,
            data_format=keras_format(data_format, *formats),
            use_bias=not normalizer_fn and biases_initializer is not None,
            kernel_initializer=weights_initializer,
            bias_initializer=biases_initializer,
            kernel_regularizer=weights_regularizer,
            bias_regularizer=biases_regularizer,
            trainable=trainable,
            name=sc.name,
            dtype=inputs.dtype.base_dtype,
            _scope=sc,
            _reuse=reuse,
        )
        outputs = made(inputs)
        collect_variable(made.kernel, variables_collections, "weights")
        collect_variable(made.bias, variables_collections, "biases")
        return finished(
            outputs, sc.name, outputs_collections, activation_fn, normalizer_fn, normalizer_params
        )


@layer("convolution2d_in_plane", "conv2d_in_plane")
def convolution2d_in_plane(
    inputs: Any,
    kernel_size: Any,
    stride: Any = 1,
    padding: Any = "SAME",
    activation_fn: Callable | None = tf.nn.relu,
    normalizer_fn: Callable | None = None,
    normalizer_params: dict[str, Any] | None = None,
    weights_initializer: Any = XAVIER,
    weights_regularizer: Any = None,
    biases_initializer: Any = ZEROS,
    biases_regularizer: Any = None,
    reuse: bool | None = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """One convolution for all channels, of each for itself."""
    with tf.variable_scope(scope, "ConvInPlane", [inputs], reuse=reuse) as sc:
        dtype = inputs.dtype.base_dtype
        channels = utils.last_dimension(inputs.get_shape(), min_rank=4)
        weights = parameter(
            "weights",
            [*utils.two_element_tuple(kernel_size), 1, 1],
            dtype,
            weights_initializer,
            variables_collections,
            weights_regularizer,
            trainable,
        )
        outputs = tf.nn.depthwise_conv2d(
            inputs,
            tf.tile(weights, [1, 1, channels, 1]),
            [1, *utils.two_element_tuple(stride), 1],
            padding,
        )
        if normalizer_fn is None and biases_initializer is not None:
            biases = parameter(
                "biases",
                [channels],
                dtype,
                biases_initializer,
                variables_collections,
                biases_regularizer,
                trainable,
            )
            outputs = tf.nn.bias_add(outputs, biases)
        return finished(
            outputs, sc.name, outputs_collections, activation_fn, normalizer_fn, normalizer_params
        )


@layer("separable_convolution2d", "separable_conv2d")
def separable_convolution2d(
    inputs: Any,
    num_outputs: int | None,
    kernel_size: Any,
    depth_multiplier: int = 1,
    stride: Any = 1,
    padding: Any = "SAME",
    data_format: str = "NHWC",
    rate: Any = 1,
    activation_fn: Callable | None = tf.nn.relu,
    normalizer_fn: Callable | None = None,
    normalizer_params: dict[str, Any] | None = None,
    weights_initializer: Any = XAVIER,
    pointwise_initializer: Any = None,
    weights_regularizer: Any = None,
    biases_initializer: Any = ZEROS,
    biases_regularizer: Any = None,
    reuse: bool | None = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """A convolution of each channel for itself, then of the channels of each place; the second part is left out
    where `num_outputs` is None."""
    form = keras_format(data_format, "NCHW", "NHWC")
    getter = variable_getter(
        bias="biases",
        depthwise_kernel="depthwise_weights",
        pointwise_kernel="pointwise_weights",
    )
    with tf.variable_scope(
        scope, "SeparableConv2d", [inputs], reuse=reuse, custom_getter=getter
    ) as sc:
        inputs = tf.convert_to_tensor(inputs)
        dtype = inputs.dtype.base_dtype
        if num_outputs is not None:
            made: Any = convolutional.SeparableConv2D(
                filters=num_outputs,
                kernel_size=kernel_size,
                strides=stride,
                padding=padding,
                data_format=form,
                dilation_rate=utils.two_element_tuple(rate),
                depth_multiplier=depth_multiplier,
                use_bias=not normalizer_fn and biases_initializer is not None,
                depthwise_initializer=weights_initializer,
                pointwise_initializer=pointwise_initializer or weights_initializer,
                bias_initializer=biases_initializer,
                depthwise_regularizer=weights_regularizer,
                pointwise_regularizer=weights_regularizer,
                bias_regularizer=biases_regularizer,
                trainable=trainable,
                name=sc.name,
                dtype=dtype,
                _scope=sc,
                _reuse=reuse,
            )
            outputs = made(inputs)
            collect_variable(made.depthwise_kernel, variables_collections, "weights")
            collect_variable(made.pointwise_kernel, variables_collections, "weights")
            collect_variable(made.bias, variables_collections, "biases")
        else:
            channels = utils.channel_dimension(inputs.get_shape(), form, min_rank=4)
            weights = model_variable(
                "depthwise_weights",
                shape=[*utils.two_element_tuple(kernel_size), channels, depth_multiplier],
                dtype=dtype,
                initializer=weights_initializer,
                regularizer=weights_regularizer,
                trainable=trainable,
                collections=utils.get_variable_collections(variables_collections, "weights"),
            )
            strides = utils.two_element_tuple(stride)
            outputs = tf.nn.depthwise_conv2d(
                inputs,
                weights,
                [1, 1, *strides] if form == "channels_first" else [1, *strides, 1],
                padding,
                rate=utils.two_element_tuple(rate),
                data_format=data_format,
            )
            if normalizer_fn is None and biases_initializer is not None:
                biases = parameter(
                    "biases",
                    [depth_multiplier * channels],
                    dtype,
                    biases_initializer,
                    variables_collections,
                    biases_regularizer,
                    trainable,
                )
                outputs = tf.nn.bias_add(outputs, biases, data_format=data_format)
        return finished(
            outputs, sc.name, outputs_collections, activation_fn, normalizer_fn, normalizer_params
        )
