"""Convolution of an image that is mirrored at its edges, or resized first: two ops that
TensorFlow's graph transformer for phones writes."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework.registry import op
from weft.framework.shape_rules import Shape, rank
from weft.ops.by_name import raw
from weft.ops.nn.conv import forward
from weft.ops.nn.layout import convolution_shape

_ATTRS = (
    "mode: string in {REFLECT, SYMMETRIC}; strides: list(int); padding: string in {SAME, VALID}"
)
_TYPES = "T: type in {half, float, double}"


def _convolve(xp: Any, x: Any, paddings: Any, w: Any, mode: str, how: tuple) -> Any:
    mirror_pad = raw.MirrorPad.kernel
    assert mirror_pad is not None
    padded = mirror_pad(xp, x, paddings, mode=mode)
    return forward(xp, padded, w, how)


def _shape(name: str, x: Shape, paddings: Any, w: Shape, strides: Any, padding: str) -> Shape:
    x = rank(x, 4)
    if paddings is None:
        x = (None,) * 4
    else:
        added = np.asarray(paddings).sum(axis=1)
        x = tuple(None if n is None else n + int(more) for n, more in zip(x, added))
    return convolution_shape(name, x, w, strides, (1,) * 4, padding, (), "NHWC")


@op(
    "FusedPadConv2D",
    "input: T, paddings: int32, filter: T -> output: T",
    f"{_TYPES}; {_ATTRS}",
    static=("paddings",),
)
def fused_pad_conv2d(xp, input, paddings, filter, *, mode, strides, padding):
    """Conv2D of the mirrored input."""
    return _convolve(xp, input, paddings, filter, mode, (strides, (1,) * 4, padding, (), "NHWC"))


@fused_pad_conv2d.shape
def _(input, paddings, filter, *, strides, padding, const):
    return _shape("FusedPadConv2D", input, const("paddings"), filter, strides, padding)


@op(
    "FusedResizeAndPadConv2D",
    "input: T, size: int32, paddings: int32, filter: T -> output: T",
    f"{_TYPES}; resize_align_corners: bool = false; {_ATTRS}",
    static=("size", "paddings"),
)
def fused_resize_and_pad_conv2d(
    xp, input, size, paddings, filter, *, resize_align_corners, mode, strides, padding
):
    """Conv2D of the resized, then mirrored input."""
    resized = raw.ResizeBilinear.kernel(
        xp, input, size, align_corners=resize_align_corners, half_pixel_centers=False
    ).astype(input.dtype)
    return _convolve(xp, resized, paddings, filter, mode, (strides, (1,) * 4, padding, (), "NHWC"))


@fused_resize_and_pad_conv2d.shape
def _(input, size, paddings, filter, *, strides, padding, const):
    x = rank(input, 4)
    known = const.shape("size") or (None, None)
    x = (x[0], *known, x[3])
    return _shape("FusedResizeAndPadConv2D", x, const("paddings"), filter, strides, padding)
