"""ScaleAndTranslate: resampling by a kernel that widens where the image shrinks."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework.registry import op
from weft.framework.shape_rules import rank
from weft.ops.by_name import raw
from weft.ops.image.resize import _resized_shape

_NUMBERS = "type in {int8, uint8, int16, uint16, int32, int64, bfloat16, half, float, double}"
_ATTRS = 'kernel_type: string = "lanczos3"; antialias: bool = true'


def _lanczos(radius: float) -> Any:
    def kernel(x: np.ndarray) -> np.ndarray:
        x = np.abs(x)
        safe = np.where(x > 1e-3, x, 1)
        value = (
            radius
            * np.sin(np.pi * safe)
            * np.sin(np.pi * safe / radius)
            / (np.pi * np.pi * safe * safe)
        )
        return np.where(x > radius, 0, np.where(x <= 1e-3, 1, value))

    return kernel


def _gaussian(x: np.ndarray) -> np.ndarray:
    return np.where(np.abs(x) >= 1.5, 0, np.exp(-(x * x) / (2 * 0.5 * 0.5)))


def _box(x: np.ndarray) -> np.ndarray:
    x = np.abs(x)
    return np.where(x < 0.5, 1, np.where(x == 0.5, 0.5, 0))


def _triangle(x: np.ndarray) -> np.ndarray:
    return np.maximum(1 - np.abs(x), 0)


def _keys_cubic(x: np.ndarray) -> np.ndarray:
    x = np.abs(x)
    near = (1.5 * x - 2.5) * x * x + 1
    far = ((-0.5 * x + 2.5) * x - 4) * x + 2
    return np.where(x >= 2, 0, np.where(x >= 1, far, near))


def _mitchell_cubic(x: np.ndarray) -> np.ndarray:
    x = np.abs(x)
    near = ((7 / 6) * x - 2) * x * x + 8 / 9
    far = (((-7 / 18) * x + 2) * x - 10 / 3) * x + 16 / 9
    return np.where(x >= 2, 0, np.where(x >= 1, far, near))


_KERNELS: dict[str, tuple[float, Any]] = {
    "lanczos1": (1.0, _lanczos(1.0)),
    "lanczos3": (3.0, _lanczos(3.0)),
    "lanczos5": (5.0, _lanczos(5.0)),
    "gaussian": (1.5, _gaussian),
    "box": (1.0, _box),
    "triangle": (1.0, _triangle),
    "keyscubic": (2.0, _keys_cubic),
    "mitchellcubic": (2.0, _mitchell_cubic),
}


def weights(
    inputs: int, outputs: int, scale: float, translation: float, kernel_type: str, antialias: bool
) -> np.ndarray:
    """How much of each input element lies in each output element."""
    if kernel_type not in _KERNELS:
        raise ValueError(
            f"Unrecognized kernel type: {kernel_type}; there are {', '.join(_KERNELS)}"
        )
    if scale <= 0:
        raise ValueError("Scale should be greater than zero.")
    radius, kernel = _KERNELS[kernel_type]
    inverse = 1.0 / scale
    widening = max(inverse, 1.0) if antialias else 1.0
    at = (np.arange(outputs) + 0.5) * inverse - inverse * translation
    cells = np.arange(inputs)
    low = np.ceil(at - radius * widening - 0.5)[:, None]
    high = np.floor(at + radius * widening - 0.5)[:, None]
    within = (cells >= np.maximum(low, 0)) & (cells <= np.minimum(high, inputs - 1))
    matrix = np.where(within, kernel((cells + 0.5 - at[:, None]) / widening), 0)
    matrix[(at < 0) | (at > inputs)] = 0
    total = matrix.sum(1, keepdims=True)
    safe = np.abs(total) >= 1000 * np.finfo(np.float32).tiny
    return np.where(safe, matrix / np.where(safe, total, 1), 0).astype(np.float32)


def _matrices(
    images: Any, size: Any, scale: Any, translation: Any, kernel_type: str, antialias: bool
) -> Any:
    return [
        weights(
            images[axis],
            int(size[axis]),
            float(scale[axis]),
            float(translation[axis]),
            kernel_type,
            antialias,
        )
        for axis in (0, 1)
    ]


@op(
    "ScaleAndTranslate",
    "images: T, size: int32, scale: float, translation: float -> resized_images: float",
    f"T: {_NUMBERS}; {_ATTRS}",
    static=("size", "scale", "translation"),
)
def scale_and_translate(xp, images, size, scale, translation, *, kernel_type, antialias):
    """Scales and moves images, resampling them by a kernel."""
    rows, columns = _matrices(images.shape[1:3], size, scale, translation, kernel_type, antialias)
    x = xp.einsum("oh,bhwc->bowc", rows, images.astype(np.float32))
    return xp.einsum("ow,bhwc->bhoc", columns, x).astype(np.float32)


@scale_and_translate.shape
def _(images, size, scale, translation, *, const):
    return _resized_shape(images, size, const)


@op(
    "ScaleAndTranslateGrad",
    "grads: T, original_image: T, scale: float, translation: float -> output: T",
    f"T: type in {{float}}; {_ATTRS}",
    static=("scale", "translation"),
)
def scale_and_translate_grad(
    xp, grads, original_image, scale, translation, *, kernel_type, antialias
):
    """The gradient of ScaleAndTranslate."""
    rows, columns = _matrices(
        original_image.shape[1:3], grads.shape[1:3], scale, translation, kernel_type, antialias
    )
    x = xp.einsum("oh,bowc->bhwc", rows, grads)
    return xp.einsum("ow,bhoc->bhwc", columns, x).astype(np.float32)


@scale_and_translate_grad.shape
def _(grads, original_image, scale, translation):
    return rank(original_image, 4, "original_image")


@scale_and_translate.gradient
def _(op, grad):
    image = op.inputs[0]
    if not image.dtype.is_floating:
        return None, None, None, None
    from weft.framework import dtypes

    out = scale_and_translate_grad(
        grad,
        raw.Cast(image, DstT=dtypes.float32),
        op.inputs[2],
        op.inputs[3],
        kernel_type=op.get_attr("kernel_type"),
        antialias=op.get_attr("antialias"),
    )
    return raw.Cast(out, DstT=image.dtype.base_dtype), None, None, None
