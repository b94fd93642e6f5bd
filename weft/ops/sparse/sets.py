"""Sets along the last axis of tensors: their sizes, intersections, differences and unions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from weft.framework import dtypes
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.shape_rules import (
    Shape,
    ShapeError,
    merge,
    merge_dim,
    rank,
    rank_at_least,
    vector,
)
from weft.framework.sparse_tensor import SparseTensor, convert_to_tensor_or_sparse_tensor
from weft.ops.sparse.batches import Parts
from weft.ops.sparse.coordinates import (
    check_parts,
    check_ranks,
    flat_positions,
    refuse,
    require_inside,
    require_valid,
    whole_shape,
)

_TYPES = "T: type in {int8, int16, int32, int64, uint8, uint16, string}"
_ATTRS = f"set_operation: string; validate_indices: bool = true; {_TYPES}"
_RESULT = "result_indices: int64, result_values: T, result_shape: int64"
_OPERATIONS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "a-b": lambda a, b: np.setdiff1d(a, b, assume_unique=True),
    "b-a": lambda a, b: np.setdiff1d(b, a, assume_unique=True),
    "intersection": lambda a, b: np.intersect1d(a, b, assume_unique=True),
    "union": np.union1d,
}


class _Sets:
    """Elements, and the number of the set that each is of."""

    def __init__(self, shape: tuple[int, ...], groups: np.ndarray, values: np.ndarray):
        if len(shape) < 2:
            refuse(f"Shape {list(shape)} has rank {len(shape)} < 2")
        self.shape = shape[:-1]  # of the sets
        self.groups, self.values = groups, values


def _of_dense(x: np.ndarray) -> _Sets:
    if x.ndim < 2:
        refuse(f"Shape {list(x.shape)} has rank {x.ndim} < 2")
    return _Sets(x.shape, np.repeat(np.arange(math.prod(x.shape[:-1])), x.shape[-1]), x.reshape(-1))


def _of_sparse(xp: Any, parts: Parts, validate: bool) -> _Sets:
    check_parts(*parts)
    shape = whole_shape(parts.shape)
    (require_valid if validate else require_inside)(xp, parts.indices, parts.shape)
    return _Sets(shape, flat_positions(parts.indices[:, :-1], shape[:-1]), parts.values)


def _combined(a: _Sets, b: _Sets, how: str) -> Parts:
    """The result of an operation on sets with the same number, as a sparse tensor; elements ascend."""
    operation = _OPERATIONS.get(how.lower())
    if operation is None:
        refuse(f"Invalid set_operation {how}.")
    if a.shape != b.shape:
        refuse(f"Mismatched shapes {list(a.shape)} vs {list(b.shape)}")
    # Set and element as one number, so that all sets are one.
    groups, group = np.unique(np.concatenate([a.groups, b.groups]), return_inverse=True)
    elements, element = np.unique(np.concatenate([a.values, b.values]), return_inverse=True)
    keys = group.reshape(-1) * max(len(elements), 1) + element.reshape(-1)
    n = len(a.values)
    found = operation(np.unique(keys[:n]), np.unique(keys[n:]))  # type: ignore[misc]
    which, element = np.divmod(found, max(len(elements), 1))
    counts = np.bincount(which, minlength=len(groups))
    place = np.arange(len(found)) - np.repeat(np.cumsum(counts) - counts, counts)
    where = np.unravel_index(groups[which], a.shape)
    shape = np.array([*a.shape, counts.max(initial=0)], np.int64)
    return Parts(np.stack([*where, place], axis=1), elements[element], shape)


@op(
    "SetSize",
    "set_indices: int64, set_values: T, set_shape: int64 -> size: int32",
    f"validate_indices: bool = true; {_TYPES}",
    host=True,
)
def set_size_op(xp, set_indices, set_values, set_shape, *, validate_indices):
    """The number of different elements of each set."""
    sets = _of_sparse(xp, Parts(set_indices, set_values, set_shape), validate_indices)
    nothing = _Sets((*sets.shape, 0), sets.groups[:0], sets.values[:0])
    indices, _, _ = _combined(sets, nothing, "union")
    numbers = flat_positions(indices[:, :-1], sets.shape)
    return (
        np.bincount(numbers, minlength=math.prod(sets.shape)).astype(np.int32).reshape(sets.shape)
    )


@set_size_op.shape
def _(set_indices, set_values, set_shape):
    return None


def _result_shapes(n: int | None) -> tuple[Shape, Shape, Shape]:
    return (None, n), (None,), (n,)


def _sparse_rank(indices: Shape, values: Shape, shape: Shape) -> int | None:
    check_ranks(indices, values, shape)
    n = merge_dim(rank(indices, 2)[1], vector(shape)[0])
    if n is not None and n < 2:
        raise ShapeError(f"expected rank >= 2, got {n}.")
    return n


@op("DenseToDenseSetOperation", f"set1: T, set2: T -> {_RESULT}", _ATTRS, host=True)
def dense_to_dense(xp, set1, set2, *, set_operation):
    """An operation on the sets of two dense tensors."""
    return _combined(_of_dense(set1), _of_dense(set2), set_operation)


@dense_to_dense.shape
def _(set1, set2):
    set1, set2 = rank_at_least(set1, 2, "set1"), rank_at_least(set2, 2, "set2")
    if set1 is not None and set2 is not None:
        set2 = rank(set2, len(set1), "set2")
        merge(set1[:-1], set2[:-1], "The sets must be as many")
    known = set2 if set1 is None else set1
    return _result_shapes(None if known is None else len(known))


@op(
    "DenseToSparseSetOperation",
    f"set1: T, set2_indices: int64, set2_values: T, set2_shape: int64 -> {_RESULT}",
    _ATTRS,
    host=True,
)
def dense_to_sparse(
    xp, set1, set2_indices, set2_values, set2_shape, *, set_operation, validate_indices
):
    """An operation on the sets of a dense and a sparse tensor."""
    sparse = _of_sparse(xp, Parts(set2_indices, set2_values, set2_shape), validate_indices)
    return _combined(_of_dense(set1), sparse, set_operation)


@dense_to_sparse.shape
def _(set1, set2_indices, set2_values, set2_shape):
    n = _sparse_rank(set2_indices, set2_values, set2_shape)
    set1 = rank_at_least(set1, 2, "set1")
    return _result_shapes(n if set1 is None else merge_dim(n, len(set1), "Ranks must be equal"))


@op(
    "SparseToSparseSetOperation",
    "set1_indices: int64, set1_values: T, set1_shape: int64, set2_indices: int64, set2_values: T, "
    f"set2_shape: int64 -> {_RESULT}",
    _ATTRS,
    host=True,
)
def sparse_to_sparse(
    xp,
    set1_indices,
    set1_values,
    set1_shape,
    set2_indices,
    set2_values,
    set2_shape,
    *,
    set_operation,
    validate_indices,
):
    """An operation on the sets of two sparse tensors."""
    return _combined(
        _of_sparse(xp, Parts(set1_indices, set1_values, set1_shape), validate_indices),
        _of_sparse(xp, Parts(set2_indices, set2_values, set2_shape), validate_indices),
        set_operation,
    )


@sparse_to_sparse.shape
def _(set1_indices, set1_values, set1_shape, set2_indices, set2_values, set2_shape):
    n = _sparse_rank(set1_indices, set1_values, set1_shape)
    m = _sparse_rank(set2_indices, set2_values, set2_shape)
    return _result_shapes(merge_dim(n, m, "Ranks must be equal"))


for _decl in (set_size_op, dense_to_dense, dense_to_sparse, sparse_to_sparse):
    _decl.not_differentiable()

_VALID = frozenset(
    (
        dtypes.int8,
        dtypes.int16,
        dtypes.int32,
        dtypes.int64,
        dtypes.uint8,
        dtypes.uint16,
        dtypes.string,
    )
)


def _two(a: Any, b: Any) -> tuple[Any, Any, bool]:
    """Both as tensors, a sparse one after a dense one; and whether they changed places."""
    a = convert_to_tensor_or_sparse_tensor(a, name="a")
    if a.dtype.base_dtype not in _VALID:
        raise TypeError(f"'a' invalid dtype {a.dtype}.")
    b = convert_to_tensor_or_sparse_tensor(b, name="b")
    if b.dtype.base_dtype is not a.dtype.base_dtype:
        raise TypeError(f"Types don't match, {a.dtype} vs {b.dtype}.")
    flipped = isinstance(a, SparseTensor) and not isinstance(b, SparseTensor)
    return (b, a, True) if flipped else (a, b, False)


def _operated(a: Any, b: Any, how: str, validate: bool) -> SparseTensor:
    settings: dict[str, Any] = {"set_operation": how, "validate_indices": validate}
    if isinstance(a, SparseTensor):
        parts = sparse_to_sparse(
            a.indices, a.values, a.dense_shape, b.indices, b.values, b.dense_shape, **settings
        )
    elif isinstance(b, SparseTensor):
        parts = dense_to_sparse(a, b.indices, b.values, b.dense_shape, **settings)
    else:
        parts = dense_to_dense(a, b, **settings)
    return SparseTensor(*parts)


@export("sets.size", "sets.set_size")
def set_size(a: Any, validate_indices: bool = True) -> Any:
    """Returns the number of different elements along the last axis of a sparse tensor."""
    a = convert_to_tensor_or_sparse_tensor(a, name="a")
    if not isinstance(a, SparseTensor):
        raise TypeError(f"Expected `SparseTensor`, got {a}.")
    if a.values.dtype.base_dtype not in _VALID:
        raise TypeError(f"Invalid dtype {a.values.dtype}.")
    return set_size_op(a.indices, a.values, a.dense_shape, validate_indices=validate_indices)


@export("sets.intersection", "sets.set_intersection")
def set_intersection(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """Returns the elements along the last axis that both have; one may be sparse, or both."""
    a, b, _ = _two(a, b)
    return _operated(a, b, "intersection", validate_indices)


@export("sets.difference", "sets.set_difference")
def set_difference(
    a: Any, b: Any, aminusb: bool = True, validate_indices: bool = True
) -> SparseTensor:
    """Returns the elements along the last axis that `a` has and `b` has not; or the other way round."""
    a, b, flipped = _two(a, b)
    return _operated(a, b, "a-b" if aminusb != flipped else "b-a", validate_indices)


@export("sets.union", "sets.set_union")
def set_union(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """Returns the elements along the last axis that either has."""
    a, b, _ = _two(a, b)
    return _operated(a, b, "union", validate_indices)
