"""Greyscale dilation and erosion."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import errors
from weft.framework.conversion import convert_to_tensor
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import ShapeError, merge_dim, rank
from weft.ops.by_name import raw
from weft.ops.math.reduce_functions import chosen
from weft.ops.nn import sliding
from weft.ops.nn.channel_sums import channel_sum
from weft.ops.nn.windows import output_size, windows

_ATTRS = (
    "T: type in {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}; "
    "strides: list(int) >= 4; rates: list(int) >= 4; padding: string in {SAME, VALID}"
)


def _lowest(dtype: Any) -> Any:
    dtype = np.dtype(dtype)
    return np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf


def _sums(xp: Any, x: Any, w: Any, ws: list) -> Any:
    """Element by element of the window: what it adds up to, and whether it lies inside the input."""
    lowest = _lowest(x.dtype)
    padded = sliding.pad(xp, x, ws, lowest)
    inside = sliding.pad(xp, np.ones((1, *x.shape[1:3], 1), bool), ws, False)
    for index, offset in sliding.positions(ws):
        total = sliding.seen_at(padded, offset, ws) + w[index]
        if np.dtype(x.dtype).kind in "iu":  # the least integer and something may wrap around
            total = xp.where(sliding.seen_at(inside, offset, ws), total, lowest)
        yield total.astype(x.dtype)


def _greatest_position(xp: Any, x: Any, w: Any, ws: list) -> Any:
    """The number of the element of each window with the greatest sum, the first of equal ones."""
    greatest: Any = None
    number: Any = None
    for n, total in enumerate(_sums(xp, x, w, ws)):
        if greatest is None:
            greatest = xp.full(total.shape, _lowest(x.dtype), x.dtype)
            number = xp.full(total.shape, -1, xp.int32)
        better = total > greatest
        greatest = xp.where(better, total, greatest)
        number = xp.where(better, np.int32(n), number)
    return xp.where(number < 0, sliding.first_inside(ws), number)


def _windows(x: Any, w: Any, strides: Any, rates: Any, padding: str) -> list:
    return windows(x.shape[1:3], w.shape[:2], strides[1:3], rates[1:3], padding)


@op("Dilation2D", "input: T, filter: T -> output: T", _ATTRS)
def dilation2d_op(xp, input, filter, *, strides, rates, padding):
    """The greatest sum of window and filter."""
    ws = _windows(input, filter, strides, rates, padding)
    greatest = None
    for total in _sums(xp, input, filter, ws):
        greatest = total if greatest is None else xp.maximum(greatest, total)
    return greatest


@dilation2d_op.shape
def _(input, filter, *, strides, rates, padding):
    for what, values in (("stride", strides), ("rate", rates)):
        if len(values) != 4:
            raise ShapeError(
                f"Dilation2D requires the {what} attribute to contain 4 values, but got: {len(values)}"
            )
        if values[0] != 1 or values[3] != 1:
            raise errors.UnimplementedError(
                None, None, f"{what.capitalize()} is only supported across spatial dimensions."
            )
    x, w = rank(input, 4), rank(filter, 3)
    channels = merge_dim(x[3], w[2])
    rows = zip(x[1:3], w[:2], strides[1:3], rates[1:3])
    sizes = [output_size(n, k, s, r, padding) for n, k, s, r in rows]
    return (x[0], *sizes, channels)


def _check(dy: Any, ws: list, x: Any) -> None:
    wanted = (x.shape[0], *(a.out for a in ws), x.shape[3])
    if tuple(dy.shape) != wanted:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"out_backprop has incompatible size: {list(dy.shape)}, expected {list(wanted)}",
        )


@op(
    "Dilation2DBackpropInput",
    "input: T, filter: T, out_backprop: T -> in_backprop: T",
    _ATTRS,
)
def dilation2d_backprop_input(xp, input, filter, out_backprop, *, strides, rates, padding):
    """The gradient of Dilation2D for its input: to the element with the greatest sum."""
    ws = _windows(input, filter, strides, rates, padding)
    _check(out_backprop, ws, input)
    if input.size == 0 or out_backprop.size == 0:
        return xp.zeros(input.shape, input.dtype)
    number = _greatest_position(xp, input, filter, ws)
    zero = np.zeros((), out_backprop.dtype)
    return sliding.give_back(
        xp, ws, (out_backprop, number), lambda n, dy, number: xp.where(number == n, dy, zero)
    )


dilation2d_backprop_input.shape(lambda input, filter, out_backprop: rank(input, 4))


@op(
    "Dilation2DBackpropFilter",
    "input: T, filter: T, out_backprop: T -> filter_backprop: T",
    _ATTRS,
)
def dilation2d_backprop_filter(xp, input, filter, out_backprop, *, strides, rates, padding):
    """The gradient of Dilation2D for its filter: to the element with the greatest sum."""
    ws = _windows(input, filter, strides, rates, padding)
    _check(out_backprop, ws, input)
    if filter.size == 0 or out_backprop.size == 0:
        return xp.zeros(filter.shape, filter.dtype)
    number = _greatest_position(xp, input, filter, ws)
    zero = np.zeros((), out_backprop.dtype)
    sums = [
        channel_sum(xp, xp.where(number == np.int32(n), out_backprop, zero))
        for n in range(sliding.number_of(ws))
    ]
    return xp.stack(sums).reshape(filter.shape).astype(filter.dtype)


dilation2d_backprop_filter.shape(lambda input, filter, out_backprop: rank(filter, 3))


@dilation2d_op.gradient
def _(op, grad):
    how = {name: op.get_attr(name) for name in ("strides", "rates", "padding")}
    return (
        dilation2d_backprop_input(*op.inputs, grad, **how),
        dilation2d_backprop_filter(*op.inputs, grad, **how),
    )


@export("nn.dilation2d")
def dilation2d(
    input: Any,
    filter: Any = None,
    strides: Any = None,
    rates: Any = None,
    padding: Any = None,
    name: str | None = None,
    filters: Any = None,
    dilations: Any = None,
) -> Any:
    """Greyscale dilation: the greatest sum of window and filter."""
    filter = chosen("filter", filter, "filters", filters)
    rates = chosen("rates", rates, "dilations", dilations)
    return dilation2d_op(input, filter, strides=strides, rates=rates, padding=padding, name=name)


@export("nn.erosion2d")
def erosion2d(
    value: Any, kernel: Any, strides: Any, rates: Any, padding: Any, name: str | None = None
) -> Any:
    """Greyscale erosion: the least difference of window and filter."""
    with name_scope(name, "erosion2d", [value, kernel]) as name:
        value = convert_to_tensor(value, name="value")
        flipped = raw.ReverseV2(kernel, np.array([0, 1], np.int32))
        dilated = dilation2d_op(
            raw.Neg(value), flipped, strides=strides, rates=rates, padding=padding, name=name
        )
        return raw.Neg(dilated)
