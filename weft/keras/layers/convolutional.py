"""Convolutions over one, two or three axes."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework.export import export
from weft.framework.tensor_shape import TensorShape
from weft.initializers import by_name as initializers
from weft.keras import activations, constraints, regularizers
from weft.keras.engine.base_layer import Layer
from weft.keras.engine.input_spec import InputSpec
from weft.keras.layers.windows import (
    conv_output_length,
    convert_data_format,
    normalize_data_format,
    normalize_padding,
    normalize_tuple,
)
from weft.ops.nn.conv_functions import Convolution


class Conv(Layer):
    """A convolution over `rank` axes, with a bias and an activation."""

    takes_causal = False  # whether padding may be before the inputs only

    def __init__(
        self,
        rank: int,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: Any = "valid",
        data_format: str | None = None,
        dilation_rate: Any = 1,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(
            trainable=trainable,
            name=name,
            activity_regularizer=regularizers.get(activity_regularizer),
            **kwargs,
        )
        self.rank, self.filters = rank, filters
        self.kernel_size = normalize_tuple(kernel_size, rank, "kernel_size")
        self.strides = normalize_tuple(strides, rank, "strides")
        self.padding = normalize_padding(padding)
        if self.padding == "causal" and not self.takes_causal:
            raise ValueError("Causal padding is only supported for `Conv1D`and ``SeparableConv1D`.")
        self.data_format = normalize_data_format(data_format)
        self.dilation_rate = normalize_tuple(dilation_rate, rank, "dilation_rate")
        self.activation = activations.get(activation)
        self.use_bias = use_bias
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.kernel_regularizer = regularizers.get(kernel_regularizer)
        self.bias_regularizer = regularizers.get(bias_regularizer)
        self.kernel_constraint = constraints.get(kernel_constraint)
        self.bias_constraint = constraints.get(bias_constraint)
        self.input_spec = InputSpec(ndim=rank + 2)

    @property
    def _channel_axis(self) -> int:
        return 1 if self.data_format == "channels_first" else -1

    def _take_channels(self, input_shape: Any) -> int:
        """How many channels the inputs have, which they will have to have from now on."""
        channels = TensorShape(input_shape).as_list()[self._channel_axis]
        if channels is None:
            raise ValueError("The channel dimension of the inputs should be defined. Found `None`.")
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={self._channel_axis: channels})
        return channels

    def _make_kernel(self, shape: tuple) -> None:
        self.kernel = self.add_weight(
            name="kernel",
            shape=shape,
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
            trainable=True,
            dtype=self.dtype,
        )

    def _make_bias(self, size: int) -> None:
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                name="bias",
                shape=(size,),
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
                trainable=True,
                dtype=self.dtype,
            )

    def build(self, input_shape: Any) -> None:
        input_shape = TensorShape(input_shape)
        channels = self._take_channels(input_shape)
        self._make_kernel((*self.kernel_size, channels, self.filters))
        self._make_bias(self.filters)
        padding = "valid" if self.padding == "causal" else self.padding
        self._convolution_op = Convolution(
            input_shape,
            filter_shape=self.kernel.shape,
            dilation_rate=self.dilation_rate,
            strides=self.strides,
            padding=padding.upper() if isinstance(padding, str) else padding,
            data_format=convert_data_format(self.data_format, self.rank + 2),
        )
        self.built = True

    def call(self, inputs: Any) -> Any:
        return self._finish(self._convolution_op(inputs, self.kernel))

    def _finish(self, outputs: Any) -> Any:
        """Adds the bias and applies the activation."""
        if self.use_bias:
            first = self.data_format == "channels_first"
            if first and self.rank == 1:
                outputs += tf.reshape(self.bias, (1, self.filters, 1))
            else:
                outputs = tf.nn.bias_add(
                    outputs, self.bias, data_format="NCHW" if first else "NHWC"
                )
        return outputs if self.activation is None else self.activation(outputs)

    def _spatial(self, shape: list) -> list:
        return shape[2:] if self.data_format == "channels_first" else shape[1:-1]

    def _joined(self, batch: Any, channels: Any, space: list) -> list:
        if self.data_format == "channels_first":
            return [batch, channels, *space]
        return [batch, *space, channels]

    def compute_output_shape(self, input_shape: Any) -> Any:
        shape = TensorShape(input_shape).as_list()
        space = [
            conv_output_length(*axis)
            for axis in zip(
                self._spatial(shape),
                self.kernel_size,
                [self.padding] * self.rank,
                self.strides,
                self.dilation_rate,
            )
        ]
        return TensorShape(self._joined(shape[0], self.filters, space))

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "filters": self.filters,
            "kernel_size": self.kernel_size,
            "strides": self.strides,
            "padding": self.padding,
            "data_format": self.data_format,
            "dilation_rate": self.dilation_rate,
            "activation": activations.serialize(self.activation),
            "use_bias": self.use_bias,
            "kernel_initializer": initializers.serialize(self.kernel_initializer),
            "bias_initializer": initializers.serialize(self.bias_initializer),
            "kernel_regularizer": regularizers.serialize(self.kernel_regularizer),
            "bias_regularizer": regularizers.serialize(self.bias_regularizer),
            "activity_regularizer": regularizers.serialize(self.activity_regularizer),
            "kernel_constraint": constraints.serialize(self.kernel_constraint),
            "bias_constraint": constraints.serialize(self.bias_constraint),
        }

    def _padded_before(self, inputs: Any) -> Any:
        """The inputs with as many zeros before them as a causal convolution looks back."""
        before = [self.dilation_rate[0] * (self.kernel_size[0] - 1), 0]
        pads = self._joined([0, 0], [0, 0], [before])
        return tf.pad(inputs, pads)


@export("keras.layers.Conv1D", "keras.layers.Convolution1D")
class Conv1D(Conv):
    """A convolution over one axis."""

    takes_causal = True

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
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ):
        super().__init__(1, **given(locals()))

    def build(self, input_shape: Any) -> None:
        shape = TensorShape(input_shape)
        if self.padding == "causal" and shape.ndims == 3:
            sizes = shape.as_list()
            before = self.dilation_rate[0] * (self.kernel_size[0] - 1)
            space = [None if s is None else s + before for s in self._spatial(sizes)]
            shape = TensorShape(self._joined(sizes[0], sizes[self._channel_axis], space))
        super().build(shape)

    def call(self, inputs: Any) -> Any:
        return super().call(self._padded_before(inputs) if self.padding == "causal" else inputs)


@export("keras.layers.Conv2D", "keras.layers.Convolution2D")
class Conv2D(Conv):
    """A convolution over two axes."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: Any = "valid",
        data_format: str | None = None,
        dilation_rate: Any = (1, 1),
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ):
        super().__init__(2, **given(locals()))


@export("keras.layers.Conv3D", "keras.layers.Convolution3D")
class Conv3D(Conv):
    """A convolution over three axes."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1, 1),
        padding: Any = "valid",
        data_format: str | None = None,
        dilation_rate: Any = (1, 1, 1),
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ):
        super().__init__(3, **given(locals()))


def given(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments that a constructor was called with, from its local names."""
    more = arguments["kwargs"]
    return {
        **{k: v for k, v in arguments.items() if k not in ("self", "kwargs", "__class__")},
        **more,
    }
