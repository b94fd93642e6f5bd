"""Brightness, contrast, gamma, hue and saturation of images."""

from __future__ import annotations

from typing import Any

from weft.framework import dtypes
from weft.framework.conversion import convert_to_tensor
from weft.framework.export import export, find
from weft.framework.scopes import name_scope
from weft.images.checks import as_image, require, with_checks
from weft.images.spaces import convert_image_dtype
from weft.ops.by_name import raw


def _as_float(image: Any) -> tuple[Any, Any]:
    """The image as floats, and the dtype that it had."""
    original = image.dtype.base_dtype
    if original in (dtypes.float16, dtypes.float32):
        return image, original
    return convert_image_dtype(image, dtypes.float32), original


@export("image.adjust_brightness")
def adjust_brightness(image: Any, delta: Any) -> Any:
    """Adds a part of the range to all elements."""
    with name_scope(None, "adjust_brightness", [image, delta]) as scope:
        image = convert_to_tensor(image, name="image")
        x, original = _as_float(image)
        delta = raw.Cast(convert_to_tensor(delta), DstT=x.dtype.base_dtype)
        out = raw.Add(x, delta, name=scope)
        return convert_image_dtype(out, original, saturate=True)


@export("image.adjust_contrast")
def adjust_contrast(images: Any, contrast_factor: Any) -> Any:
    """Scales each channel's distance from its mean."""
    with name_scope(None, "adjust_contrast", [images, contrast_factor]) as scope:
        images = convert_to_tensor(images, name="images")
        x, original = _as_float(images)
        out = raw.AdjustContrastv2(x, contrast_factor=contrast_factor, name=scope)
        return convert_image_dtype(out, original, saturate=True)


@export("image.adjust_gamma")
def adjust_gamma(image: Any, gamma: Any = 1, gain: Any = 1) -> Any:
    """gain * image ** gamma, on images that stand for [0, 1]."""
    with name_scope(None, "adjust_gamma", [image, gamma, gain]):
        image = convert_to_tensor(image, name="image")
        x, original = _as_float(image)
        message = "Gamma should be a non-negative real number."
        if isinstance(gamma, (int, float)):
            check = require(bool(gamma >= 0), message)
        else:
            gamma = convert_to_tensor(gamma)
            check = require(raw.GreaterEqual(gamma, raw.ZerosLike(gamma)), message)
        gamma = raw.Cast(convert_to_tensor(gamma), DstT=x.dtype.base_dtype)
        gain = raw.Cast(convert_to_tensor(gain), DstT=x.dtype.base_dtype)
        gamma = with_checks([check], gamma)
        return convert_image_dtype(raw.Mul(gain, raw.Pow(x, gamma)), original, saturate=True)


@export("image.adjust_hue")
def adjust_hue(image: Any, delta: Any, name: str | None = None) -> Any:
    """Turns the hue of RGB images."""
    with name_scope(name, "adjust_hue", [image]):
        image = convert_to_tensor(image, name="image")
        x, original = _as_float(image)
        return convert_image_dtype(raw.AdjustHue(x, delta), original)


@export("image.adjust_saturation")
def adjust_saturation(image: Any, saturation_factor: Any, name: str | None = None) -> Any:
    """Scales the saturation of RGB images."""
    with name_scope(name, "adjust_saturation", [image]):
        image = convert_to_tensor(image, name="image")
        x, original = _as_float(image)
        return convert_image_dtype(raw.AdjustSaturation(x, saturation_factor), original)


@export("image.per_image_standardization")
def per_image_standardization(image: Any) -> Any:
    """Shifts and scales each image to mean 0 and variance 1; nearly uniform ones are not scaled up."""
    with name_scope(None, "per_image_standardization", [image]) as scope:
        image = as_image(image)
        x = raw.Cast(image, DstT=dtypes.float32)
        dims = image._dims
        if dims is not None and None not in dims[-3:]:
            count: Any = float(dims[-1] * dims[-2] * dims[-3])
        else:
            inner = raw.StridedSlice(raw.Shape(image), [-3], [0], [1], end_mask=1)
            count = raw.Cast(raw.Prod(inner, 0), DstT=dtypes.float32)
        mean = raw.Mean(x, [-1, -2, -3], keep_dims=True)
        shifted = raw.Sub(x, mean)
        variance = raw.Sub(raw.Mean(raw.Square(x), [-1, -2, -3], keep_dims=True), raw.Square(mean))
        deviation = raw.Sqrt(find("nn", "relu", "tf.nn")(variance))
        least = raw.Rsqrt(convert_to_tensor(count, dtype=dtypes.float32))
        out = raw.RealDiv(shifted, raw.Maximum(deviation, least), name=scope)
        return convert_image_dtype(out, image.dtype.base_dtype, saturate=True)
