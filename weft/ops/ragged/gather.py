"""RaggedGather, and gather, gather_nd and batch_gather of ragged tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.framework import dtypes
from weft.framework.indexed_slices import IndexedSlices
from weft.framework.registry import op
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import rank, rank_at_least, vector
from weft.framework.tensor import Tensor
from weft.ops.array import gather as dense
from weft.ops.array import shape_of
from weft.ops.array.concat import concat, stack
from weft.ops.array.fill import zeros
from weft.ops.array.reshape import expand_dims, reshape
from weft.ops.flow.list_value import invalid
from weft.ops.math.cast import cast
from weft.ops.ragged.ranges import ragged_range, steps_within
from weft.ops.ragged.splits import after, repeated, required_equal
from weft.ops.ragged.tensor import (
    RaggedTensor,
    is_ragged,
    takes,
    tensor_or_ragged,
    with_same_splits_dtype,
)

__all__ = ["batch_gather", "gather", "gather_nd", "takes"]


def _check(nested_splits: list[np.ndarray], count: int) -> None:
    for i, splits in enumerate(nested_splits):
        below = nested_splits[i + 1].size if i + 1 < len(nested_splits) else count
        if not splits.size:
            raise invalid("Ragged splits may not be empty")
        if splits[0] < 0:
            raise invalid("Ragged splits must be non-negative")
        if splits[-1] > below:
            raise invalid("Ragged splits must not point past values")
        if np.any(np.diff(splits) < 0):
            raise invalid("Ragged splits must be sorted")


@op(
    "RaggedGather",
    "params_nested_splits: PARAMS_RAGGED_RANK*Tsplits, params_dense_values: Tvalues, indices: Tindices "
    "-> output_nested_splits: OUTPUT_RAGGED_RANK*Tsplits, output_dense_values: Tvalues",
    "Tvalues: type; Tindices: type in {int32, int64}; Tsplits: type in {int32, int64} = int64; "
    "PARAMS_RAGGED_RANK: int >= 1; OUTPUT_RAGGED_RANK: int >= 0",
    host=True,
)
def ragged_gather(xp, params_nested_splits, params_dense_values, indices, *, Tsplits):
    """The rows of a ragged tensor at some positions."""
    _check(params_nested_splits, len(params_dense_values))
    flat = indices.reshape(-1).astype(np.int64)
    count = params_nested_splits[0].size - 1
    bad = np.flatnonzero((flat < 0) | (flat >= count))
    if bad.size:
        place = ",".join(str(i) for i in np.unravel_index(bad[0], indices.shape))
        raise invalid(
            f"indices{f'[{place}]' if place else ''} = {flat[bad[0]]} is not in [0, {count})"
        )
    out = [
        np.arange(n + 1) * size
        for n, size in zip(np.cumprod(indices.shape[:-1], dtype=np.int64), indices.shape[1:])
    ]
    # From each index a range of rows, of which each has a range of rows, ...
    starts, limits = flat, flat + 1
    for level, splits in enumerate(params_nested_splits):
        rows = np.repeat(starts, limits - starts) + steps_within(limits - starts)
        if level or indices.ndim:
            out.append(np.concatenate([[0], np.cumsum(np.diff(splits)[rows])]))
        starts, limits = splits[starts], splits[limits]
    places = np.repeat(starts, limits - starts) + steps_within(limits - starts)
    return [s.astype(Tsplits.np) for s in out], params_dense_values[places]


@ragged_gather.shape
def _(params_nested_splits, params_dense_values, indices, *, OUTPUT_RAGGED_RANK):
    rank(indices, OUTPUT_RAGGED_RANK - len(params_nested_splits) + 1, "indices")
    for splits in params_nested_splits:
        vector(splits, "params_nested_splits")
    values = rank_at_least(params_dense_values, 1, "params_dense_values")
    return [(None,)] * OUTPUT_RAGGED_RANK, None if values is None else (None, *values[1:])


@ragged_gather.gradient
def _(op, *grads):
    nested_splits, values, indices = op.inputs[:-2], op.inputs[-2], op.inputs[-1]
    ends = nested_splits[0]
    for splits in nested_splits[1:]:
        ends = dense.gather(splits, ends)
    flat = reshape(indices, [-1])
    one = np.ones((), ends.dtype.base_dtype.np)
    places = ragged_range(dense.gather(ends[:-1], flat), dense.gather(ends[1:], flat), one)
    to_values = IndexedSlices(grads[-1], places.rt_dense_values, shape_of.shape(values))
    return [None] * len(nested_splits) + [to_values, None]


def gather_rows(params: Any, indices: Any) -> Any:
    """The rows of `params` at `indices`, either of which may be ragged."""
    if isinstance(indices, RaggedTensor):
        return indices.with_values(gather_rows(params, indices.values))
    if not isinstance(params, RaggedTensor):
        return dense.gather(params, indices)
    if indices.shape.rank is None:
        raise ValueError("indices.shape.ndims must be known statically")
    result = ragged_gather(
        list(params.nested_row_splits),
        params.flat_values,
        indices,
        OUTPUT_RAGGED_RANK=indices.shape.rank + params.ragged_rank - 1,
    )
    return RaggedTensor.from_nested_row_splits(
        result.output_dense_values, result.output_nested_splits, validate=False
    )


def _both(params: Any, indices: Any) -> Any:
    params = tensor_or_ragged(params, name="params")
    indices = tensor_or_ragged(indices, name="indices")
    dtype, both = with_same_splits_dtype(params, indices)
    return dtype, *both


def gather(
    function: Callable,
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    name: str | None = None,
    axis: Any = None,
    batch_dims: int = 0,
) -> Any:
    """`tf.gather` where `params` or `indices` is ragged."""
    if axis not in (None, 0) or isinstance(axis, Tensor):
        raise ValueError("axis != 0 is not supported for ragged gather yet.")
    if not isinstance(batch_dims, int) or batch_dims != 0:
        raise ValueError("batch_dims != 0 is not supported for ragged gather yet.")
    with name_scope(name, "RaggedGather"):
        _, params, indices = _both(params, indices)
        return gather_rows(params, indices)


def batch_gather(function: Callable, params: Any, indices: Any, name: str | None = None) -> Any:
    """`tf.batch_gather` where `params` or `indices` is ragged."""
    with name_scope(name, "RaggedBatchGather"):
        dtype, params, indices = _both(params, indices)
        return _batch_gather(params, indices, dtype)


def _batch_gather(params: Any, indices: Any, dtype: Any) -> Any:
    if not (is_ragged(params) or is_ragged(indices)):
        return dense.batch_gather(params, indices)
    n = indices.shape.rank
    if n is None:
        raise ValueError("batch_gather does not allow indices with unknown shape.")
    if n == 0:
        raise ValueError("indices.rank must be at least 1.")
    mismatch = "batch shape from indices does not match params shape"
    if not is_ragged(indices):
        if n == 1:
            return gather_rows(params, indices)
        if n > 2:
            raise ValueError(mismatch)
        starts = expand_dims(params.row_starts(), 1)
        return gather_rows(params.values, cast(indices, dtype) + starts)
    if n > 2:
        if not is_ragged(params):
            raise ValueError(mismatch)
        check = required_equal(params.row_splits, indices.row_splits, mismatch)
        values = _batch_gather(params.values, indices.values, dtype)
        splits = after([check], indices.row_splits)
        return RaggedTensor.from_row_splits(values, splits, validate=False)
    if not is_ragged(params):
        if params.shape.rank is not None and params.shape.rank < 2:
            raise ValueError(mismatch)
        params = RaggedTensor.from_tensor(params, row_splits_dtype=dtype)
    starts = repeated(params.row_starts(), indices.row_lengths())
    values = gather_rows(params.values, cast(indices.values, dtype) + starts)
    return RaggedTensor.from_row_splits(values, indices.row_splits, validate=False)


def gather_nd(
    function: Callable, params: Any, indices: Any, name: str | None = None, batch_dims: int = 0
) -> Any:
    """`tf.gather_nd` where `params` or `indices` is ragged."""
    if not isinstance(batch_dims, int) or batch_dims != 0:
        raise ValueError("batch_dims != 0 is not supported for ragged gather yet.")
    with name_scope(name, "RaggedGatherNd"):
        dtype, params, indices = _both(params, indices)
        n = indices.shape.rank
        if n is None:
            raise ValueError("indices.rank be statically known.")
        if n == 0:
            raise ValueError("indices.rank must be at least 1.")
        if is_ragged(indices) and n == indices.ragged_rank + 1:
            raise ValueError("The innermost dimension of indices may not be ragged")
        depth = indices.shape.dims_tuple[-1]
        if depth is None:
            raise ValueError("indices.shape[-1] must be statically known.")
        return _gather_nd(params, indices, depth, dtype)


def _gather_nd(params: Any, indices: Any, depth: int, dtype: Any) -> Any:
    n = indices.shape.rank
    if not (is_ragged(params) or is_ragged(indices)):
        return dense.gather_nd(params, indices)
    if n > 2:
        was_dense = not is_ragged(indices)
        if was_dense:
            indices = RaggedTensor.from_tensor(indices, ragged_rank=n - 2, row_splits_dtype=dtype)
        found = _gather_nd(params, indices.flat_values, depth, dtype)
        result = indices.with_flat_values(found)
        if was_dense and result.ragged_rank == n - 2:
            return result.to_tensor()
        return result
    if depth == 0:
        return _whole_params(params, indices)
    if depth == 1:
        return gather_rows(params, reshape(indices, [-1]))
    indices = cast(indices, dtype)
    at = indices[..., 0]
    for i in range(1, depth):
        if not is_ragged(params):
            return dense.gather_nd(params, concat([expand_dims(at, -1), indices[..., i:]], -1))
        at = dense.gather(params.row_splits, at) + indices[..., i]
        params = params.values
    return gather_rows(params, at)


def _whole_params(params: Any, indices: Any) -> Any:
    """All of `params`, for each of the empty indices."""
    if indices.shape.rank == 1:
        return params
    count = shape_of.shape(indices)[0]
    return gather_rows(one_row(params), zeros([count], dtypes.int32))


def one_row(ragged: RaggedTensor) -> RaggedTensor:
    """The ragged tensor whose only row is the whole of another."""
    splits = stack([ragged.row_splits.dtype.base_dtype.np.type(0), ragged.nrows()])
    return RaggedTensor.from_row_splits(ragged, splits, validate=False)
