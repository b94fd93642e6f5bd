"""Quantizing and taking it back at once: QuantizeAndDequantize, in its three forms."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import errors
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.shape_rules import scalar

_TYPES = "T: type in {bfloat16, half, float, double}"


def _round_trip(
    xp: Any,
    x: Any,
    low: Any,
    high: Any,
    bits: int,
    *,
    signed: bool,
    given: bool,
    narrow: bool = False,
    half_up: bool = False,
) -> Any:
    if not 0 < bits < (62 if signed else 63):
        raise errors.InvalidArgumentError(
            None, None, f"num_bits is out of range: {bits} with signed_input_ {signed}"
        )
    if not x.size:
        return x
    kind = x.dtype
    wide = np.dtype(np.float32) if kind.itemsize == 2 else kind
    x = x.astype(wide)
    if given:
        low, high = low.astype(wide), high.astype(wide)
        xp.check(low <= high, lambda: f"Invalid range: input_min {low} > input_max {high}")
    else:
        low, high = xp.min(x), xp.max(x)
    lowest, highest = (-(1 << (bits - 1)) + narrow, (1 << (bits - 1)) - 1)
    if not signed:
        lowest, highest = 0, (1 << bits) - 1
    least, most = wide.type(lowest), wide.type(highest)
    one, none = wide.type(1), np.finfo(wide).max

    def side(level: Any, end: Any) -> Any:
        """The scale that brings this end of the range to its level, zero staying zero."""
        fits = level * end > 0
        return xp.where(fits, level / xp.where(fits, end, one), none)

    from_low, from_high = side(least, low), side(most, high)
    by_low = from_low < from_high
    scale = xp.where(by_low, from_low, from_high)
    step = xp.where(by_low, low / (least if lowest else one), high / most)
    if given:
        # The side that does not determine the scale is moved with it.
        x = xp.clip(x, xp.where(by_low, low, least * step), xp.where(by_low, most * step, high))
    scaled = x * scale
    rounded = xp.floor(scaled + wide.type(0.5)) if half_up else xp.rint(scaled)
    return (rounded * step).astype(kind)


@op(
    "QuantizeAndDequantize",
    "input: T -> output: T",
    "signed_input: bool = true; num_bits: int = 8; range_given: bool = false; "
    "input_min: float = 0.0; input_max: float = 0.0; " + _TYPES,
)
def quantize_and_dequantize_v1(
    xp, input, *, signed_input, num_bits, range_given, input_min, input_max
):
    """The input, rounded to values that `num_bits` can say of its range."""
    low, high = np.float64(input_min), np.float64(input_max)
    return _round_trip(xp, input, low, high, num_bits, signed=signed_input, given=range_given)


@quantize_and_dequantize_v1.shape
def _(input):
    return input


@quantize_and_dequantize_v1.gradient
def _(op, grad):
    return grad


@op(
    "QuantizeAndDequantizeV2",
    "input: T, input_min: T, input_max: T -> output: T",
    "signed_input: bool = true; num_bits: int = 8; range_given: bool = false; "
    + _TYPES
    + "; round_mode: string in {HALF_TO_EVEN, HALF_UP} = 'HALF_TO_EVEN'; narrow_range: bool = false",
)
def quantize_and_dequantize_v2(
    xp,
    input,
    input_min,
    input_max,
    *,
    signed_input,
    num_bits,
    range_given,
    round_mode,
    narrow_range,
):
    """The input, rounded to values that `num_bits` can say of the range."""
    return _round_trip(
        xp,
        input,
        input_min,
        input_max,
        num_bits,
        signed=signed_input,
        given=range_given,
        narrow=narrow_range,
        half_up=round_mode in (b"HALF_UP", "HALF_UP"),
    )


@quantize_and_dequantize_v2.shape
def _(input, input_min, input_max):
    scalar(input_min)
    scalar(input_max)
    return input


@quantize_and_dequantize_v2.gradient
def _(op, grad):
    return [grad, None, None]


@op(
    "QuantizeAndDequantizeV3",
    "input: T, input_min: T, input_max: T, num_bits: int32 -> output: T",
    "signed_input: bool = true; range_given: bool = true; "
    + _TYPES
    + "; narrow_range: bool = false",
    static=("num_bits",),
)
def quantize_and_dequantize_v3(
    xp, input, input_min, input_max, num_bits, *, signed_input, range_given, narrow_range
):
    """The input, rounded to values that `num_bits` can say of the range."""
    return _round_trip(
        xp,
        input,
        input_min,
        input_max,
        int(num_bits),
        signed=signed_input,
        given=range_given,
        narrow=narrow_range,
    )


@quantize_and_dequantize_v3.shape
def _(input, input_min, input_max, num_bits):
    for shape in (input_min, input_max, num_bits):
        scalar(shape)
    return input


@quantize_and_dequantize_v3.gradient
def _(op, grad):
    return [grad, None, None, None]


@export("quantization.quantize_and_dequantize")
def quantize_and_dequantize(
    input: Any,
    input_min: Any,
    input_max: Any,
    signed_input: bool = True,
    num_bits: int = 8,
    range_given: bool = False,
    round_mode: str = "HALF_TO_EVEN",
    name: str | None = None,
    narrow_range: bool = False,
) -> Any:
    """The input, rounded to values that `num_bits` can say of the range (by default, its own)."""
    return quantize_and_dequantize_v2(
        input,
        input_min=input_min,
        input_max=input_max,
        signed_input=signed_input,
        num_bits=num_bits,
        range_given=range_given,
        round_mode=round_mode,
        narrow_range=narrow_range,
        name=name,
    )
