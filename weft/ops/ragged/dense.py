"""RaggedTensorToTensor, and what is dense made ragged and the other way round."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import context, conversion, dtypes
from weft.framework.registry import op
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import Shape, fail, merge_dim, rank
from weft.framework.tensor_shape import TensorShape
from weft.ops.array import shape_of
from weft.ops.array.broadcast import broadcast_to
from weft.ops.array.concat import concat
from weft.ops.array.fill import ones, zeros
from weft.ops.array.grid import sequence_mask
from weft.ops.array.reshape import reshape
from weft.ops.array.select import boolean_mask
from weft.ops.by_name import raw
from weft.ops.flow.list_value import invalid
from weft.ops.math.cast import cast
from weft.ops.math.ranges import range as range_
from weft.ops.math.reduce_functions import reduce_all, reduce_sum
from weft.ops.math.scans import cumprod
from weft.ops.ragged.ranges import steps_within
from weft.ops.ragged.splits import as_integers, splits_of

_SPLITS, _ROWIDS, _FIRST = "ROW_SPLITS", "VALUE_ROWIDS", "FIRST_DIM_SIZE"


def _kinds(types: list[bytes]) -> list[str]:
    kinds = [t.decode() if isinstance(t, bytes) else t for t in types]
    for kind in kinds:
        if kind not in (_SPLITS, _ROWIDS, _FIRST):
            fail(f"Unsupported partition type: {kind}")
    if not kinds:
        fail("Partition info types should not be empty")
    if _FIRST in kinds[1:]:
        fail("FIRST_DIM_SIZE must be first")
    if kinds[0] == _FIRST and kinds[1:2] != [_ROWIDS]:
        fail("FIRST_DIM_SIZE must be followed by VALUE_ROWIDS")
    if kinds[0] == _ROWIDS:
        fail("VALUE_ROWIDS cannot be first")
    return kinds


def _result_shape(levels: int, wanted: Shape, values: Shape) -> Shape:
    """The shape of the result, as far as a wish for it and the shape of the values tell."""
    if values is None:
        return wanted
    if wanted is None:
        wanted = (None,) * (levels + len(values))
    if levels + len(values) != len(wanted):
        fail(
            f"Value shape, ragged_rank ({levels}) and shape do not have a consistent number of dimensions",
            values,
            wanted,
        )
    inner = [
        merge_dim(a, b, "Value and shape dimension are inconsistent")
        for a, b in zip(wanted[levels + 1 :], values[1:])
    ]
    return (*wanted[: levels + 1], *inner)


def _longest(kind: str, partition: np.ndarray) -> int:
    if kind == _SPLITS:
        return max(int(np.diff(partition).max(initial=0)), 0)
    return int(_run_steps(partition).max(initial=-1)) + 1


def _run_steps(ids: np.ndarray) -> np.ndarray:
    """0, 1, ... within each run of equal ids."""
    at = np.arange(ids.size)
    begins = np.concatenate([[True], ids[1:] != ids[:-1]]) if ids.size else np.zeros(0, bool)
    return at - np.maximum.accumulate(np.where(begins, at, 0)) if ids.size else at


def _places(kind: str, partition: np.ndarray, parents: np.ndarray, size: int) -> np.ndarray:
    """Where each value goes, in units of one, of where the rows go; -1 is nowhere."""
    if kind == _SPLITS:
        lengths = np.diff(partition)
        if lengths.size > parents.size:
            raise invalid(
                f"Row partition size is greater than output size: {lengths.size} > {parents.size}"
            )
        if np.any(lengths < 0) or partition[0] != 0:
            raise invalid("Invalid row split size.")
        rows, steps = np.repeat(parents[: lengths.size], lengths), steps_within(lengths)
    else:
        if partition.size and (partition.max() >= parents.size or partition.min() < 0):
            raise invalid(
                f"Got value_rowid={partition.max()} which is not less than {parents.size}"
            )
        rows, steps = parents[partition], _run_steps(partition)
    return np.where((rows >= 0) & (steps < size), rows * size + steps, -1)


@op(
    "RaggedTensorToTensor",
    "shape: Tshape, values: T, default_value: T, row_partition_tensors: num_row_partition_tensors*Tindex "
    "-> result: T",
    "T: type; Tindex: type in {int64, int32}; Tshape: type in {int64, int32}; "
    "num_row_partition_tensors: int >= 1; row_partition_types: list(string)",
    host=True,
)
def ragged_tensor_to_tensor(
    xp, shape, values, default_value, row_partition_tensors, *, row_partition_types
):
    """The rows of a ragged tensor in a tensor; where there is no value, the default one."""
    kinds, partitions = _kinds(row_partition_types), list(row_partition_tensors)
    if kinds[0] == _FIRST:
        first, kinds, partitions = int(partitions[0]), kinds[1:], partitions[1:]
    else:
        if not partitions[0].size:
            raise invalid("Invalid first partition input. Tensor requires at least one element.")
        first = len(partitions[0]) - 1
    levels = len(kinds)
    wanted = None if shape.ndim == 0 else tuple(None if d < 0 else int(d) for d in shape)
    dims: Any = _result_shape(levels, wanted, values.shape)
    most = [first, *[_longest(k, p) for k, p in zip(kinds, partitions)]]
    dims = tuple(m if d is None else d for d, m in zip(dims, [*most, *values.shape[1:]]))
    out = np.empty(dims, values.dtype)
    out[...] = default_value
    if out.size:
        places = np.arange(first)
        places[dims[0] :] = -1
        for kind, partition, size in zip(kinds, partitions, dims[1:]):
            places = _places(kind, partition, places, size)
        if places.size != len(values):
            raise invalid("Values and indices must be equal")
        kept = places >= 0
        out.reshape(-1, *values.shape[1:])[places[kept]] = values[kept]
    return out


@ragged_tensor_to_tensor.shape
def _(shape, values, default_value, row_partition_tensors, *, row_partition_types, const):
    kinds = _kinds(row_partition_types)
    if len(kinds) != len(row_partition_tensors):
        fail(
            f"Number of row partition tensors ({len(row_partition_tensors)}) does not equal the number of row "
            f"partition types({len(kinds)})."
        )
    for kind, partition in zip(kinds, row_partition_tensors):
        rank(partition, 0 if kind == _FIRST else 1, kind)
    if default_value is not None and values is not None:
        if len(default_value) > len(values):
            fail(
                "default_value_shape must have no more dimensions than the value",
                default_value,
                values,
            )
        for i, (a, b) in enumerate(zip(default_value, values[1:])):
            if a not in (None, 1, b) and b is not None:
                fail(
                    f"default_value_shape and value_shape do not match on dimension {i}",
                    default_value,
                    values,
                )
    if shape == ():
        wanted = None
    elif const("shape") is None:
        wanted = None if shape is None or shape[0] is None else (None,) * shape[0]
    else:
        wanted = const.shape("shape")
    return _result_shape(len(kinds) - (kinds[0] == _FIRST), wanted, values)


@ragged_tensor_to_tensor.gradient
def _(op, grad):
    values, default = op.inputs[1], op.inputs[2]
    types = op.get_attr("row_partition_types")
    levels = len(types) - (_kinds(types)[0] == _FIRST)
    sizes = shape_of.shape(op.outputs[0])
    count = shape_of.shape(values)[0]
    # Which value each place has, by the same way that the values took; -1 is the default.
    which = ragged_tensor_to_tensor(
        sizes[: levels + 1],
        range_(count),
        np.array(-1, np.int32),
        list(op.inputs[3:]),
        row_partition_types=types,
    )
    which = reshape(which, [-1])
    inner = sizes[levels + 1 :]
    rows = reshape(grad, concat([shape_of.shape(which), inner], 0))
    to_values = raw.UnsortedSegmentSum(rows, which, count)
    unused = boolean_mask(rows, which < 0)
    whole = reduce_sum(unused, 0)
    own = shape_of.shape(default)
    axes = raw.BroadcastGradientArgs(own, inner)[0]
    to_default = reshape(reduce_sum(whole, axes), own)
    return [None, reshape(to_values, shape_of.shape(values)), to_default] + [None] * len(types)


def to_tensor(ragged: Any, default_value: Any, name: str | None) -> Any:
    """The dense form of a ragged tensor."""
    flat, splits = ragged.flat_values, ragged.nested_row_splits
    with name_scope(name, "RaggedToTensor", [flat]):
        dims = flat.shape.dims_tuple
        inner = TensorShape(None if dims is None else dims[1:])
        if default_value is None:
            default_value = zeros([], flat.dtype.base_dtype)
        default = conversion.convert_to_tensor(default_value, flat.dtype, "default_value")
        if dims is not None:
            default.shape.with_rank_at_most(len(dims) - 1)
        if default.shape.rank is None or dims is None or 0 < default.shape.rank < len(dims) - 1:
            default = broadcast_to(default, shape_of.shape(flat)[1:])
        if default.shape.rank:
            default.shape.assert_is_compatible_with(inner)
        result = ragged_tensor_to_tensor(
            np.array(-1, splits[0].dtype.base_dtype.np),
            flat,
            default,
            list(splits),
            row_partition_types=[_SPLITS] * len(splits),
        )
        if not context.executing_eagerly():
            result.set_shape(ragged.shape)
        return result


# -- from a tensor -------------------------------------------------------------------------------------------


def from_tensor(
    kind: Any,
    tensor: Any,
    lengths: Any,
    padding: Any,
    ragged_rank: int,
    name: str | None,
    dtype: dtypes.DType,
) -> Any:
    """The rows of a tensor, as a ragged tensor of class `kind`."""
    if lengths is not None and padding is not None:
        raise ValueError("Specify lengths or padding, but not both")
    if not isinstance(ragged_rank, int):
        raise TypeError(f"ragged_rank expected int, got {ragged_rank!r}")
    if ragged_rank <= 0:
        raise ValueError(f"ragged_rank must be greater than 0; got {ragged_rank}")
    with name_scope(name, "RaggedFromTensor", [tensor, lengths, padding]):
        tensor = conversion.convert_to_tensor(tensor, name="tensor")
        tensor.shape.with_rank_at_least(ragged_rank + 1)
        sizes = shape_of.shape(tensor, out_type=dtype)
        if ragged_rank > 1:
            return _rows_of_rows(kind, tensor, sizes, lengths, padding, ragged_rank, dtype)
        columns = sizes[1]
        if padding is not None:
            lengths = _without_padding(tensor, sizes, padding, dtype)
        if lengths is None:
            splits = range_(sizes[0] + 1) * columns
            values = reshape(tensor, concat([[sizes[0] * columns], sizes[2:]], 0))
            if tensor.shape.rank is not None and not context.executing_eagerly():
                values.set_shape(TensorShape([None]).concatenate(tensor.shape[2:]))
            return kind.from_row_splits(values, splits, validate=False)
        if _is_nested(lengths):
            tensor.shape.with_rank_at_least(len(lengths) + 1)
            every = ones([reduce_sum(lengths[-1])], dtypes.bool)
            mask = kind.from_nested_row_lengths(every, lengths, validate=False).to_tensor(False)
            values = boolean_mask(tensor, mask)
            return kind.from_nested_row_lengths(values, lengths, validate=False)
        lengths = as_integers(lengths, "lengths", dtype)
        lengths.shape.assert_has_rank(1)
        lengths = raw.Maximum(raw.Minimum(lengths, columns), dtype.np.type(0))
        values = boolean_mask(tensor, sequence_mask(lengths, columns))
        return kind.from_row_splits(values, splits_of(lengths), validate=False)


def _is_nested(lengths: Any) -> bool:
    return (
        isinstance(lengths, (list, tuple))
        and bool(lengths)
        and not isinstance(lengths[0], (int, float))
    )


def _rows_of_rows(
    kind: Any, tensor: Any, sizes: Any, lengths: Any, padding: Any, ragged_rank: int, dtype: Any
) -> Any:
    """The innermost ragged dimension of the rows one after another; those around it are uniform."""
    flat_sizes = concat([np.array([-1], dtype.np), sizes[ragged_rank:]], 0)
    values = kind.from_tensor(reshape(tensor, flat_sizes), lengths, padding, row_splits_dtype=dtype)
    counts = cumprod(sizes)
    splits = [range_(counts[d - 1] + 1) * sizes[d] for d in range(1, ragged_rank)]
    return kind.from_nested_row_splits(values, splits, validate=False)


def _without_padding(tensor: Any, sizes: Any, padding: Any, dtype: Any) -> Any:
    """The length of each row without what is padding at its end."""
    padding = conversion.convert_to_tensor(padding, tensor.dtype, "padding")
    padding.shape.assert_is_compatible_with(tensor.shape[2:])
    cells = concat([sizes[:2], [raw.Prod(sizes[2:], np.array([0], np.int32))]], 0)
    is_padding = reduce_all(reshape(raw.Equal(tensor, padding), cells), 2)
    number = range_(dtype.np.type(1), sizes[1] + 1)
    last = number * cast(raw.LogicalNot(is_padding), dtype)
    # With a column of zeros, so that there is a greatest one where there are no columns.
    return raw.Max(concat([zeros([sizes[0], 1], dtype), last], 1), np.array([1], np.int32))
