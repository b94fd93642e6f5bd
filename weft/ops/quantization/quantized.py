"""Quantized numbers: to them from floating point, back, and from one range to another.

They are kept as structured values (see `dtypes`), which XLA does not know: these ops run on the host.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import errors
from weft.framework.dtypes import DType
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.shape_rules import merge_dim, rank, scalar
from weft.ops.array.concat import concat_v1

_QUANTIZED = "type in {qint8, quint8, qint32, qint16, quint16}"
_MODE = "mode: string in {MIN_COMBINED, MIN_FIRST, SCALED} = 'MIN_COMBINED'"
_F = np.float32


def _fail(message: str) -> None:
    raise errors.InvalidArgumentError(None, None, message)


def _plain(x: np.ndarray) -> np.ndarray:
    """Quantized values as the integers that they are."""
    return x[x.dtype.names[0]] if x.dtype.names else x


def _as_quantized(x: np.ndarray, dtype: DType) -> np.ndarray:
    whole = dtype.np[0]
    return np.ascontiguousarray(x.astype(whole)).view(dtype.np).reshape(x.shape)


def _limits(dtype: np.dtype) -> tuple[int, int]:
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def _half_away(x: Any) -> Any:
    """Rounded to the nearest, and of two the one farther from zero."""
    return np.trunc(x + np.copysign(x.dtype.type(0.5), x))


def _single(x: Any, name: str) -> np.float32:
    if x.size != 1:
        _fail(f"{name} must contain a single float element, but it contains {x.size} elements")
    return x.reshape(-1)[0]


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else value


# -- ranges that all levels divide evenly, zero among them


def _to_levels(x: np.ndarray, low: Any, high: Any, dtype: np.dtype) -> np.ndarray:
    """The nearest levels, of single precision numbers."""
    lowest, highest = _limits(dtype)
    steps = 1 << (8 * dtype.itemsize)
    scale = _F(0.0) if high == low else _F((steps - 1.0) / float(high - low))
    start = _half_away(_F(low * scale))
    levels = _half_away((x * scale).astype(_F)) - (start - _F(lowest))
    # The highest int32 has no single precision number: the one below it.
    top = min(_F(highest), _F(2147483520.0))
    return np.clip(levels, _F(lowest), top).astype(np.int64)


def _of_levels(x: np.ndarray, low: Any, high: Any) -> np.ndarray:
    """The numbers that levels stand for, in single precision."""
    lowest, _ = _limits(x.dtype)
    steps = 1 << (8 * x.dtype.itemsize)
    scale = _F(float(high - low) / (steps - 1.0))
    start = low if high == low else _half_away(_F(low / scale)) * scale
    return _F(start - _F(lowest) * scale) + x.astype(_F) * scale


def _one_of_levels(value: int, low: Any, high: Any, dtype: np.dtype) -> np.float32:
    """The number that one level stands for, in double precision until the end."""
    if low == high:
        return _F(low)
    steps = 1 << (8 * dtype.itemsize)
    scale = float(high - low) * (steps / (steps - 1.0)) / steps
    start = float(_half_away(_F(low / _F(scale))) * _F(scale))
    return _F(start + (float(value) - _limits(dtype)[0]) * scale)


def _requantized(
    x: np.ndarray, old: tuple[Any, Any], new: tuple[Any, Any], dtype: np.dtype
) -> np.ndarray:
    """Levels of one range as levels of another."""
    if x.dtype != np.int32 or dtype != np.uint8:
        return _to_levels(_of_levels(x, *old), *new, dtype)
    # From 32 to 8 bits in whole numbers: fixed point with 16 bits.
    (low, high), (new_low, new_high) = old, new
    width, new_width = _F(high - low), _F(new_high - new_low)
    if new_width == 0:
        return np.full(x.shape, 0, np.int64)
    scale = int(255.0 * (1 << 16) * float(width) / float(new_width))
    middle = _F((float(low) + float(high)) / 2.0)
    offset = int(_F(middle * _F(255.0 / float(new_width))) * _F(1 << 16))
    new_offset = int((1 << 16) * (float(new_low) * 255.0) / float(new_width))
    value = ((x.astype(np.int64) * scale) >> 32) + (offset - new_offset + (1 << 15))
    return np.clip(value >> 16, 0, 255)


# -- from floating point and back


@op(
    "QuantizeV2",
    "input: float, min_range: float, max_range: float -> "
    "output: T, output_min: float, output_max: float",
    f"T: {_QUANTIZED}; {_MODE}; "
    "round_mode: string in {HALF_AWAY_FROM_ZERO, HALF_TO_EVEN} = 'HALF_AWAY_FROM_ZERO'",
    host=True,
)
def quantize_v2_op(xp, input, min_range, max_range, *, T, mode, round_mode):
    """Quantized values, and the range that they cover in the end."""
    mode, round_mode = _text(mode), _text(round_mode)
    if round_mode == "HALF_TO_EVEN" and mode != "SCALED":
        _fail(f"Round mode 'HALF_TO_EVEN' only supported for mode 'SCALED', but mode is '{mode}'.")
    low, high = _single(min_range, "min_range"), _single(max_range, "max_range")
    if high < low:
        _fail("input_max_range must be larger than input_min_range.")
    # Zero is in the range, which is wide enough to tell its ends apart.
    apart = max(_F(1), abs(low), abs(high)) / _F(100)
    low = min(_F(0), low)
    high = max(_F(0), high, _F(low + apart))
    whole = T.np[0]
    lowest, highest = _limits(whole)
    if mode == "MIN_FIRST":
        levels = _to_levels(input, low, high, whole)
    elif mode == "MIN_COMBINED":
        scale = _F((float(highest) - float(lowest)) / float(_F(high - low)))
        shifted = (np.clip(input, low, high) - low) * scale
        if lowest < 0:
            levels = _half_away(shifted - _F((float(highest) - float(lowest) + 1) / 2))
        else:
            levels = np.trunc(shifted + _F(0.5))
        levels = np.clip(levels.astype(np.float64), lowest, highest)
    else:
        sides = [
            _F(_F(level) / end) if level * end > 0 else np.finfo(_F).max
            for level, end in ((lowest, low), (highest, high))
        ]
        scale = min(sides)
        low, high = _F(_F(lowest) / scale), _F(_F(highest) / scale)
        scaled = np.clip(input, low, high) * scale
        levels = np.rint(scaled) if round_mode == "HALF_TO_EVEN" else _half_away(scaled)
        levels = np.clip(levels.astype(np.float64), lowest, highest)
    return _as_quantized(levels, T), _F(low), _F(high)


@quantize_v2_op.shape
def _(input, min_range, max_range):
    scalar(min_range)
    scalar(max_range)
    return input, (), ()


@op(
    "Dequantize",
    "input: T, min_range: float, max_range: float -> output: float",
    f"T: {_QUANTIZED}; {_MODE}",
    host=True,
)
def dequantize_op(xp, input, min_range, max_range, *, mode):
    """The numbers that quantized values stand for."""
    x, mode = _plain(input), _text(mode)
    low, high = _single(min_range, "min_range"), _single(max_range, "max_range")
    lowest, highest = _limits(x.dtype)
    if mode == "MIN_FIRST":
        return _of_levels(x, low, high).astype(_F)
    if mode == "MIN_COMBINED":
        half = _F(0) if lowest == 0 else _F((float(highest) - lowest + 1) / 2)
        scale = _F(_F(high - low) / _F(float(_F(highest)) - lowest))
        return (x.astype(_F) + half) * scale + low
    scale = _F(high / _F(highest))
    if lowest:
        scale = max(_F(low / _F(lowest)), scale)
    return x.astype(np.int32).astype(_F) * scale


@dequantize_op.shape
def _(input, min_range, max_range):
    scalar(min_range)
    scalar(max_range)
    return input


# -- from one range to another


def _used_range(x: np.ndarray, low: Any, high: Any) -> tuple[np.float32, np.float32]:
    """The range that the values reach, from zero at least on its lower side."""
    lowest, highest = _limits(x.dtype)
    least, most = (int(x.min()), int(x.max())) if x.size else (highest, lowest)
    return (
        min(_F(0), _one_of_levels(least, low, high, x.dtype)),
        _one_of_levels(most, low, high, x.dtype),
    )


@op(
    "RequantizationRange",
    "input: Tinput, input_min: float, input_max: float -> output_min: float, output_max: float",
    f"Tinput: {_QUANTIZED}",
    host=True,
)
def requantization_range(xp, input, input_min, input_max):
    """The range that the values reach."""
    return _used_range(_plain(input), input_min.reshape(-1)[0], input_max.reshape(-1)[0])


@requantization_range.shape
def _(input, input_min, input_max):
    scalar(input_min)
    scalar(input_max)
    return (), ()


@op(
    "Requantize",
    "input: Tinput, input_min: float, input_max: float, requested_output_min: float, "
    "requested_output_max: float -> output: out_type, output_min: float, output_max: float",
    f"Tinput: {_QUANTIZED}; out_type: {_QUANTIZED}",
    host=True,
)
def requantize(
    xp, input, input_min, input_max, requested_output_min, requested_output_max, *, out_type
):
    """The same numbers as values of another range."""
    old = input_min.reshape(-1)[0], input_max.reshape(-1)[0]
    new = low, high = requested_output_min.reshape(-1)[0], requested_output_max.reshape(-1)[0]
    if low > 0:
        _fail(f"requested_output_min must be <= 0, but got {low}")
    if high < low:
        _fail(f"requested_output_max must be >= requested_output_min, but got {high} and {low}")
    found = _requantized(_plain(input), old, new, out_type.np[0])
    return _as_quantized(found, out_type), low, high


@requantize.shape
def _(input, input_min, input_max, requested_output_min, requested_output_max):
    for shape in (input_min, input_max, requested_output_min, requested_output_max):
        scalar(shape)
    return input, (), ()


@op(
    "QuantizeDownAndShrinkRange",
    "input: Tinput, input_min: float, input_max: float -> "
    "output: out_type, output_min: float, output_max: float",
    f"Tinput: {_QUANTIZED}; out_type: {_QUANTIZED}",
    host=True,
)
def quantize_down_and_shrink_range(xp, input, input_min, input_max, *, out_type):
    """The same numbers as values of fewer bits, of the range that they reach."""
    x = _plain(input)
    old = input_min.reshape(-1)[0], input_max.reshape(-1)[0]
    new = _used_range(x, *old)
    found = _requantized(x, old, new, out_type.np[0])
    return _as_quantized(found, out_type), *new


@quantize_down_and_shrink_range.shape
def _(input, input_min, input_max):
    scalar(input_min)
    scalar(input_max)
    return input, (), ()


# -- with a range for each channel, the last axis


def _channels(input: Any, low: Any, high: Any) -> None:
    low, high = rank(low, 1), rank(high, 1)
    depth = merge_dim(low[0], high[0])
    if input is not None:
        merge_dim(rank(input, 4)[-1], depth)


def _widest(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return np.maximum(np.abs(low), np.abs(high))


@op(
    "RequantizationRangePerChannel",
    "input: T, input_min: float, input_max: float -> output_min: float, output_max: float",
    f"T: {_QUANTIZED} = qint32; clip_value_max: float",
    host=True,
)
def requantization_range_per_channel(xp, input, input_min, input_max, *, clip_value_max):
    """One range that the values of all channels fit in."""
    x = _plain(input)
    if not x.size:
        _fail("input must not be empty")
    rows = x.reshape(-1, x.shape[-1]).astype(np.int64)
    reach = np.abs(rows).max(0).astype(_F)
    most = (_widest(input_min, input_max) * reach / _F(1 << 31)).max()
    most = min(_F(clip_value_max), max(most, np.finfo(_F).tiny))
    return _F(0) if rows.min() >= 0 else _F(-most), _F(most)


@requantization_range_per_channel.shape
def _(input, input_min, input_max):
    _channels(input, input_min, input_max)
    return (), ()


@op(
    "RequantizePerChannel",
    "input: T, input_min: float, input_max: float, requested_output_min: float, "
    "requested_output_max: float -> output: out_type, output_min: float, output_max: float",
    f"T: {_QUANTIZED} = qint32; out_type: {_QUANTIZED} = quint8",
    host=True,
)
def requantize_per_channel(
    xp, input, input_min, input_max, requested_output_min, requested_output_max, *, out_type
):
    """The numbers of all channels as values of one range around zero."""
    low, high = requested_output_min.reshape(-1)[0], requested_output_max.reshape(-1)[0]
    whole = out_type.np[0]
    if whole not in (np.int8, np.uint8):
        _fail(f"out_type must be qint8 or quint8, got {out_type.name}")
    if whole == np.int8 and low >= 0:
        _fail(f"If out_type is QINT8, requested_output_min must be negative, got {low}")
    lowest, highest = _limits(whole)
    factor = _widest(input_min, input_max) / max(abs(low), abs(high)) / _F(1 << 31)
    levels = np.rint(_plain(input).astype(np.float64) * (_F(highest) * factor))
    return _as_quantized(np.clip(levels, lowest, highest), out_type), low, high


@requantize_per_channel.shape
def _(input, input_min, input_max, requested_output_min, requested_output_max):
    _channels(input, input_min, input_max)
    scalar(requested_output_min)
    scalar(requested_output_max)
    return input, (), ()


# -- several of different ranges


@op(
    "QuantizedConcat",
    "concat_dim: int32, values: N*T, input_mins: N*float, input_maxes: N*float -> "
    "output: T, output_min: float, output_max: float",
    "N: int >= 2; T: type",
    host=True,
)
def quantized_concat_op(xp, concat_dim, values, input_mins, input_maxes):
    """The values one after the other along a dimension, all in a range that serves them all."""
    kind = values[0].dtype
    if not kind.names:
        _fail(f"values must be quantized, but are {kind}")
    parts = [_plain(value) for value in values]
    lows = [_single(low, "input_mins") for low in input_mins]
    highs = [_single(high, "input_maxes") for high in input_maxes]
    low, high = min(_F(0), *lows), max(highs)
    if np.issubdtype(parts[0].dtype, np.signedinteger):
        high = max(abs(low), abs(high))
        low = -high
    for i, own in enumerate(zip(lows, highs)):
        if own != (low, high):
            levels = _to_levels(_of_levels(parts[i], *own), low, high, parts[i].dtype)
            parts[i] = levels.astype(parts[i].dtype)
    found = concat_v1.kernel(xp, concat_dim, parts)
    return np.ascontiguousarray(found).view(kind).reshape(found.shape), _F(low), _F(high)


@quantized_concat_op.shape
def _(concat_dim, values, input_mins, input_maxes, *, const):
    for shape in (*input_mins, *input_maxes):
        scalar(shape)
    return concat_v1.shape_rule(concat_dim, values, const=const), (), ()


# -- public functions


@export("quantized_concat", "quantization.quantized_concat")
def quantized_concat(
    concat_dim: Any, values: Any, input_mins: Any, input_maxes: Any, name: str | None = None
) -> Any:
    """`output, output_min, output_max`: quantized values one after the other, in a range that serves all."""
    return quantized_concat_op(concat_dim, values, input_mins, input_maxes, name=name)


@export("quantize", "quantization.quantize")
def quantize(
    input: Any,
    min_range: Any,
    max_range: Any,
    T: Any,
    mode: str = "MIN_COMBINED",
    round_mode: str = "HALF_AWAY_FROM_ZERO",
    name: str | None = None,
) -> Any:
    """`output, output_min, output_max`: quantized values, and the range that they cover."""
    return quantize_v2_op(
        input, min_range, max_range, T=T, mode=mode, round_mode=round_mode, name=name
    )


@export("quantize_v2")
def quantize_v2(
    input: Any,
    min_range: Any,
    max_range: Any,
    T: Any,
    mode: str = "MIN_COMBINED",
    name: str | None = None,
    round_mode: str = "HALF_AWAY_FROM_ZERO",
) -> Any:
    """Deprecated: `tf.quantization.quantize`."""
    return quantize(input, min_range, max_range, T, mode, round_mode, name)


@export("dequantize", "quantization.dequantize")
def dequantize(
    input: Any, min_range: Any, max_range: Any, mode: str = "MIN_COMBINED", name: str | None = None
) -> Any:
    """The numbers that quantized values stand for."""
    return dequantize_op(input, min_range, max_range, mode=mode, name=name)
