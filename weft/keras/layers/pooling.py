"""Pooling over one, two or three axes."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework.export import export
from weft.framework.tensor_shape import TensorShape
from weft.keras.engine.base_layer import Layer
from weft.keras.engine.input_spec import InputSpec
from weft.keras.layers.windows import (
    conv_output_length,
    convert_data_format,
    normalize_data_format,
    normalize_padding,
    normalize_tuple,
)


class Pooling(Layer):
    """The largest number, or the mean, of windows over `rank` axes."""

    rank: int
    takes_max: bool

    def __init__(
        self,
        pool_size: Any = 2,
        strides: Any = None,
        padding: str = "valid",
        data_format: str | None = None,
        name: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(name=name, **kwargs)
        rank = self.rank
        self.pool_size = normalize_tuple(pool_size, rank, "pool_size")
        self.strides = normalize_tuple(pool_size if strides is None else strides, rank, "strides")
        self.padding = normalize_padding(padding)
        self.data_format = normalize_data_format(data_format)
        self.input_spec = InputSpec(ndim=rank + 2)

    def call(self, inputs: Any) -> Any:
        if self.rank == 1:  # as images of width 1
            width = 2 if self.data_format == "channels_last" else 3
            outputs = self._pooled(tf.expand_dims(inputs, width), (1,))
            return tf.squeeze(outputs, width)
        return self._pooled(inputs, ())

    def _pooled(self, inputs: Any, more: tuple) -> Any:
        size, strides = (*self.pool_size, *more), (*self.strides, *more)
        first = self.data_format == "channels_first"
        if len(size) == 3:
            pool = tf.nn.max_pool3d if self.takes_max else tf.nn.avg_pool3d
        else:
            pool = tf.nn.max_pool if self.takes_max else tf.nn.avg_pool
        return pool(
            inputs,
            ksize=(1, 1, *size) if first else (1, *size, 1),
            strides=(1, 1, *strides) if first else (1, *strides, 1),
            padding=self.padding.upper(),
            data_format=convert_data_format(self.data_format, len(size) + 2),
        )

    def compute_output_shape(self, input_shape: Any) -> Any:
        shape = TensorShape(input_shape).as_list()
        first = self.data_format == "channels_first"
        space = [
            conv_output_length(size, window, self.padding, stride)
            for size, window, stride in zip(
                shape[2:] if first else shape[1:-1], self.pool_size, self.strides
            )
        ]
        return TensorShape([*shape[:2], *space] if first else [shape[0], *space, shape[-1]])

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "pool_size": self.pool_size,
            "padding": self.padding,
            "strides": self.strides,
            "data_format": self.data_format,
        }


@export("keras.layers.MaxPool1D", "keras.layers.MaxPooling1D")
class MaxPooling1D(Pooling):
    """The largest number of windows over one axis."""

    rank, takes_max = 1, True

    def __init__(
        self,
        pool_size: Any = 2,
        strides: Any = None,
        padding: str = "valid",
        data_format: str | None = "channels_last",
        **kwargs: Any,
    ):
        super().__init__(pool_size, strides, padding, data_format, **kwargs)


@export("keras.layers.AvgPool1D", "keras.layers.AveragePooling1D")
class AveragePooling1D(Pooling):
    """The mean of windows over one axis."""

    rank, takes_max = 1, False

    def __init__(
        self,
        pool_size: Any = 2,
        strides: Any = None,
        padding: str = "valid",
        data_format: str | None = "channels_last",
        **kwargs: Any,
    ):
        super().__init__(pool_size, strides, padding, data_format, **kwargs)


@export("keras.layers.MaxPool2D", "keras.layers.MaxPooling2D")
class MaxPooling2D(Pooling):
    """The largest number of windows over two axes."""

    rank, takes_max = 2, True

    def __init__(
        self,
        pool_size: Any = (2, 2),
        strides: Any = None,
        padding: str = "valid",
        data_format: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(pool_size, strides, padding, data_format, **kwargs)


@export("keras.layers.AvgPool2D", "keras.layers.AveragePooling2D")
class AveragePooling2D(Pooling):
    """The mean of windows over two axes."""

    rank, takes_max = 2, False

    def __init__(
        self,
        pool_size: Any = (2, 2),
        strides: Any = None,
        padding: str = "valid",
        data_format: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(pool_size, strides, padding, data_format, **kwargs)


@export("keras.layers.MaxPool3D", "keras.layers.MaxPooling3D")
class MaxPooling3D(Pooling):
    """The largest number of windows over three axes."""

    rank, takes_max = 3, True

    def __init__(
        self,
        pool_size: Any = (2, 2, 2),
        strides: Any = None,
        padding: str = "valid",
        data_format: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(pool_size, strides, padding, data_format, **kwargs)


@export("keras.layers.AvgPool3D", "keras.layers.AveragePooling3D")
class AveragePooling3D(Pooling):
    """The mean of windows over three axes."""

    rank, takes_max = 3, False

    def __init__(
        self,
        pool_size: Any = (2, 2, 2),
        strides: Any = None,
        padding: str = "valid",
        data_format: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(pool_size, strides, padding, data_format, **kwargs)
