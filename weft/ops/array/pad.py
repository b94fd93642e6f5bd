"""Adding elements around an array: Pad, PadV2, MirrorPad and its gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework.export import export
from weft.framework.known_elements import follows_from_shapes
from weft.framework.registry import op
from weft.framework.shape_rules import (
    Shape,
    ShapeError,
    is_full,
    merge_dim,
    num_elements,
    rank,
    text,
)
from weft.ops.array import shape_of
from weft.ops.array.boxes import along
from weft.ops.array.concat import stack
from weft.ops.array.fill import filled, zero_of
from weft.ops.array.reshape import reshape_op
from weft.ops.array.slice import slice_op

_PADDINGS = "T: type; Tpaddings: type in {int32, int64} = int32"

_MOST_ELEMENTS = 2**63 - 1


def _widths(paddings: Any, n: int) -> list[tuple[int, int]]:
    if paddings.ndim != 2 or paddings.shape[1] != 2:
        raise ShapeError(
            f"paddings must be a matrix with 2 columns, but has shape {text(paddings.shape)}"
        )
    if paddings.shape[0] != n:
        raise ShapeError(
            "The first dimension of paddings must be the rank of inputs: "
            f"{text(paddings.shape)} for an input of rank {n}"
        )
    widths = [(int(a), int(b)) for a, b in paddings]
    for a, b in widths:
        if a < 0 or b < 0:
            raise ShapeError(f"Paddings must be non-negative: {a} {b}")
    return widths


def padded(xp: Any, x: Any, widths: list[tuple[int, int]], value: Any) -> Any:
    """An array with constant elements around it."""
    if not xp.is_numpy:
        config = [(a, b, 0) for a, b in widths]
        return xp.lax.pad(xp.asarray(x), xp.asarray(value, x.dtype), config)
    out = filled(xp, tuple(a + d + b for d, (a, b) in zip(x.shape, widths)), value, x.dtype)
    out[tuple([slice(a, a + d) for d, (a, _) in zip(x.shape, widths)])] = x
    return out


def _padded_shape(input: Shape, paddings: Shape, const: Any) -> Shape:
    paddings = rank(paddings, 2, "paddings")
    assert paddings is not None
    merge_dim(paddings[1], 2, "paddings must have 2 columns")
    n = paddings[0]
    if input is not None:
        if n is not None and n != len(input):
            raise ShapeError(f"Shape must be rank {n} but is rank {len(input)} for Pad: paddings")
        n = len(input)
    if n is None:
        return None
    rows = const.rows("paddings")
    if rows is None or input is None:
        return (None,) * n
    out = tuple(
        None if None in (d, a, b) else a + d + b  # type: ignore[operator]
        for d, (a, b) in zip(input, rows)
    )
    if any(x is not None and x < 0 for row in rows for x in row):
        raise ShapeError(f"Paddings must be non-negative, got {rows}")
    if (num_elements(out) or 0) > _MOST_ELEMENTS:
        raise ShapeError(f"A padded tensor of shape {text(out)} has too many elements")
    return out


def _static_inputs(op: Any) -> tuple[str, ...]:
    """Where the result's shape is known, as in the gradient of a slice, the widths may be traced."""
    if is_full(op._outputs[0]._dims) and not follows_from_shapes(op._inputs[1]):
        return ()
    return ("paddings",)


@op("Pad", "input: T, paddings: Tpaddings -> output: T", _PADDINGS, static=_static_inputs)
def pad_op(xp, input, paddings):
    """The input with zeros around it."""
    return padded(xp, input, _widths(paddings, input.ndim), zero_of(input.dtype))


@pad_op.kernel_for("xla")
def _(ctx, input, paddings):
    xp = ctx.xp
    if isinstance(paddings, np.ndarray):
        return padded(xp, input, _widths(paddings, input.ndim), zero_of(input.dtype))
    whole = ctx.op.outputs[0].dims
    before, after = paddings[:, 0], paddings[:, 1]
    fits = before + after + np.array(input.shape, paddings.dtype) == np.array(whole, paddings.dtype)
    xp.check((before >= 0) & (after >= 0) & fits, lambda: "Paddings do not give the known shape")
    zeros = xp.zeros(whole, input.dtype)
    return xp.lax.dynamic_update_slice(zeros, input, list(before))


@pad_op.shape
def _(input, paddings, *, const):
    return _padded_shape(input, paddings, const)


def _pad_gradient(op: Any, grad: Any) -> list[Any]:
    x, paddings = op.inputs[0], op.inputs[1]
    minus_one = np.array([-1], np.int32)
    before = slice_op(paddings, np.zeros(2, paddings.dtype.np), _column(x, paddings))
    begin = reshape_op(before, minus_one)
    found = slice_op(grad, begin, shape_of.shape(x, out_type=paddings.dtype))
    return [found, *[None] * (len(op.inputs) - 1)]


def _column(x: Any, paddings: Any) -> Any:
    n = x._rank()
    if n is not None:
        return np.array([n, 1], paddings.dtype.np)
    return stack([shape_of.size(shape_of.shape(x), out_type=paddings.dtype), 1])


pad_op.gradient(_pad_gradient)


@op(
    "PadV2",
    "input: T, paddings: Tpaddings, constant_values: T -> output: T",
    _PADDINGS,
    static=("paddings",),
)
def pad_v2(xp, input, paddings, constant_values):
    """The input with elements of one value around it."""
    if constant_values.ndim != 0:
        raise ShapeError(f"Constant_values must be a scalar. Found: {text(constant_values.shape)}")
    value = constant_values[()] if constant_values.dtype == object else constant_values
    return padded(xp, input, _widths(paddings, input.ndim), value)


@pad_v2.shape
def _(input, paddings, constant_values, *, const):
    rank(constant_values, 0, "constant_values")
    return _padded_shape(input, paddings, const)


pad_v2.gradient(_pad_gradient)

# -- mirrored --------------------------------------------------------------------------------------------


def _mirror_widths(paddings: Any, shape: tuple, mode: str) -> list[tuple[int, int]]:
    """The widths of a mirrored padding of an array of this shape, which must be wide enough for it."""
    widths = _widths(paddings, len(shape))
    less = mode == "REFLECT"
    for i, (d, (a, b)) in enumerate(zip(shape, widths)):
        if d is not None and (a > d - less or b > d - less):
            raise ShapeError(
                f"paddings must be {'less than' if less else 'no greater than'} the dimension size: {a}, {b} "
                f"{'not less than' if less else 'greater than'} {d} (dimension {i})"
            )
    return widths


@op(
    "MirrorPad",
    "input: T, paddings: Tpaddings -> output: T",
    f"{_PADDINGS}; mode: string in {{REFLECT, SYMMETRIC}}",
    static=("paddings",),
)
def mirror_pad(xp, input, paddings, *, mode):
    """The input with its own elements around it, mirrored at its edges."""
    out = input
    less = int(mode == "REFLECT")  # whether the edge itself is left out
    for axis, (a, b) in enumerate(_mirror_widths(paddings, input.shape, mode)):
        if not a and not b:
            continue
        d = input.shape[axis]
        before = along(xp, out, axis, a - 1 + less, a, -1)
        after = along(xp, out, axis, d - less - 1, b, -1)
        out = xp.concatenate([before, out, after], axis)
    return out


@mirror_pad.shape
def _(input, paddings, *, mode, const):
    found = _padded_shape(input, paddings, const)
    values = const("paddings")
    if input is not None and values is not None:
        _mirror_widths(values, input, mode)
    return found


@mirror_pad.gradient
def _(op, grad):
    return [mirror_pad_grad(grad, op.inputs[1], mode=op.get_attr("mode")), None]


@op(
    "MirrorPadGrad",
    "input: T, paddings: Tpaddings -> output: T",
    f"{_PADDINGS}; mode: string in {{REFLECT, SYMMETRIC}}",
    static=("paddings",),
)
def mirror_pad_grad(xp, input, paddings, *, mode):
    """The gradient of MirrorPad: the edges folded back onto the elements they mirror."""
    widths = _widths(paddings, input.ndim)
    _mirror_widths(paddings, _unpadded(input.shape, widths), mode)
    less = int(mode == "REFLECT")
    out = input
    for axis, (a, b) in enumerate(widths):
        if not a and not b:
            continue
        d = out.shape[axis] - a - b
        middle = along(xp, out, axis, a, d)
        for last, n, start in ((a - 1, a, less), (a + d + b - 1, b, d - less - b)):
            if n:
                around = [(0, 0)] * out.ndim
                around[axis] = (start, d - start - n)
                edge = along(xp, out, axis, last, n, -1)
                middle = middle + padded(xp, edge, around, zero_of(out.dtype))
        out = middle
    return out


def _unpadded(shape: tuple, widths: list[tuple[int, int]]) -> tuple:
    out = tuple(None if n is None else n - a - b for n, (a, b) in zip(shape, widths))
    if any(d is not None and d < 0 for d in out):
        raise ShapeError(f"Paddings {widths} are wider than the gradient {text(shape)}")
    return out


@mirror_pad_grad.shape
def _(input, paddings, *, mode, const):
    paddings = rank(paddings, 2, "paddings")
    n = paddings[0]
    if input is not None:
        merge_dim(n, len(input), "paddings need a row for each dimension")
        n = len(input)
    values = const("paddings")
    if n is None:
        return None
    if values is None or input is None:
        return (None,) * n
    return _unpadded(input, _widths(values, n))


@mirror_pad_grad.gradient
def _(op, grad):
    return [mirror_pad(grad, op.inputs[1], mode=op.get_attr("mode")), None]


@export("pad")
def pad(
    tensor: Any,
    paddings: Any,
    mode: str = "CONSTANT",
    name: str | None = None,
    constant_values: Any = 0,
) -> Any:
    """Returns the tensor with `paddings[i]` elements before and after dimension i.

    They are `constant_values`, or the tensor's own, mirrored (`mode` "REFLECT" or "SYMMETRIC").
    """
    kind = mode.upper()
    if kind == "CONSTANT":
        if not isinstance(constant_values, (int, float)) or constant_values != 0:
            result = pad_v2(tensor, paddings, constant_values, name=name)
        else:
            result = pad_op(tensor, paddings, name=name)
    elif kind in ("REFLECT", "SYMMETRIC"):
        result = mirror_pad(tensor, paddings, mode=kind, name=name)
    else:
        raise ValueError(f"Unknown padding mode: {mode}")
    return result
