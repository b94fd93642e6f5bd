"""RaggedTensorToSparse, and ragged tensors of sparse matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import dtypes
from weft.framework.graph import control_dependencies
from weft.framework.registry import op
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import num_elements, rank_at_least, vector
from weft.framework.sparse_tensor import (
    SparseTensor,
    convert_to_tensor_or_sparse_tensor,
    is_sparse,
)
from weft.ops.array import shape_of
from weft.ops.array.reshape import reshape
from weft.ops.array.select import where
from weft.ops.by_name import raw
from weft.ops.flow.list_value import invalid
from weft.ops.flow.logging_ops import assert_
from weft.ops.math.cast import cast
from weft.ops.math.reduce_functions import reduce_all, reduce_any


def check_splits(nested_splits: list[np.ndarray], count: int) -> None:
    """Refuses splits that do not partition as many values, or that decrease."""
    for i, splits in enumerate(nested_splits):
        if not splits.size:
            raise invalid("ragged splits may not be empty.")
        if splits[0] != 0:
            raise invalid("First value of ragged splits must be 0.")
        bad = np.flatnonzero(np.diff(splits) < 0)
        if bad.size:
            raise invalid(
                f"Ragged splits should be non decreasing, but we got {splits[bad[0]]} followed by "
                f"{splits[bad[0] + 1]}"
            )
        below = nested_splits[i + 1].size - 1 if i + 1 < len(nested_splits) else count
        if splits[-1] != below:
            raise invalid(
                "Final value of ragged splits must match the length the corresponding ragged values."
            )


@op(
    "RaggedTensorToSparse",
    "rt_nested_splits: RAGGED_RANK*Tsplits, rt_dense_values: T "
    "-> sparse_indices: int64, sparse_values: T, sparse_dense_shape: int64",
    "RAGGED_RANK: int >= 1; T: type; Tsplits: type in {int32, int64} = int64",
    host=True,
)
def ragged_tensor_to_sparse(xp, rt_nested_splits, rt_dense_values):
    """The position of each value of a ragged tensor, the values, and the shape that has room for them."""
    values = rt_dense_values
    check_splits(rt_nested_splits, len(values))
    # From the values outwards: the number of each in its row, then of that row in its own, ...
    at, columns = np.arange(len(values)), []
    for splits in reversed(rt_nested_splits):
        rows = np.repeat(np.arange(splits.size - 1), np.diff(splits))[at]
        columns.append(at - splits[rows])
        at = rows
    columns.append(at)
    inner = values.shape[1:]
    cells = int(np.prod(inner, dtype=np.int64))
    outer = np.repeat(np.stack(columns[::-1], 1), cells, 0)
    within = np.indices(inner).reshape(len(inner), cells).T
    indices = np.concatenate([outer, np.tile(within, (len(values), 1))], 1)
    widths = [int(np.diff(s).max(initial=0)) for s in rt_nested_splits]
    shape = [rt_nested_splits[0].size - 1, *widths, *inner]
    return indices.astype(np.int64), values.reshape(-1), np.array(shape, np.int64)


@ragged_tensor_to_sparse.shape
def _(rt_nested_splits, rt_dense_values):
    for splits in rt_nested_splits:
        vector(splits, "rt_nested_splits")
    values = rank_at_least(rt_dense_values, 1, "rt_dense_values")
    count = num_elements(values)
    rank = None if values is None else len(values) + len(rt_nested_splits)
    return (count, rank), (count,), (rank,)


@ragged_tensor_to_sparse.gradient
def _(op, to_indices, to_values, to_shape):
    like = op.inputs[-1]
    return [None] * (len(op.inputs) - 1) + [reshape(to_values, shape_of.shape(like))]


def to_sparse(ragged: Any, name: str | None) -> SparseTensor:
    """The sparse form of a ragged tensor."""
    with name_scope(name, "RaggedToSparse", [ragged.flat_values]):
        parts = ragged_tensor_to_sparse(
            list(ragged.nested_row_splits), ragged.flat_values, name=name
        )
        return SparseTensor(*parts)


def from_sparse(kind: Any, sparse: Any, name: str | None, dtype: dtypes.DType) -> Any:
    """The rows of a sparse matrix, as a ragged tensor of class `kind`."""
    if not is_sparse(sparse):
        raise TypeError(f"Expected SparseTensor, got {type(sparse).__name__}")
    with name_scope(name, "RaggedFromSparse"):
        sparse = convert_to_tensor_or_sparse_tensor(sparse, name="st_input")
        rank = sparse.dense_shape.shape.dims_tuple
        width = sparse.indices.shape.dims_tuple
        if (rank is None or rank[0] != 2) and (width is None or width[1] != 2):
            raise ValueError("rank(st_input) must be 2")
        check = _without_gaps(sparse.indices)
        with control_dependencies([check] if check is not None else []):
            rows = cast(sparse.indices[:, 0], dtype)
            count = cast(sparse.dense_shape[0], dtype)
            return kind.from_value_rowids(sparse.values, rows, count, validate=False)


def _without_gaps(indices: Any) -> Any:
    """Checks that each element follows the one before it, or begins a row."""
    rows, columns = indices[:, :-1], indices[:, -1]
    zero = np.int64(0)
    begins = reduce_any(raw.NotEqual(rows[1:], rows[:-1]), 1)
    follows = where(begins, raw.Equal(columns[1:], zero), raw.Equal(columns[1:], columns[:-1] + 1))
    ok = raw.LogicalAnd(reduce_all(raw.Equal(columns[:1], zero)), reduce_all(follows))
    return assert_(ok, ["SparseTensor is not right-ragged", "SparseTensor.indices =", indices])
