"""Colour spaces and number types of images."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import dtypes
from weft.framework.conversion import convert_to_tensor
from weft.framework.export import export, find
from weft.framework.scopes import name_scope
from weft.ops.by_name import raw


@export("image.convert_image_dtype")
def convert_image_dtype(
    image: Any, dtype: Any, saturate: bool = False, name: str | None = None
) -> Any:
    """Converts an image to a dtype, where floats stand for [0, 1] and integers for their whole range."""
    image = convert_to_tensor(image, name="image")
    dtype = dtypes.as_dtype(dtype)
    if dtype == image.dtype.base_dtype:
        return raw.Identity(image, name=name)
    cast = find("", "cast", "tf")
    saturate_cast = find("", "saturate_cast", "tf")
    with name_scope(name, "convert_image", [image]) as scope:
        kind = image.dtype.base_dtype
        if kind.is_integer and dtype.is_integer:
            in_scale, out_scale = kind.max, dtype.max
            if in_scale > out_scale:
                scale = (in_scale + 1) // (out_scale + 1)
                scaled = raw.FloorDiv(image, convert_to_tensor(scale, dtype=kind))
                return (
                    saturate_cast(scaled, dtype, name=scope)
                    if saturate
                    else cast(scaled, dtype, name=scope)
                )
            if saturate:
                converted = saturate_cast(image, dtype)
            else:
                converted = cast(image, dtype)
            scale = (out_scale + 1) // (in_scale + 1)
            return raw.Mul(converted, convert_to_tensor(scale, dtype=dtype), name=scope)
        if kind.is_floating and dtype.is_floating:
            return cast(image, dtype, name=scope)
        if kind.is_integer:
            converted = cast(image, dtype)
            return raw.Mul(converted, convert_to_tensor(1.0 / kind.max, dtype=dtype), name=scope)
        scale = dtype.max + 0.5  # rounds, as truncation follows
        scaled = raw.Mul(image, convert_to_tensor(scale, dtype=kind))
        return (
            saturate_cast(scaled, dtype, name=scope)
            if saturate
            else cast(scaled, dtype, name=scope)
        )


@export("image.rgb_to_grayscale")
def rgb_to_grayscale(images: Any, name: str | None = None) -> Any:
    """The brightness of RGB images, as one channel."""
    with name_scope(name, "rgb_to_grayscale", [images]) as scope:
        images = convert_to_tensor(images, name="images")
        original = images.dtype.base_dtype
        x = convert_image_dtype(images, dtypes.float32)
        weights = np.array([0.2989, 0.5870, 0.1140], np.float32)
        gray = raw.Sum(raw.Mul(x, weights), [-1], keep_dims=True)
        return convert_image_dtype(gray, original, name=scope)


@export("image.grayscale_to_rgb")
def grayscale_to_rgb(images: Any, name: str | None = None) -> Any:
    """Grey images as RGB."""
    with name_scope(name, "grayscale_to_rgb", [images]) as scope:
        images = convert_to_tensor(images, name="images")
        dims = images._dims
        if dims is not None:
            if len(dims) < 2:
                raise ValueError("A grayscale image must be at least two-dimensional.")
            if dims[-1] not in (None, 1):
                raise ValueError("Last dimension of a grayscale image should be size 1.")
        last = raw.ExpandDims(raw.Sub(raw.Rank(images), 1), 0)
        ones = raw.Fill(last, 1)
        multiples = raw.ConcatV2([ones, convert_to_tensor([3], dtype=dtypes.int32)], 0)
        rgb = raw.Tile(images, multiples, name=scope)
        if dims is not None:
            rgb.set_shape([*dims[:-1], 3])
        return rgb


@export("image.rgb_to_hsv")
def rgb_to_hsv(images: Any, name: str | None = None) -> Any:
    """Hue, saturation and value of RGB images."""
    return raw.RGBToHSV(images, name=name)


@export("image.hsv_to_rgb")
def hsv_to_rgb(images: Any, name: str | None = None) -> Any:
    """RGB of images of hue, saturation and value."""
    return raw.HSVToRGB(images, name=name)


_YIQ = [
    [0.299, 0.59590059, 0.2115],
    [0.587, -0.27455667, -0.52273617],
    [0.114, -0.32134392, 0.31119955],
]
_FROM_YIQ = [
    [1, 1, 1],
    [0.95598634, -0.27201283, -1.10674021],
    [0.6208248, -0.64720424, 1.70423049],
]
_YUV = [
    [0.299, -0.14714119, 0.61497538],
    [0.587, -0.28886916, -0.51496512],
    [0.114, 0.43601035, -0.10001026],
]
_FROM_YUV = [[1, 1, 1], [0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0]]


def _by_matrix(public: str, matrix: list, doc: str) -> None:
    def function(images):
        images = convert_to_tensor(images, name="images")
        kernel = convert_to_tensor(matrix, dtype=images.dtype.base_dtype, name="kernel")
        ndims = len(images._dims)
        return find("", "tensordot", "tf")(images, kernel, axes=[[ndims - 1], [0]])

    function.__name__ = function.__qualname__ = public
    function.__doc__ = doc
    export(f"image.{public}")(function)


_by_matrix("rgb_to_yiq", _YIQ, "Converts RGB images to YIQ.")
_by_matrix("yiq_to_rgb", _FROM_YIQ, "Converts YIQ images to RGB.")
_by_matrix("rgb_to_yuv", _YUV, "Converts RGB images to YUV.")
_by_matrix("yuv_to_rgb", _FROM_YUV, "Converts YUV images to RGB.")
