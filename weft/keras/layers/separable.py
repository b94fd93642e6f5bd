"""Separable convolutions: over space for each channel, then over the channels of each place."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework.export import export
from weft.initializers import by_name as initializers
from weft.keras import constraints, regularizers
from weft.keras.layers.convolutional import Conv, given
from weft.keras.layers.windows import convert_data_format


class SeparableConv(Conv):
    """A separable convolution over `rank` axes."""

    depthwise_kernel: Any
    pointwise_kernel: Any

    def __init__(
        self,
        rank: int,
        filters: int,
        kernel_size: Any,
        depth_multiplier: int = 1,
        depthwise_initializer: Any = "glorot_uniform",
        pointwise_initializer: Any = "glorot_uniform",
        depthwise_regularizer: Any = None,
        pointwise_regularizer: Any = None,
        depthwise_constraint: Any = None,
        pointwise_constraint: Any = None,
        **kwargs: Any,
    ):
        super().__init__(rank, filters, kernel_size, **kwargs)
        self.depth_multiplier = depth_multiplier
        self.depthwise_initializer = initializers.get(depthwise_initializer)
        self.pointwise_initializer = initializers.get(pointwise_initializer)
        self.depthwise_regularizer = regularizers.get(depthwise_regularizer)
        self.pointwise_regularizer = regularizers.get(pointwise_regularizer)
        self.depthwise_constraint = constraints.get(depthwise_constraint)
        self.pointwise_constraint = constraints.get(pointwise_constraint)

    def build(self, input_shape: Any) -> None:
        channels = self._take_channels(input_shape)
        shapes = {
            "depthwise": (*self.kernel_size, channels, self.depth_multiplier),
            "pointwise": (*[1] * self.rank, self.depth_multiplier * channels, self.filters),
        }
        for kind, shape in shapes.items():
            kernel = self.add_weight(
                name=f"{kind}_kernel",
                shape=shape,
                initializer=getattr(self, f"{kind}_initializer"),
                regularizer=getattr(self, f"{kind}_regularizer"),
                constraint=getattr(self, f"{kind}_constraint"),
                trainable=True,
                dtype=self.dtype,
            )
            setattr(self, f"{kind}_kernel", kernel)
        self._make_bias(self.filters)
        self.built = True

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        for name in ("kernel_initializer", "kernel_regularizer", "kernel_constraint"):
            del config[name]
        config["depth_multiplier"] = self.depth_multiplier
        for part, known in (
            ("initializer", initializers),
            ("regularizer", regularizers),
            ("constraint", constraints),
        ):
            for kind in ("depthwise", "pointwise"):
                name = f"{kind}_{part}"
                config[name] = known.serialize(getattr(self, name))
        return config


@export("keras.layers.SeparableConv1D", "keras.layers.SeparableConvolution1D")
class SeparableConv1D(SeparableConv):
    """A separable convolution over one axis."""

    takes_causal = True

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: Any = "valid",
        data_format: str | None = None,
        dilation_rate: Any = 1,
        depth_multiplier: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = "glorot_uniform",
        pointwise_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        depthwise_regularizer: Any = None,
        pointwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        pointwise_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ):
        super().__init__(1, **given(locals()))

    def call(self, inputs: Any) -> Any:
        if self.padding == "causal":
            inputs = self._padded_before(inputs)
        # As images of height 1.
        height = 2 if self.data_format == "channels_first" else 1
        outputs = tf.nn.separable_conv2d(
            tf.expand_dims(inputs, height),
            tf.expand_dims(self.depthwise_kernel, 0),
            tf.expand_dims(self.pointwise_kernel, 0),
            strides=self._joined(1, 1, list(self.strides) * 2),
            padding="VALID" if self.padding == "causal" else self.padding.upper(),
            rate=(1, *self.dilation_rate),
            data_format=convert_data_format(self.data_format, 4),
        )
        if self.use_bias:
            outputs = tf.nn.bias_add(
                outputs, self.bias, data_format=convert_data_format(self.data_format, 4)
            )
        outputs = tf.squeeze(outputs, [height])
        return outputs if self.activation is None else self.activation(outputs)


@export("keras.layers.SeparableConv2D", "keras.layers.SeparableConvolution2D")
class SeparableConv2D(SeparableConv):
    """A separable convolution over two axes."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: Any = "valid",
        data_format: str | None = None,
        dilation_rate: Any = (1, 1),
        depth_multiplier: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = "glorot_uniform",
        pointwise_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        depthwise_regularizer: Any = None,
        pointwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        pointwise_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ):
        super().__init__(2, **given(locals()))

    def call(self, inputs: Any) -> Any:
        return self._finish(
            tf.nn.separable_conv2d(
                inputs,
                self.depthwise_kernel,
                self.pointwise_kernel,
                strides=self._joined(1, 1, list(self.strides)),
                padding=self.padding.upper(),
                rate=self.dilation_rate,
                data_format=convert_data_format(self.data_format, 4),
            )
        )


@export("keras.layers.DepthwiseConv2D")
class DepthwiseConv2D(Conv):
    """A convolution over two axes of each channel for itself."""

    def __init__(
        self,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: Any = "valid",
        depth_multiplier: int = 1,
        data_format: str | None = None,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        depthwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ):
        super().__init__(
            2,
            filters=0,
            kernel_size=kernel_size,
            strides=strides,
            padding=padding,
            data_format=data_format,
            activation=activation,
            use_bias=use_bias,
            bias_initializer=bias_initializer,
            bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer,
            bias_constraint=bias_constraint,
            **kwargs,
        )
        self.depth_multiplier = depth_multiplier
        self.depthwise_initializer = initializers.get(depthwise_initializer)
        self.depthwise_regularizer = regularizers.get(depthwise_regularizer)
        self.depthwise_constraint = constraints.get(depthwise_constraint)

    def build(self, input_shape: Any) -> None:
        channels = self._take_channels(input_shape)
        self.filters = channels * self.depth_multiplier
        self.depthwise_kernel = self.add_weight(
            shape=(*self.kernel_size, channels, self.depth_multiplier),
            initializer=self.depthwise_initializer,
            name="depthwise_kernel",
            regularizer=self.depthwise_regularizer,
            constraint=self.depthwise_constraint,
        )
        self._make_bias(self.filters)
        self.built = True

    def call(self, inputs: Any) -> Any:
        return self._finish(
            tf.nn.depthwise_conv2d(
                inputs,
                self.depthwise_kernel,
                strides=self._joined(1, 1, list(self.strides)),
                padding=self.padding.upper(),
                rate=self.dilation_rate,
                data_format=convert_data_format(self.data_format, 4),
            )
        )

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        for name in ("filters", "kernel_initializer", "kernel_regularizer", "kernel_constraint"):
            del config[name]
        return {
            **config,
            "depth_multiplier": self.depth_multiplier,
            "depthwise_initializer": initializers.serialize(self.depthwise_initializer),
            "depthwise_regularizer": regularizers.serialize(self.depthwise_regularizer),
            "depthwise_constraint": constraints.serialize(self.depthwise_constraint),
        }
