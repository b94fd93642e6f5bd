"""Glimpses: windows of images around given points, with noise where they reach beyond."""

from __future__ import annotations

import numpy as np

from weft.framework.registry import op
from weft.framework.shape_rules import fail, merge_dim, rank


def _noise(kind: str, image: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """What a glimpse shows where there is no image. TensorFlow seeds it by nothing either."""
    if kind == "zero":
        return np.zeros(shape, np.float32)
    generator = np.random.default_rng()
    if kind == "uniform":
        low, high = image.min(), image.max()
        return low + generator.random(shape, np.float32) * (high - low)
    values = image.reshape(-1, image.shape[-1])
    drawn = values.mean(0) + generator.standard_normal(shape, np.float32) * values.std(0)
    return np.clip(drawn, values.min(0), values.max(0))


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
    out = np.empty((input.shape[0], *map(int, window), input.shape[3]), np.float32)
    if out.size == 0:
        return out
    for image, start, glimpse in zip(input, starts, out):
        low = np.maximum(start, 0)
        high = np.minimum(start + window, extent)
        if (start < 0).any() or (start + window >= extent).any():
            glimpse[...] = _noise(kind, image, glimpse.shape)
        if (high > low).all():
            source = tuple(slice(a, b) for a, b in zip(low, high))
            target = tuple(slice(a, b) for a, b in zip(low - start, high - start))
            glimpse[target] = image[source]
    return out


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
