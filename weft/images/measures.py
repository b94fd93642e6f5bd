"""Measures of images: differences, likeness, edges."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import dtypes
from weft.framework.conversion import convert_to_tensor
from weft.framework.export import export, find
from weft.framework.graph import control_dependencies
from weft.framework.scopes import name_scope
from weft.images.checks import require, with_checks
from weft.images.spaces import convert_image_dtype
from weft.ops.by_name import raw


@export("image.total_variation")
def total_variation(images: Any, name: str | None = None) -> Any:
    """The sum of absolute differences of neighbouring elements, for an image or each of a batch."""
    with name_scope(name, "total_variation"):
        images = convert_to_tensor(images)
        ndims = len(images._dims)
        if ndims == 3:
            down = images[1:, :, :] - images[:-1, :, :]
            right = images[:, 1:, :] - images[:, :-1, :]
            axes = None
        elif ndims == 4:
            down = images[:, 1:, :, :] - images[:, :-1, :, :]
            right = images[:, :, 1:, :] - images[:, :, :-1, :]
            axes = [1, 2, 3]
        else:
            raise ValueError("'images' must be either 3 or 4-dimensional.")
        total = find("", "reduce_sum", "tf")
        return total(raw.Abs(down), axes) + total(raw.Abs(right), axes)


def _comparable(img1: Any, img2: Any) -> tuple[Any, Any, list[Any]]:
    """The shapes of two images that must be comparable, and checks of what is not known yet."""
    s1, s2 = img1.get_shape().with_rank_at_least(3), img2.get_shape().with_rank_at_least(3)
    s1[-3:].assert_is_compatible_with(s2[-3:])
    if s1.ndims is not None and s2.ndims is not None:
        for a, b in zip(reversed(s1.as_list()[:-3]), reversed(s2.as_list()[:-3])):
            if a not in (None, 1) and b not in (None, 1) and a != b:
                raise ValueError(f"Two images are not compatible: {s1} and {s2}")
    t1, t2 = raw.ShapeN([img1, img2])
    inner = lambda t: raw.StridedSlice(t, [-3], [0], [1], end_mask=1)  # noqa: E731
    checks = []
    if not (s1.is_fully_defined() and s2.is_fully_defined()):
        same = find("", "reduce_all", "tf")(raw.Equal(inner(t1), inner(t2)))
        checks.append(find("", "Assert", "tf")(same, [t1, t2], summarize=10))
    return t1, t2, checks


@export("image.psnr")
def psnr(a: Any, b: Any, max_val: Any, name: str | None = None) -> Any:
    """The peak signal-to-noise ratio of images, in decibels."""
    with name_scope(name, "PSNR", [a, b]):
        max_val = raw.Cast(convert_to_tensor(max_val), DstT=convert_to_tensor(a).dtype.base_dtype)
        max_val = convert_image_dtype(max_val, dtypes.float32)
        a = convert_image_dtype(a, dtypes.float32)
        b = convert_image_dtype(b, dtypes.float32)
        _, _, checks = _comparable(a, b)
        error = raw.Mean(raw.SquaredDifference(a, b), [-3, -2, -1])
        ln10 = np.float32(np.log(10))
        value = raw.Sub(
            raw.Mul(np.float32(20), raw.RealDiv(raw.Log(max_val), ln10)),
            raw.Mul(np.float32(10 / np.log(10)), raw.Log(error)),
        )
        return with_checks(checks, value)


def _window(size: int, sigma: float) -> Any:
    """A Gaussian window of sum 1, as a filter."""
    at = np.arange(size, dtype=np.float32) - np.float32((size - 1) / 2)
    weights = -0.5 / np.float32(sigma) ** 2 * at**2
    square = weights[None, :] + weights[:, None]
    e = np.exp(square - square.max())
    return (e / e.sum()).astype(np.float32)[:, :, None, None]


def _ssim_of_channels(
    a: Any, b: Any, max_val: Any, filter_size: int, filter_sigma: float, k1: float, k2: float
) -> tuple[Any, Any]:
    """The likeness, and its part that is contrast and structure, for each channel."""
    shape1, shape2 = raw.ShapeN([a, b])
    inner = lambda t: raw.StridedSlice(t, [-3], [-1], [1])  # noqa: E731
    size = convert_to_tensor(filter_size, dtype=dtypes.int32)
    all_ = find("", "reduce_all", "tf")
    dims1, dims2 = a._dims, b._dims
    checks = []
    for dims, shape in ((dims1, shape1), (dims2, shape2)):
        if dims is not None and None not in dims[-3:-1]:
            if min(dims[-3:-1]) < filter_size:
                from weft.framework import errors

                raise errors.InvalidArgumentError(
                    None,
                    None,
                    f"The images, of shape {dims}, are smaller than the filter ({filter_size}).",
                )
        else:
            checks.append(
                find("", "Assert", "tf")(
                    all_(raw.GreaterEqual(inner(shape), size)), [shape, filter_size], summarize=8
                )
            )
    if checks:
        with control_dependencies(checks):
            a = raw.Identity(a)
    channels = dims1[-1] if dims1 is not None and dims1[-1] is not None else None
    kernel = convert_to_tensor(_window(filter_size, filter_sigma))
    n = (
        channels
        if channels is not None
        else raw.StridedSlice(shape1, [-1], [0], [1], end_mask=1, shrink_axis_mask=1)
    )
    kernel = raw.Tile(kernel, raw.Pack([1, 1, n, 1]) if channels is None else [1, 1, channels, 1])
    depthwise = find("nn", "depthwise_conv2d", "tf.nn")

    def blur(x: Any) -> Any:
        shape = raw.Shape(x)
        last = raw.StridedSlice(shape, [-3], [0], [1], end_mask=1)
        flat = raw.Reshape(x, raw.ConcatV2([[-1], last], 0))
        if x._dims is not None:
            flat.set_shape([None, *x._dims[-3:]])
        y = depthwise(flat, kernel, strides=[1, 1, 1, 1], padding="VALID")
        front = raw.StridedSlice(shape, [0], [-3], [1], begin_mask=1)
        end = raw.StridedSlice(raw.Shape(y), [1], [0], [1], end_mask=1)
        return raw.Reshape(y, raw.ConcatV2([front, end], 0))

    c1 = (k1 * max_val) ** 2
    c2 = (k2 * max_val) ** 2
    mean_a, mean_b = blur(a), blur(b)
    product = mean_a * mean_b * 2.0
    squares = raw.Square(mean_a) + raw.Square(mean_b)
    luminance = (product + c1) / (squares + c1)
    both = blur(a * b) * 2.0
    each = blur(raw.Square(a) + raw.Square(b))
    contrast = (both - product + c2) / (each - squares + c2)
    axes = [-3, -2]
    return raw.Mean(luminance * contrast, axes), raw.Mean(contrast, axes)


def _prepared(img1: Any, img2: Any, max_val: Any) -> tuple[Any, Any, Any]:
    img1, img2 = convert_to_tensor(img1, name="img1"), convert_to_tensor(img2, name="img2")
    _, _, checks = _comparable(img1, img2)
    img1 = with_checks(checks, img1)
    max_val = raw.Cast(convert_to_tensor(max_val), DstT=img1.dtype.base_dtype)
    max_val = convert_image_dtype(max_val, dtypes.float32)
    return (
        convert_image_dtype(img1, dtypes.float32),
        convert_image_dtype(img2, dtypes.float32),
        max_val,
    )


@export("image.ssim")
def ssim(
    img1: Any,
    img2: Any,
    max_val: Any,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Any:
    """The structural similarity of images."""
    with name_scope(None, "SSIM", [img1, img2]):
        a, b, most = _prepared(img1, img2, max_val)
        likeness, _ = _ssim_of_channels(a, b, most, filter_size, filter_sigma, k1, k2)
        return raw.Mean(likeness, [-1])


_POWERS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)


@export("image.ssim_multiscale")
def ssim_multiscale(
    img1: Any,
    img2: Any,
    max_val: Any,
    power_factors: Any = _POWERS,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Any:
    """The structural similarity of images over several scales, each half of the one before."""
    with name_scope(None, "MS-SSIM", [img1, img2]):
        a, b, most = _prepared(img1, img2, max_val)
        relu = find("nn", "relu", "tf.nn")
        avg_pool = find("nn", "avg_pool", "tf.nn")
        parts = []
        likeness = None
        for scale in range(len(power_factors)):
            if scale:
                a, b = _halved(a, avg_pool), _halved(b, avg_pool)
            likeness, contrast = _ssim_of_channels(a, b, most, filter_size, filter_sigma, k1, k2)
            parts.append(relu(contrast))
        parts[-1] = relu(likeness)
        stacked = raw.Pack(parts, axis=-1)
        powers = convert_to_tensor(list(power_factors), dtype=dtypes.float32)
        product = raw.Prod(raw.Pow(stacked, powers), [-1])
        return raw.Mean(product, [-1])


def _halved(x: Any, avg_pool: Any) -> Any:
    """The means of squares of two by two; odd sizes are padded by reflection."""
    shape = raw.Shape(x)
    last = raw.StridedSlice(shape, [-3], [0], [1], end_mask=1)
    flat = raw.Reshape(x, raw.ConcatV2([[-1], last], 0))
    if x._dims is not None:
        flat.set_shape([None, *x._dims[-3:]])
    odd = raw.FloorMod(last, 2)
    pads = raw.ConcatV2([[0], odd], 0)
    pads = raw.Pack([raw.ZerosLike(pads), pads], axis=1)
    pads = raw.Mul(pads, [[1, 1], [1, 1], [1, 1], [0, 0]])
    padded = raw.MirrorPad(flat, pads, mode="SYMMETRIC")
    if x._dims is not None:
        grow = lambda d: None if d is None else d + d % 2  # noqa: E731
        padded.set_shape([None, grow(x._dims[-3]), grow(x._dims[-2]), x._dims[-1]])
    small = avg_pool(padded, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
    front = raw.StridedSlice(shape, [0], [-3], [1], begin_mask=1)
    end = raw.StridedSlice(raw.Shape(small), [1], [0], [1], end_mask=1)
    out = raw.Reshape(small, raw.ConcatV2([front, end], 0))
    if x._dims is not None:
        out.set_shape([*x._dims[:-3], *small._dims[1:]])
    return out


@export("image.image_gradients")
def image_gradients(image: Any) -> tuple[Any, Any]:
    """The differences of each element to the next below and to the next at its right."""
    image = convert_to_tensor(image)
    if image.get_shape().ndims != 4:
        raise ValueError(
            f"image_gradients expects a 4D tensor [batch_size, h, w, d], not {image.get_shape()}."
        )
    batch, height, width, depth = raw.Unpack(raw.Shape(image), num=4, axis=0)
    dy = image[:, 1:, :, :] - image[:, :-1, :, :]
    dx = image[:, :, 1:, :] - image[:, :, :-1, :]
    zero = convert_to_tensor(0, dtype=image.dtype.base_dtype)
    dy = raw.ConcatV2([dy, raw.Fill(raw.Pack([batch, 1, width, depth]), zero)], 1)
    dx = raw.ConcatV2([dx, raw.Fill(raw.Pack([batch, height, 1, depth]), zero)], 2)
    return raw.Reshape(dy, raw.Shape(image)), raw.Reshape(dx, raw.Shape(image))


@export("image.sobel_edges")
def sobel_edges(image: Any) -> Any:
    """The vertical and horizontal Sobel derivatives of each channel, as a last axis of two."""
    image = convert_to_tensor(image)
    static = image.get_shape()
    shape = raw.Shape(image)
    kernels = np.array(
        [[[-1, -2, -1], [0, 0, 0], [1, 2, 1]], [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]], np.float32
    )
    filters = np.ascontiguousarray(kernels.transpose(1, 2, 0))[:, :, None, :]
    filters = raw.Tile(convert_to_tensor(filters), [1, 1, static.as_list()[-1], 1])
    padded = raw.MirrorPad(image, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT")
    out = find("nn", "depthwise_conv2d_native", "tf.nn")(padded, filters, [1, 1, 1, 1], "VALID")
    out = raw.Reshape(out, raw.ConcatV2([shape, [2]], 0))
    out.set_shape(static.concatenate([2]))
    return out


__all__ = ["require"]
