"""Sums and the like of rows of ragged tensors that belong together: unsorted_segment_sum and its kin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.framework import conversion
from weft.framework.export import find
from weft.framework.scopes import name_scope
from weft.ops.array.gather import gather
from weft.ops.by_name import raw
from weft.ops.ragged.elementwise import mapped
from weft.ops.ragged.ranges import ragged_range
from weft.ops.ragged.splits import INTEGERS, after, lengths_of, required_equal, splits_of
from weft.ops.ragged.tensor import (
    RaggedTensor,
    is_ragged,
    takes,
    tensor_or_ragged,
    with_same_splits_dtype,
)

__all__ = ["takes"]


def aggregated(reduce: Callable, data: Any, segment_ids: Any, num_segments: Any) -> Any:
    """What `reduce(data, segment_ids, num_segments)` gives for tensors, of ragged ones.

    The elements of a row of the result are those of the rows of its segment, one below the other.
    """
    if not (is_ragged(data) or is_ragged(segment_ids)):
        return reduce(data, segment_ids, num_segments)
    data = tensor_or_ragged(data, name="data")
    segment_ids = tensor_or_ragged(segment_ids, name="segment_ids")
    _, (data, segment_ids) = with_same_splits_dtype(data, segment_ids)
    if segment_ids.dtype.base_dtype not in INTEGERS:
        raise ValueError("segment_ids must have dtype int32 or int64.")
    what = "segment_ids.shape must be a prefix of data.shape"
    if is_ragged(segment_ids):
        if not is_ragged(data):
            raise ValueError(f"{what}, but segment_ids is ragged and data is not.")
        check = required_equal(segment_ids.row_splits, data.row_splits, what)
        ids = segment_ids.values
        if isinstance(ids, RaggedTensor):
            ids = ids.with_flat_values(after([check], ids.flat_values))
        else:
            ids = after([check], ids)
        return aggregated(reduce, data.values, ids, num_segments)
    lengths = lengths_of(data.row_splits)
    zero = np.zeros((), lengths.dtype.base_dtype.np)
    longest = raw.Maximum(raw.UnsortedSegmentMax(lengths, segment_ids, num_segments), zero)
    splits = splits_of(longest)
    starts = gather(splits, segment_ids)
    one = np.ones((), lengths.dtype.base_dtype.np)
    places = ragged_range(starts, starts + lengths, one, Tsplits=lengths.dtype.base_dtype)
    values = aggregated(reduce, data.values, places.rt_dense_values, splits[-1])
    return RaggedTensor.from_row_splits(values, splits, validate=False)


def _taking(scope: str, compute: Callable) -> Callable:
    def taker(
        function: Callable, data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
    ) -> Any:
        with name_scope(name, scope):
            num_segments = conversion.convert_to_tensor(num_segments, name="num_segments")
            return compute(function, data, segment_ids, num_segments)

    return taker


def _over(divisor: Callable) -> Callable:
    def compute(function: Callable, data: Any, segment_ids: Any, num_segments: Any) -> Any:
        total_of = find("", "unsorted_segment_sum", "tf")
        total = aggregated(total_of, data, segment_ids, num_segments)
        ones = mapped(tensor_or_ragged(data), raw.OnesLike)
        count = aggregated(total_of, ones, segment_ids, num_segments)
        if not is_ragged(total):
            return total / divisor(count)
        return total.with_flat_values(total.flat_values / divisor(count.flat_values))

    return compute


unsorted_segment_sum = _taking("RaggedSegmentSum", aggregated)
unsorted_segment_prod = _taking("RaggedSegmentProd", aggregated)
unsorted_segment_min = _taking("RaggedSegmentMin", aggregated)
unsorted_segment_max = _taking("RaggedSegmentMax", aggregated)
unsorted_segment_mean = _taking("RaggedSegmentMean", _over(lambda count: count))
unsorted_segment_sqrt_n = _taking("RaggedSegmentSqrtN", _over(raw.Sqrt))
