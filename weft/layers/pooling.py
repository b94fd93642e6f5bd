"""`tf.layers`: pooling."""

from __future__ import annotations

from typing import Any

from weft.framework.export import export
from weft.keras.layers import pooling
from weft.layers.base import Layer
from weft.layers.functions import function_of


@export("layers.AveragePooling1D")
class AveragePooling1D(pooling.AveragePooling1D, Layer):
    """The mean of windows over one axis."""

    def __init__(
        self,
        pool_size: Any,
        strides: Any,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(pool_size, strides, padding, data_format, name=name, **kwargs)


@export("layers.AveragePooling2D")
class AveragePooling2D(pooling.AveragePooling2D, Layer):
    """The mean of windows over two axes."""

    def __init__(
        self,
        pool_size: Any,
        strides: Any,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(pool_size, strides, padding, data_format, name=name, **kwargs)


@export("layers.AveragePooling3D")
class AveragePooling3D(pooling.AveragePooling3D, Layer):
    """The mean of windows over three axes."""

    def __init__(
        self,
        pool_size: Any,
        strides: Any,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(pool_size, strides, padding, data_format, name=name, **kwargs)


@export("layers.MaxPooling1D")
class MaxPooling1D(pooling.MaxPooling1D, Layer):
    """The largest number of windows over one axis."""

    def __init__(
        self,
        pool_size: Any,
        strides: Any,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(pool_size, strides, padding, data_format, name=name, **kwargs)


@export("layers.MaxPooling2D")
class MaxPooling2D(pooling.MaxPooling2D, Layer):
    """The largest number of windows over two axes."""

    def __init__(
        self,
        pool_size: Any,
        strides: Any,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(pool_size, strides, padding, data_format, name=name, **kwargs)


@export("layers.MaxPooling3D")
class MaxPooling3D(pooling.MaxPooling3D, Layer):
    """The largest number of windows over three axes."""

    def __init__(
        self,
        pool_size: Any,
        strides: Any,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(pool_size, strides, padding, data_format, name=name, **kwargs)


average_pooling1d = function_of(AveragePooling1D, "average_pooling1d", reuse=False)
average_pooling2d = function_of(AveragePooling2D, "average_pooling2d", reuse=False)
average_pooling3d = function_of(AveragePooling3D, "average_pooling3d", reuse=False)
max_pooling1d = function_of(MaxPooling1D, "max_pooling1d", reuse=False)
max_pooling2d = function_of(MaxPooling2D, "max_pooling2d", reuse=False)
max_pooling3d = function_of(MaxPooling3D, "max_pooling3d", reuse=False)
