"""Convolutions of one to three spatial axes and their gradients, over arrays.

Layouts are TensorFlow's: inputs [batch, *spatial, channels] (or [batch, channels, *spatial]),
filters [*spatial, in, out]. Fewer channels in the filter than in the input make groups. `ws` is the
geometry, one `Window` for each spatial axis.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.ops.nn import sliding
from weft.ops.nn.windows import Window

_PATCH_BYTES = 1 << 25  # of patches that NumPy lays out at once


def convolve(xp: Any, x: Any, w: Any, ws: Sequence[Window], channels_last: bool = True) -> Any:
    """Slides the filter `w` over `x`."""
    groups = _channels(x, channels_last) // w.shape[-2] if w.shape[-2] else 1
    shape = _with_layout((x.shape[0], *(a.out for a in ws), w.shape[-1]), channels_last)
    if 0 in shape or x.size == 0 or w.size == 0:
        return xp.zeros(shape, x.dtype)
    if xp.is_numpy:
        return sliding.from_last(
            xp, _numpy_convolve(sliding.to_last(xp, x, channels_last), w, ws, groups), channels_last
        )
    if _is_pointwise(ws) and groups == 1 and channels_last:
        return xp.matmul(_at_stride(x, ws), w.reshape(w.shape[-2:]))
    if w.shape[-2] == 1 and groups == 1 and channels_last and sliding.number_of(ws) <= 32:
        return _of_one_channel(xp, x, w, ws)
    return xp.lax.conv_general_dilated(
        x,
        w,
        window_strides=[a.stride for a in ws],
        padding=[(a.low, a.high) for a in ws],
        rhs_dilation=[a.dilation for a in ws],
        dimension_numbers=_layouts(len(ws), channels_last),
        feature_group_count=groups,
    )


def _of_one_channel(xp: Any, x: Any, w: Any, ws: Sequence[Window]) -> Any:
    # As a sum of products it is three times as quick as a product of matrices with so short a side.
    padded = sliding.pad(xp, x, ws)
    total: Any = 0
    for index, offset in sliding.positions(ws):
        total = total + sliding.seen_at(padded, offset, ws) * w[index][0]
    return total


def input_gradient(
    xp: Any, shape: Sequence[int], w: Any, dy: Any, ws: Sequence[Window], channels_last: bool = True
) -> Any:
    """The gradient of `convolve` for its input, of the given shape, from that for its output."""
    channels = shape[-1] if channels_last else shape[1]
    if 0 in shape or dy.size == 0 or w.size == 0:
        return xp.zeros(tuple(shape), dy.dtype)
    groups = channels // w.shape[-2]
    if xp.is_numpy:
        dx = _numpy_input_gradient(sliding.to_last(xp, dy, channels_last), w, ws, groups)
        return sliding.from_last(xp, dx, channels_last)
    if _is_pointwise(ws) and groups == 1 and channels_last:
        dx = xp.matmul(dy, w.reshape(w.shape[-2:]).T)
        return _spread(xp, dx, ws)
    spatial = w.shape[:-2]
    w = w.reshape(*spatial, w.shape[-2], groups, w.shape[-1] // groups)
    n = len(spatial)
    w = w.transpose(*range(n), n + 2, n + 1, n).reshape(*spatial, -1, channels)
    w = xp.flip(w, tuple(range(n)))
    pads = []
    for a in ws:
        low = a.span - 1 - a.low
        pads.append((low, a.size + a.span - 1 - ((a.out - 1) * a.stride + 1) - low))
    return xp.lax.conv_general_dilated(
        dy,
        w,
        window_strides=(1,) * n,
        padding=pads,
        lhs_dilation=[a.stride for a in ws],
        rhs_dilation=[a.dilation for a in ws],
        dimension_numbers=_layouts(n, channels_last),
        feature_group_count=groups,
    )


def filter_gradient(
    xp: Any, x: Any, shape: Sequence[int], dy: Any, ws: Sequence[Window], channels_last: bool = True
) -> Any:
    """The gradient of `convolve` for its filter, of the given shape, from that for its output."""
    if 0 in shape or dy.size == 0 or x.size == 0:
        return xp.zeros(tuple(shape), dy.dtype)
    groups = _channels(x, channels_last) // shape[-2]
    if xp.is_numpy:
        x, dy = sliding.to_last(xp, x, channels_last), sliding.to_last(xp, dy, channels_last)
        return _numpy_filter_gradient(x, shape, dy, ws, groups)
    n = len(ws)
    if _is_pointwise(ws) and groups == 1 and channels_last:
        x = _at_stride(x, ws)
        flat = x.reshape(-1, x.shape[-1]).T @ dy.reshape(-1, dy.shape[-1])
        return flat.reshape(tuple(shape))
    spatial = "DHW"[3 - n :]
    return xp.lax.conv_general_dilated(
        x,
        dy,
        window_strides=[a.dilation for a in ws],
        padding=[(a.low, a.reach - a.size - a.low) for a in ws],
        rhs_dilation=[a.stride for a in ws],
        dimension_numbers=(
            f"C{spatial}N" if channels_last else f"CN{spatial}",
            f"I{spatial}O" if channels_last else f"IO{spatial}",
            f"{spatial}NC",
        ),
        batch_group_count=groups,
    )


def _layouts(n: int, channels_last: bool) -> tuple[str, str, str]:
    spatial = "DHW"[3 - n :]
    data = f"N{spatial}C" if channels_last else f"NC{spatial}"
    return data, f"{spatial}IO", data


def _channels(x: Any, channels_last: bool) -> int:
    return x.shape[-1] if channels_last else x.shape[1]


def _with_layout(shape: tuple, channels_last: bool) -> tuple:
    return shape if channels_last else (shape[0], shape[-1], *shape[1:-1])


def _is_pointwise(ws: Sequence[Window]) -> bool:
    return all(a.kernel == 1 and a.low <= 0 and a.high <= 0 for a in ws)


def _at_stride(x: Any, ws: Sequence[Window]) -> Any:
    """What windows of one element see."""
    if all(a.stride == 1 and a.out == a.size for a in ws):
        return x
    return x[(slice(None), *(slice(-a.low, None, a.stride) for a in ws))]


def _spread(xp: Any, dx: Any, ws: Sequence[Window]) -> Any:
    """The opposite of `_at_stride`: zeros where no window looked."""
    if all(a.stride == 1 and a.out == a.size for a in ws):
        return dx
    zero = xp.zeros((), dx.dtype)
    return xp.lax.pad(
        dx, zero, [(0, 0, 0), *((-a.low, -a.high, a.stride - 1) for a in ws), (0, 0, 0)]
    )


# NumPy: patches and matrix products. Half-width floats have no fast product, so they go through
# float32.


def _wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float32) if x.dtype.itemsize == 2 else x


def _numpy_convolve(x: np.ndarray, w: np.ndarray, ws: Sequence[Window], groups: int) -> np.ndarray:
    dtype = x.dtype
    padded, w = sliding.pad(np, _wide(x), ws), _wide(w)
    out = np.empty((len(x), *(a.out for a in ws), w.shape[-1]), w.dtype)
    n = len(ws)
    each = math.prod(out.shape[1:-1]) * w[..., 0].size * w.itemsize
    step = max(1, _PATCH_BYTES // max(each, 1))
    in_each, out_each = w.shape[-2], w.shape[-1] // groups
    for g in range(groups):
        part, matrix = (
            padded[..., g * in_each : (g + 1) * in_each],
            w[..., g * out_each : (g + 1) * out_each],
        )
        matrix = matrix.reshape(-1, out_each)
        for start in range(0, len(x), step):
            patches = sliding.patches(part[start : start + step], ws)
            rows = patches.reshape(math.prod(patches.shape[: n + 1]), len(matrix))
            product_ = rows @ matrix
            piece = out[start : start + step, ..., g * out_each : (g + 1) * out_each]
            piece[...] = product_.reshape(piece.shape)
    return out.astype(dtype, copy=False)


def _numpy_input_gradient(
    dy: np.ndarray, w: np.ndarray, ws: Sequence[Window], groups: int
) -> np.ndarray:
    dtype = dy.dtype
    dy, w = _wide(dy), _wide(w)
    in_each, out_each = w.shape[-2], w.shape[-1] // groups
    padded = np.zeros((len(dy), *(a.reach for a in ws), in_each * groups), dy.dtype)
    for g in range(groups):
        part = np.ascontiguousarray(dy[..., g * out_each : (g + 1) * out_each])
        target = padded[..., g * in_each : (g + 1) * in_each]
        for index, position in sliding.positions(ws):
            matrix = w[index][:, g * out_each : (g + 1) * out_each]
            view = sliding.seen_at(target, position, ws)
            view += part @ matrix.T
    return sliding.unpad(np, padded, ws).astype(dtype, copy=False)


def _numpy_filter_gradient(
    x: np.ndarray, shape: Sequence[int], dy: np.ndarray, ws: Sequence[Window], groups: int
) -> np.ndarray:
    dtype = x.dtype
    padded, dy = sliding.pad(np, _wide(x), ws), _wide(dy)
    dw = np.empty(tuple(shape), dy.dtype)
    in_each, out_each = shape[-2], shape[-1] // groups
    rows = dy.reshape(-1, shape[-1])
    for g in range(groups):
        part = padded[..., g * in_each : (g + 1) * in_each]
        columns = slice(g * out_each, (g + 1) * out_each)
        for index, position in sliding.positions(ws):
            seen = sliding.seen_at(part, position, ws).reshape(len(rows), in_each)
            dw[index][:, columns] = seen.T @ rows[:, columns]
    return dw.astype(dtype, copy=False)
