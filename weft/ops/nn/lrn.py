"""Local response normalisation over neighbouring channels."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.shape_rules import merge_all, rank

_ATTRS = (
    "depth_radius: int = 5; bias: float = 1.0; alpha: float = 1.0; beta: float = 0.5; "
    "T: type in {half, bfloat16, float} = float"
)
_MOST_SHIFTS = 32  # beyond that the sum over neighbours is a product with a band matrix


def _sum_of_neighbours(xp: Any, x: Any, radius: int) -> Any:
    """For each channel the sum over those at most `radius` away."""
    channels = x.shape[-1]
    radius = min(radius, channels - 1)
    if 2 * radius + 1 > _MOST_SHIFTS:
        i = np.arange(channels)
        band = (np.abs(i[:, None] - i) <= radius).astype(np.float32)
        return xp.matmul(x, band)
    padded = xp.pad(x, [(0, 0)] * (x.ndim - 1) + [(radius, radius)])
    total: Any = 0
    for shift in range(2 * radius + 1):
        total = total + padded[..., shift : shift + channels]
    return total


def _scale(xp: Any, x: Any, radius: int, bias: float, alpha: float) -> Any:
    return np.float32(bias) + np.float32(alpha) * _sum_of_neighbours(xp, x * x, radius)


@op("LRN", "input: T -> output: T", _ATTRS)
def lrn_op(xp, input, *, depth_radius, bias, alpha, beta):
    """Divides each channel by a power of the squares around it."""
    if input.size == 0:
        return input
    x = input.astype(xp.float32)
    scale = _scale(xp, x, depth_radius, bias, alpha)
    return (x * scale ** np.float32(-beta)).astype(input.dtype)


lrn_op.shape(lambda input: rank(input, 4))


@op("LRNGrad", "input_grads: T, input_image: T, output_image: T -> output: T", _ATTRS)
def lrn_grad(xp, input_grads, input_image, output_image, *, depth_radius, bias, alpha, beta):
    """The gradient of LRN."""
    if input_image.size == 0:
        return input_image
    dy, x, y = (v.astype(xp.float32) for v in (input_grads, input_image, output_image))
    scale = _scale(xp, x, depth_radius, bias, alpha)
    shared = _sum_of_neighbours(xp, dy * y / scale, depth_radius)
    dx = dy * scale ** np.float32(-beta) - np.float32(2 * alpha * beta) * x * shared
    return dx.astype(input_image.dtype)


@lrn_grad.shape
def _(input_grads, input_image, output_image):
    return rank(merge_all([input_grads, input_image, output_image]), 4)


@lrn_op.gradient
def _(op, grad):
    names = ("depth_radius", "bias", "alpha", "beta")
    how = {name: op.get_attr(name) for name in names}
    return lrn_grad(grad, op.inputs[0], op.outputs[0], **how)


@export("nn.lrn", "nn.local_response_normalization")
def lrn(
    input: Any,
    depth_radius: int = 5,
    bias: float = 1,
    alpha: float = 1,
    beta: float = 0.5,
    name: str | None = None,
) -> Any:
    """Normalises each channel by those around it."""
    return lrn_op(input, depth_radius=depth_radius, bias=bias, alpha=alpha, beta=beta, name=name)
