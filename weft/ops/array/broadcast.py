"""Repeating along dimensions: BroadcastTo, BroadcastArgs, BroadcastGradientArgs, Tile."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.shape_rules import Shape, ShapeError, broadcast, text, vector
from weft.framework.tensor_shape import TensorShape, as_shape
from weft.ops.array import shape_of
from weft.ops.array.concat import stack
from weft.ops.array.reshape import reshape_op
from weft.ops.array.transpose import transpose
from weft.ops.by_name import raw

_INDEX = "type in {int32, int64} = int32"


def _broadcast_to(old: Shape, new: tuple) -> Shape:
    if old is None:
        return new
    if len(old) > len(new):
        raise ShapeError(
            f"Incompatible shapes: {text(old)} vs. {text(new)}: Unable to broadcast tensor of shape "
            f"{text(old)} to tensor of shape {text(new)}: the rank must not shrink"
        )
    for a, b in zip(reversed(old), reversed(new)):
        if a not in (1, b) and a is not None and b is not None:
            raise ShapeError(
                f"Incompatible shapes: {text(old)} vs. {text(new)}: Unable to broadcast tensor of "
                f"shape {text(old)} to tensor of shape {text(new)}"
            )
    return new


@op(
    "BroadcastTo",
    "input: T, shape: Tidx -> output: T",
    f"T: type; Tidx: {_INDEX}",
    static=("shape",),
)
def broadcast_to_op(xp, input, shape):
    """The input repeated to a shape that it is compatible with."""
    new = tuple(shape.tolist())
    if new == input.shape:
        return input
    _broadcast_to(input.shape, new)
    return xp.broadcast_to(input, new)


@broadcast_to_op.shape
def _(input, shape, *, const):
    vector(shape, "shape")
    wanted = const.shape("shape")
    if wanted is None:
        return None
    return _broadcast_to(input, wanted)


@broadcast_to_op.gradient
def _(op, grad):
    shape = shape_of.shape(op.inputs[0], out_type=op.inputs[1].dtype)
    axes = broadcast_gradient_args(op.inputs[1], shape)[1]
    return [reshape_op(raw.Sum(grad, axes, keep_dims=True), shape), None]


@export("broadcast_to")
def broadcast_to(input: Any, shape: Any, name: str | None = None) -> Any:
    """Returns the input repeated to a shape that it is compatible with."""
    return broadcast_to_op(input, shape, name=name)


@op("BroadcastArgs", "s0: T, s1: T -> r0: T", f"T: {_INDEX}", static=("s0", "s1"))
def broadcast_args(xp, s0, s1):
    """The shape that arrays of two shapes broadcast to."""
    found = broadcast(tuple(s0.tolist()), tuple(s1.tolist()))
    return np.array(found, s0.dtype)


@broadcast_args.shape
def _(s0, s1):
    a, b = vector(s0, "s0")[0], vector(s1, "s1")[0]
    return (None if a is None or b is None else max(a, b),)


@op(
    "BroadcastGradientArgs",
    "s0: T, s1: T -> r0: T, r1: T",
    f"T: {_INDEX}",
    static=("s0", "s1"),
)
def broadcast_gradient_args(xp, s0, s1):
    """The dimensions over which a gradient is summed to undo the broadcasting of each side."""
    a, b = s0.tolist(), s1.tolist()
    broadcast(tuple(a), tuple(b))
    n = max(len(a), len(b))
    a, b = [1] * (n - len(a)) + a, [1] * (n - len(b)) + b
    # Where both are 1 either may be summed over; TensorFlow does so on both sides, unless all are equal.
    if a == b:
        nothing = np.zeros(0, s0.dtype)
        return nothing, nothing
    return tuple(np.array([i for i, d in enumerate(x) if d == 1], s0.dtype) for x in (a, b))


@broadcast_gradient_args.shape
def _(s0, s1):
    vector(s0, "s0")
    vector(s1, "s1")
    return (None,), (None,)


broadcast_gradient_args.not_differentiable()


@export("broadcast_dynamic_shape")
def broadcast_dynamic_shape(shape_x: Any, shape_y: Any) -> Any:
    """Returns the shape, as a tensor, that arrays of two shapes broadcast to."""
    return broadcast_args(shape_x, shape_y)


@export("broadcast_static_shape")
def broadcast_static_shape(shape_x: Any, shape_y: Any) -> TensorShape:
    """Returns the `TensorShape` that arrays of two static shapes broadcast to."""
    try:
        return TensorShape.from_tuple(
            broadcast(as_shape(shape_x).dims_tuple, as_shape(shape_y).dims_tuple)
        )
    except ShapeError:
        raise ValueError(f"Incompatible shapes for broadcasting: {shape_x} and {shape_y}") from None


# -- Tile ------------------------------------------------------------------------------------------------


def _check_multiples(multiples: Any, n: int) -> list[int]:
    if multiples.ndim != 1:
        raise ShapeError(f"Expected multiples to be 1-D, but got shape {text(multiples.shape)}")
    times = multiples.tolist()
    if len(times) != n:
        raise ShapeError(
            f"Expected multiples argument to be a vector of length {n} but got length {len(times)}"
        )
    for i, m in enumerate(times):
        if m < 0:
            raise ShapeError(f"Expected multiples[{i}] >= 0, but got {m}")
    return times


@op(
    "Tile",
    "input: T, multiples: Tmultiples -> output: T",
    f"T: type; Tmultiples: {_INDEX}",
    static=("multiples",),
)
def tile_op(xp, input, multiples):
    """The input, several times along each dimension."""
    times = _check_multiples(multiples, input.ndim)
    if all(m == 1 for m in times):
        return input
    between: list[int] = []
    repeated: list[int] = []
    for m, d in zip(times, input.shape):
        between += (1, d)
        repeated += (m, d)
    final = tuple(m * d for m, d in zip(times, input.shape))
    return xp.broadcast_to(input.reshape(between), repeated).reshape(final)


@tile_op.shape
def _(input, multiples, *, const):
    length = vector(multiples, "multiples")[0]
    if input is not None and length is not None and length != len(input):
        raise ShapeError(
            f"Shape must be rank {length} but is rank {len(input)} for Tile: multiples"
        )
    n = len(input) if input is not None else length
    if n is None:
        return None
    times = const.elements("multiples")
    if times is None:
        return (None,) * n
    if input is None:
        input = (None,) * n
    for i, m in enumerate(times):
        if m is not None and m < 0:
            raise ShapeError(f"Expected multiples[{i}] >= 0, but got {m}")
    return tuple(
        0 if 0 in (d, m) else None if d is None or m is None else d * m
        for d, m in zip(input, times)
    )


@tile_op.gradient
def _(op, grad):
    input, multiples = op.inputs
    shape = shape_of.shape(input, out_type=multiples.dtype)
    split = reshape_op(transpose(stack([multiples, shape])), np.array([-1], np.int32))
    axes = raw.Range(np.int32(0), shape_of.size(split), np.int32(2))
    if getattr(grad, "_is_indexed_slices", False):
        rows = raw.Cast(shape[0], DstT=grad.indices.dtype)
        grad = raw.UnsortedSegmentSum(grad.values, raw.FloorMod(grad.indices, rows), rows)
        one = np.array([1], multiples.dtype.base_dtype.np)
        split = raw.ConcatV2([one, split[1:]], np.int32(0))
    found = raw.Sum(reshape_op(grad, split), axes)
    found.set_shape(input.shape)
    return [found, None]


@export("tile", "manip.tile")
def tile(input: Any, multiples: Any, name: str | None = None) -> Any:
    """Returns the input `multiples[i]` times along dimension i."""
    return tile_op(input, multiples, name=name)


@op("TileGrad", "input: T, multiples: int32 -> output: T", "T: type", static=("multiples",))
def tile_grad(xp, input, multiples):
    """The sum of the tiles that an array is made of."""
    times = _check_multiples(multiples, input.ndim)
    split: list[int] = []
    for m, d in zip(times, input.shape):
        if m == 0 or d % m:
            raise ShapeError(f"{text(input.shape)} does not consist of {times} tiles")
        split += (m, d // m)
    return xp.sum(input.reshape(split), axis=tuple(range(0, len(split), 2)), dtype=input.dtype)


@tile_grad.shape
def _(input, multiples, *, const):
    vector(multiples, "multiples")
    times = const("multiples")
    if input is None:
        return None
    if times is None:
        return (None,) * len(input)
    return tuple(None if d is None or m <= 0 else d // int(m) for d, m in zip(input, times))
