"""Broadcasting of ragged tensors, and other results that are found by walking down the dimensions.

A result is built dimension by dimension. At each there are so many rows, and for each of them the row of an
operand that it comes from. The next dimension tells how long each row is; what was a row becomes as many, each
with the place in the operand that it comes from. At the end there is a place for each value of the result, and
the values are gathered.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import context
from weft.framework.constant_value import constant_value
from weft.ops.array import shape_of
from weft.ops.array.concat import concat
from weft.ops.array.constant import constant_v1
from weft.ops.array.gather import gather
from weft.ops.array.reshape import reshape
from weft.ops.by_name import raw
from weft.ops.flow.logging_ops import assert_
from weft.ops.math.cast import cast
from weft.ops.math.ranges import range as range_
from weft.ops.math.reduce_functions import reduce_all
from weft.ops.ragged.splits import after, row_of_each, splits_of
from weft.ops.ragged.tensor import RaggedTensor, rows_of


class Dimension:
    """One dimension of an operand: of one size, or ragged."""

    def __init__(self, size: Any = None, splits: Any = None):
        self.size, self.splits = size, splits
        known = None if size is None else constant_value(size)
        self.known = None if known is None else int(known)

    def lengths(self, rows: Any) -> Any:
        """The length of each of some rows."""
        if self.splits is None:
            return raw.ZerosLike(rows) + self.size
        return gather(self.splits[1:], rows) - gather(self.splits[:-1], rows)

    def places(self, rows: Any, steps: Any) -> Any:
        """The place of the element so many steps into a row."""
        if self.splits is None:
            return rows * self.size + steps
        return gather(self.splits, rows) + steps


class Operand:
    """A tensor, its dimensions, and where the walk has come to in it."""

    def __init__(self, tensor: Any, rank: int | None, dtype: Any):
        self.tensor, self.dtype = tensor, dtype
        one = constant_v1(1, dtype=dtype)
        self.dims = [] if rank is None else [Dimension(one)] * (rank - tensor.shape.rank)
        flat, first = tensor, 0
        if isinstance(tensor, RaggedTensor):
            flat, first = tensor.flat_values, 1
            self.dims.append(Dimension(rows_of(tensor, dtype)))
            self.dims += [Dimension(splits=s) for s in tensor.nested_row_splits]
        # How many dimensions come down to the first one of the values.
        self.outer = len(self.dims) + 1 - first
        if flat.shape.rank is not None:
            sizes = shape_of.shape(flat, out_type=dtype)
            self.dims += [Dimension(sizes[i]) for i in range(first, flat.shape.rank)]
        self.flat = flat
        self.rows = constant_v1([0], dtype=dtype)

    @property
    def partitioned(self) -> int:
        """How many dimensions come down to the last ragged one."""
        ragged = [i for i, d in enumerate(self.dims) if d.splits is not None]
        return ragged[-1] + 1 if ragged else 0

    def values(self, depth: int) -> Any:
        """The values at the places where the walk has come to, after so many dimensions."""
        if depth != self.outer:
            inner = len(self.dims) - depth
            sizes = shape_of.shape(self.flat)
            tail = [sizes[self.flat.shape.rank - inner :]] if inner else []
            self.flat = reshape(self.flat, concat([np.array([-1], np.int32), *tail], 0))
        return gather(self.flat, self.rows)


def descend(lengths: Any) -> tuple[Any, Any, Any]:
    """The splits of rows of these lengths; for each element its row, and how far in it it stands."""
    splits = splits_of(lengths)
    rows = row_of_each(splits)
    return splits, rows, range_(splits[-1]) - gather(splits, rows)


def broadcast(x: Any, y: Any, dtype: Any) -> tuple[Any, Any, list[Any]]:
    """The values of two tensors side by side, and the splits of the rows that they are in."""
    if x.shape.rank is None or y.shape.rank is None:
        raise ValueError("Unable to broadcast: unknown rank")
    rank = max(x.shape.rank, y.shape.rank)
    a, b = Operand(x, rank, dtype), Operand(y, rank, dtype)
    depth = max(a.partitioned, b.partitioned)
    nested_splits = []
    for axis in range(depth):
        lengths = _common_lengths(a, b, axis)
        splits, rows, steps = descend(lengths)
        nested_splits.append(splits)
        for operand, other in ((a, b), (b, a)):
            dim = operand.dims[axis]
            at = gather(operand.rows, rows)
            operand.rows = dim.places(at, _steps(dim, other.dims[axis], steps))
    sizes = {d.known for d in (a.dims[0], b.dims[0])} - {1}
    count = sizes.pop() if len(sizes) == 1 else None
    if count is not None and not context.executing_eagerly():
        nested_splits[1].set_shape([count + 1])
    return a.values(depth), b.values(depth), nested_splits[1:]


def _steps(dim: Dimension, other: Dimension, steps: Any) -> Any:
    """How far into its row an operand goes: nowhere if its row has one element, which serves for all."""
    if dim.splits is not None:
        return steps
    if dim.known is not None:
        return raw.ZerosLike(steps) if dim.known == 1 else steps
    return steps * cast(raw.NotEqual(dim.size, dim.size.dtype.np.type(1)), dim.size.dtype)


def _common_lengths(a: Operand, b: Operand, axis: int) -> Any:
    p, q = a.dims[axis], b.dims[axis]
    if p.splits is None and q.splits is None:
        return _uniform_lengths(a, b, p, q, axis)
    if p.splits is None:
        a, b, p, q = b, a, q, p
    lengths = p.lengths(a.rows)
    if q.splits is None:
        ok = None if q.known == 1 else raw.Equal(q.size, q.size.dtype.np.type(1))
        return _checked(ok, axis, lengths, q.size)
    other = q.lengths(b.rows)
    return _checked(raw.Equal(lengths, other), axis, lengths, other)


def _uniform_lengths(a: Operand, b: Operand, p: Dimension, q: Dimension, axis: int) -> Any:
    if p.known == 1:
        return q.lengths(b.rows)
    lengths = p.lengths(a.rows)
    if q.known == 1:
        return lengths
    one = p.size.dtype.np.type(1)
    is_one = raw.Equal(p.size, one)
    ok = raw.LogicalOr(raw.LogicalOr(is_one, raw.Equal(q.size, one)), raw.Equal(p.size, q.size))
    size = raw.SelectV2(is_one, q.size, p.size)
    return _checked(ok, axis, raw.ZerosLike(lengths) + size, q.size)


def _checked(ok: Any, axis: int, lengths: Any, size: Any) -> Any:
    if ok is None:
        return lengths
    what = "Unable to broadcast: dimension size mismatch in dimension"
    check = assert_(reduce_all(ok), [what, axis, "lengths=", lengths, "dim_size=", size], 10)
    return after([check], lengths)
