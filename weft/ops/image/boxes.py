"""Boxes on images: cropping with resizing, drawing, and choosing among overlapping ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import dtypes
from weft.framework.registry import op
from weft.framework.shape_rules import fail, merge_dim, rank, vector
from weft.ops.by_name import raw

_IMAGES = "type in {uint8, uint16, int8, int16, int32, int64, half, float, double}"


def _as_single(xp: Any, x: Any) -> Any:
    """float64 rounded to what float32 holds, by means that no compiler sees through."""
    if xp.is_numpy:
        return x.astype(np.float32).astype(np.float64)
    return xp.lax.reduce_precision(x, 8, 23)


def _sample_points(xp: Any, low: Any, high: Any, inputs: int, outputs: int) -> Any:
    """Where in the image the rows (or columns) of each box's crop lie, in float32's steps.

    XLA computes positions anew wherever they are used, with or without a fused multiply-add: a pixel
    and its distance from the position would then not belong together. Hence the explicit rounding.
    """
    low, high = low.astype(np.float64), high.astype(np.float64)
    size = _as_single(xp, high - low)
    if outputs > 1:
        scale = _as_single(xp, _as_single(xp, size * (inputs - 1)) / (outputs - 1))
        steps = _as_single(xp, xp.arange(outputs, dtype=np.float64) * scale[:, None])
        at = _as_single(xp, low * (inputs - 1))[:, None] + steps
    else:
        at = _as_single(xp, 0.5 * _as_single(xp, low + high) * (inputs - 1))[:, None]
    return _as_single(xp, at).astype(np.float32)


def _box_check(xp: Any, box_ind: Any, batch: int) -> None:
    xp.check(
        (box_ind >= 0) & (box_ind < batch), lambda: f"box_index has values outside [0, {batch})"
    )


def _samples(xp: Any, boxes: Any, height: int, width: int, out_h: int, out_w: int) -> Any:
    """Rows and columns of the samples of each box, and which of them lie inside the image."""
    rows = _sample_points(xp, boxes[:, 0], boxes[:, 2], height, out_h)
    columns = _sample_points(xp, boxes[:, 1], boxes[:, 3], width, out_w)
    inside = ((rows >= 0) & (rows <= height - 1))[:, :, None] & (
        (columns >= 0) & (columns <= width - 1)
    )[:, None, :]
    return rows, columns, inside


@op(
    "CropAndResize",
    "image: T, boxes: float, box_ind: int32, crop_size: int32 -> crops: float",
    f"T: {_IMAGES}; method: string in {{bilinear, nearest}} = 'bilinear'; extrapolation_value: float = 0.0",
    static=("crop_size",),
)
def crop_and_resize_op(xp, image, boxes, box_ind, crop_size, *, method, extrapolation_value):
    """Cuts boxes, given in parts of the image, out of images and resizes them all to one size."""
    out_h, out_w = int(crop_size[0]), int(crop_size[1])
    if out_h <= 0 or out_w <= 0:
        raise ValueError("crop dimensions must be positive")
    batch, height, width, depth = image.shape
    if boxes.shape[0] == 0:
        return xp.zeros((0, out_h, out_w, depth), np.float32)
    _box_check(xp, box_ind, batch)
    rows, columns, inside = _samples(xp, boxes, height, width, out_h, out_w)
    which = xp.clip(box_ind, 0, batch - 1)[:, None, None]
    x = image.astype(np.float32)
    clip = lambda i, n: xp.clip(i, 0, n - 1).astype(np.int32)  # noqa: E731
    if method == "nearest":
        r, c = clip(_away(xp, rows), height), clip(_away(xp, columns), width)
        out = x[which, r[:, :, None], c[:, None, :]]
    else:
        top, left = xp.floor(rows), xp.floor(columns)
        dy, dx = (rows - top)[:, :, None, None], (columns - left)[:, None, :, None]
        r0, r1 = clip(top, height)[:, :, None], clip(xp.ceil(rows), height)[:, :, None]
        c0, c1 = clip(left, width)[:, None, :], clip(xp.ceil(columns), width)[:, None, :]
        upper = x[which, r0, c0] + (x[which, r0, c1] - x[which, r0, c0]) * dx
        lower = x[which, r1, c0] + (x[which, r1, c1] - x[which, r1, c0]) * dx
        out = upper + (lower - upper) * dy
    return xp.where(inside[..., None], out, np.float32(extrapolation_value)).astype(np.float32)


def _away(xp: Any, x: Any) -> Any:
    """Rounded, halves away from zero."""
    return xp.copysign(xp.floor(xp.abs(x) + np.float32(0.5)), x)


def _crop_shape(image, boxes, box_ind, size, const, name):
    image = rank(image, 4, "image")
    boxes = rank(boxes, 2, "boxes")
    box_ind = rank(box_ind, 1, "box_ind")
    if boxes[1] not in (None, 4):
        fail("boxes must have 4 columns", boxes)
    n = merge_dim(boxes[0], box_ind[0], "boxes and box_ind must be as many")
    vector(size, name)
    value = const(name)
    h, w = (None, None) if value is None else (int(value[0]), int(value[1]))
    return (n, h, w, image[3])


@crop_and_resize_op.shape
def _(image, boxes, box_ind, crop_size, *, const):
    return _crop_shape(image, boxes, box_ind, crop_size, const, "crop_size")


@op(
    "CropAndResizeGradImage",
    "grads: float, boxes: float, box_ind: int32, image_size: int32 -> output: T",
    "T: type in {float, half, double}; method: string in {bilinear, nearest} = 'bilinear'",
    static=("image_size",),
)
def crop_and_resize_grad_image(xp, grads, boxes, box_ind, image_size, *, T, method):
    """The gradient of CropAndResize with respect to the images."""
    batch, height, width, depth = (int(d) for d in image_size)
    out = xp.zeros((batch, height, width, depth), T.np)  # TensorFlow adds up in this dtype too
    n, out_h, out_w = grads.shape[:3]
    if n == 0:
        return out
    _box_check(xp, box_ind, batch)
    rows, columns, inside = _samples(xp, boxes, height, width, out_h, out_w)
    g = xp.where(inside[..., None], grads, np.float32(0)).astype(np.float32)
    which = xp.clip(box_ind, 0, batch - 1)[:, None, None]
    clip = lambda i, m: xp.clip(i, 0, m - 1).astype(np.int32)  # noqa: E731
    if method == "nearest":
        index = (
            which,
            clip(_away(xp, rows), height)[:, :, None],
            clip(_away(xp, columns), width)[:, None, :],
        )
        return xp.scatter(out, index, g.astype(T.np), "add")
    top, left = xp.floor(rows), xp.floor(columns)
    dy, dx = (rows - top)[:, :, None, None], (columns - left)[:, None, :, None]
    for r, wy in ((top, 1 - dy), (xp.ceil(rows), dy)):
        for c, wx in ((left, 1 - dx), (xp.ceil(columns), dx)):
            index = (which, clip(r, height)[:, :, None], clip(c, width)[:, None, :])
            out = xp.scatter(out, index, (g * wy * wx).astype(T.np), "add")
    return out


@crop_and_resize_grad_image.shape
def _(grads, boxes, box_ind, image_size, *, const):
    rank(grads, 4, "grads")
    return const.shape("image_size") or (None,) * 4


@op(
    "CropAndResizeGradBoxes",
    "grads: float, image: T, boxes: float, box_ind: int32 -> output: float",
    f"T: {_IMAGES}; method: string in {{bilinear}} = 'bilinear'",
)
def crop_and_resize_grad_boxes(xp, grads, image, boxes, box_ind):
    """The gradient of CropAndResize with respect to the boxes."""
    batch, height, width, _ = image.shape
    n, out_h, out_w = grads.shape[:3]
    if n == 0:
        return xp.zeros((0, 4), np.float32)
    _box_check(xp, box_ind, batch)
    rows, columns, inside = _samples(xp, boxes, height, width, out_h, out_w)
    x = image.astype(np.float32)
    which = xp.clip(box_ind, 0, batch - 1)[:, None, None]
    clip = lambda i, m: xp.clip(i, 0, m - 1).astype(np.int32)  # noqa: E731
    top, left = xp.floor(rows), xp.floor(columns)
    dy, dx = (rows - top)[:, :, None, None], (columns - left)[:, None, :, None]
    r0, r1 = clip(top, height)[:, :, None], clip(xp.ceil(rows), height)[:, :, None]
    c0, c1 = clip(left, width)[:, None, :], clip(xp.ceil(columns), width)[:, None, :]
    tl, tr, bl, br = x[which, r0, c0], x[which, r0, c1], x[which, r1, c0], x[which, r1, c1]
    g = xp.where(inside[..., None], grads, np.float32(0))
    along_y = xp.sum(((1 - dx) * (bl - tl) + dx * (br - tr)) * g, axis=-1)
    along_x = xp.sum(((1 - dy) * (tr - tl) + dy * (br - bl)) * g, axis=-1)
    if out_h > 1:
        share = xp.arange(out_h, dtype=np.float32) * ((height - 1) / (out_h - 1))
        y1 = xp.sum(along_y * ((height - 1) - share)[None, :, None], axis=(1, 2))
        y2 = xp.sum(along_y * share[None, :, None], axis=(1, 2))
    else:
        y1 = y2 = xp.sum(along_y, axis=(1, 2)) * np.float32(0.5 * (height - 1))
    if out_w > 1:
        share = xp.arange(out_w, dtype=np.float32) * ((width - 1) / (out_w - 1))
        x1 = xp.sum(along_x * ((width - 1) - share)[None, None, :], axis=(1, 2))
        x2 = xp.sum(along_x * share[None, None, :], axis=(1, 2))
    else:
        x1 = x2 = xp.sum(along_x, axis=(1, 2)) * np.float32(0.5 * (width - 1))
    return xp.stack([y1, x1, y2, x2], axis=1).astype(np.float32)


@crop_and_resize_grad_boxes.shape
def _(grads, image, boxes, box_ind):
    return rank(boxes, 2, "boxes")


@crop_and_resize_op.gradient
def _(op, grad):
    image = op.inputs[0]
    kind = image.dtype.base_dtype
    method = op.get_attr("method")
    grad_image = None
    if kind in (dtypes.float16, dtypes.float32, dtypes.float64):
        grad_image = crop_and_resize_grad_image(
            grad, op.inputs[1], op.inputs[2], raw.Shape(image), T=kind, method=method
        )
    grad_boxes = crop_and_resize_grad_boxes(grad, image, op.inputs[1], op.inputs[2])
    return grad_image, grad_boxes, None, None


# -- drawing -----------------------------------------------------------------------------------------

_PALETTE = np.array(
    [
        [1, 1, 0, 1],
        [0, 0, 1, 1],
        [1, 0, 0, 1],
        [0, 1, 0, 1],
        [0.5, 0, 0.5, 1],
        [0.5, 0.5, 0, 1],
        [0.5, 0, 0, 1],
        [0, 0, 0.5, 1],
        [0, 1, 1, 1],
        [1, 0, 1, 1],
    ],
    np.float32,
)


def _draw(images: np.ndarray, boxes: np.ndarray, colours: np.ndarray | None) -> np.ndarray:
    out = np.array(images)
    batch, height, width, depth = out.shape
    palette = _PALETTE
    if colours is not None:
        if colours.shape[1] < depth:
            raise ValueError(
                "colors must have equal or more channels than the image provided: "
                f"{colours.shape[1]} and {depth}"
            )
        if colours.size:
            palette = colours
    if palette is _PALETTE and depth == 1:
        palette = np.ones_like(palette)
    for b in range(batch):
        for i, box in enumerate(boxes[b]):
            colour = palette[i % len(palette)][:depth].astype(out.dtype)
            low_r, low_c = int(box[0] * (height - 1)), int(box[1] * (width - 1))
            high_r, high_c = int(box[2] * (height - 1)), int(box[3] * (width - 1))
            if low_r > high_r or low_c > high_c:
                continue
            if low_r >= height or high_r < 0 or low_c >= width or high_c < 0:
                continue
            rows = slice(max(low_r, 0), min(high_r, height - 1) + 1)
            columns = slice(max(low_c, 0), min(high_c, width - 1) + 1)
            if low_r >= 0:
                out[b, low_r, columns] = colour
            if high_r < height:
                out[b, high_r, columns] = colour
            if low_c >= 0:
                out[b, rows, low_c] = colour
            if high_c < width:
                out[b, rows, high_c] = colour
    return out


@op(
    "DrawBoundingBoxes",
    "images: T, boxes: float -> output: T",
    "T: type in {float, half} = float",
    host=True,
)
def draw_bounding_boxes_op(xp, images, boxes):
    """Draws the outlines of boxes, given in parts of the image."""
    return _draw(images, boxes, None)


@op(
    "DrawBoundingBoxesV2",
    "images: T, boxes: float, colors: float -> output: T",
    "T: type in {float, half} = float",
    host=True,
)
def draw_bounding_boxes_v2(xp, images, boxes, colors):
    """Draws the outlines of boxes in given colours."""
    return _draw(images, boxes, colors)


def _draw_shape(images, boxes):
    boxes = rank(boxes, 3, "boxes")
    if boxes[2] not in (None, 4):
        fail("The size of the third dimension of the boxes must be 4", boxes)
    images = rank(images, 4, "images")
    if images[3] not in (None, 1, 3, 4):
        fail("Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA)", images)
    return (merge_dim(images[0], boxes[0], "The batch sizes should be the same"), *images[1:])


@draw_bounding_boxes_op.shape
def _(images, boxes):
    return _draw_shape(images, boxes)


@draw_bounding_boxes_v2.shape
def _(images, boxes, colors):
    rank(colors, 2, "colors")
    return _draw_shape(images, boxes)


draw_bounding_boxes_op.not_differentiable()
draw_bounding_boxes_v2.not_differentiable()
