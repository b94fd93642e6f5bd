"""Slice: a box out of a tensor, by its corner and its size."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework.constant_value import constant_value
from weft.framework.export import export
from weft.framework.registry import get, op
from weft.framework.shape_rules import Shape, ShapeError, merge_dim, vector
from weft.ops.array import concat, shape_of
from weft.ops.array.boxes import cut
from weft.ops.array.reshape import reshape


def box(shape: tuple, begin: Any, size: Any) -> tuple[list[int], list[int]]:
    """The corner and the full size of a box in an array; ShapeError where it does not lie inside."""
    n = len(shape)
    if len(begin) != n or len(size) != n:
        raise ShapeError(
            f"Expected begin and size arguments to be 1-D tensors of size {n}, but got {len(begin)} and {len(size)}"
        )
    begin, size = [int(b) for b in begin], [int(s) for s in size]
    for i, (d, b, s) in enumerate(zip(shape, begin, size)):
        if s == -1:
            s = size[i] = d - b
        if not 0 <= b <= d:
            raise ShapeError(f"Expected begin[{i}] in [0, {d}], but got {b}")
        if not 0 <= s <= d - b:
            raise ShapeError(f"Expected size[{i}] in [0, {d - b}], but got {s}")
    return begin, size


def _static_inputs(op: Any) -> tuple[str, ...]:
    """A corner that is not known can be left to the run, unless a size counts from it."""
    size = constant_value(op._inputs[2])
    return ("size",) if size is not None and (size >= 0).all() else ("begin", "size")


@op(
    "Slice",
    "input: T, begin: Index, size: Index -> output: T",
    "T: type; Index: type in {int32, int64}",
    static=_static_inputs,
)
def slice_op(xp, input, begin, size):
    """The box of `input` that begins at `begin`; a size -1 reaches to the end."""
    if isinstance(begin, np.ndarray):
        begin, size = box(input.shape, begin, size)
        return cut(xp, input, [(b, s, 1) for b, s in zip(begin, size)])
    begin = begin.astype(np.int64)
    limit = np.array(input.shape, np.int64) - size
    xp.check((begin >= 0) & (begin <= limit), lambda: "Expected begin in the range of the input")
    return xp.lax.dynamic_slice(input, list(begin), size.tolist())


@slice_op.shape
def _(input, begin, size, *, const):
    length = merge_dim(
        vector(begin, "begin")[0], vector(size, "size")[0], "begin and size differ in length"
    )
    if input is not None:
        merge_dim(len(input), length, "begin and size need an element for each dimension")
        length = len(input)
    sizes = const("size")
    if sizes is None:
        return const.shape("size") if length is None else _partly(const.shape("size"), length)
    if input is None:
        return tuple(None if s < 0 else int(s) for s in sizes)
    start = const("begin")
    if start is not None and None not in input:
        return tuple(box(input, start, sizes)[1])
    out: list[int | None] = []
    for i, (d, s) in enumerate(zip(input, sizes)):
        if s < -1:
            raise ShapeError(f"Expected size[{i}] >= -1, but got {s}")
        if d is not None and s > d:
            raise ShapeError(f"Expected size[{i}] in [0, {d}], but got {s}")
        if s == -1 and start is not None:
            if d is not None and not 0 <= start[i] <= d:
                raise ShapeError(f"Expected begin[{i}] in [0, {d}], but got {start[i]}")
            out.append(None if d is None else int(d - start[i]))
        else:
            out.append(None if s == -1 else int(s))
    return tuple(out)


def _partly(sizes: Shape, length: int) -> Shape:
    return (None,) * length if sizes is None else sizes


@slice_op.gradient
def _(op, grad):
    from weft.ops.array.pad import pad_op

    x, begin = op.inputs[0], op.inputs[1]
    column = concat.stack([shape_of.rank(x), 1])
    before = reshape(begin, column)
    whole = shape_of.shape(x, out_type=begin.dtype)
    part = shape_of.shape(op.outputs[0], out_type=begin.dtype)
    after = reshape(get("Sub")(get("Sub")(whole, part), begin), column)
    found = pad_op(grad, concat.concat([before, after], 1))
    found.set_shape(x.shape)
    return [found, None, None]


@export("slice")
def slice(input_: Any, begin: Any, size: Any, name: str | None = None) -> Any:
    """Returns the box of `input_` that begins at `begin`; a size -1 reaches to the end."""
    return slice_op(input_, begin, size, name=name)
