"""Transposed convolutions: what the gradients of convolutions compute."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework import context
from weft.framework.export import export
from weft.framework.tensor_shape import TensorShape
from weft.keras.layers.convolutional import Conv, Conv2D, Conv3D, given
from weft.keras.layers.windows import convert_data_format, deconv_output_length, normalize_tuple


class _Transposed(Conv):
    """A transposed convolution over as many axes as its class says."""

    def _set_output_padding(self, output_padding: Any) -> None:
        self.output_padding = output_padding
        if output_padding is None:
            return
        self.output_padding = normalize_tuple(output_padding, self.rank, "output_padding")
        for stride, pad in zip(self.strides, self.output_padding):
            if pad >= stride:
                raise ValueError(
                    f"Stride {self.strides} must be greater than output padding {self.output_padding}"
                )

    def build(self, input_shape: Any) -> None:
        shape = TensorShape(input_shape)
        if shape.ndims != self.rank + 2:
            raise ValueError(
                f"Inputs should have rank {self.rank + 2}. Received input shape: {shape}"
            )
        channels = self._take_channels(shape)
        self._make_kernel((*self.kernel_size, self.filters, channels))
        self._make_bias(self.filters)
        self.built = True

    def _lengths(self, space: Any) -> list:
        more = self.output_padding or [None] * self.rank
        return [
            deconv_output_length(
                space[i],
                self.kernel_size[i],
                padding=self.padding,
                output_padding=more[i],
                stride=self.strides[i],
                dilation=self.dilation_rate[i],
            )
            for i in range(self.rank)
        ]

    def call(self, inputs: Any) -> Any:
        sizes = tf.shape(inputs)
        first = 2 if self.data_format == "channels_first" else 1
        space = self._lengths([sizes[first + i] for i in range(self.rank)])
        outputs = self._transposed(inputs, tf.stack(self._joined(sizes[0], self.filters, space)))
        if not context.executing_eagerly():
            outputs.set_shape(self.compute_output_shape(inputs.shape))
        return self._finish(outputs)

    def _transposed(self, inputs: Any, output_shape: Any) -> Any:
        if max(self.dilation_rate) > 1:
            if self.data_format == "channels_first" or len(set(self.dilation_rate)) > 1:
                raise ValueError(
                    "A transposed convolution is dilated with channels_last and the same rate along both axes; "
                    f"got {self.data_format} and {self.dilation_rate}"
                )
            return tf.nn.atrous_conv2d_transpose(
                inputs,
                self.kernel,
                output_shape,
                rate=self.dilation_rate[0],
                padding=self.padding.upper(),
            )
        operation = tf.nn.conv2d_transpose if self.rank == 2 else tf.nn.conv3d_transpose
        return operation(
            inputs,
            self.kernel,
            output_shape,
            strides=self._joined(1, 1, list(self.strides)),
            padding=self.padding.upper(),
            data_format=convert_data_format(self.data_format, self.rank + 2),
        )

    def compute_output_shape(self, input_shape: Any) -> Any:
        shape = TensorShape(input_shape).as_list()
        return TensorShape(
            self._joined(shape[0], self.filters, self._lengths(self._spatial(shape)))
        )

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "output_padding": self.output_padding}


@export("keras.layers.Conv2DTranspose", "keras.layers.Convolution2DTranspose")
class Conv2DTranspose(_Transposed, Conv2D):
    """A transposed convolution over two axes."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: Any = "valid",
        output_padding: Any = None,
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
        arguments = given(locals())
        del arguments["output_padding"]
        Conv2D.__init__(self, **arguments)
        self._set_output_padding(output_padding)


@export("keras.layers.Conv3DTranspose", "keras.layers.Convolution3DTranspose")
class Conv3DTranspose(_Transposed, Conv3D):
    """A transposed convolution over three axes."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1, 1),
        padding: Any = "valid",
        output_padding: Any = None,
        data_format: str | None = None,
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
        arguments = given(locals())
        del arguments["output_padding"]
        Conv3D.__init__(self, **arguments)
        self._set_output_padding(output_padding)

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        del config["dilation_rate"]  # which the constructor does not take
        return config
