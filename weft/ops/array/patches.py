"""Windows of images and volumes, one beside the other: ExtractImagePatches, ExtractVolumePatches."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.shape_rules import Shape, ShapeError, rank
from weft.ops.array import shape_of
from weft.ops.array.boxes import cut
from weft.ops.array.concat import concat
from weft.ops.array.fill import zero_of
from weft.ops.array.pad import padded
from weft.ops.array.reshape import reshape
from weft.ops.array.transpose import transpose
from weft.ops.by_name import raw

_TYPES = "type in {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}"


def _windows(size: int, window: int, stride: int, padding: str) -> tuple[int, int, int]:
    """(number of windows, padding before, padding after) along one dimension."""
    if padding == "SAME":
        n = -(-size // stride)
        needed = max(0, (n - 1) * stride + window - size)
        return n, needed // 2, needed - needed // 2
    n = -(-(size - window + 1) // stride)
    if n < 0:
        raise ShapeError(f"A window of {window} does not fit into {size} elements")
    return n, 0, 0


def _inner(name: str, values: list[int], n: int) -> list[int]:
    if len(values) != n + 2:
        raise ShapeError(f"ExtractPatches requires {name} to have {n + 2} elements, got {values}")
    if values[0] != 1 or values[-1] != 1:
        raise ShapeError(f"Only support {name} across space; first and last must be 1: {values}")
    return values[1:-1]


def _extracted(xp: Any, x: Any, windows: list, strides: list, rates: list, padding: str) -> Any:
    """Patches of an array [batch, space..., channels]."""
    m = len(windows)
    found = []
    widths = [(0, 0)]
    for d, k, s, r in zip(x.shape[1:], windows, strides, rates):
        n, before, after = _windows(d, k + (k - 1) * (r - 1), s, padding)
        found.append((n, k, s, r))
        widths.append((before, after))
    if any(a or b for a, b in widths):
        x = padded(xp, x, [*widths, (0, 0)], zero_of(x.dtype))
    depth = math.prod(windows) * x.shape[-1]
    final = (x.shape[0], *[n for n, *_ in found], depth)
    if 0 in final:
        return xp.zeros(final, x.dtype)
    if not isinstance(x, np.ndarray):  # one strided slice for each position in a window
        parts = []
        for offset in itertools.product(*[range(k) for _, k, _, _ in found]):
            space = [(o * r, n, s) for o, (n, _, s, r) in zip(offset, found)]
            parts.append(cut(xp, x, [(0, x.shape[0], 1), *space, (0, x.shape[-1], 1)]))
        return xp.concatenate(parts, -1)
    wide = [k + (k - 1) * (r - 1) for _, k, _, r in found]
    view = np.lib.stride_tricks.sliding_window_view(x, wide, tuple(range(1, m + 1)))
    starts = [slice(0, (n - 1) * s + 1 if n else 0, s) for n, _, s, _ in found]
    inside = [slice(None, None, r) for *_, r in found]
    view = view[(slice(None), *starts, slice(None), *inside)]
    return np.moveaxis(view, m + 1, -1).reshape(final)


def _patch_shape(input: Shape, windows: list, strides: list, rates: list, padding: str) -> Shape:
    m = len(windows)
    input = rank(input, m + 2, "input")
    assert input is not None
    space = [
        None if d is None else _windows(d, k + (k - 1) * (r - 1), s, padding)[0]
        for d, k, s, r in zip(input[1:], windows, strides, rates)
    ]
    depth = None if input[-1] is None else int(np.prod(windows)) * input[-1]
    return (input[0], *space, depth)


def _gradient(op: Any, grad: Any, windows: list[int], patches_of: Any) -> Any:
    """Adds the gradient of each patch to the pixels it was taken from.

    An image whose pixels are their own numbers, from 1, tells where each element of a patch came from;
    0 is the padding.
    """
    m = len(windows)
    shape = shape_of.shape(op.inputs[0])
    count = raw.Prod(shape[1:-1], np.array([0], np.int32))
    one = np.array([1], np.int32)
    numbers = raw.Range(np.int32(1), count + 1, np.int32(1))
    numbers = reshape(numbers, concat([one, shape[1:-1], one], 0))
    source = reshape(patches_of(numbers), [-1])
    out = shape_of.shape(op.outputs[0])
    channels = shape[-1:]
    size = np.array(windows, np.int32)
    split = reshape(grad, concat([out[:-1], size, channels], 0))
    moved = transpose(split, [*range(1, 2 * m + 1), 0, 2 * m + 1])
    flat = reshape(moved, concat([np.array([-1], np.int32), shape[:1] * channels], 0))
    summed = raw.UnsortedSegmentSum(flat, source, count + 1)[1:]
    image = reshape(summed, concat([shape[1:-1], shape[:1], channels], 0))
    found = transpose(image, [m, *range(m), m + 1])
    found.set_shape(op.inputs[0].shape)
    return found


@op(
    "ExtractImagePatches",
    "images: T -> patches: T",
    "ksizes: list(int) >= 4; strides: list(int) >= 4; rates: list(int) >= 4; "
    f"T: {_TYPES}; padding: string in {{SAME, VALID}}",
)
def extract_image_patches_op(xp, images, *, ksizes, strides, rates, padding):
    """The windows of images, each put into the channels of one pixel."""
    args = _inner("ksizes", ksizes, 2), _inner("strides", strides, 2), _inner("rates", rates, 2)
    return _extracted(xp, images, *args, padding)


@extract_image_patches_op.shape
def _(images, *, ksizes, strides, rates, padding):
    args = _inner("ksizes", ksizes, 2), _inner("strides", strides, 2), _inner("rates", rates, 2)
    return _patch_shape(images, *args, padding)


@extract_image_patches_op.gradient
def _(op, grad):
    attrs = {n: op.get_attr(n) for n in ("ksizes", "strides", "rates", "padding")}
    return _gradient(
        op, grad, attrs["ksizes"][1:-1], lambda x: extract_image_patches_op(x, **attrs)
    )


@export("extract_image_patches", "image.extract_image_patches")
def extract_image_patches(
    images: Any,
    ksizes: Any = None,
    strides: Any = None,
    rates: Any = None,
    padding: Any = None,
    name: str | None = None,
    sizes: Any = None,
) -> Any:
    """Returns the windows of images, each put into the channels of one pixel."""
    if sizes is not None:
        if ksizes is not None:
            raise ValueError("Cannot specify both 'ksizes' and 'sizes'")
        ksizes = sizes
    return extract_image_patches_op(
        images, ksizes=ksizes, strides=strides, rates=rates, padding=padding, name=name
    )


@export("image.extract_patches")
def extract_patches(
    images: Any, sizes: Any, strides: Any, rates: Any, padding: Any, name: str | None = None
) -> Any:
    """Returns the windows of images, each put into the channels of one pixel."""
    return extract_image_patches(images, sizes, strides, rates, padding, name)


@op(
    "ExtractVolumePatches",
    "input: T -> patches: T",
    f"ksizes: list(int) >= 5; strides: list(int) >= 5; T: {_TYPES}; padding: string in {{SAME, VALID}}",
)
def extract_volume_patches_op(xp, input, *, ksizes, strides, padding):
    """The windows of volumes, each put into the channels of one voxel."""
    args = _inner("ksizes", ksizes, 3), _inner("strides", strides, 3), [1, 1, 1]
    return _extracted(xp, input, *args, padding)


@extract_volume_patches_op.shape
def _(input, *, ksizes, strides, padding):
    args = _inner("ksizes", ksizes, 3), _inner("strides", strides, 3), [1, 1, 1]
    return _patch_shape(input, *args, padding)


@extract_volume_patches_op.gradient
def _(op, grad):
    attrs = {n: op.get_attr(n) for n in ("ksizes", "strides", "padding")}
    return _gradient(
        op, grad, attrs["ksizes"][1:-1], lambda x: extract_volume_patches_op(x, **attrs)
    )


@export("extract_volume_patches")
def extract_volume_patches(
    input: Any, ksizes: Any, strides: Any, padding: Any, name: str | None = None
) -> Any:
    """Returns the windows of volumes, each put into the channels of one voxel."""
    return extract_volume_patches_op(
        input, ksizes=ksizes, strides=strides, padding=padding, name=name
    )
