"""Resizing images in TensorFlow's methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.framework import dtypes
from weft.framework.constant_value import constant_value_as_shape
from weft.framework.conversion import convert_to_tensor
from weft.framework.export import export, find
from weft.framework.scopes import name_scope
from weft.images.checks import sizes
from weft.images.geometry import pad_to_bounding_box
from weft.ops.by_name import raw


@export("image.ResizeMethod")
class ResizeMethod:
    """How new elements follow from old ones."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


_OPS: dict[Any, str] = {
    0: "ResizeBilinear",
    "bilinear": "ResizeBilinear",
    1: "ResizeNearestNeighbor",
    "nearest": "ResizeNearestNeighbor",
    2: "ResizeBicubic",
    "bicubic": "ResizeBicubic",
    3: "ResizeArea",
    "area": "ResizeArea",
}


def _resizer(method: Any, align_corners: bool) -> Callable[[Any, Any], Any]:
    name = _OPS.get(method)
    if name is None:
        raise ValueError("Resize method is not implemented.")
    return lambda images, size: getattr(raw, name)(images, size, align_corners=align_corners)


@export("image.resize_images", "image.resize")
def resize_images(
    images: Any,
    size: Any,
    method: Any = ResizeMethod.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Any:
    """Resizes an image, or each of a batch, to `size` (height and width) by a method."""
    resize = _resizer(method, align_corners)
    return _resize(images, size, resize, preserve_aspect_ratio, name, same_is_done=True)


def _resize(
    images: Any,
    size: Any,
    resize: Callable,
    preserve_aspect_ratio: bool,
    name: Any,
    same_is_done: bool,
) -> Any:
    with name_scope(name, "resize", [images, size]):
        images = convert_to_tensor(images, name="images")
        if images._dims is None:
            raise ValueError("'images' contains no shape.")
        is_batch = len(images._dims) == 4
        if len(images._dims) == 3:
            images = raw.ExpandDims(images, 0)
        elif not is_batch:
            raise ValueError("'images' must have either 3 or 4 dimensions.")
        _, height, width, _ = images._dims
        try:
            size = convert_to_tensor(size, dtype=dtypes.int32, name="size")
        except (TypeError, ValueError):
            raise ValueError("'size' must be a 1-D int32 Tensor") from None
        if not size.get_shape().is_compatible_with([2]):
            raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
        wanted = constant_value_as_shape(size) or (None, None)
        if preserve_aspect_ratio:
            size = _fitting(images, size)
            wanted = constant_value_as_shape(size) or (None, None)
        if same_is_done and None not in wanted and wanted == (height, width):
            return images if is_batch else raw.Squeeze(images, squeeze_dims=[0])
        out = resize(images, size)
        out.set_shape([None, *wanted, None])
        return out if is_batch else raw.Squeeze(out, squeeze_dims=[0])


@export("compat.v2.image.ResizeMethod")
class ResizeMethodV2:
    """How new elements follow from old ones, by name."""

    BILINEAR = "bilinear"
    NEAREST_NEIGHBOR = "nearest"
    BICUBIC = "bicubic"
    AREA = "area"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    GAUSSIAN = "gaussian"
    MITCHELLCUBIC = "mitchellcubic"


# Methods that `antialias` turns into a kernel, and those that are kernels always.
_KERNELS = {
    "bilinear": "triangle",
    "bicubic": "keyscubic",
    "lanczos3": "lanczos3",
    "lanczos5": "lanczos5",
    "gaussian": "gaussian",
    "mitchellcubic": "mitchellcubic",
}


@export("compat.v2.image.resize")
def resize_images_v2(
    images: Any,
    size: Any,
    method: Any = ResizeMethodV2.BILINEAR,
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: str | None = None,
) -> Any:
    """Resizes as TensorFlow 2 does: elements have their centers at halves; `antialias` widens the kernel where
    the image shrinks."""
    method = {0: "bilinear", 1: "nearest", 2: "bicubic", 3: "area"}.get(method, method)
    always = method not in ("bilinear", "bicubic", "nearest", "area")
    if always and method not in _KERNELS:
        raise ValueError("Resize method is not implemented.")

    def resize(images: Any, new_size: Any) -> Any:
        if method == "area":
            return raw.ResizeArea(images, new_size)
        if method == "nearest":
            return raw.ResizeNearestNeighbor(images, new_size, half_pixel_centers=True)
        if antialias or always:
            old = raw.Cast(raw.StridedSlice(raw.Shape(images), [1], [3], [1]), DstT=dtypes.float32)
            scale = raw.RealDiv(raw.Cast(new_size, DstT=dtypes.float32), old)
            return raw.ScaleAndTranslate(
                images,
                new_size,
                scale,
                raw.ZerosLike(scale),
                kernel_type=_KERNELS[method],
                antialias=antialias,
            )
        kind = raw.ResizeBilinear if method == "bilinear" else raw.ResizeBicubic
        return kind(images, new_size, half_pixel_centers=True)

    return _resize(images, size, resize, preserve_aspect_ratio, name, same_is_done=False)


def _fitting(images: Any, size: Any) -> Any:
    """The greatest size within `size` that has the image's proportions."""
    _, height, width, _ = sizes(images, 4)

    def number(x: Any) -> Any:
        return raw.Cast(convert_to_tensor(x), DstT=dtypes.float32)

    new = raw.Cast(size, DstT=dtypes.float32)
    new_height, new_width = raw.Unpack(new, num=2, axis=0)
    scale = raw.Minimum(
        raw.RealDiv(new_height, number(height)), raw.RealDiv(new_width, number(width))
    )
    fitted = [raw.Round(raw.Mul(scale, number(x))) for x in (height, width)]
    return raw.Cast(raw.Pack(fitted), DstT=dtypes.int32)


@export("image.resize_image_with_pad")
def resize_image_with_pad(
    image: Any,
    target_height: Any,
    target_width: Any,
    method: Any = ResizeMethod.BILINEAR,
    align_corners: bool = False,
) -> Any:
    """Resizes an image, or each of a batch, to fit into a size, and pads what remains with zeros."""
    return _with_pad(
        image,
        target_height,
        target_width,
        lambda images, size: resize_images(images, size, method, align_corners),
    )


@export("compat.v2.image.resize_with_pad")
def resize_image_with_pad_v2(
    image: Any,
    target_height: Any,
    target_width: Any,
    method: Any = ResizeMethodV2.BILINEAR,
    antialias: bool = False,
) -> Any:
    """As `tf.image.resize_image_with_pad`, resizing as TensorFlow 2 does."""
    return _with_pad(
        image,
        target_height,
        target_width,
        lambda images, size: resize_images_v2(images, size, method, antialias=antialias),
    )


def _with_pad(image: Any, target_height: Any, target_width: Any, resize: Callable) -> Any:
    with name_scope(None, "resize_image_with_pad", [image]):
        image = convert_to_tensor(image, name="image")
        ndims = None if image._dims is None else len(image._dims)
        is_batch = ndims != 3
        if ndims == 3:
            image = raw.ExpandDims(image, 0)
        elif ndims not in (4, None):
            raise ValueError("'image' must have either 3 or 4 dimensions.")
        from weft.images.checks import as_image, require, with_checks
        from weft.images.geometry import _more_than

        image = as_image(image)
        image = with_checks(
            [
                require(_more_than(target_width, 0), "target_width must be > 0."),
                require(_more_than(target_height, 0), "target_height must be > 0."),
            ],
            image,
        )
        _, height, width, _ = sizes(image, 4)
        f64 = dtypes.float64

        def number(x: Any) -> Any:
            return raw.Cast(convert_to_tensor(x), DstT=f64)

        ratio = raw.Maximum(
            raw.RealDiv(number(width), number(target_width)),
            raw.RealDiv(number(height), number(target_height)),
        )
        new_height = raw.RealDiv(number(height), ratio)
        new_width = raw.RealDiv(number(width), ratio)
        integers = [raw.Cast(raw.Floor(x), DstT=dtypes.int32) for x in (new_height, new_width)]
        pads = []
        for target, new in ((target_height, new_height), (target_width, new_width)):
            half = raw.RealDiv(raw.Sub(number(target), new), number(2.0))
            pads.append(raw.Maximum(raw.Cast(raw.Floor(half), DstT=dtypes.int32), 0))
        resized = resize(image, raw.Pack(integers))
        out = pad_to_bounding_box(resized, pads[0], pads[1], target_height, target_width)
        return out if is_batch else raw.Squeeze(out, squeeze_dims=[0])


def _exactly(op_name: str, public: str, has_centers: bool) -> None:
    if has_centers:

        def function(images, size, align_corners=False, name=None, half_pixel_centers=False):
            return getattr(raw, op_name)(
                images,
                size,
                align_corners=align_corners,
                half_pixel_centers=half_pixel_centers,
                name=name,
            )

    else:

        def function(images, size, align_corners=False, name=None):  # type: ignore[misc]
            return getattr(raw, op_name)(images, size, align_corners=align_corners, name=name)

    function.__name__ = function.__qualname__ = public
    function.__doc__ = f"Resizes a batch of images by the op {op_name}."
    export(f"image.{public}")(function)


_exactly("ResizeBilinear", "resize_bilinear", True)
_exactly("ResizeBicubic", "resize_bicubic", True)
_exactly("ResizeNearestNeighbor", "resize_nearest_neighbor", True)
_exactly("ResizeArea", "resize_area", False)

__all__ = ["find", "resize_images"]
