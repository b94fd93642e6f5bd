"""What arrays look like through sliding windows, and how to add up what windows give back.

Arrays are [batch, *spatial, channels]. A window's elements are numbered in row-major order.
Everything loops over the elements of one window only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np

from weft.ops.nn.windows import Window


def to_last(xp: Any, x: Any, channels_last: bool) -> Any:
    """`x` with its channels behind the spatial axes."""
    return x if channels_last else xp.moveaxis(x, 1, -1)


def from_last(xp: Any, x: Any, channels_last: bool) -> Any:
    """The opposite of `to_last`."""
    if channels_last:
        return x
    moved = xp.moveaxis(x, -1, 1)
    return np.ascontiguousarray(moved) if xp.is_numpy else moved


def pad(xp: Any, x: Any, ws: Sequence[Window], value: Any = 0) -> Any:
    """`x` as the windows see it: padded, and cut where none reaches."""
    pads = [(max(a.low, 0), max(a.high, 0)) for a in ws]
    if any(map(any, pads)):
        x = xp.pad(x, [(0, 0), *pads, (0, 0)], constant_values=value)
    starts = [max(-a.low, 0) for a in ws]
    if all(s == 0 and a.reach == n for s, a, n in zip(starts, ws, x.shape[1:-1])):
        return x
    return x[(slice(None), *(slice(s, s + a.reach) for s, a in zip(starts, ws)))]


def unpad(xp: Any, padded: Any, ws: Sequence[Window]) -> Any:
    """The opposite of `pad`: without the padding, zeros where no window reached."""
    if all(a.low == 0 and a.high == 0 for a in ws):
        return padded
    kept = padded[(slice(None), *(slice(max(a.low, 0), max(a.low, 0) + a.size) for a in ws))]
    missing = [(max(-a.low, 0), max(-a.high, 0)) for a in ws]
    return xp.pad(kept, [(0, 0), *missing, (0, 0)]) if any(map(any, missing)) else kept


def positions(ws: Sequence[Window]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The elements of a window: their indices, and where they lie in the first window."""
    indices = product(*(range(a.kernel) for a in ws))
    offsets = product(*(range(0, a.span, a.dilation) for a in ws))
    return list(zip(indices, offsets))


def seen_at(padded: Any, offset: Sequence[int], ws: Sequence[Window]) -> Any:
    """One element of each window, [batch, *out, channels]; in NumPy a view."""
    cuts = (slice(p, p + (a.out - 1) * a.stride + 1, a.stride) for p, a in zip(offset, ws))
    return padded[(slice(None), *cuts)]


def patches(padded: np.ndarray, ws: Sequence[Window]) -> np.ndarray:
    """NumPy only: all elements of all windows, [batch, *out, *kernel, channels], a view."""
    batch, *strides, channel = padded.strides
    steps = [s * a.stride for s, a in zip(strides, ws)]
    inner = [s * a.dilation for s, a in zip(strides, ws)]
    shape = (len(padded), *(a.out for a in ws), *(a.kernel for a in ws), padded.shape[-1])
    view = np.lib.stride_tricks.as_strided
    return view(padded, shape, (batch, *steps, *inner, channel), writeable=False)


def give_back(
    xp: Any, ws: Sequence[Window], given: Sequence[Any], what: Callable, seen: Any = None
) -> Any:
    """Adds up what windows give back to the elements that they saw: [batch, *size, channels].

    `given` are arrays [batch, *out, channels]; `what(number, *given)` is what goes to the element
    of that number, from slices of them; `seen`, if there is one, is an array like the sum, of which
    `what` gets the elements that are given to as well. In XLA the number is an array that
    broadcasts against the slices, so that the sum is one fused loop; -1 stands for elements that
    lie in no window, and what is given there must be 0.
    """
    if xp.is_numpy:
        total = None
        if seen is not None:
            seen = pad(xp, seen, ws)
        for number, (_, offset) in enumerate(positions(ws)):
            part = what(number, *given, *(() if seen is None else (seen_at(seen, offset, ws),)))
            if total is None:
                total = np.zeros((len(part), *(a.reach for a in ws), part.shape[-1]), part.dtype)
            seen_at(total, offset, ws)[...] += part
        return unpad(xp, total, ws)
    return _xla_give_back(xp, ws, given, what, seen)


def _xla_give_back(
    xp: Any, ws: Sequence[Window], given: Sequence[Any], what: Callable, seen: Any
) -> Any:
    # Element h = stride * m + r is seen by window m - q as its element stride * q + r + low: so the
    # sum over q has few terms, and their numbers depend on r and q alone.
    axes = [_Residues(a) for a in ws]
    padded = [xp.pad(x, [(0, 0), *((a.before, a.behind) for a in axes), (0, 0)]) for x in given]
    strides = [a.stride for a in ws]
    split = [n for a, s in zip(axes, strides) for n in (a.count, s)]
    if seen is not None:
        fill = [(0, a.count * w.stride - w.size) for a, w in zip(axes, ws)]
        seen = xp.pad(seen, [(0, 0), *fill, (0, 0)])
        seen = seen.reshape((seen.shape[0], *split, seen.shape[-1]))
    steps = list(np.cumprod([1, *(a.kernel for a in reversed(ws[1:]))])[::-1])
    rank = len(ws)
    total: Any = None
    for shifts in product(*(a.shifts for a in axes)):
        number: Any = 0
        inside: Any = True
        for k, (axis, q) in enumerate(zip(axes, shifts)):
            index = axis.index_in_window(q)
            shape = [1] * (2 * rank + 2)
            shape[2 + 2 * k] = len(index)
            number = number + np.maximum(index, 0).reshape(shape) * int(steps[k])
            inside = inside & (index >= 0).reshape(shape)
        if not inside.any():
            continue
        number = np.where(inside, number, -1).astype(np.int32)
        slices = []
        for x in padded:
            cut = x[
                (
                    slice(None),
                    *(slice(a.before - q, a.before - q + a.count) for a, q in zip(axes, shifts)),
                )
            ]
            spread = [n for a in axes for n in (a.count, 1)]
            slices.append(cut.reshape((cut.shape[0], *spread, cut.shape[-1])))
        part = what(number, *slices, *(() if seen is None else (seen,)))
        total = part if total is None else total + part
    batch, channels = total.shape[0], total.shape[-1]
    whole = xp.broadcast_to(total, (batch, *split, channels))
    whole = whole.reshape((batch, *(a.count * s for a, s in zip(axes, strides)), channels))
    return whole[(slice(None), *(slice(a.size) for a in ws))]


class _Residues:
    """One axis of `_xla_give_back`."""

    def __init__(self, a: Window):
        self.window = a
        self.count = -(-a.size // a.stride)
        least = -((a.stride - 1 + a.low) // a.stride)
        most = (a.span - 1 - a.low) // a.stride
        self.shifts = range(least, most + 1)
        # Window m - q must be found for each m below count: pad `out` windows by that much.
        self.before = max(most, 0)
        self.behind = max(self.count - least - a.out, 0)

    def index_in_window(self, q: int) -> np.ndarray:
        """For each residue the index in the window, or -1."""
        a = self.window
        offset = a.stride * q + np.arange(a.stride) + a.low
        index, rest = np.divmod(offset, a.dilation)
        return np.where((offset >= 0) & (offset < a.span) & (rest == 0), index, -1)


def counts(ws: Sequence[Window]) -> np.ndarray:
    """How many elements of each window lie inside the input: [*out, 1]."""
    each = []
    for a in ws:
        start = np.arange(a.out) * a.stride - a.low
        places = start[:, None] + np.arange(0, a.span, a.dilation)
        each.append(((places >= 0) & (places < a.size)).sum(axis=1))
    total = each[0]
    for more in each[1:]:
        total = total[..., None] * more
    return total[..., None]


def first_inside(ws: Sequence[Window]) -> np.ndarray:
    """The number of the first element of each window that lies inside the input: [*out, 1]."""
    total = np.zeros((), np.int64)
    for a in ws:
        start = np.arange(a.out) * a.stride - a.low
        total = total[..., None] * a.kernel + np.maximum(-(start // a.dilation), 0)
    return total[..., None].astype(np.int32)


def number_of(ws: Sequence[Window]) -> int:
    """How many elements a window has."""
    return math.prod(a.kernel for a in ws)
