"""Turning round and round: Reverse, ReverseV2, ReverseSequence, Roll."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.shape_rules import Shape, ShapeError, merge_dim, rank, text, vector
from weft.ops.by_name import raw


@op(
    "Reverse",
    "tensor: T, dims: bool -> output: T",
    "T: type in {uint8, int8, uint16, int16, int32, int64, bool, half, float, double, complex64, "
    "complex128, string}",
    static=("dims",),
)
def reverse_v1(xp, tensor, dims):
    """The tensor with the dimensions reversed for which `dims` is true."""
    if dims.ndim != 1 or len(dims) != tensor.ndim:
        raise ShapeError(
            f"'dims' must have an element for each of {tensor.ndim} dimensions, but has shape {text(dims.shape)}"
        )
    return _flipped(xp, tensor, [i for i, d in enumerate(dims) if d])


@reverse_v1.shape
def _(tensor, dims):
    n = vector(dims, "dims")[0]
    if tensor is None:
        return None if n is None else (None,) * n
    merge_dim(n, len(tensor), "'dims' must have an element for each dimension")
    return tensor


@reverse_v1.gradient
def _(op, grad):
    return [reverse_v1(grad, op.inputs[1]), None]


def _axes(axis: Any, n: int) -> set[int]:
    found: set[int] = set()
    for a in axis.reshape(-1).tolist():
        if not -n <= a < n:
            raise ShapeError(f"'axis'[{a}] = {a} is out of valid range [0, {n - 1}]")
        if a % n in found:
            raise ShapeError(f"axis {a % n} specified more than once.")
        found.add(a % n)
    return found


@op(
    "ReverseV2",
    "tensor: T, axis: Tidx -> output: T",
    "Tidx: type in {int32, int64} = int32; T: type in {uint8, int8, uint16, int16, int32, int64, bool, "
    "bfloat16, half, float, double, complex64, complex128, string}",
    static=("axis",),
)
def reverse_op(xp, tensor, axis):
    """The tensor with some dimensions reversed."""
    return _flipped(xp, tensor, sorted(_axes(axis, tensor.ndim)))


def _flipped(xp: Any, x: Any, axes: list[int]) -> Any:
    if isinstance(x, np.ndarray):
        return np.flip(x, tuple(axes))
    return xp.lax.rev(x, axes) if axes else x


@reverse_op.shape
def _(tensor, axis, *, const):
    vector(axis, "axis")
    value = const("axis")
    if tensor is not None and value is not None:
        _axes(value, len(tensor))
    return tensor


@reverse_op.gradient
def _(op, grad):
    return [reverse_op(grad, op.inputs[1]), None]


@export("reverse", "manip.reverse", "reverse_v2")
def reverse(tensor: Any, axis: Any, name: str | None = None) -> Any:
    """Returns the tensor with the dimensions in `axis` reversed."""
    return reverse_op(tensor, axis, name=name)


@op(
    "ReverseSequence",
    "input: T, seq_lengths: Tlen -> output: T",
    "seq_dim: int; batch_dim: int = 0; T: type; Tlen: type in {int32, int64} = int64",
)
def reverse_sequence_op(xp, input, seq_lengths, *, seq_dim, batch_dim):
    """The input with the beginning of each sequence reversed, each to its own length."""
    _check_sequence(input.shape, seq_lengths.shape, seq_dim, batch_dim)
    seq, batch = seq_dim % input.ndim, batch_dim % input.ndim
    if seq == batch:
        raise ShapeError(f"batch_dim == seq_dim == {seq_dim}")
    n = input.shape[seq]
    xp.check(
        (seq_lengths >= 0) & (seq_lengths <= n),
        lambda: f"seq_lens(i) must be in [0, {n}] (the size of dimension {seq}), got {seq_lengths}",
    )
    at = np.arange(n)
    lengths = seq_lengths[:, None]
    source = xp.where(at < lengths, lengths - 1 - at, at)
    rows = np.arange(input.shape[batch])[:, None]
    moved = xp.moveaxis(input, (batch, seq), (0, 1))
    return xp.moveaxis(xp.constant(moved)[rows, source], (0, 1), (batch, seq))


def _check_sequence(input: tuple, lengths: tuple, seq_dim: int, batch_dim: int) -> None:
    n = len(input)
    if not -n <= seq_dim < n:
        raise ShapeError(f"seq_dim must be < input rank: {seq_dim} vs. {n}")
    if not -n <= batch_dim < n:
        raise ShapeError(f"batch_dim must be < input rank: {batch_dim} vs. {n}")
    merge_dim(
        input[batch_dim % n],
        lengths[0],
        "Dimensions must be equal: length of seq_lengths and the batch",
    )


@reverse_sequence_op.shape
def _(input, seq_lengths, *, seq_dim, batch_dim):
    lengths = rank(seq_lengths, 1, "seq_lengths")
    if input is None:
        return None
    _check_sequence(input, lengths, seq_dim, batch_dim)
    b = batch_dim % len(input)
    return (*input[:b], merge_dim(input[b], lengths[0]), *input[b + 1 :])


@reverse_sequence_op.gradient
def _(op, grad):
    attrs = {"seq_dim": op.get_attr("seq_dim"), "batch_dim": op.get_attr("batch_dim")}
    return [reverse_sequence_op(grad, op.inputs[1], **attrs), None]


def _either(new: str, value: Any, old: str, old_value: Any) -> Any:
    if old_value is not None:
        if value is not None:
            raise ValueError(f"Cannot specify both '{old}' and '{new}'")
        return old_value
    return value


@export("reverse_sequence")
def reverse_sequence(
    input: Any,
    seq_lengths: Any,
    seq_axis: int | None = None,
    batch_axis: int | None = None,
    name: str | None = None,
    seq_dim: int | None = None,
    batch_dim: int | None = None,
) -> Any:
    """Returns the input with the first `seq_lengths[i]` elements of each sequence reversed."""
    return reverse_sequence_op(
        input,
        seq_lengths,
        seq_dim=_either("seq_axis", seq_axis, "seq_dim", seq_dim),
        batch_dim=_either("batch_axis", batch_axis, "batch_dim", batch_dim),
        name=name,
    )


@op(
    "Roll",
    "input: T, shift: Tshift, axis: Taxis -> output: T",
    "T: type; Tshift: type in {int32, int64}; Taxis: type in {int32, int64}",
    static=("axis",),
)
def roll_op(xp, input, shift, axis):
    """The input shifted along dimensions; what leaves at one end enters at the other."""
    _check_roll(input.shape, shift.shape, axis.shape)
    axes = axis.reshape(-1).tolist()
    for a in axes:
        if not -input.ndim <= a < input.ndim:
            raise ShapeError(f"axis {a} is out of range")
    shifts = shift.reshape(-1)
    if isinstance(shifts, np.ndarray):
        return xp.roll(input, tuple(shifts.tolist()), tuple(axes))
    for i, a in enumerate(axes):
        input = xp.roll(input, shifts[i], a)
    return input


@roll_op.shape
def _(input, shift, axis):
    _check_roll(input, shift, axis)
    return input


def _check_roll(input: Shape, shift: Shape, axis: Shape) -> None:
    if input == ():
        raise ShapeError("Shape must be at least rank 1 but is rank 0: input must be 1-D or higher")
    for s, name in ((shift, "shift"), (axis, "axis")):
        if s is not None and len(s) > 1:
            raise ShapeError(
                f"Shape must be at most rank 1 but is rank {len(s)}: {name} must be a scalar or a "
                "1-D vector"
            )
    if shift is not None and axis is not None and len(shift) == len(axis) == 1:
        if shift[0] is not None and axis[0] is not None and shift[0] != axis[0]:
            raise ShapeError(
                "both shapes must be equal: shift and axis must have the same size, but have "
                f"{shift[0]} and {axis[0]} elements"
            )
    elif shift is not None and axis is not None and len(shift) != len(axis):
        raise ShapeError(
            "both shapes must be equal: shift and axis must have the same size, but have shapes "
            f"{text(shift)} and {text(axis)}"
        )


@roll_op.gradient
def _(op, grad):
    return [roll_op(grad, raw.Neg(op.inputs[1]), op.inputs[2]), None, None]


@export("roll", "manip.roll")
def roll(input: Any, shift: Any, axis: Any, name: str | None = None) -> Any:
    """Returns the input shifted along dimensions; what leaves at one end enters at the other."""
    return roll_op(input, shift, axis, name=name)
