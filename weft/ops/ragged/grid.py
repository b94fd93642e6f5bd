"""tile and one_hot of ragged tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.framework import context
from weft.framework.constant_value import constant_value
from weft.framework.scopes import name_scope
from weft.ops.array import broadcast as dense
from weft.ops.array.concat import concat
from weft.ops.array.gather import gather
from weft.ops.by_name import raw
from weft.ops.ragged.broadcasting import Operand, descend
from weft.ops.ragged.splits import as_integers
from weft.ops.ragged.tensor import axis_from_start, nested, takes, tensor_or_ragged

__all__ = ["one_hot", "takes", "tile"]


def tile(function: Callable, input: Any, multiples: Any, name: str | None = None) -> Any:
    """`tf.tile` of a ragged tensor."""
    with name_scope(name, "RaggedTile"):
        x = tensor_or_ragged(input, name="input")
        dtype = x.row_splits.dtype.base_dtype
        multiples = as_integers(multiples, "multiples", dtype)
        multiples.shape.assert_has_rank(1)
        walk = Operand(x, x.shape.rank, dtype)
        depth, nested_splits = x.ragged_rank + 1, []
        for axis in range(depth):
            dim, times = walk.dims[axis], multiples[axis]
            lengths = dim.lengths(walk.rows)
            splits, rows, steps = descend(lengths * times)
            nested_splits.append(splits)
            steps = raw.FloorMod(steps, gather(lengths, rows))
            walk.rows = dim.places(gather(walk.rows, rows), steps)
        one = dtype.np.type(1)
        flat = dense.tile(walk.values(depth), concat([[one], multiples[depth:]], 0))
        rows, times = walk.dims[0].known, constant_value(multiples)
        if rows is not None and times is not None and not context.executing_eagerly():
            nested_splits[1].set_shape([rows * int(times[0]) + 1])
        return nested(flat, nested_splits[1:])


def one_hot(
    function: Callable,
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: Any = None,
    dtype: Any = None,
    name: str | None = None,
) -> Any:
    """`tf.one_hot` of ragged indices."""
    with name_scope(name, "RaggedOneHot"):
        indices = tensor_or_ragged(indices, name="indices")
        if axis is not None:
            axis = axis_from_start(axis, indices.shape.rank)
            if axis < indices.ragged_rank:
                raise ValueError("axis may not be less than indices.ragged_rank.")
        return indices.with_flat_values(
            function(indices.flat_values, depth, on_value, off_value, axis, dtype)
        )
