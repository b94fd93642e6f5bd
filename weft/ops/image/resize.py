"""Resizing: each output row and column is a weighted sum of a few input rows and columns."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from weft.framework.registry import OpDecl, op
from weft.framework.shape_rules import Shape, ShapeError, fail, rank, vector
from weft.ops.by_name import raw

_CORNERS = "align_corners: bool = false"
_CENTERS = _CORNERS + "; half_pixel_centers: bool = false"
_NUMBERS = "type in {int8, uint8, int16, uint16, int32, int64, half, float, double}"
_TABLE = 1024  # TensorFlow reads the cubic's weights from a table of this size


def _scale(inputs: int, outputs: int, align_corners: bool) -> np.float32:
    if align_corners and outputs > 1:
        return np.float32(np.float32(inputs - 1) / np.float32(outputs - 1))
    return np.float32(np.float32(inputs) / np.float32(outputs))


def _positions(inputs: int, outputs: int, align_corners: bool, half_pixel: bool) -> np.ndarray:
    """Where in the input each output element lies."""
    scale = _scale(inputs, outputs, align_corners)
    x = np.arange(outputs, dtype=np.float32)
    return (x + np.float32(0.5)) * scale - np.float32(0.5) if half_pixel else x * scale


@lru_cache(maxsize=256)
def linear_taps(
    inputs: int, outputs: int, align_corners: bool, half_pixel: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The two input elements of each output element, and their weights."""
    at = _positions(inputs, outputs, align_corners, half_pixel)
    floor = np.floor(at)
    lower = np.maximum(floor.astype(np.int64), 0)
    upper = np.minimum(
        np.ceil(at).astype(np.int64) if not half_pixel else floor.astype(np.int64) + 1, inputs - 1
    )
    if not half_pixel:
        upper = np.minimum(lower + 1, inputs - 1)
    fraction = (at - floor).astype(np.float32)
    lower = np.minimum(lower, inputs - 1)
    upper = np.maximum(upper, 0)
    return np.stack([lower, upper], 1), np.stack([1 - fraction, fraction], 1)


@lru_cache(maxsize=8)
def _cubic_table(a: float) -> np.ndarray:
    x = np.arange(_TABLE + 1, dtype=np.float32) / np.float32(_TABLE)
    a32 = np.float32(a)
    near = ((a32 + 2) * x - (a32 + 3)) * x * x + 1
    far_x = x + 1
    far = ((a32 * far_x - 5 * a32) * far_x + 8 * a32) * far_x - 4 * a32
    return np.stack([near, far], 1).astype(np.float32)


@lru_cache(maxsize=256)
def cubic_taps(
    inputs: int, outputs: int, align_corners: bool, half_pixel: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The four input elements of each output element, and their weights."""
    at = _positions(inputs, outputs, align_corners, half_pixel)
    base = np.floor(at).astype(np.int64)
    offset = np.round((at - base) * _TABLE).astype(np.int64)
    table = _cubic_table(-0.5 if half_pixel else -0.75)
    weights = np.stack(
        [table[offset, 1], table[offset, 0], table[_TABLE - offset, 0], table[_TABLE - offset, 1]],
        1,
    )
    index = base[:, None] + np.arange(-1, 3)
    bounded = np.clip(index, 0, inputs - 1)
    if half_pixel:
        # Beyond the border nothing counts, and the rest is scaled up to one.
        weights = np.where(index == bounded, weights, 0)
        total = weights.sum(1, keepdims=True)
        safe = np.abs(total) >= 1000 * np.finfo(np.float32).tiny
        weights = np.where(safe, weights / np.where(safe, total, 1), weights)
    return bounded, weights.astype(np.float32)


@lru_cache(maxsize=256)
def area_matrix(inputs: int, outputs: int, align_corners: bool) -> np.ndarray:
    """How much of each input element lies in each output element."""
    scale = float(_scale(inputs, outputs, align_corners))
    start = np.arange(outputs, dtype=np.float64) * scale
    end = start + scale
    cells = np.arange(inputs)
    overlap = np.minimum(end[:, None], cells + 1) - np.maximum(start[:, None], cells)
    weights = np.maximum(overlap, 0)
    # What reaches beyond the border counts as the last element.
    weights[:, -1] += np.maximum(end - inputs, 0)
    return (weights / scale).astype(np.float32)


@lru_cache(maxsize=256)
def nearest_index(inputs: int, outputs: int, align_corners: bool, half_pixel: bool) -> np.ndarray:
    """The input element of each output element."""
    scale = _scale(inputs, outputs, align_corners)
    x = np.arange(outputs, dtype=np.float32)
    at = (x + np.float32(0.5)) * scale if half_pixel else x * scale
    index = np.floor(at + np.float32(0.5)) if align_corners else np.floor(at)
    if align_corners:
        index = np.copysign(np.floor(np.abs(at) + np.float32(0.5)), at)
    return np.clip(index, 0, inputs - 1).astype(np.int64)


def _matrix(taps: tuple[np.ndarray, np.ndarray], inputs: int) -> np.ndarray:
    """The weights of taps as a matrix from inputs to outputs."""
    index, weights = taps
    out = np.zeros((len(index), inputs), np.float32)
    rows = np.repeat(np.arange(len(index)), index.shape[1])
    np.add.at(out, (rows, index.ravel()), weights.ravel())
    return out


def _along(xp: Any, x: Any, taps: tuple[np.ndarray, np.ndarray], axis: int) -> Any:
    """The weighted sums along one axis."""
    index, weights = taps
    shape = [1] * x.ndim
    shape[axis] = -1
    total = None
    for tap in range(index.shape[1]):
        part = xp.take(x, index[:, tap], axis=axis) * weights[:, tap].astype(x.dtype).reshape(shape)
        total = part if total is None else total + part
    return total


def _half_pixel_check(align_corners: bool, half_pixel: bool) -> None:
    if align_corners and half_pixel:
        raise ShapeError("If half_pixel_centers is True, align_corners must be False.")


def _resized_shape(images: Shape, size: Shape, const: Any) -> Shape:
    images = rank(images, 4, "images")
    size = vector(size, "size")
    if size[0] not in (None, 2):
        fail("size must have two elements", size)
    value = const("size")
    if value is None:
        return (images[0], None, None, images[3])
    height, width = int(value[0]), int(value[1])
    if height < 0 or width < 0:
        fail(f"Output dimensions must be positive, but are {height} and {width}")
    return (images[0], height, width, images[3])


def _check_sizes(images: Any, size: Any) -> tuple[int, int]:
    height, width = int(size[0]), int(size[1])
    if height <= 0 or width <= 0:
        raise ValueError("output dimensions must be positive")
    if images.shape[1] <= 0 or images.shape[2] <= 0:
        raise ValueError("input image must be of non-zero size")
    return height, width


def _resizer(name: str, types: str, attrs: str, kernel: Any, out: str, doc: str) -> OpDecl:
    decl = op(
        name,
        f"images: T, size: int32 -> resized_images: {out}",
        f"T: {types}; {attrs}",
        static=("size",),
    )(kernel)
    decl.__doc__ = doc

    def shape(images, size, *, const):
        return _resized_shape(images, size, const)

    decl.shape(shape)
    return decl


def _bilinear(xp, images, size, *, align_corners, half_pixel_centers):
    _half_pixel_check(align_corners, half_pixel_centers)
    height, width = _check_sizes(images, size)
    x = images.astype(np.float32)
    x = _along(xp, x, linear_taps(x.shape[2], width, align_corners, half_pixel_centers), 2)
    return _along(xp, x, linear_taps(x.shape[1], height, align_corners, half_pixel_centers), 1)


resize_bilinear = _resizer(
    "ResizeBilinear",
    "type in {int8, uint8, int16, uint16, int32, int64, bfloat16, half, float, double}",
    _CENTERS,
    _bilinear,
    "float",
    "Resizes images by linear interpolation.",
)


def _bicubic(xp, images, size, *, align_corners, half_pixel_centers):
    _half_pixel_check(align_corners, half_pixel_centers)
    height, width = _check_sizes(images, size)
    x = images.astype(np.float32)
    x = _along(xp, x, cubic_taps(x.shape[1], height, align_corners, half_pixel_centers), 1)
    return _along(xp, x, cubic_taps(x.shape[2], width, align_corners, half_pixel_centers), 2)


resize_bicubic = _resizer(
    "ResizeBicubic", _NUMBERS, _CENTERS, _bicubic, "float", "Resizes images by cubic interpolation."
)


def _area(xp, images, size, *, align_corners):
    height, width = _check_sizes(images, size)
    x = images.astype(np.float32)
    rows = area_matrix(x.shape[1], height, align_corners)
    columns = area_matrix(x.shape[2], width, align_corners)
    x = xp.einsum("oh,bhwc->bowc", rows, x)
    return xp.einsum("ow,bhwc->bhoc", columns, x).astype(np.float32)


resize_area = _resizer(
    "ResizeArea", _NUMBERS, _CORNERS, _area, "float", "Resizes images by the mean over areas."
)
resize_area.not_differentiable()


def _nearest(xp, images, size, *, align_corners, half_pixel_centers):
    _half_pixel_check(align_corners, half_pixel_centers)
    height, width = _check_sizes(images, size)
    rows = nearest_index(images.shape[1], height, align_corners, half_pixel_centers)
    columns = nearest_index(images.shape[2], width, align_corners, half_pixel_centers)
    return xp.take(xp.take(images, rows, axis=1), columns, axis=2)


resize_nearest_neighbor = _resizer(
    "ResizeNearestNeighbor",
    _NUMBERS,
    _CENTERS,
    _nearest,
    "T",
    "Resizes images by taking the nearest element.",
)

# -- gradients ---------------------------------------------------------------------------------------


def _like_original(grads, original_image):
    grads = rank(grads, 4, "grads")
    original_image = rank(original_image, 4, "original_image")
    return (grads[0], *original_image[1:3], grads[3])


def _transposed(xp: Any, grads: Any, rows: np.ndarray, columns: np.ndarray, dtype: Any) -> Any:
    """The gradient of weighted sums along both axes."""
    kind = np.float64 if dtype == np.float64 else np.float32
    x = xp.einsum("oh,bowc->bhwc", rows.astype(kind), grads.astype(kind))
    return xp.einsum("ow,bhoc->bhwc", columns.astype(kind), x).astype(dtype)


def _tap_gradient(name: str, types: str, taps: Any) -> OpDecl:
    def kernel(xp, grads, original_image, *, align_corners, half_pixel_centers):
        height, width = original_image.shape[1:3]
        rows = taps(height, grads.shape[1], align_corners, half_pixel_centers)
        columns = taps(width, grads.shape[2], align_corners, half_pixel_centers)
        return _transposed(
            xp, grads, _matrix(rows, height), _matrix(columns, width), original_image.dtype
        )

    decl = op(name, "grads: float, original_image: T -> output: T", f"T: {types}; {_CENTERS}")(
        kernel
    )
    decl.__doc__ = f"The gradient of {name[:-4]}."
    decl.shape(_like_original)
    return decl


resize_bilinear_grad = _tap_gradient(
    "ResizeBilinearGrad", "type in {float, bfloat16, half, double}", linear_taps
)
resize_bicubic_grad = _tap_gradient("ResizeBicubicGrad", "type in {float, double}", cubic_taps)


def _flags(op: Any) -> dict[str, Any]:
    return {name: op.get_attr(name) for name in ("align_corners", "half_pixel_centers")}


@resize_bilinear.gradient
def _(op, grad):
    if op.inputs[0].dtype.is_integer:
        return None, None
    return resize_bilinear_grad(grad, op.inputs[0], **_flags(op)), None


@resize_bicubic.gradient
def _(op, grad):
    if op.inputs[0].dtype.base_dtype.name in ("float32", "float64"):
        return resize_bicubic_grad(grad, op.inputs[0], **_flags(op)), None
    return None, None


@resize_bilinear_grad.gradient
def _(op, grad):
    size = raw.StridedSlice(raw.Shape(op.inputs[0]), [1], [3], [1])
    return resize_bilinear(grad, size, **_flags(op)), None


@op(
    "ResizeNearestNeighborGrad",
    "grads: T, size: int32 -> output: T",
    f"T: type in {{uint8, int8, int32, half, float, double}}; {_CENTERS}",
    static=("size",),
)
def resize_nearest_grad(xp, grads, size, *, align_corners, half_pixel_centers):
    """The gradient of ResizeNearestNeighbor."""
    height, width = int(size[0]), int(size[1])
    rows = nearest_index(height, grads.shape[1], align_corners, half_pixel_centers)
    columns = nearest_index(width, grads.shape[2], align_corners, half_pixel_centers)
    b, _, _, c = grads.shape
    out = xp.zeros((b, height, width, c), grads.dtype)
    index = (slice(None), rows[:, None], columns[None, :])
    return xp.scatter(out, index, grads, "add")


@resize_nearest_grad.shape
def _(grads, size, *, const):
    return _resized_shape(grads, size, const)


@resize_nearest_neighbor.gradient
def _(op, grad):
    size = raw.StridedSlice(raw.Shape(op.inputs[0]), [1], [3], [1])
    return resize_nearest_grad(grad, size, **_flags(op)), None


@resize_nearest_grad.gradient
def _(op, grad):
    size = raw.StridedSlice(raw.Shape(op.inputs[0]), [1], [3], [1])
    return resize_nearest_neighbor(grad, size, **_flags(op)), None
