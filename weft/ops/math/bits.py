"""Bitwise ops of integers."""

from __future__ import annotations

from weft.framework.registry import op
from weft.framework.shape_rules import ShapeError, rank_at_least, scalar
from weft.ops.math.dtype_sets import INTEGERS
from weft.ops.math.makers import binary, public_binary, public_unary, unary


def _distance(xp, x, y):
    """A shift's distance within the width of the type; others are undefined in C."""
    return xp.clip(y, 0, x.dtype.itemsize * 8 - 1).astype(x.dtype)


bitwise_and = binary(
    "BitwiseAnd", INTEGERS, lambda xp, x, y: x & y, "Bits that are set in both.", commutative=True
).not_differentiable()
bitwise_or = binary(
    "BitwiseOr", INTEGERS, lambda xp, x, y: x | y, "Bits that are set in either.", commutative=True
).not_differentiable()
bitwise_xor = binary(
    "BitwiseXor",
    INTEGERS,
    lambda xp, x, y: x ^ y,
    "Bits that are set in one only.",
    commutative=True,
).not_differentiable()
left_shift = binary(
    "LeftShift", INTEGERS, lambda xp, x, y: x << _distance(xp, x, y), "Moves bits up by y."
).not_differentiable()
right_shift = binary(
    "RightShift",
    INTEGERS,
    lambda xp, x, y: x >> _distance(xp, x, y),
    "Moves bits down by y, keeping the sign.",
).not_differentiable()
invert = unary("Invert", INTEGERS, lambda xp, x: ~x, "Flips all bits.").not_differentiable()


def _population_count(xp, x):
    return xp.bitwise_count(xp.bitcast(x, f"uint{x.dtype.itemsize * 8}")).astype("uint8")


population_count = unary(
    "PopulationCount",
    INTEGERS,
    _population_count,
    "The number of bits that are set.",
    args="x: T -> y: uint8",
).not_differentiable()


@op(
    "CompareAndBitpack",
    "input: T, threshold: T -> output: uint8",
    "T: type in {bool, half, float, double, int8, int16, int32, int64}",
)
def compare_and_bitpack(xp, input, threshold):
    """Packs whether elements exceed the threshold, eight to a byte, the first as the highest bit."""
    bits = input if input.dtype == bool else input > threshold
    return xp.packbits(bits, axis=-1)


@compare_and_bitpack.shape
def _(input, threshold):
    scalar(threshold, "threshold")
    shape = rank_at_least(input, 1)
    if shape is None:
        return None
    last = shape[-1]
    if last is not None and last % 8:
        raise ShapeError(f"Inner dimension of input should be divisible by 8, but is {last}")
    return (*shape[:-1], None if last is None else last // 8)


compare_and_bitpack.not_differentiable()

public_binary(bitwise_and, "bitwise.bitwise_and")
public_binary(bitwise_or, "bitwise.bitwise_or")
public_binary(bitwise_xor, "bitwise.bitwise_xor")
public_binary(left_shift, "bitwise.left_shift")
public_binary(right_shift, "bitwise.right_shift")
public_unary(invert, "bitwise.invert")
