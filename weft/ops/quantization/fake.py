"""Rounding to what few bits can say, with gradients as if it were not there: for training models that will be
quantized."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import errors
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.shape_rules import (
    merge,
    merge_dim,
    rank,
    rank_at_least,
    rank_at_most,
    scalar,
)

_BITS = "num_bits: int = 8; narrow_range: bool = false"
_RANGE = "min: float = -6.0; max: float = 6.0; "


def _levels(num_bits: int, narrow_range: bool) -> tuple[np.float32, np.float32]:
    """The lowest and highest quantized value."""
    if not 2 <= num_bits <= 16:
        raise errors.InvalidArgumentError(
            None, None, f"num_bits must be between 2 and 16, inclusive, was: {num_bits}"
        )
    return np.float32(narrow_range), np.float32((1 << num_bits) - 1)


def _attribute_range(low: float, high: float) -> tuple[np.float32, np.float32]:
    if not low < high:
        raise errors.InvalidArgumentError(
            None, None, f"min has to be smaller than max, was: {low} >= {high}"
        )
    return np.float32(low), np.float32(high)


def _nudged(xp: Any, low: Any, high: Any, levels: tuple) -> tuple[Any, Any, Any]:
    """The range moved such that zero is a quantized value, and the size of a step."""
    lowest, highest = levels
    steps = highest - lowest
    if not xp.is_numpy:
        # Division by a constant becomes multiplication, and a zero in the middle of two levels another one.
        steps = xp.lax.optimization_barrier(xp.asarray(steps))
    scale = (high - low) / steps
    zero = xp.clip(lowest - low / scale, lowest, highest)
    zero = xp.floor(zero + np.float32(0.5))
    return (lowest - zero) * scale, (highest - zero) * scale, scale


def _degenerate(xp: Any, low: Any, high: Any) -> tuple[Any, Any, Any]:
    """Where both ends are zero, which says nothing; and a range that can be used in its place."""
    none = (low == 0) & (high == 0)
    return none, xp.where(none, np.float32(-1), low), xp.where(none, np.float32(1), high)


def _quantized(xp: Any, x: Any, low: Any, high: Any, levels: tuple) -> Any:
    least, most, scale = _nudged(xp, low, high, levels)
    half = np.float32(0.5)
    zero = xp.trunc(-least / scale + half)
    inside = xp.clip(x, least, most)
    return (xp.floor((inside - least) / scale + half) - zero) * scale


def _checked_same(gradients: Any, inputs: Any) -> None:
    if gradients.shape != inputs.shape:
        raise errors.InvalidArgumentError(None, None, "gradient and input must be the same size")


@op("FakeQuantWithMinMaxArgs", "inputs: float -> outputs: float", _RANGE + _BITS)
def fake_quant_args(xp, inputs, *, min, max, num_bits, narrow_range):
    """The inputs, rounded to the nearest of the values that `num_bits` can say of the range."""
    levels = _levels(num_bits, narrow_range)
    return _quantized(xp, inputs, *_attribute_range(min, max), levels)


@fake_quant_args.shape
def _(inputs):
    return inputs


@fake_quant_args.gradient
def _(op, grad):
    attrs = {k: op.get_attr(k) for k in ("min", "max", "num_bits", "narrow_range")}
    return fake_quant_args_gradient(grad, op.inputs[0], **attrs)


@op(
    "FakeQuantWithMinMaxArgsGradient",
    "gradients: float, inputs: float -> backprops: float",
    _RANGE + _BITS,
)
def fake_quant_args_gradient(xp, gradients, inputs, *, min, max, num_bits, narrow_range):
    """The gradients where the inputs lie within the range, else zero."""
    levels = _levels(num_bits, narrow_range)
    _checked_same(gradients, inputs)
    least, most, _ = _nudged(xp, *_attribute_range(min, max), levels)
    return gradients * ((inputs >= least) & (inputs <= most)).astype(np.float32)


@fake_quant_args_gradient.shape
def _(gradients, inputs):
    return merge(gradients, inputs)


def _quantizing(name: str, channels: bool) -> None:
    """Declares the op whose range is given by tensors, one for all or one for each channel; and its gradient."""

    @op(name, "inputs: float, min: float, max: float -> outputs: float", _BITS)
    def quantize(xp, inputs, min, max, *, num_bits, narrow_range):
        """The inputs, rounded to the nearest of the values that `num_bits` can say of the range."""
        levels = _levels(num_bits, narrow_range)
        none, low, high = _degenerate(xp, min, max)
        found = _quantized(xp, inputs, low, high, levels)
        return xp.where(none, np.float32(0), found)

    def range_shape(inputs: Any, low: Any, high: Any) -> Any:
        if not channels:
            return merge(scalar(low), scalar(high))
        low, high = rank(low, 1), rank(high, 1)
        last = None if inputs is None else inputs[-1]
        return (merge_dim(merge_dim(low[0], high[0]), last),)

    @quantize.shape
    def _(inputs, min, max):
        rank_at_least(inputs, 1 if channels else 0)
        range_shape(inputs, min, max)
        return inputs

    @op(
        name + "Gradient",
        "gradients: float, inputs: float, min: float, max: float -> "
        "backprops_wrt_input: float, backprop_wrt_min: float, backprop_wrt_max: float",
        _BITS,
    )
    def gradient(xp, gradients, inputs, min, max, *, num_bits, narrow_range):
        """The gradients of the inputs, and of the ends of the range, which take those beyond them."""
        levels = _levels(num_bits, narrow_range)
        _checked_same(gradients, inputs)
        none, low, high = _degenerate(xp, min, max)
        least, most, _ = _nudged(xp, low, high, levels)
        axes = tuple(range(inputs.ndim - 1)) if channels else None

        def taken(where: Any) -> Any:
            total = xp.sum(gradients * where.astype(np.float32), axis=axes, dtype=np.float32)
            return xp.where(none, np.float32(0), total)

        inside = (inputs >= least) & (inputs <= most) | none
        return (
            gradients * inside.astype(np.float32),
            taken(inputs < least),
            taken(inputs > most),
        )

    @gradient.shape
    def _(gradients, inputs, min, max):
        inputs = merge(gradients, inputs)
        if channels:
            rank_at_most(rank_at_least(inputs, 1), 4)
        ends = range_shape(inputs, min, max)
        return inputs, ends, ends

    @quantize.gradient
    def _(op, grad):
        attrs = {k: op.get_attr(k) for k in ("num_bits", "narrow_range")}
        return list(gradient(grad, *op.inputs, **attrs))

    _decls[name], _decls[name + "Gradient"] = quantize, gradient


_decls: dict[str, Any] = {}
_quantizing("FakeQuantWithMinMaxVars", channels=False)
_quantizing("FakeQuantWithMinMaxVarsPerChannel", channels=True)


def _names(leaf: str) -> tuple[str, str]:
    return leaf, f"quantization.{leaf}"


@export(*_names("fake_quant_with_min_max_args"))
def fake_quant_with_min_max_args(
    inputs: Any,
    min: float = -6,
    max: float = 6,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Any:
    """The inputs, rounded to the nearest of the values that `num_bits` can say of the range."""
    return fake_quant_args(
        inputs, min=min, max=max, num_bits=num_bits, narrow_range=narrow_range, name=name
    )


@export(*_names("fake_quant_with_min_max_args_gradient"))
def fake_quant_with_min_max_args_gradient(
    gradients: Any,
    inputs: Any,
    min: float = -6,
    max: float = 6,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Any:
    """The gradients where the inputs lie within the range, else zero."""
    return fake_quant_args_gradient(
        gradients,
        inputs,
        min=min,
        max=max,
        num_bits=num_bits,
        narrow_range=narrow_range,
        name=name,
    )


@export(*_names("fake_quant_with_min_max_vars"))
def fake_quant_with_min_max_vars(
    inputs: Any,
    min: Any,
    max: Any,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Any:
    """As `fake_quant_with_min_max_args`, the range being tensors that can be trained."""
    decl = _decls["FakeQuantWithMinMaxVars"]
    return decl(inputs, min, max, num_bits=num_bits, narrow_range=narrow_range, name=name)


@export(*_names("fake_quant_with_min_max_vars_gradient"))
def fake_quant_with_min_max_vars_gradient(
    gradients: Any,
    inputs: Any,
    min: Any,
    max: Any,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Any:
    """The gradients of the inputs and of both ends of the range."""
    decl = _decls["FakeQuantWithMinMaxVarsGradient"]
    return decl(
        gradients, inputs, min, max, num_bits=num_bits, narrow_range=narrow_range, name=name
    )


@export(*_names("fake_quant_with_min_max_vars_per_channel"))
def fake_quant_with_min_max_vars_per_channel(
    inputs: Any,
    min: Any,
    max: Any,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Any:
    """As `fake_quant_with_min_max_vars`, with a range for each channel, the last axis."""
    decl = _decls["FakeQuantWithMinMaxVarsPerChannel"]
    return decl(inputs, min, max, num_bits=num_bits, narrow_range=narrow_range, name=name)


@export(*_names("fake_quant_with_min_max_vars_per_channel_gradient"))
def fake_quant_with_min_max_vars_per_channel_gradient(
    gradients: Any,
    inputs: Any,
    min: Any,
    max: Any,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Any:
    """The gradients of the inputs and of both ends of the range of each channel."""
    decl = _decls["FakeQuantWithMinMaxVarsPerChannelGradient"]
    return decl(
        gradients, inputs, min, max, num_bits=num_bits, narrow_range=narrow_range, name=name
    )
