"""`tf.layers`: convolutions."""

from __future__ import annotations

from typing import Any

from weft.framework.export import export
from weft.initializers.values import Zeros
from weft.keras.layers import convolutional, separable, transposed
from weft.keras.layers.convolutional import given
from weft.layers.base import Layer
from weft.layers.functions import function_of

ZEROS = Zeros()


@export("layers.Conv1D")
class Conv1D(convolutional.Conv1D, Layer):
    """A convolution over one axis."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: Any = "valid",
        data_format: str | None = "channels_last",
        dilation_rate: Any = 1,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = None,
        bias_initializer: Any = ZEROS,
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(**given(locals()))


@export("layers.Conv2D")
class Conv2D(convolutional.Conv2D, Layer):
    """A convolution over two axes."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: Any = "valid",
        data_format: str | None = "channels_last",
        dilation_rate: Any = (1, 1),
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = None,
        bias_initializer: Any = ZEROS,
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(**given(locals()))


@export("layers.Conv3D")
class Conv3D(convolutional.Conv3D, Layer):
    """A convolution over three axes."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1, 1),
        padding: Any = "valid",
        data_format: str | None = "channels_last",
        dilation_rate: Any = (1, 1, 1),
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = None,
        bias_initializer: Any = ZEROS,
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(**given(locals()))


@export("layers.SeparableConv1D")
class SeparableConv1D(separable.SeparableConv1D, Layer):
    """A separable convolution over one axis: of each channel, then of the channels of each place."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: Any = "valid",
        data_format: str | None = "channels_last",
        dilation_rate: Any = 1,
        depth_multiplier: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = None,
        pointwise_initializer: Any = None,
        bias_initializer: Any = ZEROS,
        depthwise_regularizer: Any = None,
        pointwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        pointwise_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(**given(locals()))


@export("layers.SeparableConv2D")
class SeparableConv2D(separable.SeparableConv2D, Layer):
    """A separable convolution over two axes: of each channel, then of the channels of each place."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: Any = "valid",
        data_format: str | None = "channels_last",
        dilation_rate: Any = (1, 1),
        depth_multiplier: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = None,
        pointwise_initializer: Any = None,
        bias_initializer: Any = ZEROS,
        depthwise_regularizer: Any = None,
        pointwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        pointwise_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(**given(locals()))


@export("layers.Conv2DTranspose")
class Conv2DTranspose(transposed.Conv2DTranspose, Layer):
    """A transposed convolution over two axes."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: Any = "valid",
        data_format: str | None = "channels_last",
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = None,
        bias_initializer: Any = ZEROS,
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(**given(locals()))


@export("layers.Conv3DTranspose")
class Conv3DTranspose(transposed.Conv3DTranspose, Layer):
    """A transposed convolution over three axes."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1, 1),
        padding: Any = "valid",
        data_format: str | None = "channels_last",
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = None,
        bias_initializer: Any = ZEROS,
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(**given(locals()))


conv1d = function_of(Conv1D, "conv1d")
conv2d = function_of(Conv2D, "conv2d")
conv3d = function_of(Conv3D, "conv3d")
separable_conv1d = function_of(SeparableConv1D, "separable_conv1d")
separable_conv2d = function_of(SeparableConv2D, "separable_conv2d")
conv2d_transpose = function_of(Conv2DTranspose, "conv2d_transpose")
conv3d_transpose = function_of(Conv3DTranspose, "conv3d_transpose")
