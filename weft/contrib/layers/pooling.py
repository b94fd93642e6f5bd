"""Pooling: `tf.contrib.layers.max_pool2d` and its kin."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.contrib.layers import utils
from weft.contrib.layers.layer import finished, keras_format, layer
from weft.layers import pooling


def _pooled(
    layer_class: Any,
    name: str,
    formats: tuple[str, str],
    inputs: Any,
    kernel_size: Any,
    stride: Any,
    padding: str,
    data_format: str,
    outputs_collections: Any,
    scope: Any,
) -> Any:
    form = keras_format(data_format, *formats)
    with tf.name_scope(scope, name, [inputs]) as sc:
        inputs = tf.convert_to_tensor(inputs)
        made = layer_class(
            pool_size=kernel_size, strides=stride, padding=padding, data_format=form, _scope=sc
        )
        return finished(made(inputs), sc, outputs_collections)


@layer("avg_pool2d")
def avg_pool2d(
    inputs: Any,
    kernel_size: Any,
    stride: Any = 2,
    padding: str = "VALID",
    data_format: str = "NHWC",
    outputs_collections: Any = None,
    scope: Any = None,
) -> Any:
    """The mean of windows over two axes."""
    arguments = dict(locals())
    return _pooled(pooling.AveragePooling2D, "AvgPool2D", ("NCHW", "NHWC"), **arguments)


@layer("avg_pool3d")
def avg_pool3d(
    inputs: Any,
    kernel_size: Any,
    stride: Any = 2,
    padding: str = "VALID",
    data_format: str = "NDHWC",
    outputs_collections: Any = None,
    scope: Any = None,
) -> Any:
    """The mean of windows over three axes."""
    arguments = dict(locals())
    return _pooled(pooling.AveragePooling3D, "AvgPool3D", ("NCDHW", "NDHWC"), **arguments)


@layer("max_pool2d")
def max_pool2d(
    inputs: Any,
    kernel_size: Any,
    stride: Any = 2,
    padding: str = "VALID",
    data_format: str = "NHWC",
    outputs_collections: Any = None,
    scope: Any = None,
) -> Any:
    """The largest number of windows over two axes."""
    arguments = dict(locals())
    return _pooled(pooling.MaxPooling2D, "MaxPool2D", ("NCHW", "NHWC"), **arguments)


@layer("max_pool3d")
def max_pool3d(
    inputs: Any,
    kernel_size: Any,
    stride: Any = 2,
    padding: str = "VALID",
    data_format: str = "NDHWC",
    outputs_collections: Any = None,
    scope: Any = None,
) -> Any:
    """The largest number of windows over three axes."""
    arguments = dict(locals())
    return _pooled(pooling.MaxPooling3D, "MaxPool3D", ("NCDHW", "NDHWC"), **arguments)


@layer("pool")
def pool(
    inputs: Any,
    kernel_size: Any,
    pooling_type: str,
    padding: str = "VALID",
    data_format: str | None = None,
    dilation_rate: Any = 1,
    stride: Any = 1,
    outputs_collections: Any = None,
    scope: Any = None,
) -> Any:
    """Pooling of a type over as many axes as there are."""
    with tf.name_scope(scope, f"{pooling_type.lower()}_pool", [inputs]) as sc:
        inputs = tf.convert_to_tensor(inputs)
        rank = inputs.get_shape().ndims
        if rank is None:
            raise ValueError("Rank of inputs must be known")
        if rank < 3:
            raise ValueError("Rank of inputs must be >= 3")
        outputs = tf.nn.pool(
            input=inputs,
            window_shape=utils.n_positive_integers(rank - 2, kernel_size),
            pooling_type=pooling_type,
            padding=padding,
            data_format=data_format,
            dilation_rate=utils.n_positive_integers(rank - 2, dilation_rate),
            strides=utils.n_positive_integers(rank - 2, stride),
            name=sc,
        )
        return finished(outputs, sc, outputs_collections)
