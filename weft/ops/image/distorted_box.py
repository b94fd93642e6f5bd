"""Random crops of images that keep enough of some object: SampleDistortedBoundingBox."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from weft.framework.registry import op
from weft.framework.shape_rules import fail, rank, scalar
from weft.ops.random import philox
from weft.ops.random.counters import take

_F = np.float32


def _words(xp: Any, key: Any, counter: Any) -> Iterator[int]:
    """The words of the generator, one after the other."""
    first, count = 0, 64
    while True:
        index = np.arange(first, first + count, dtype=np.uint64)
        words = philox.words_at(xp, key, counter, index)
        yield from np.stack(words, -1).reshape(-1).tolist()
        first, count = first + count, count * 2


def _below(words: Iterator[int], n: int) -> int:
    """An integer in [0, n), as TensorFlow takes it from words."""
    if n & (n - 1) == 0:
        return next(words) & (n - 1)
    rejected = 0xFFFFFFFF % n + 1
    while (word := next(words)) < rejected:
        pass
    return word % n


def _unit(words: Iterator[int]) -> np.float32:
    """A float in [0, 1) of the low 23 bits of a word."""
    return _F(np.array(next(words) & 0x7FFFFF | 0x3F800000, np.uint32).view(_F)) - _F(1)


def _rounded(x: Any) -> int:
    return int(np.rint(_F(x)))


def _crop(
    words: Iterator[int], width: int, height: int, areas: Any, aspect: np.float32
) -> tuple[int, int, int, int] | None:
    """A crop of this proportion: left, top, right and bottom; None where there is none within the areas."""
    least, most = (_F(a) * _F(width) * _F(height) for a in areas)
    if most <= 0 or aspect <= 0 or width <= 0 or height <= 0 or areas[0] > areas[1]:
        return None
    tall = _rounded(np.sqrt(least / aspect))
    tallest = _rounded(np.sqrt(most / aspect))
    if _rounded(_F(tallest) * aspect) > width:
        tallest = int(_F(_F(width + 0.5 - 1e-7) / aspect))
    tallest = min(tallest, height)
    tall = min(tall, tallest)
    if tall < tallest:
        tall += _below(words, tallest - tall + 1)
    wide = _rounded(_F(tall) * aspect)
    if _F(wide * tall) < least:
        tall += 1
        wide = _rounded(_F(tall) * aspect)
    if _F(wide * tall) > most:
        tall -= 1
        wide = _rounded(_F(tall) * aspect)
    if not least <= _F(wide * tall) <= most or not (0 < wide <= width and 0 < tall <= height):
        return None
    top = _below(words, height - tall) if tall < height else 0
    left = _below(words, width - wide) if wide < width else 0
    return left, top, left + wide, top + tall


def _covers(crop: tuple[int, int, int, int], boxes: np.ndarray, least: float) -> bool:
    """Whether a crop has at least this part of some box."""
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    low = np.maximum(boxes[:, :2], crop[:2])
    high = np.minimum(boxes[:, 2:], crop[2:])
    shared = np.where((low > high).any(1), 0, (high - low).prod(1))
    there = areas >= 1
    parts = shared.astype(_F) / np.where(there, areas, 1).astype(_F)
    return bool((there & (parts >= _F(least))).any())


def _sample(
    ctx: Any,
    image_size: np.ndarray,
    boxes: np.ndarray,
    least: Any,
    aspects: Any,
    areas: Any,
    attempts: int,
    whole: bool,
    seeds: tuple[int, int],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    _check(least, aspects, areas, attempts)
    height, width = (int(d) for d in image_size[:2])
    for what, size in (("height", height), ("width", width)):
        if not 0 <= size < 2**31 - 1:
            raise ValueError(f"image {what} cannot be >= int32 max")
    boxes = boxes.reshape(-1, 4)
    if not ((boxes >= 0) & (boxes <= 1)).all():
        wrong = boxes[~((boxes >= 0) & (boxes <= 1))][0]
        raise ValueError(f"All bounding box coordinates must be in [0.0, 1.0]: {wrong}")
    scale = np.array([width, height, width, height], _F)
    pixels = (boxes[:, [1, 0, 3, 2]] * scale).astype(np.int64)
    if not len(pixels):
        if not whole:
            raise ValueError(
                "No bounding boxes provided as input. One must enable use_image_if_no_bounding_boxes if "
                "you wish to not provide any bounding boxes."
            )
        pixels = np.array([[0, 0, width, height]])
    words = _words(ctx.xp, *take(ctx, *seeds, attempts))
    low, high = (_F(a) for a in aspects)
    chosen = (0, 0, width, height)
    for _ in range(attempts):
        crop = _crop(words, width, height, areas, _unit(words) * (high - low) + low)
        if crop is not None and _covers(crop, pixels, float(least)):
            chosen = crop
            break
    left, top, right, bottom = chosen
    dtype = image_size.dtype
    begin = np.array([top, left, 0]).astype(dtype)
    extent = np.array([bottom - top, right - left, -1]).astype(dtype)
    with np.errstate(all="ignore"):
        box = np.array([top, left, bottom, right], _F) / np.array([height, width] * 2, _F)
    return begin, extent, box.reshape(1, 1, 4)


def _check(least: Any, aspects: Any, areas: Any, attempts: int) -> None:
    if not float(least) >= 0:
        raise ValueError(f"Min object covered must be non-negative: {least}")
    if len(aspects) != 2:
        raise ValueError("Aspect ratio range field must specify 2 dimensions")
    if not all(a > 0 for a in aspects):
        raise ValueError(f"Aspect ratio range must be non-negative: {list(aspects)}")
    if len(areas) != 2:
        raise ValueError("Area range field must specify 2 dimensions")
    if not all(a > 0 for a in areas):
        raise ValueError(f"Area range must be non-negative: {list(areas)}")
    if not all(a <= 1 for a in areas):
        raise ValueError(f"Area range must be less then or equal to 1.0: {list(areas)}")
    if attempts <= 0:
        raise ValueError(f"Max attempts must be non-negative: {attempts}")


_ATTRS = (
    "aspect_ratio_range: list(float) = [0.75, 1.33]; area_range: list(float) = [0.05, 1.0]; "
    "max_attempts: int = 100; use_image_if_no_bounding_boxes: bool = false"
)
_T = "T: type in {uint8, int8, int16, int32, int64}; seed: int = 0; seed2: int = 0"


@op(
    "SampleDistortedBoundingBox",
    "image_size: T, bounding_boxes: float -> begin: T, size: T, bboxes: float",
    f"{_T}; min_object_covered: float = 0.1; {_ATTRS}",
    stateful=True,
    host=True,
)
def sample_distorted_bounding_box_v1(
    ctx,
    image_size,
    bounding_boxes,
    *,
    seed,
    seed2,
    min_object_covered,
    aspect_ratio_range,
    area_range,
    max_attempts,
    use_image_if_no_bounding_boxes,
):
    """A random crop, as begin and size of a slice and as a box, that keeps enough of some box."""
    return _sample(
        ctx,
        image_size,
        bounding_boxes,
        min_object_covered,
        aspect_ratio_range,
        area_range,
        max_attempts,
        use_image_if_no_bounding_boxes,
        (seed, seed2),
    )


@op(
    "SampleDistortedBoundingBoxV2",
    "image_size: T, bounding_boxes: float, min_object_covered: float "
    "-> begin: T, size: T, bboxes: float",
    f"{_T}; {_ATTRS}",
    stateful=True,
    host=True,
)
def sample_distorted_bounding_box_v2(
    ctx,
    image_size,
    bounding_boxes,
    min_object_covered,
    *,
    seed,
    seed2,
    aspect_ratio_range,
    area_range,
    max_attempts,
    use_image_if_no_bounding_boxes,
):
    """A random crop, as begin and size of a slice and as a box, that keeps enough of some box."""
    return _sample(
        ctx,
        image_size,
        bounding_boxes,
        min_object_covered,
        aspect_ratio_range,
        area_range,
        max_attempts,
        use_image_if_no_bounding_boxes,
        (seed, seed2),
    )


def _shape(image_size, boxes):
    image_size = rank(image_size, 1, "image_size")
    if image_size[0] not in (None, 3):
        fail("image_size must contain 3 elements", image_size)
    boxes = rank(boxes, 3, "bounding_boxes")
    if boxes[2] not in (None, 4):
        fail("bounding boxes must have 4 coordinates", boxes)
    return (3,), (3,), (1, 1, 4)


@sample_distorted_bounding_box_v1.shape
def _(image_size, bounding_boxes):
    return _shape(image_size, bounding_boxes)


@sample_distorted_bounding_box_v2.shape
def _(image_size, bounding_boxes, min_object_covered):
    scalar(min_object_covered, "min_object_covered")
    return _shape(image_size, bounding_boxes)


sample_distorted_bounding_box_v1.not_differentiable()
sample_distorted_bounding_box_v2.not_differentiable()
