"""Depthwise convolution of two spatial axes and its gradients, over arrays [batch, *spatial,
channels].

The filter is [*spatial, channels, multiplier]; output channel `c * multiplier + m` sees channel `c`
only. Everything is a sum over the elements of the window of shifted products: XLA fuses that into
one loop (measured: 40 to 200 times as quick as its grouped convolution on a CPU).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.ops.nn import sliding
from weft.ops.nn.channel_sums import channel_sum
from weft.ops.nn.windows import Window


def depthwise(xp: Any, x: Any, w: Any, ws: Sequence[Window]) -> Any:
    """Slides a filter of its own over each channel of `x`."""
    *_, channels, multiplier = w.shape
    wide = _wide(x.dtype)
    out = (x.shape[0], *(a.out for a in ws), channels * multiplier)
    if 0 in out or w.size == 0:
        return xp.zeros(out, x.dtype)
    padded, w = sliding.pad(xp, x.astype(wide), ws), w.astype(wide)
    total: Any = 0
    for index, offset in sliding.positions(ws):
        seen = sliding.seen_at(padded, offset, ws)
        if multiplier == 1:
            total = total + seen * w[index][:, 0]
        else:
            total = total + seen[..., None] * w[index]
    return total.reshape(out).astype(x.dtype)


def depthwise_input_gradient(xp: Any, w: Any, dy: Any, ws: Sequence[Window]) -> Any:
    """The gradient for the input, from that for the output."""
    *_, channels, multiplier = w.shape
    shape = (dy.shape[0], *(a.size for a in ws), channels)
    if 0 in shape or dy.size == 0 or w.size == 0:
        return xp.zeros(shape, dy.dtype)
    wide = _wide(dy.dtype)
    parts = dy.astype(wide).reshape(*dy.shape[:-1], channels, multiplier)
    taps = w.astype(wide).reshape(-1, channels, multiplier)
    total: Any = 0
    for m in range(multiplier):
        tap = taps[..., m]

        def share(number: Any, dy: Any, tap: Any = tap) -> Any:
            if xp.is_numpy:
                return dy * tap[number]
            number = number[
                ..., 0
            ]  # a constant array that broadcasts; the channels go with the taps
            chosen = xp.where((number >= 0)[..., None], tap[np.maximum(number, 0)], 0)
            return dy * chosen

        total = total + sliding.give_back(xp, ws, (parts[..., m],), share)
    return total.astype(dy.dtype)


def depthwise_filter_gradient(
    xp: Any, x: Any, shape: Sequence[int], dy: Any, ws: Sequence[Window]
) -> Any:
    """The gradient for the filter, of the given shape, from that for the output."""
    if 0 in shape or dy.size == 0 or x.size == 0:
        return xp.zeros(tuple(shape), dy.dtype)
    *_, channels, multiplier = shape
    wide = _wide(dy.dtype)
    padded, dy = sliding.pad(xp, x.astype(wide), ws), dy.astype(wide)
    if multiplier > 1:
        dy = dy.reshape(*dy.shape[:-1], channels, multiplier)
    sums = []
    for _, offset in sliding.positions(ws):
        seen = sliding.seen_at(padded, offset, ws)
        product = seen * dy if multiplier == 1 else seen[..., None] * dy
        sums.append(channel_sum(xp, product.reshape(*seen.shape[:-1], channels * multiplier)))
    return xp.stack(sums).reshape(tuple(shape)).astype(x.dtype)


def _wide(dtype: Any) -> Any:
    return np.dtype(np.float32) if np.dtype(dtype).itemsize == 2 else np.dtype(dtype)
