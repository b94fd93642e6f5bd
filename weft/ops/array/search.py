"""Looking up positions: LowerBound, UpperBound, UnravelIndex."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft.framework import dtypes
from weft.framework.export import export
from weft.framework.registry import OpDecl, op
from weft.framework.shape_rules import ShapeError, merge_dim, rank, text, vector
from weft.ops.array import shape_of
from weft.ops.array.reshape import reshape


def _bisected(xp: Any, rows: Any, values: Any, to_the_right: bool, dtype: Any) -> Any:
    """In each row the first position where a value could be put; all values advance together."""
    n = rows.shape[-1]
    low = xp.zeros(values.shape, dtype)
    high = xp.full(values.shape, n, dtype)
    for _ in range(n.bit_length()):
        middle = (low + high) // 2
        there = xp.take_along_axis(rows, xp.minimum(middle, max(n - 1, 0)), -1)
        after = (there <= values) if to_the_right else (there < values)
        after = after & (low < high)
        low, high = xp.where(after, middle + 1, low), xp.where(after, high, middle)
    return low


def _bound(name: str, to_the_right: bool) -> OpDecl:
    @op(
        name,
        "sorted_inputs: T, values: T -> output: out_type",
        "T: type; out_type: type in {int32, int64} = int32",
    )
    def bound(xp, sorted_inputs, values, *, out_type):
        if sorted_inputs.shape[0] != values.shape[0]:
            raise ShapeError(
                f"Leading dim_size of both tensors must match: {text(sorted_inputs.shape)}, {text(values.shape)}"
            )
        if sorted_inputs.shape[-1] == 0 or values.size == 0:
            return xp.zeros(values.shape, out_type.np)
        return _bisected(xp, sorted_inputs, values, to_the_right, out_type.np)

    @bound.shape
    def _(sorted_inputs, values):
        a, b = rank(sorted_inputs, 2, "sorted_inputs"), rank(values, 2, "values")
        return (merge_dim(a[0], b[0], "Leading dim_size of both tensors must match"), b[1])

    return bound


lower_bound = _bound("LowerBound", to_the_right=False)
upper_bound = _bound("UpperBound", to_the_right=True)


@export("searchsorted")
def searchsorted(
    sorted_sequence: Any,
    values: Any,
    side: str = "left",
    out_type: Any = dtypes.int32,
    name: str | None = None,
) -> Any:
    """Returns where each value belongs in its sorted sequence, along the last dimension."""
    rows = reshape(sorted_sequence, [-1, shape_of.shape(sorted_sequence)[-1]])
    columns = reshape(values, [-1, shape_of.shape(values)[-1]])
    if side == "right":
        found = upper_bound(rows, columns, out_type=out_type, name=name)
    elif side == "left":
        found = lower_bound(rows, columns, out_type=out_type, name=name)
    else:
        raise ValueError(f"side must be either 'right' or 'left'.  Saw: {side}.")
    return reshape(found, shape_of.shape(values))


@op(
    "UnravelIndex",
    "indices: Tidx, dims: Tidx -> output: Tidx",
    "Tidx: type in {int32, int64} = int32",
)
def unravel_index_op(xp, indices, dims):
    """The coordinates of flat positions in an array of a shape."""
    if dims.ndim != 1:
        raise ShapeError(f'The indices can only be 1-D, got "dims" of shape {text(dims.shape)}')
    if indices.ndim > 1:
        raise ShapeError(f'The indices can only be scalar or 1-D, got "{text(indices.shape)}".')
    xp.check(dims > 0, lambda: f"dims must be positive, got {dims}")
    if isinstance(dims, np.ndarray) and math.prod(dims.tolist()) > np.iinfo(dims.dtype).max:
        raise ShapeError(f"Input dims product is causing integer overflow: ({dims})")
    sizes = xp.cumprod(dims[::-1], dtype=dims.dtype)[::-1]
    count = sizes[0] if dims.shape[0] else np.array(1, dims.dtype)
    xp.check(
        (indices >= 0) & (indices < count),
        lambda: f"index is out of bound as with dims: indices {indices}, dims {dims}",
    )
    one = np.ones(1, dims.dtype)
    steps = xp.concatenate([sizes[1:], one]) if dims.shape[0] else dims
    divisor = xp.maximum(steps, 1)
    if indices.ndim == 0:
        return (indices // divisor) % xp.maximum(dims, 1)
    return (indices[None, :] // divisor[:, None]) % xp.maximum(dims, 1)[:, None]


@unravel_index_op.shape
def _(indices, dims):
    n = vector(dims, "dims")[0]
    if indices is None:
        return None
    if len(indices) > 1:
        raise ShapeError(f"Shape must be at most rank 1 but is rank {len(indices)} for indices")
    return (n, *indices)


@export("unravel_index")
def unravel_index(indices: Any, dims: Any, name: str | None = None) -> Any:
    """Returns the coordinates of flat positions in an array of shape `dims`, a row per dimension."""
    return unravel_index_op(indices, dims, name=name)
