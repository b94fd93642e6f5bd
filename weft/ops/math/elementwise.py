"""Elementwise ops of one and two tensors: three lines an op, by the makers at the top."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.framework import registry
from weft.framework.registry import OpDecl, op
from weft.framework.shape_rules import broadcasting, same


def unary(name: str, types: str, kernel: Callable, **flags: Any) -> OpDecl:
    """Declares an op `x: T -> y: T` whose kernel is `(xp, x)`."""
    decl = op(name, "x: T -> y: T", f"T: {types}", **flags)(kernel)
    decl.shape(same)
    return decl


def binary(name: str, types: str, kernel: Callable, out: str = "T", **flags: Any) -> OpDecl:
    """Declares an op `x: T, y: T -> z: T` that broadcasts."""
    decl = op(name, f"x: T, y: T -> z: {out}", f"T: {types}", **flags)(kernel)
    decl.shape(broadcasting)
    return decl


ARITHMETIC = "type in {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, int64, complex64, complex128}"

add = binary(
    "Add",
    "type in {bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, complex128, string}",
    lambda xp, x, y: x + y,
)
mul = binary("Mul", ARITHMETIC, lambda xp, x, y: x * y, commutative=True)
sub = binary("Sub", ARITHMETIC, lambda xp, x, y: x - y)
neg = unary(
    "Neg",
    "type in {bfloat16, half, float, double, int32, int64, complex64, complex128}",
    lambda xp, x: -x,
)
__all__ = ["np", "registry"]
