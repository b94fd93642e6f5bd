"""Flipping, turning, cutting out and padding images."""

from __future__ import annotations

from typing import Any

from weft.framework import dtypes
from weft.framework.constant_value import constant_value
from weft.framework.conversion import convert_to_tensor
from weft.framework.export import export, find
from weft.framework.scopes import name_scope
from weft.images.checks import as_image, batched, known, require, sizes, with_checks
from weft.ops.by_name import raw


def _flip(image: Any, axis: int, scope: str) -> Any:
    with name_scope(None, scope, [image]):
        image = as_image(image)
        ndims = _rank(image)
        if ndims == 3:
            return _same_shape(raw.ReverseV2(image, [axis]), image)
        if ndims == 4:
            return _same_shape(raw.ReverseV2(image, [axis + 1]), image)
        raise ValueError(f"'image' (shape {image.shape})must have either 3 or 4 dimensions.")


def _rank(image: Any) -> int:
    """The number of axes; an image of unknown rank is one image, not a batch."""
    return 3 if image._dims is None else len(image._dims)


def _same_shape(result: Any, image: Any) -> Any:
    result.set_shape([None] * 3 if image._dims is None else image.shape)
    return result


@export("image.flip_left_right")
def flip_left_right(image: Any) -> Any:
    """Flips an image, or each of a batch, horizontally."""
    return _flip(image, 1, "flip_left_right")


@export("image.flip_up_down")
def flip_up_down(image: Any) -> Any:
    """Flips an image, or each of a batch, vertically."""
    return _flip(image, 0, "flip_up_down")


@export("image.transpose", "image.transpose_image")
def transpose(image: Any, name: str | None = None) -> Any:
    """Swaps rows and columns of an image, or of each of a batch."""
    with name_scope(name, "transpose", [image]):
        image = as_image(image)
        ndims = _rank(image)
        if ndims == 3:
            return raw.Transpose(image, [1, 0, 2], name=name)
        if ndims == 4:
            return raw.Transpose(image, [0, 2, 1, 3], name=name)
        raise ValueError(f"'image' (shape {image.shape})must have either 3 or 4 dimensions.")


@export("image.rot90")
def rot90(image: Any, k: Any = 1, name: str | None = None) -> Any:
    """Turns an image, or each of a batch, by k quarter turns against the clock."""
    with name_scope(name, "rot90", [image, k]) as scope:
        image = as_image(image)
        k = convert_to_tensor(k, dtype=dtypes.int32, name="k")
        k.get_shape().assert_has_rank(0)
        k = raw.FloorMod(k, 4)
        ndims = _rank(image)
        if ndims not in (3, 4):
            raise ValueError(f"'image' (shape {image.shape}) must have either 3 or 4 dimensions.")
        return _turned(image, k, ndims - 3, scope)


def _turned(image: Any, k: Any, first: int, name: str | None) -> Any:
    order = [1, 0, 2] if first == 0 else [0, 2, 1, 3]
    rows, columns = [first], [first + 1]
    flip = raw.ReverseV2

    turns = [
        lambda: raw.Identity(image),
        lambda: raw.Transpose(flip(image, columns), order),
        lambda: flip(image, rows + columns),
        lambda: flip(raw.Transpose(image, order), columns),
    ]
    exact = constant_value(k)
    if exact is not None:
        return turns[int(exact)]()
    branch = find("", "switch_case", "tf")(k, dict(enumerate(turns)))
    shape = [None] * 3 if image._dims is None else list(image._dims)
    shape[first] = shape[first + 1] = None
    branch.set_shape(shape)
    return branch


@export("image.central_crop")
def central_crop(image: Any, central_fraction: float) -> Any:
    """Returns the middle of an image, or of each of a batch: a fraction of its height and width."""
    with name_scope(None, "central_crop", [image]):
        image = convert_to_tensor(image, name="image")
        if central_fraction <= 0.0 or central_fraction > 1.0:
            raise ValueError("central_fraction must be within (0, 1]")
        if central_fraction == 1.0:
            return image
        image = as_image(image)
        dims = image._dims
        if dims is None or len(dims) not in (3, 4):
            ndims = None if dims is None else len(dims)
            raise ValueError(
                f"`image` should either be a Tensor with rank = 3 or rank = 4. Had rank = {ndims}."
            )
        first = len(dims) - 3
        actual = sizes(image, len(dims))
        begin: list[Any] = [0] * len(dims)
        size: list[Any] = [-1] * len(dims)
        shape = list(dims)
        for axis in (first, first + 1):
            n = actual[axis]
            if known(n) is not None:
                start: Any = int((float(n) - float(n) * central_fraction) / 2)
                shape[axis] = n - 2 * start
            else:
                wide = raw.Cast(n, DstT=dtypes.float64)
                half = raw.RealDiv(raw.Sub(wide, raw.Mul(wide, float(central_fraction))), 2.0)
                start = raw.Cast(half, DstT=dtypes.int32)
                shape[axis] = None
            begin[axis] = start
            size[axis] = n - start * 2
        out = raw.Slice(image, _vector(begin), _vector(size))
        out.set_shape(shape)
        return out


def _vector(items: list[Any]) -> Any:
    """Numbers and scalar tensors as a vector."""
    return find("", "stack", "tf")(items)


@export("image.crop_to_bounding_box")
def crop_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Any:
    """Returns the part of an image, or of each of a batch, that begins at an offset and has a size."""
    with name_scope(None, "crop_to_bounding_box", [image]):
        image = convert_to_tensor(image, name="image")
        image, is_batch = batched(image)
        image = as_image(image)
        _, height, width, _ = sizes(image, 4)
        checks = [
            require(_at_least(offset_width, 0), "offset_width must be >= 0."),
            require(_at_least(offset_height, 0), "offset_height must be >= 0."),
            require(_more_than(target_width, 0), "target_width must be > 0."),
            require(_more_than(target_height, 0), "target_height must be > 0."),
            require(
                _at_least(width, target_width + offset_width), "width must be >= target + offset."
            ),
            require(
                _at_least(height, target_height + offset_height),
                "height must be >= target + offset.",
            ),
        ]
        image = with_checks(checks, image)
        begin = _vector([0, offset_height, offset_width, 0])
        size = _vector([-1, target_height, target_width, -1])
        out = raw.Slice(image, begin, size)
        out.set_shape([image._dims[0], known(target_height), known(target_width), image._dims[3]])
        return out if is_batch else raw.Squeeze(out, squeeze_dims=[0])


@export("image.pad_to_bounding_box")
def pad_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Any:
    """Returns an image, or each of a batch, set into zeros of a size at an offset."""
    with name_scope(None, "pad_to_bounding_box", [image]):
        image = convert_to_tensor(image, name="image")
        image, is_batch = batched(image)
        image = as_image(image)
        _, height, width, _ = sizes(image, 4)
        after_width = target_width - offset_width - width
        after_height = target_height - offset_height - height
        checks = [
            require(_at_least(offset_height, 0), "offset_height must be >= 0"),
            require(_at_least(offset_width, 0), "offset_width must be >= 0"),
            require(_at_least(after_width, 0), "width must be <= target - offset"),
            require(_at_least(after_height, 0), "height must be <= target - offset"),
        ]
        image = with_checks(checks, image)
        paddings = raw.Reshape(
            _vector([0, 0, offset_height, after_height, offset_width, after_width, 0, 0]), [4, 2]
        )
        out = raw.Pad(image, paddings)
        out.set_shape([image._dims[0], known(target_height), known(target_width), image._dims[3]])
        return out if is_batch else raw.Squeeze(out, squeeze_dims=[0])


def _alike(x: Any, y: Any) -> tuple[Any, Any]:
    """Two sizes as tensors of one dtype, the wider of theirs."""
    if hasattr(x, "_dims") and hasattr(y, "_dims") and x.dtype.base_dtype is not y.dtype.base_dtype:
        return raw.Cast(x, DstT=dtypes.int64), raw.Cast(y, DstT=dtypes.int64)
    if hasattr(x, "_dims"):
        return x, convert_to_tensor(y, dtype=x.dtype.base_dtype)
    y = convert_to_tensor(y)
    return convert_to_tensor(x, dtype=y.dtype.base_dtype), y


def _at_least(x: Any, y: Any) -> Any:
    if known(x) is not None and known(y) is not None:
        return x >= y
    return raw.GreaterEqual(*_alike(x, y))


def _more_than(x: Any, y: Any) -> Any:
    if known(x) is not None and known(y) is not None:
        return x > y
    return raw.Greater(*_alike(x, y))


def _greater_of(x: Any, y: Any) -> Any:
    if known(x) is not None and known(y) is not None:
        return max(x, y)
    return raw.Maximum(*_alike(x, y))


def _lesser_of(x: Any, y: Any) -> Any:
    if known(x) is not None and known(y) is not None:
        return min(x, y)
    return raw.Minimum(*_alike(x, y))


@export("image.resize_image_with_crop_or_pad", "image.resize_with_crop_or_pad")
def resize_image_with_crop_or_pad(image: Any, target_height: Any, target_width: Any) -> Any:
    """Brings an image, or each of a batch, to a size by cutting off or padding evenly on both sides."""
    with name_scope(None, "resize_image_with_crop_or_pad", [image]):
        image = convert_to_tensor(image, name="image")
        image, is_batch = batched(image)
        image = as_image(image)
        checks = [
            require(_more_than(target_width, 0), "target_width must be > 0."),
            require(_more_than(target_height, 0), "target_height must be > 0."),
        ]
        image = with_checks(checks, image)
        _, height, width, _ = sizes(image, 4)
        pad_width = _greater_of((target_width - width) // 2, 0)
        pad_height = _greater_of((target_height - height) // 2, 0)
        crop_width = _greater_of((width - target_width) // 2, 0)
        crop_height = _greater_of((height - target_height) // 2, 0)
        cropped = crop_to_bounding_box(
            image,
            crop_height,
            crop_width,
            _lesser_of(target_height, height),
            _lesser_of(target_width, width),
        )
        out = pad_to_bounding_box(cropped, pad_height, pad_width, target_height, target_width)
        if out._dims is None:
            raise ValueError("resized contains no shape.")
        _, out_height, out_width, _ = sizes(out, 4)
        final = [
            require(_same(out_height, target_height), "resized height is not correct."),
            require(_same(out_width, target_width), "resized width is not correct."),
        ]
        out = with_checks(final, out)
        return out if is_batch else raw.Squeeze(out, squeeze_dims=[0])


def _same(x: Any, y: Any) -> Any:
    if known(x) is not None and known(y) is not None:
        return x == y
    return raw.Equal(*_alike(x, y))
