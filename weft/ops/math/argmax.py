"""Positions of the extreme elements along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import dtypes
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.shape_rules import ShapeError, rank_at_most, text
from weft.ops.math.dtype_sets import NUMBERS
from weft.ops.math.reduce_functions import chosen


def _declare(name: str, function: str, doc: str) -> Any:
    @op(
        name,
        "input: T, dimension: Tidx -> output: output_type",
        f"T: {NUMBERS}; Tidx: type in {{int32, int64}} = int32; "
        "output_type: type in {int32, int64} = int64",
        static=("dimension",),
    )
    def decl(xp, input, dimension, *, output_type):
        axis = _axis(dimension, len(input.shape))
        if input.shape[axis] == 0:
            raise ShapeError(f"Reduction axis {axis} is empty in shape {text(input.shape)}")
        return getattr(xp, function)(input, axis=axis).astype(output_type.np)

    decl.__doc__ = doc

    @decl.shape
    def _(input, dimension, *, const):
        rank_at_most(dimension, 0, "dimension")
        axis = const("dimension")
        if input is None:
            return None
        if axis is None:
            return (None,) * max(len(input) - 1, 0)
        axis = _axis(axis, len(input))
        return input[:axis] + input[axis + 1 :]

    decl.gradient(lambda op, grad: (None, None))
    return decl


def _axis(dimension: Any, rank: int) -> int:
    axis = int(np.asarray(dimension))
    if not -rank <= axis < rank:
        raise ShapeError(
            f"Expected dimension in the range [{-rank}, {rank}), but got {axis} "
            f"(Dimension ({axis}) must be in the range [{-rank}, {rank}), where {rank} is the number of "
            "dimensions in the input)"
        )
    return axis % rank


arg_max_op = _declare("ArgMax", "argmax", "The position of the greatest element along an axis.")
arg_min_op = _declare("ArgMin", "argmin", "The position of the least element along an axis.")


def _public(decl: Any, name: str, which: str) -> None:
    def function(input, axis=None, name=None, dimension=None, output_type=dtypes.int64):
        axis = chosen("dimension", dimension, "axis", axis)
        return decl(input, 0 if axis is None else axis, output_type=output_type, name=name)

    def old_function(input, dimension, output_type=dtypes.int64, name=None):
        return decl(input, dimension, output_type=output_type, name=name)

    function.__name__ = function.__qualname__ = name
    old_function.__name__ = old_function.__qualname__ = name.replace("arg", "arg_")
    function.__doc__ = f"The position of the {which} element along an axis (0 by default)."
    old_function.__doc__ = f"The position of the {which} element along an axis."
    export(name, f"math.{name}")(function)
    export(old_function.__name__)(old_function)


_public(arg_max_op, "argmax", "greatest")
_public(arg_min_op, "argmin", "least")
