"""Rows chosen by a mask, and rows sorted into parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.framework import conversion, dtypes
from weft.framework.export import export
from weft.framework.scopes import name_scope
from weft.ops.array import select as dense
from weft.ops.array import shape_of
from weft.ops.array.concat import stack
from weft.ops.array.gather import gather
from weft.ops.array.reshape import reshape
from weft.ops.array.sort import argsort
from weft.ops.by_name import raw
from weft.ops.math.cast import cast
from weft.ops.math.ranges import range as range_
from weft.ops.math.reduce_functions import count_nonzero
from weft.ops.math.scans import cumprod
from weft.ops.ragged.gather import gather_rows, one_row
from weft.ops.ragged.splits import after, required, required_equal, same_splits, splits_of
from weft.ops.ragged.tensor import (
    RaggedTensor,
    is_ragged,
    takes,
    tensor_or_ragged,
    with_same_splits_dtype,
)

__all__ = ["dynamic_partition", "takes"]


@export("ragged.boolean_mask")
def boolean_mask(data: Any, mask: Any, name: str | None = None) -> Any:
    """Returns the elements of `data` at which `mask` is true, in the rows in which they were."""
    with name_scope(name, "RaggedMask"):
        data = tensor_or_ragged(data, name="data")
        mask = tensor_or_ragged(mask, dtypes.bool, name="mask")
        dtype, (data, mask) = with_same_splits_dtype(data, mask)
        if mask.shape.rank is None:
            raise ValueError("mask.shape.ndims must be known statically.")
        if mask.shape.rank == 0:
            raise ValueError("mask cannot be scalar.")
        return _masked(data, mask, dtype)


def _masked(data: Any, mask: Any, dtype: Any) -> Any:
    if is_ragged(mask):
        return _by_ragged_mask(data, mask, dtype)
    rank = mask.shape.rank
    if not is_ragged(data):
        return _of_dense(data, mask, dtype)
    if rank == 1:
        lengths = dense.boolean_mask(data.row_lengths(), mask)
        values = _masked(data.values, gather(mask, data.value_rowids()), dtype)
        return RaggedTensor.from_row_splits(values, splits_of(lengths), validate=False)
    depth = min(data.ragged_rank, rank - 1)
    return _by_ragged_mask(
        data, RaggedTensor.from_tensor(mask, ragged_rank=depth, row_splits_dtype=dtype), dtype
    )


def _by_ragged_mask(data: Any, mask: Any, dtype: Any) -> Any:
    depth = mask.ragged_rank
    if not is_ragged(data):
        data = RaggedTensor.from_tensor(data, ragged_rank=depth, row_splits_dtype=dtype)
    checks = same_splits([mask.nested_row_splits, data.nested_row_splits[:depth]])
    splits = []
    while is_ragged(mask):
        if mask.shape.rank > 2:
            splits.append(mask.row_splits)
        else:
            kept = cast(mask.values, dtype)
            counts = raw.UnsortedSegmentSum(kept, mask.value_rowids(), mask.nrows())
            splits.append(splits_of(counts))
        mask, data = mask.values, data.values
    splits[0] = after(checks, splits[0])
    return RaggedTensor.from_nested_row_splits(_masked(data, mask, dtype), splits, validate=False)


def _of_dense(data: Any, mask: Any, dtype: Any) -> Any:
    values, rank = dense.boolean_mask(data, mask), mask.shape.rank
    if rank == 1:
        return values
    counts = reshape(count_nonzero(mask, axis=-1, dtype=dtype), [-1])
    values = RaggedTensor.from_row_lengths(values, counts, validate=False)
    sizes = shape_of.shape(mask, out_type=dtype)
    counts = cumprod(sizes)
    for dim in reversed(range(rank - 2)):
        splits = range_(counts[dim] + 1) * sizes[dim + 1]
        values = RaggedTensor.from_row_splits(values, splits, validate=False)
    return values


@export("ragged.stack_dynamic_partitions")
def stack_dynamic_partitions(
    data: Any, partitions: Any, num_partitions: Any, name: str | None = None
) -> Any:
    """Returns the ragged tensor whose row i has the elements of `data` that `partitions` says are i."""
    with name_scope(name, "SegmentStack"):
        data = tensor_or_ragged(data, name="data")
        dtype = data.row_splits.dtype.base_dtype if is_ragged(data) else None
        partitions = tensor_or_ragged(partitions, name="partitions", preferred_dtype=dtype)
        if dtype is not None and is_ragged(partitions):
            partitions = partitions.with_flat_values(cast(partitions.flat_values, dtype))
        elif dtype is not None:
            partitions = cast(partitions, dtype)
        count = conversion.convert_to_tensor(
            num_partitions, name="num_partitions", preferred_dtype=partitions.dtype
        )
        count = cast(count, partitions.dtype)
        count.shape.assert_has_rank(0)
        rank = partitions.shape.rank
        if rank is None:
            raise ValueError("partitions must have known rank.")
        partitions.shape.assert_is_compatible_with(data.shape[:rank])
        return _sorted_into_parts(data, partitions, count)


def _sorted_into_parts(data: Any, partitions: Any, count: Any) -> Any:
    rank = partitions.shape.rank
    if rank == 0:
        whole = one_row(data) if is_ragged(data) else stack([data])
        return RaggedTensor.from_value_rowids(whole, stack([partitions]), count, validate=False)
    if rank == 1:
        order = argsort(partitions, stable=True)
        rows = gather(partitions, order)
        what = "partitions must be less than num_partitions"
        rows = after([required(rows[-1:] < count, what)], rows)
        return RaggedTensor.from_value_rowids(gather_rows(data, order), rows, count, validate=False)
    dtype = partitions.row_splits.dtype if is_ragged(partitions) else dtypes.int64
    if not is_ragged(data):
        data = RaggedTensor.from_tensor(data, row_splits_dtype=dtype)
    if not is_ragged(partitions):
        partitions = RaggedTensor.from_tensor(
            partitions,
            row_splits_dtype=data.row_splits.dtype.base_dtype,
            ragged_rank=max(data.ragged_rank, rank - 1),
        )
    what = "data and partitions have incompatible ragged shapes"
    check = required_equal(data.row_splits, partitions.row_splits, what)
    inner = partitions.values
    if is_ragged(inner):
        inner = inner.with_flat_values(after([check], inner.flat_values))
    else:
        inner = after([check], inner)
    return _sorted_into_parts(data.values, inner, count)


def dynamic_partition(
    function: Callable, data: Any, partitions: Any, num_partitions: Any, name: str | None = None
) -> list[Any]:
    """`tf.dynamic_partition` of ragged tensors."""
    if not isinstance(num_partitions, int) or num_partitions < 0:
        raise TypeError("num_partitions must be a non-negative integer")
    result = stack_dynamic_partitions(data, partitions, num_partitions, name)
    return [result[i] for i in range(num_partitions)]
