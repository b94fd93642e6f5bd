"""Random changes of images, for training on more than there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.framework import context
from weft.framework.conversion import convert_to_tensor
from weft.framework.export import export, find
from weft.framework.scopes import name_scope
from weft.images import adjust
from weft.images.checks import as_image
from weft.ops.by_name import raw


def _uniform(shape: Any, low: Any, high: Any, seed: Any) -> Any:
    return find("", "random_uniform", "tf")(shape, low, high, seed=seed)


def _random_flip(image: Any, axis: int, seed: Any, scope_name: str) -> Any:
    with name_scope(None, scope_name, [image]) as scope:
        image = as_image(image)
        dims = image._dims
        if dims is not None and len(dims) == 4:
            n = (
                dims[0]
                if dims[0] is not None
                else raw.StridedSlice(raw.Shape(image), [0], [1], [1], shrink_axis_mask=1)
            )
            uniform = _uniform([n], 0, 1.0, seed)
            flips = raw.Round(raw.Reshape(uniform, raw.Pack([n, 1, 1, 1])))
            flips = raw.Cast(flips, DstT=image.dtype.base_dtype)
            flipped = raw.ReverseV2(image, [axis + 1])
            one = convert_to_tensor(1, dtype=image.dtype.base_dtype)
            return raw.Add(raw.Mul(flips, flipped), raw.Mul(raw.Sub(one, flips), image))
        if dims is not None and len(dims) != 3:
            raise ValueError(f"'image' (shape {image.shape}) must have either 3 or 4 dimensions.")
        mirror = raw.Less(_uniform([], 0, 1.0, seed), 0.5)
        out = find("", "cond", "tf")(
            mirror,
            lambda: raw.ReverseV2(image, [axis]),
            lambda: raw.Identity(image),
            name=scope or None,
        )
        if not context.executing_eagerly():
            out.set_shape([None] * 3 if dims is None else dims)
        return out


@export("image.random_flip_left_right")
def random_flip_left_right(image: Any, seed: Any = None) -> Any:
    """Flips an image, or each of a batch, horizontally every second time."""
    return _random_flip(image, 1, seed, "random_flip_left_right")


@export("image.random_flip_up_down")
def random_flip_up_down(image: Any, seed: Any = None) -> Any:
    """Flips an image, or each of a batch, vertically every second time."""
    return _random_flip(image, 0, seed, "random_flip_up_down")


@export("image.random_brightness")
def random_brightness(image: Any, max_delta: float, seed: Any = None) -> Any:
    """Adds a random part of the range, up to `max_delta`, to all elements."""
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust.adjust_brightness(image, _uniform([], -max_delta, max_delta, seed))


@export("image.random_contrast")
def random_contrast(image: Any, lower: float, upper: float, seed: Any = None) -> Any:
    """Scales the contrast by a random factor."""
    _bounds(lower, upper)
    return adjust.adjust_contrast(image, _uniform([], lower, upper, seed))


@export("image.random_saturation")
def random_saturation(image: Any, lower: float, upper: float, seed: Any = None) -> Any:
    """Scales the saturation by a random factor."""
    _bounds(lower, upper)
    return adjust.adjust_saturation(image, _uniform([], lower, upper, seed))


@export("image.random_hue")
def random_hue(image: Any, max_delta: float, seed: Any = None) -> Any:
    """Turns the hue by a random part of the circle."""
    if max_delta > 0.5:
        raise ValueError("max_delta must be <= 0.5.")
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust.adjust_hue(image, _uniform([], -max_delta, max_delta, seed))


def _bounds(lower: float, upper: float) -> None:
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")


Function = Callable[..., Any]
