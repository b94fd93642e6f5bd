"""RaggedRange: several ranges, one a row."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import conversion, dtypes
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import ShapeError, merge_dim, rank_at_most
from weft.ops.flow.list_value import invalid
from weft.ops.math.cast import cast


def steps_within(lengths: np.ndarray) -> np.ndarray:
    """0, 1, ... within each row of these lengths, all rows one after another."""
    ends = np.cumsum(lengths)
    count = int(ends[-1]) if ends.size else 0
    return np.arange(count, dtype=np.int64) - np.repeat(ends - lengths, lengths)


def _sizes(starts: np.ndarray, limits: np.ndarray, deltas: np.ndarray) -> np.ndarray:
    if starts.dtype.kind == "i":
        distance = np.abs(limits.astype(np.int64) - starts.astype(np.int64))
        step = np.abs(deltas.astype(np.int64))
        sizes = (distance + step - 1) // step
    else:
        sizes = np.ceil(np.abs((limits - starts) / deltas)).astype(np.int64)
    away = ((deltas > 0) & (limits < starts)) | ((deltas < 0) & (limits > starts))
    return np.where(away, 0, sizes)


@op(
    "RaggedRange",
    "starts: T, limits: T, deltas: T -> rt_nested_splits: Tsplits, rt_dense_values: T",
    "T: type in {bfloat16, float, double, int32, int64} = int32; Tsplits: type in {int32, int64} = int64",
    host=True,
)
def ragged_range(xp, starts, limits, deltas, *, Tsplits):
    """The numbers from each start to its limit, in steps of its delta; scalars serve all rows."""
    for name, x in (("starts", starts), ("limits", limits), ("deltas", deltas)):
        if x.ndim > 1:
            raise invalid(f"{name} must be a scalar or vector")
    counts = {len(x) for x in (starts, limits, deltas) if x.ndim}
    if len(counts) > 1:
        raise invalid("starts, limits, and deltas must have the same shape")
    starts, limits, deltas = np.broadcast_arrays(
        *[np.atleast_1d(x) for x in (starts, limits, deltas)]
    )
    if np.any(deltas == 0):
        raise invalid("Requires delta != 0")
    sizes = _sizes(starts, limits, deltas)
    splits = np.concatenate([[0], np.cumsum(sizes)]).astype(Tsplits.np)
    dtype = starts.dtype
    steps = steps_within(sizes).astype(dtype)
    return splits, (np.repeat(starts, sizes) + steps * np.repeat(deltas, sizes)).astype(dtype)


@ragged_range.shape
def _(starts, limits, deltas):
    count, all_scalars = None, True
    for name, shape in (("starts", starts), ("limits", limits), ("deltas", deltas)):
        rank_at_most(shape, 1, name)
        all_scalars = all_scalars and shape == ()
        if shape:
            count = merge_dim(count, shape[0], "starts, limits and deltas must be as many")
    if all_scalars:
        count = 1
    return (None if count is None else count + 1,), (None,)


ragged_range.not_differentiable()

_BY_WIDTH = [dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64]


@export("ragged.range")
def range(
    starts: Any,
    limits: Any = None,
    deltas: Any = 1,
    dtype: Any = None,
    name: str | None = None,
    row_splits_dtype: Any = dtypes.int64,
) -> Any:
    """Returns a ragged tensor whose rows are ranges; `range(limits)` starts at 0."""
    from weft.ops.ragged.tensor import RaggedTensor

    row_splits_dtype = dtypes.as_dtype(row_splits_dtype)
    if limits is None:
        starts, limits = 0, starts
    with name_scope(name, "RaggedRange", [starts, limits, deltas]) as name:
        parts = [
            conversion.convert_to_tensor(x, dtype=dtype, name=part)
            for part, x in (("starts", starts), ("limits", limits), ("deltas", deltas))
        ]
        if dtype is None:
            found = [p.dtype.base_dtype for p in parts]
            if any(d not in _BY_WIDTH for d in found):
                raise ShapeError(f"A range is of numbers, not of {found}")
            widest = max(found, key=_BY_WIDTH.index)
            parts = [cast(p, widest) for p in parts]
        result = ragged_range(*parts, Tsplits=row_splits_dtype, name=name)
        return RaggedTensor.from_row_splits(
            result.rt_dense_values, result.rt_nested_splits, validate=False
        )


def steps_of(lengths: Any) -> Any:
    """0, 1, ... within each row of these lengths, in the graph."""
    dtype = lengths.dtype.base_dtype
    zero, one = (conversion.convert_to_tensor(i, dtype) for i in (0, 1))
    return ragged_range(zero, lengths, one, Tsplits=dtype).rt_dense_values
