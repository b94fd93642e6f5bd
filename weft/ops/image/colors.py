"""Colour spaces, and the adjustments of hue, saturation and contrast."""

from __future__ import annotations

import numpy as np

from weft.framework.registry import op
from weft.framework.shape_rules import Shape, fail, rank_at_least, scalar
from weft.ops.by_name import raw

_FLOATS = "T: type in {half, bfloat16, float, double} = float"


def _three_channels(images: Shape) -> Shape:
    images = rank_at_least(images, 1, "images")
    if images is not None and images[-1] not in (None, 3):
        fail("The last dimension must be 3, the channels of an image", images)
    return images if images is None else (*images[:-1], 3)


def _to_hsv(xp, images):
    r, g, b = images[..., 0], images[..., 1], images[..., 2]
    value = xp.maximum(xp.maximum(r, g), b)
    spread = value - xp.minimum(xp.minimum(r, g), b)
    one = images.dtype.type(1)
    saturation = xp.where(value > 0, spread / xp.where(value > 0, value, one), 0 * value)
    norm = one / (6 * xp.where(spread > 0, spread, one))
    # As TensorFlow: red decides before green, green before blue.
    hue = xp.where(r == value, norm * (g - b), norm * (r - g) + images.dtype.type(4.0 / 6.0))
    hue = xp.where((g == value) & (r != value), norm * (b - r) + images.dtype.type(2.0 / 6.0), hue)
    hue = xp.where(spread > 0, hue, 0 * hue)
    hue = xp.where(hue < 0, hue + one, hue)
    return xp.stack([hue, saturation, value], axis=-1).astype(images.dtype)


def _from_hsv(xp, images):
    hue, saturation, value = images[..., 0], images[..., 1], images[..., 2]
    one, zero = images.dtype.type(1), images.dtype.type(0)
    h6 = hue * 6
    clip = lambda x: xp.minimum(xp.maximum(x, zero), one)  # noqa: E731
    dr = clip(xp.abs(h6 - 3) - one)
    dg = clip(-xp.abs(h6 - 2) + images.dtype.type(2))
    db = clip(-xp.abs(h6 - 4) + images.dtype.type(2))
    rest = one - saturation
    channels = [(rest + saturation * d) * value for d in (dr, dg, db)]
    return xp.stack(channels, axis=-1).astype(images.dtype)


@op("RGBToHSV", "images: T -> output: T", _FLOATS)
def rgb_to_hsv_op(xp, images):
    """Hue, saturation and value of red, green and blue."""
    return _to_hsv(xp, images)


@op("HSVToRGB", "images: T -> output: T", _FLOATS)
def hsv_to_rgb_op(xp, images):
    """Red, green and blue of hue, saturation and value."""
    return _from_hsv(xp, images)


rgb_to_hsv_op.shape(_three_channels)
hsv_to_rgb_op.shape(_three_channels)
hsv_to_rgb_op.not_differentiable()


@rgb_to_hsv_op.gradient
def _(op, grad):
    """The derivative of each of hue, saturation and value where it is defined, and 0 where it is not."""
    images = op.inputs[0]
    dtype = images.dtype.base_dtype
    reds, greens, blues = raw.Unpack(images, num=3, axis=-1)
    _, saturation, value = raw.Unpack(op.outputs[0], num=3, axis=-1)
    d_hue, d_saturation, d_value = raw.Unpack(grad, num=3, axis=-1)

    def number(condition):
        return raw.Cast(condition, DstT=dtype)

    def divide(x, y):
        return raw.DivNoNan(x, y)

    red_first = number(
        raw.LogicalAnd(raw.GreaterEqual(reds, blues), raw.GreaterEqual(reds, greens))
    )
    green_first = number(raw.LogicalAnd(raw.Greater(greens, reds), raw.GreaterEqual(greens, blues)))
    blue_first = number(raw.LogicalAnd(raw.Greater(blues, reds), raw.Greater(blues, greens)))
    red_last = number(raw.LogicalAnd(raw.Less(reds, blues), raw.Less(reds, greens)))
    green_last = number(raw.LogicalAnd(raw.LessEqual(greens, reds), raw.Less(greens, blues)))
    blue_last = number(raw.LogicalAnd(raw.LessEqual(blues, reds), raw.LessEqual(blues, greens)))
    # value: the greatest channel
    dv = [red_first, green_first, blue_first]
    # saturation = 1 - least / greatest
    least = raw.Minimum(raw.Minimum(reds, greens), blues)
    ds_greatest = divide(least, raw.Square(value))
    ds_least = raw.Neg(divide(raw.OnesLike(value), value))
    last = [red_last, green_last, blue_last]
    # As TensorFlow: nothing flows into a channel that is 0.
    ds = [
        raw.Mul(
            number(raw.Greater(channel, raw.ZerosLike(channel))),
            raw.Add(raw.Mul(first, ds_greatest), raw.Mul(low, ds_least)),
        )
        for channel, first, low in zip((reds, greens, blues), dv, last)
    ]
    # hue, in sixths: (difference of the other two) / (greatest - least)
    spread = raw.Mul(saturation, value)
    square = raw.Square(spread)
    six = raw.Cast(raw.OnesLike(reds), DstT=dtype)
    sixth = raw.Mul(six, raw.Cast(np.float32(1.0 / 6.0), DstT=dtype))
    channels = [reds, greens, blues]
    dh = []
    for j in range(3):
        total = None
        for i, first in enumerate(dv):
            a, b = channels[(i + 1) % 3], channels[(i + 2) % 3]
            difference = raw.Sub(a, b)
            # d(difference / spread) = d difference / spread - difference * d spread / spread^2
            own = 1.0 if j == (i + 1) % 3 else -1.0 if j == (i + 2) % 3 else 0.0
            part = raw.Mul(
                divide(raw.OnesLike(spread), spread), raw.Cast(np.float32(own), DstT=dtype)
            )
            d_spread = raw.Sub(raw.OnesLike(spread) if i == j else raw.ZerosLike(spread), last[j])
            part = raw.Sub(part, divide(raw.Mul(difference, d_spread), square))
            part = raw.Mul(first, part)
            total = part if total is None else raw.Add(total, part)
        dh.append(raw.Mul(total, sixth))
    grads = []
    for j in range(3):
        grads.append(
            raw.Add(
                raw.Add(raw.Mul(d_value, dv[j]), raw.Mul(d_saturation, ds[j])),
                raw.Mul(d_hue, dh[j]),
            )
        )
    return raw.Pack(grads, axis=-1)


def _image_and_scalar(images, number):
    scalar(number, "the amount")
    return rank_at_least(images, 3, "images")


# Channels are 0 where they are the greatest, 1 in the middle, 2 where the least.
_CHANNELS_BY_SECTOR = ((0, 1, 2), (1, 0, 2), (2, 0, 1), (2, 1, 0), (1, 2, 0), (0, 2, 1))


@op("AdjustHue", "images: T, delta: float -> output: T", "T: type in {half, float} = float")
def adjust_hue_op(xp, images, delta):
    """Turns the hue of RGB images by a part of the circle."""
    x = images.astype(np.float32)
    r, g, b = x[..., 0], x[..., 1], x[..., 2]
    high = xp.maximum(xp.maximum(r, g), b)
    low = xp.minimum(xp.minimum(r, g), b)
    middle = xp.where(
        (r >= g) != (r > b), r, xp.where((g > r) != (g > b), g, b)
    )  # of equal ones it does not matter which
    sector = xp.where(
        r < g,
        xp.where(b < r, 1, xp.where(b > g, 3, 2)),
        xp.where(b < g, 0, xp.where(b > r, 4, 5)),
    )
    grey = high == low
    part = (middle - low) / xp.where(grey, np.float32(1), high - low)
    hue = sector + xp.where(sector % 2 == 0, part, 1 - part)
    hue = xp.where(grey, 0, hue).astype(np.float32) + delta * np.float32(6)
    hue = hue - 6 * xp.floor(hue / 6)
    hue = xp.where(hue >= 6, hue - 6, hue)
    sector = xp.floor(hue).astype(np.int32)
    part = hue - sector
    middle = low + xp.where(sector % 2 == 0, part, 1 - part) * (high - low)
    levels = xp.stack([high, middle, low], axis=-1).astype(np.float32)
    # Which of the three each channel gets, in each sixth of the circle
    order = xp.asarray(np.array(_CHANNELS_BY_SECTOR, np.int32))[sector]
    return xp.take_along_axis(levels, order, axis=-1).astype(images.dtype)


@op("AdjustSaturation", "images: T, scale: float -> output: T", "T: type in {half, float} = float")
def adjust_saturation_op(xp, images, scale):
    """Scales the saturation of RGB images."""
    hsv = _to_hsv(xp, images.astype(np.float32))
    scaled = xp.minimum(xp.maximum(hsv[..., 1:2] * scale.astype(np.float32), 0), 1)
    return _from_hsv(
        xp, xp.concatenate([hsv[..., :1], scaled.astype(np.float32), hsv[..., 2:]], axis=-1)
    ).astype(images.dtype)


def _colour_shape(images, number):
    images = _image_and_scalar(images, number)
    return _three_channels(images)


adjust_hue_op.shape(_colour_shape)
adjust_saturation_op.shape(_colour_shape)


@op(
    "AdjustContrastv2",
    "images: T, contrast_factor: float -> output: T",
    "T: type in {half, float} = float",
)
def adjust_contrast_op(xp, images, contrast_factor):
    """Scales each channel's distance from its mean over the image."""
    x = images.astype(np.float32)
    mean = xp.mean(x, axis=(-3, -2), keepdims=True)
    return ((x - mean) * contrast_factor + mean).astype(images.dtype)


@adjust_contrast_op.shape
def _(images, contrast_factor):
    return _image_and_scalar(images, contrast_factor)


@op(
    "AdjustContrast",
    "images: T, contrast_factor: float, min_value: float, max_value: float -> output: float",
    "T: type in {uint8, int8, int16, int32, int64, float, double}",
)
def adjust_contrast_v1(xp, images, contrast_factor, min_value, max_value):
    """Scales each channel's distance from its mean over the image, within bounds."""
    x = images.astype(np.float32)
    mean = xp.mean(x, axis=(-3, -2), keepdims=True)
    return xp.clip((x - mean) * contrast_factor + mean, min_value, max_value).astype(np.float32)


@adjust_contrast_v1.shape
def _(images, contrast_factor, min_value, max_value):
    return _image_and_scalar(images, contrast_factor)
