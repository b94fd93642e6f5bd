"""Pooling over two or three spatial axes and its gradients, over arrays [batch, *spatial,
channels].

`ws` is the geometry, one `Window` for each spatial axis.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.ops.computed_once import computed_once
from weft.ops.nn import sliding
from weft.ops.nn.windows import Window

_MUCH_REPEATED = 64  # comparisons that XLA would repeat for each window, were they fused


def _lowest(dtype: Any) -> Any:
    dtype = np.dtype(dtype)
    return np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf


def max_pool(xp: Any, x: Any, ws: Sequence[Window]) -> Any:
    """The greatest element of each window."""
    padded = sliding.pad(xp, x, ws, _lowest(x.dtype))
    greatest: Any = None
    for _, offset in sliding.positions(ws):
        seen = sliding.seen_at(padded, offset, ws)
        greatest = seen if greatest is None else xp.maximum(greatest, seen)
    return greatest if len(sliding.positions(ws)) > 1 or not xp.is_numpy else greatest.copy()


def max_position(xp: Any, x: Any, ws: Sequence[Window]) -> Any:
    """The number (int32) of the greatest element of each window, the first of equal ones."""
    padded = sliding.pad(xp, x, ws, _lowest(x.dtype))
    greatest: Any = None
    number: Any = None
    for n, (_, offset) in enumerate(sliding.positions(ws)):
        seen = sliding.seen_at(padded, offset, ws)
        if greatest is None:
            greatest = xp.full(seen.shape, _lowest(x.dtype), x.dtype)
            number = xp.full(seen.shape, -1, xp.int32)
        better = seen > greatest
        greatest = xp.where(better, seen, greatest)
        number = xp.where(better, np.int32(n), number)
    # Nothing exceeds the least value in a window of infinities or NaNs: TensorFlow then takes the
    # first element.
    return xp.where(number < 0, sliding.first_inside(ws), number)


def max_pool_gradient(xp: Any, x: Any, dy: Any, ws: Sequence[Window]) -> Any:
    """The gradient for the input: what each window got goes to its first greatest element."""
    if x.size == 0 or dy.size == 0:
        return xp.zeros(x.shape, dy.dtype)
    number: Any
    if math.prod(a.stride for a in ws) * sliding.number_of(ws) > _MUCH_REPEATED:
        number = computed_once(xp, lambda: max_position(xp, x, ws), dy)
    else:
        number = max_position(xp, x, ws)
    zero = np.zeros((), dy.dtype)
    return sliding.give_back(
        xp, ws, (dy, number), lambda n, dy, number: xp.where(number == n, dy, zero)
    )


def max_pool_gradient_of_near(xp: Any, x: Any, y: Any, dy: Any, ws: Sequence[Window]) -> Any:
    """As TensorFlow's three-dimensional pooling has it: all elements get it that are within 1e-5 of
    the greatest."""
    if x.size == 0 or dy.size == 0:
        return xp.zeros(x.shape, dy.dtype)
    zero = np.zeros((), dy.dtype)
    near = np.asarray(1e-5, x.dtype)

    def share(number: Any, y: Any, dy: Any, x: Any) -> Any:
        return xp.where((number >= 0) & (xp.abs(x - y) < near), dy, zero)

    return sliding.give_back(xp, ws, (y, dy), share, seen=x)


def pick_greatest(xp: Any, x: Any, v: Any, ws: Sequence[Window]) -> Any:
    """Of each window the element of `v` that stands where `x` is greatest: the gradient's gradient."""
    number = max_position(xp, x, ws)
    padded = sliding.pad(xp, v, ws)
    picked = xp.zeros(number.shape, v.dtype)
    for n, (_, offset) in enumerate(sliding.positions(ws)):
        picked = xp.where(number == n, sliding.seen_at(padded, offset, ws), picked)
    return picked


def flat_index(xp: Any, number: Any, ws: Sequence[Window], with_batch: bool, dtype: Any) -> Any:
    """Where the elements of these numbers lie in the flattened input, of one example or of all."""
    channels = number.shape[-1]
    rank = len(ws)
    index = xp.zeros((1,) * (rank + 2), xp.int64)
    rest = number.astype(xp.int64)
    within = []
    for a in reversed(ws):
        within.append(rest % a.kernel)
        rest = rest // a.kernel
    for k, (a, inner) in enumerate(zip(ws, reversed(within))):
        start = np.arange(a.out, dtype=np.int64) * a.stride - a.low
        start = start.reshape([-1 if j == k + 1 else 1 for j in range(rank + 2)])
        index = index * a.size + start + inner * a.dilation
    index = index * channels + np.arange(channels, dtype=np.int64)
    if with_batch:
        each = np.prod([a.size for a in ws], dtype=np.int64) * channels
        batch = np.arange(number.shape[0], dtype=np.int64) * each
        index = index + batch.reshape((-1,) + (1,) * (rank + 1))
    return index.astype(dtype)


def avg_pool(xp: Any, x: Any, ws: Sequence[Window]) -> Any:
    """The mean of each window, of what lies inside the input."""
    wide = _accumulator(x.dtype)
    padded = sliding.pad(xp, x, ws)
    total = None
    for _, offset in sliding.positions(ws):
        seen = sliding.seen_at(padded, offset, ws).astype(wide)
        total = seen if total is None else total + seen
    return (total / sliding.counts(ws).astype(wide)).astype(x.dtype)


def avg_pool_gradient(xp: Any, dy: Any, ws: Sequence[Window]) -> Any:
    """The gradient for the input."""
    wide = _accumulator(dy.dtype)
    shared = dy.astype(wide) / sliding.counts(ws).astype(wide)
    zero = np.zeros((), wide)

    def share(n: Any, shared: Any) -> Any:
        return shared if xp.is_numpy else xp.where(n >= 0, shared, zero)

    return sliding.give_back(xp, ws, (shared,), share).astype(dy.dtype)


def _accumulator(dtype: Any) -> Any:
    return np.dtype(np.float32) if np.dtype(dtype).itemsize == 2 else np.dtype(dtype)
