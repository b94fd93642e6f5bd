"""Undoing broadcasting: the gradient of an elementwise op sums over the axes along which an input was repeated."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from weft.framework import conversion
from weft.framework.shape_rules import Shape, compatible, is_full
from weft.framework.tensor import Tensor
from weft.ops.by_name import raw

Partial = Callable[[Any, Any, Any, Any], Any]


@functools.lru_cache(maxsize=4096)
def repeated_axes(own: Shape, other: Shape) -> tuple[int, ...] | None:
    """The axes of the broadcast shape along which an input of shape `own` was repeated; None where that
    depends on sizes which are not known."""
    if own is None or other is None:
        return None
    rank = max(len(own), len(other))
    mine = (1,) * (rank - len(own)) + own
    theirs = (1,) * (rank - len(other)) + other
    missing = rank - len(own)
    axes = []
    for i, (a, b) in enumerate(zip(mine, theirs)):
        if i < missing:
            axes.append(i)
        elif a is None:
            if b != 1:
                return None
        elif a == 1 and b != 1:
            axes.append(i)
    return tuple(axes)


def sum_to_inputs(x: Any, y: Any, gx: Any, gy: Any) -> tuple[Any, Any]:
    """Sums gradients, of the shape that `x` and `y` broadcast to, to the shapes of `x` and `y`."""
    sx, sy = x.dims, y.dims
    if sx == sy and is_full(sx):
        return _shaped(gx, sx), _shaped(gy, sy)
    rx = repeated_axes(sx, sy) if gx is not None else ()
    ry = repeated_axes(sy, sx) if gy is not None else ()
    if rx is None or ry is None:
        shape_x, shape_y = raw.Shape(x), raw.Shape(y)
        dynamic = raw.BroadcastGradientArgs(shape_x, shape_y)
        if rx is None:
            gx = raw.Reshape(raw.Sum(gx, dynamic[0]), shape_x)
        if ry is None:
            gy = raw.Reshape(raw.Sum(gy, dynamic[1]), shape_y)
    if rx:
        gx = _sum(gx, rx, x)
    if ry:
        gy = _sum(gy, ry, y)
    return _shaped(gx, sx), _shaped(gy, sy)


def _shaped(grad: Any, shape: Shape) -> Any:
    """The gradient in the shape of its input, where the caller gave one of as many elements."""
    if grad is None or grad.dims == shape or not is_full(shape) or compatible(grad.dims, shape):
        return grad
    return raw.Reshape(grad, np.array(shape, np.int32))


def _sum(grad: Any, axes: tuple[int, ...], like: Any) -> Any:
    total = raw.Sum(grad, np.array(axes, np.int32))
    dims = like.dims
    rank = grad.dims
    if rank is not None and len(rank) - len(axes) == len(dims):
        return total  # only leading axes were added
    return raw.Reshape(total, np.array(dims, np.int32) if is_full(dims) else raw.Shape(like))


def elementwise_gradient(parts: tuple[Partial | None, Partial | None] | Partial) -> Callable:
    """The gradient rule of a broadcasting op of two inputs.

    Each part gives, from `(grad, x, y, z)`, the gradient of one input in the shape of `z`; None where the
    input has no gradient. One function in place of both gives the two of them, which have much in common.
    """

    def rule(op: Any, grad: Any) -> tuple[Any, Any]:
        x, y = op.inputs
        z = op.outputs[0]
        if not isinstance(grad, Tensor):
            grad = conversion.convert_to_tensor(grad)
        if callable(parts):
            gx, gy = parts(grad, x, y, z)
        else:
            skip = getattr(op, "skip_input_indices", None) or ()
            x_part, y_part = parts
            gx = None if x_part is None or 0 in skip else x_part(grad, x, y, z)
            gy = None if y_part is None or 1 in skip else y_part(grad, x, y, z)
        return sum_to_inputs(x, y, gx, gy)

    return rule
