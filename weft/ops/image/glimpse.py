"""Glimpses: windows of images around given points, with noise where they reach beyond."""

from __future__ import annotations

import numpy as np

from weft.framework.registry import op
from weft.framework.shape_rules import fail, merge_dim, rank


def _noise(kind: str, images: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """What glimpses show where there is no image. TensorFlow seeds it by nothing either."""
    if kind == "zero":
        return np.zeros(shape, np.float32)
    generator = np.random.default_rng()
    if kind == "uniform":
        low, high = (f(images, axis=(1, 2, 3), keepdims=True) for f in (np.min, np.max))
        return low + generator.random(shape, np.float32) * (high - low)
    low, high, mean, spread = (
        f(images, axis=(1, 2), keepdims=True) for f in (np.min, np.max, np.mean, np.std)
    )
    return np.clip(mean + generator.standard_normal(shape, np.float32) * spread, low, high)


def _kind(uniform_noise: bool, noise: str) -> str:
    if uniform_noise and noise not in ("", "uniform"):
        raise ValueError("The uniform_noise and noise could not be specified at the same time")
    if noise not in ("", "uniform", "gaussian", "zero"):
        raise ValueError(f"The noise could only be uniform, gaussian, or zero, got {noise}")
    return noise or ("uniform" if uniform_noise else "gaussian")


@op(
    "ExtractGlimpse",
    "input: float, size: int32, offsets: float -> glimpse: float",
    "centered: bool = true; normalized: bool = true; uniform_noise: bool = true; "
    'noise: string = "uniform"',
    host=True,
)
def extract_glimpse_op(xp, input, size, offsets, *, centered, normalized, uniform_noise, noise):
    """A window of each image around a point of it."""
    kind = _kind(uniform_noise, noise)
    extent = np.array(input.shape[1:3], np.int64)
    window = np.asarray(size, np.int64)
    if (window < 0).any():
        raise ValueError(f"Dimensions of a glimpse must be >= 0, got {window.tolist()}")
    at = offsets * extent.astype(np.float32) if normalized else offsets
    if centered:
        at = at / np.float32(2) + extent.astype(np.float32) / np.float32(2)
    at = at - window.astype(np.float32) / np.float32(2)
    limit = np.float32(2**40)  # far enough beyond any image
    # Cut towards zero, as a C++ cast does
    starts = np.trunc(np.nan_to_num(np.clip(at, -limit, limit))).astype(np.int64)
    shape = (input.shape[0], *map(int, window), input.shape[3])
    if 0 in shape or 0 in input.shape:
        return np.zeros(shape, np.float32)
    rows, columns = (starts[:, i, None] + np.arange(window[i]) for i in (0, 1))
    inside = ((rows >= 0) & (rows < extent[0]))[:, :, None] & (
        (columns >= 0) & (columns < extent[1])
    )[:, None, :]
    rows, columns = np.clip(rows, 0, extent[0] - 1), np.clip(columns, 0, extent[1] - 1)
    seen = input[np.arange(len(input))[:, None, None], rows[:, :, None], columns[:, None, :]]
    if inside.all():
        return seen
    return np.where(inside[..., None], seen, _noise(kind, input, shape)).astype(np.float32)


@extract_glimpse_op.shape
def _(input, size, offsets, *, uniform_noise, noise, const):
    input = rank(input, 4, "input")
    offsets = rank(offsets, 2, "offsets")
    batch = merge_dim(input[0], offsets[0], "as many images as offsets")
    if offsets[1] not in (None, 2):
        fail("offsets must have two columns, y and x", offsets)
    size = rank(size, 1, "size")
    if size[0] not in (None, 2):
        fail("size must be height and width", size)
    if uniform_noise and noise not in ("", "uniform"):
        fail("The uniform_noise and noise should not be specified at the same time")
    value = const("size")
    height, width = (None, None) if value is None else map(int, value)
    return (batch, height, width, input[3])


extract_glimpse_op.not_differentiable()
