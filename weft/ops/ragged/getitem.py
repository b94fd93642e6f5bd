"""`ragged[...]`: rows, slices of rows, and slices within rows."""

from __future__ import annotations

from typing import Any

from weft.framework import context, conversion
from weft.framework.scopes import name_scope
from weft.framework.tensor import Tensor
from weft.ops.array import shape_of
from weft.ops.array.concat import concat
from weft.ops.array.fill import zeros
from weft.ops.by_name import raw
from weft.ops.math.cast import cast
from weft.ops.math.ranges import range as range_
from weft.ops.ragged.gather import gather_rows, one_row
from weft.ops.ragged.ranges import ragged_range
from weft.ops.ragged.tensor import RaggedTensor


def get_item(self: RaggedTensor, key: Any) -> Any:
    """Returns the part of the tensor that Python's indexing means; the result of slices is ragged."""
    keys = list(key) if isinstance(key, (list, tuple)) else [key]
    with name_scope(None, "RaggedGetItem", [self.flat_values]):
        return _of_rows(self, keys)


def _is_all(key: slice) -> bool:
    return key.start is None and key.stop is None and key.step is None


def _of_rows(ragged: Any, keys: list[Any]) -> Any:
    if not keys:
        return ragged
    key, inner = keys[0], keys[1:]
    if key is Ellipsis:
        return _of_rows(ragged, _without_ellipsis(keys, ragged.shape.rank))
    if key is None:
        return one_row(_of_rows(ragged, inner))
    if isinstance(key, slice):
        return _within_rows(_rows_between(ragged, key), inner)
    starts, limits = ragged.row_splits[:-1], ragged.row_splits[1:]
    if context.executing_eagerly() and isinstance(key, int):
        count = int(ragged.nrows())
        if not -count <= key < count:
            raise IndexError(f"Row key {key} out of bounds")
    row = ragged.values[starts[key] : limits[key]]
    return row[tuple(inner)] if inner else row


def _rows_between(ragged: RaggedTensor, key: slice) -> Any:
    if _is_all(key):
        return ragged
    starts, limits = ragged.row_splits[:-1][key], ragged.row_splits[1:][key]
    if key.step is not None and not (isinstance(key.step, int) and key.step == 1):
        return _ranges(starts, limits, 1, ragged.values)
    # One split more than there are rows: the first start, or 0 where there is none.
    zero = zeros([1], ragged.row_splits.dtype.base_dtype)
    splits = concat([zero[shape_of.size(starts) :], starts[:1], limits], 0)
    first = splits[0]
    return RaggedTensor.from_row_splits(
        ragged.values[first : splits[-1]], splits - first, validate=False
    )


def _within_rows(ragged: Any, keys: list[Any]) -> Any:
    if not keys:
        return ragged
    if isinstance(ragged, Tensor):
        return ragged[(slice(None), *keys)]
    key, inner = keys[0], keys[1:]
    if key is Ellipsis:
        return _within_rows(ragged, _without_ellipsis(keys, ragged.values.shape.rank))
    if key is None:
        rows = _within_rows(ragged, inner)
        count = shape_of.size(rows.row_splits, out_type=rows.row_splits.dtype.base_dtype)
        return RaggedTensor.from_row_splits(rows, range_(count), validate=False)
    if not isinstance(key, slice):
        raise ValueError("Cannot index into an inner ragged dimension.")
    if not _is_all(key):
        starts, limits = ragged.row_splits[:-1], ragged.row_splits[1:]
        first, last = starts, limits
        if _counts(key.start):
            first = _moved(key.start, starts, limits)
        if _counts(key.stop):
            last = _moved(key.stop, starts, limits)
        ragged = _ranges(first, last, key.step, ragged.values)
    return ragged.with_values(_within_rows(ragged.values, inner))


def _counts(bound: Any) -> bool:
    return bound is not None and not (isinstance(bound, int) and bound == 0)


def _without_ellipsis(keys: list[Any], rank: int | None) -> list[Any]:
    """The keys with one dimension of the ellipsis as a slice, or without it if it stands for none."""
    if rank is None:
        raise ValueError("Ellipsis not supported for unknown shape RaggedTensors")
    count = sum(k is not None for k in keys)
    if count > rank + 1:
        raise IndexError("Too many indices for RaggedTensor")
    return keys[1:] if count == rank + 1 else [slice(None), *keys]


def _ranges(starts: Any, limits: Any, step: Any, values: Any) -> RaggedTensor:
    """The values from each start to its limit."""
    dtype = starts.dtype.base_dtype
    step = conversion.convert_to_tensor(1 if step is None else step, name="step")
    if not step.dtype.is_integer:
        raise TypeError("slice strides must be integers or None")
    places = ragged_range(starts, limits, cast(step, dtype), Tsplits=dtype)
    return RaggedTensor.from_row_splits(
        gather_rows(values, places.rt_dense_values), places.rt_nested_splits, validate=False
    )


def _moved(offset: Any, starts: Any, limits: Any) -> Any:
    """The place so far from the start of each row, or from its end if negative; within the row."""
    if isinstance(offset, Tensor):
        offset = cast(offset, starts.dtype)
    elif isinstance(offset, int):
        offset = conversion.convert_to_tensor(offset, starts.dtype)
    else:
        raise TypeError("slice offsets must be integers or None")
    ahead = raw.Minimum(starts + offset, limits)
    back = raw.Maximum(limits + offset, starts)
    return raw.SelectV2(offset >= 0, ahead, back)
