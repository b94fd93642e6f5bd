"""Several images as one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import weft as tf
from weft.framework.export import export
from weft.framework.tensor import Tensor


def _check_grid(grid_shape: Any, count: int) -> None:
    if grid_shape[0] * grid_shape[1] != count:
        raise ValueError(f"Grid shape {grid_shape} incompatible with minibatch size {count}.")


@export("contrib.gan.eval.image_grid")
def image_grid(
    input_tensor: Any, grid_shape: Any, image_shape: Any = (32, 32), num_channels: int = 3
) -> Any:
    """A batch of images as one, in rows and columns."""
    sizes = input_tensor.shape.as_list()
    _check_grid(grid_shape, sizes[0])
    wrong = "Image shape and number of channels incompatible with input tensor."
    if len(sizes) == 2:
        if sizes[1] != image_shape[0] * image_shape[1] * num_channels:
            raise ValueError(wrong)
    elif len(sizes) == 4:
        if sizes[1:] != [*image_shape, num_channels]:
            raise ValueError(wrong)
    else:
        raise ValueError("Unrecognized input tensor format.")
    (rows, columns), (height, width) = grid_shape, image_shape
    images = tf.reshape(input_tensor, [rows, columns, height, width, num_channels])
    images = tf.transpose(images, [0, 2, 1, 3, 4])
    return tf.reshape(images, [1, rows * height, columns * width, num_channels])


@export("contrib.gan.eval.python_image_grid")
def python_image_grid(input_array: Any, grid_shape: Any) -> Any:
    """An array of images as one, in rows and columns."""
    _check_grid(grid_shape, int(input_array.shape[0]))
    if input_array.ndim != 4:
        raise ValueError("Unrecognized input array format.")
    (rows, columns), (height, width, channels) = grid_shape, input_array.shape[1:]
    images = np.reshape(input_array, (rows, columns, height, width, channels))
    return images.transpose(0, 2, 1, 3, 4).reshape(rows * height, columns * width, channels)


@export("contrib.gan.eval.image_reshaper")
def image_reshaper(images: Any, num_cols: int | None = None) -> Any:
    """Images as one, in so many columns; what is missing in the last row is black."""
    images = tf.unstack(images) if isinstance(images, Tensor) else list(images)
    for image in images:
        image.shape.assert_has_rank(3)
        image.shape.assert_is_fully_defined()
        if image.shape.as_list()[-1] not in (1, 3):
            raise ValueError("image_reshaper only supports 1 or 3 channel images.")
    columns = num_cols or math.ceil(math.sqrt(len(images)))
    images += [tf.zeros_like(images[-1])] * (-len(images) % columns)
    rows = [tf.concat(images[i : i + columns], 1) for i in range(0, len(images), columns)]
    return tf.expand_dims(tf.concat(rows, 0), 0)
