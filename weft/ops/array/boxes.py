"""Boxes cut out of arrays, for kernels: views in NumPy, `slice` and `rev` in XLA.

XLA gets the operations themselves, since jax.numpy's indexing takes longer to trace than most kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def cut(xp: Any, x: Any, ranges: Sequence[tuple[int, int, int]]) -> Any:
    """The elements of each dimension from `begin`, `size` of them, in steps of `stride`."""
    if isinstance(x, np.ndarray):
        return x[tuple([as_slice(*r) for r in ranges])]
    starts, limits, strides, flipped = [], [], [], []
    for axis, (begin, size, stride) in enumerate(ranges):
        if stride < 0:
            flipped.append(axis)
            begin, stride = begin + (size - 1) * stride, -stride
        if size == 0:
            begin, stride = 0, 1
        starts.append(begin)
        limits.append(begin + (size - 1) * stride + 1 if size else begin)
        strides.append(stride)
    out = x
    if any(starts) or tuple(limits) != tuple(x.shape) or any(s != 1 for s in strides):
        out = xp.lax.slice(x, starts, limits, strides)
    return xp.lax.rev(out, flipped) if flipped else out


def as_slice(begin: int, size: int, stride: int) -> slice:
    """The same as one of Python's slices."""
    if size == 0:
        return slice(0, 0, 1)
    end = begin + size * stride
    return slice(begin, end if end >= 0 else None, stride)


def along(xp: Any, x: Any, axis: int, begin: int, size: int, stride: int = 1) -> Any:
    """The elements of one dimension; the others are whole."""
    if isinstance(x, np.ndarray):
        return x[(slice(None),) * axis + (as_slice(begin, size, stride),)]
    ranges = [(0, d, 1) for d in x.shape]
    ranges[axis] = (begin, size, stride)
    return cut(xp, x, ranges)


def without(xp: Any, x: Any, axis: int, index: int) -> Any:
    """The part at one position of a dimension, which it lacks."""
    if isinstance(x, np.ndarray):
        return x[(slice(None),) * axis + (index,)]
    part = along(xp, x, axis, index, 1)
    return part.reshape(x.shape[:axis] + x.shape[axis + 1 :])
