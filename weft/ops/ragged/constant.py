"""Ragged tensors of nested lists, and placeholders for them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np

from weft.framework import dtypes
from weft.framework.export import export
from weft.framework.scopes import name_scope
from weft.framework.tensor_shape import TensorShape, as_shape
from weft.ops.array import constant as dense
from weft.ops.ragged.tensor import RaggedTensor, is_ragged
from weft.ops.ragged.value import RaggedTensorValue


@export("ragged.constant")
def constant(
    pylist: Any,
    dtype: Any = None,
    ragged_rank: int | None = None,
    inner_shape: Any = None,
    name: str | None = None,
    row_splits_dtype: Any = dtypes.int64,
) -> Any:
    """Returns the RaggedTensor of nested lists (a Tensor where they are not nested deep enough).

    All dimensions but the outermost are ragged, except for those of `inner_shape`, or beyond `ragged_rank`.
    """
    row_splits_dtype = dtypes.as_dtype(row_splits_dtype)

    def make_rows(values: Any, splits: list[int]) -> RaggedTensor:
        row_splits = dense.constant_v1(splits, dtype=row_splits_dtype)
        return RaggedTensor.from_row_splits(values, row_splits, validate=False)

    def make_values(values: Any, dtype: Any, shape: Any, name: str = "Const") -> Any:
        if shape is None:
            return dense.constant_v1(values, dtype, name=name)
        dtype = None if dtype is None else dtypes.as_dtype(dtype)
        return dense.of_shape(values, dtype, as_shape(shape), name=name)

    with name_scope(name, "RaggedConstant"):
        return _nested(pylist, dtype, ragged_rank, inner_shape, make_rows, make_values)


@export("ragged.constant_value")
def constant_value(
    pylist: Any,
    dtype: Any = None,
    ragged_rank: int | None = None,
    inner_shape: Any = None,
    row_splits_dtype: Any = "int64",
) -> Any:
    """Returns the RaggedTensorValue of nested lists: `constant`, with arrays in place of tensors."""
    if isinstance(dtype, dtypes.DType):
        dtype = dtype.as_numpy_dtype
    splits_dtype = dtypes.as_dtype(row_splits_dtype).as_numpy_dtype

    def make_rows(values: Any, splits: list[int]) -> RaggedTensorValue:
        return RaggedTensorValue(values, np.array(splits, splits_dtype))

    def make_values(values: Any, dtype: Any, shape: Any, name: str | None = None) -> np.ndarray:
        array = np.array(values, dtype)
        return array if shape is None else np.reshape(array, shape)

    return _nested(pylist, dtype, ragged_rank, inner_shape, make_rows, make_values)


def _nested(
    pylist: Any,
    dtype: Any,
    ragged_rank: int | None,
    inner_shape: Any,
    make_rows: Callable,
    make_values: Callable,
) -> Any:
    if is_ragged(pylist):
        raise TypeError("pylist may not be a RaggedTensor or RaggedTensorValue.")
    if not _is_list(pylist):
        if ragged_rank:
            raise ValueError(
                f"Invalid pylist={pylist!r}: incompatible with ragged_rank={ragged_rank}"
            )
        if inner_shape:
            raise ValueError(
                f"Invalid pylist={pylist!r}: incompatible with dim(inner_shape)={len(inner_shape)}"
            )
        return make_values(pylist, dtype, ())
    if ragged_rank is not None and ragged_rank < 0:
        raise ValueError(f"Invalid ragged_rank={ragged_rank!r}: must be nonnegative")
    scalars_at, deepest = _depths(pylist)
    if scalars_at is not None and deepest > scalars_at:
        raise ValueError(
            f"Invalid pylist={pylist!r}: empty list nesting is greater than scalar value nesting"
        )
    if inner_shape is not None and ragged_rank is not None:
        expected = ragged_rank + len(inner_shape) + 1
        if expected < deepest if scalars_at is None else expected != scalars_at:
            raise ValueError(
                f"Invalid pylist={pylist!r}: incompatible with ragged_rank={ragged_rank} and "
                f"dim(inner_shape)={len(inner_shape)}"
            )
    if ragged_rank == 0 or (ragged_rank is None and deepest - len(inner_shape or ()) < 2):
        return make_values(pylist, dtype, inner_shape)
    if inner_shape is None:
        inner_shape = () if ragged_rank is None else _inner_shape(pylist, ragged_rank)
    if ragged_rank is None:
        depth = deepest - 1 if scalars_at is None else scalars_at - 1 - len(inner_shape)
        ragged_rank = max(1, depth)
    nested_splits, values = [], pylist
    for _ in range(ragged_rank):
        nested_splits.append(np.cumsum([0, *map(len, values)]).tolist())
        values = list(chain.from_iterable(values))
    result = make_values(values, dtype, (len(values), *inner_shape), name="values")
    for splits in reversed(nested_splits):
        result = make_rows(result, splits)
    return result


def _is_list(item: Any) -> bool:
    return isinstance(item, (list, tuple)) or np.ndim(item) != 0


def _depths(item: Any) -> tuple[int | None, int]:
    """How deep the scalars are (None if there are none), and how deep the deepest list is."""
    if not _is_list(item):
        return 0, 0
    scalars_at, deepest = None, 1
    for child in item:
        below, depth = _depths(child)
        if below is not None:
            if scalars_at not in (None, below + 1):
                raise ValueError("all scalar values must have the same nesting depth")
            scalars_at = below + 1
        deepest = max(deepest, depth + 1)
    return scalars_at, deepest


def _inner_shape(pylist: Any, ragged_rank: int) -> tuple[int, ...]:
    """The shape of the values below the ragged dimensions, which must be uniform."""
    flat = pylist
    for depth in range(ragged_rank):
        if not all(map(_is_list, flat)):
            raise ValueError(
                f"pylist has scalar values depth {depth + 1}, but ragged_rank={ragged_rank} requires scalar "
                f"value depth greater than {ragged_rank}"
            )
        flat = list(chain.from_iterable(flat))
    shape, at = [], flat
    while _is_list(at):
        shape.append(len(at))
        if not len(at):
            break
        at = at[0]
    _check_shape(flat, tuple(shape))
    return tuple(shape[1:])


def _check_shape(item: Any, shape: tuple[int, ...]) -> None:
    if _is_list(item) != bool(shape) or (shape and len(item) != shape[0]):
        raise ValueError("inner values have inconsistent shape")
    if shape:
        for child in item:
            _check_shape(child, shape[1:])


@export("ragged.placeholder")
def placeholder(
    dtype: Any, ragged_rank: int, value_shape: Any = None, name: str | None = None
) -> Any:
    """Returns a placeholder for a RaggedTensor, that is fed with a `RaggedTensorValue`."""
    if ragged_rank == 0:
        return dense.placeholder(dtype, value_shape, name)
    with name_scope(name, "RaggedPlaceholder", []):
        shape = TensorShape([None]).concatenate(TensorShape(value_shape))
        result: Any = dense.placeholder(dtype, shape, "flat_values")
        for i in reversed(range(ragged_rank)):
            splits = dense.placeholder(dtypes.int64, [None], f"row_splits_{i}")
            result = RaggedTensor(result, splits, internal=True)
        return result
