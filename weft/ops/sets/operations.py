"""Operations on sets: the last dimension of a tensor holds the elements of a set, whatever is above it counts sets.

Sets come as parts: the flat position of the set that each element is in, and the element.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from weft.framework import dtypes
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.shape_rules import Shape, merge, rank, rank_at_least, text
from weft.framework.sparse_tensor import SparseTensor, convert_to_tensor_or_sparse_tensor
from weft.ops.sparse.coordinates import (
    check_parts,
    check_ranks,
    flat_positions,
    require_inside,
    require_valid,
    whole_shape,
)
from weft.ops.strings.elements import invalid

_ELEMENTS = "T: type in {int8, int16, int32, int64, uint8, uint16, string}"
_HOW = f"set_operation: string; validate_indices: bool = true; {_ELEMENTS}"
_RESULT = "result_indices: int64, result_values: T, result_shape: int64"


class Sets(NamedTuple):
    """Elements of many sets."""

    places: np.ndarray  # the flat position of the set that each element is in
    elements: np.ndarray
    shape: tuple[int, ...]  # how many sets there are, in each dimension


def _of_dense(array: np.ndarray) -> Sets:
    if array.ndim < 2:
        raise invalid(f"Shape {text(array.shape)} has rank {array.ndim} < 2")
    *shape, size = array.shape
    return Sets(np.repeat(np.arange(int(np.prod(shape))), size), array.ravel(), tuple(shape))


def _of_sparse(
    xp: Any,
    indices: np.ndarray,
    values: np.ndarray,
    shape: np.ndarray,
    validate: bool,
    prefix: str = "",
) -> Sets:
    check_parts(indices, values, shape, prefix)
    dims = whole_shape(shape)
    if len(dims) < 2:
        raise invalid(f"Invalid rank {len(dims)}.")
    if validate:
        require_valid(xp, indices, shape)
    else:
        require_inside(xp, indices, shape)
    return Sets(flat_positions(indices[:, :-1], dims[:-1]), values, dims[:-1])


def _pairs(*several: Sets) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """The sets as sorted numbers, one for each place and element; the places and the elements by these numbers."""
    places, place_numbers = np.unique(
        np.concatenate([s.places for s in several]), return_inverse=True
    )
    elements, element_numbers = np.unique(
        np.concatenate([s.elements for s in several]), return_inverse=True
    )
    numbers = place_numbers * max(1, len(elements)) + element_numbers
    ends = np.cumsum([len(s.places) for s in several])
    return [np.unique(part) for part in np.split(numbers, ends[:-1])], places, elements


_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "a-b": lambda a, b: np.setdiff1d(a, b, assume_unique=True),
    "b-a": lambda a, b: np.setdiff1d(b, a, assume_unique=True),
    "intersection": lambda a, b: np.intersect1d(a, b, assume_unique=True),
    "union": np.union1d,
}


def _combined(a: Sets, b: Sets, operation: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The parts of a sparse tensor with what an operation leaves of each two sets, in order."""
    combine = _OPERATIONS.get(operation.lower())
    if combine is None:
        raise invalid(f"Invalid set_operation {operation}.")
    if a.shape != b.shape:
        raise invalid(f"Mismatched shapes {text(a.shape)} vs {text(b.shape)}")
    (first, second), places, elements = _pairs(a, b)
    found = combine(first, second)
    row, element = np.divmod(found, max(1, len(elements)))
    counts = np.bincount(row, minlength=len(places))
    position = np.arange(len(row)) - (np.cumsum(counts) - counts)[row]
    above = np.unravel_index(places[row], a.shape) if len(row) else [row] * len(a.shape)
    indices = np.stack([*above, position], 1).astype(np.int64)
    shape = np.array([*a.shape, counts.max(initial=0)], np.int64)
    return indices, elements[element], shape


@op("DenseToDenseSetOperation", f"set1: T, set2: T -> {_RESULT}", _HOW, host=True)
def dense_to_dense_op(xp, set1, set2, *, set_operation):
    """What an operation leaves of each two sets, both in dense tensors."""
    return _combined(_of_dense(set1), _of_dense(set2), set_operation)


@dense_to_dense_op.shape
def _(set1, set2):
    rank_at_least(set1, 2)
    if set1 is None:
        rank_at_least(set2, 2)
        return _result(None if set2 is None else len(set2))
    if set2 is not None:
        set2 = rank(set2, len(set1))
        merge(set1[:-1], set2[:-1])
    return _result(len(set1))


def _result(n: int | None) -> tuple[Shape, Shape, Shape]:
    return (None, n), (None,), (n,)


@op(
    "DenseToSparseSetOperation",
    f"set1: T, set2_indices: int64, set2_values: T, set2_shape: int64 -> {_RESULT}",
    _HOW,
    host=True,
)
def dense_to_sparse_op(
    xp, set1, set2_indices, set2_values, set2_shape, *, set_operation, validate_indices
):
    """What an operation leaves of each two sets, the second ones in a sparse tensor."""
    first = _of_dense(set1)
    second = _of_sparse(xp, set2_indices, set2_values, set2_shape, validate_indices, "set2_")
    return _combined(first, second, set_operation)


def _sparse_rank(indices: Shape, values: Shape, shape: Shape, prefix: str) -> int | None:
    """The rank of a sparse tensor as the shapes of its parts tell."""
    check_ranks(indices, values, shape, prefix)
    columns = None if indices is None else indices[1]
    sizes = None if shape is None else shape[0]
    (n,) = rank(merge((columns,), (sizes,)), 1)
    if n is not None:
        rank_at_least((None,) * n, 2)
    return n


def _same_rank(a: int | None, b: int | None) -> int | None:
    (n,) = rank(merge((a,), (b,), "Ranks of the sets differ"), 1)
    return n


@dense_to_sparse_op.shape
def _(set1, set2_indices, set2_values, set2_shape):
    rank_at_least(set1, 2)
    n = _sparse_rank(set2_indices, set2_values, set2_shape, "set2_")
    return _result(_same_rank(None if set1 is None else len(set1), n))


@op(
    "SparseToSparseSetOperation",
    "set1_indices: int64, set1_values: T, set1_shape: int64, set2_indices: int64, set2_values: T, "
    f"set2_shape: int64 -> {_RESULT}",
    _HOW,
    host=True,
)
def sparse_to_sparse_op(
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
    """What an operation leaves of each two sets, both in sparse tensors."""
    first = _of_sparse(xp, set1_indices, set1_values, set1_shape, validate_indices, "set1_")
    second = _of_sparse(xp, set2_indices, set2_values, set2_shape, validate_indices, "set2_")
    return _combined(first, second, set_operation)


@sparse_to_sparse_op.shape
def _(set1_indices, set1_values, set1_shape, set2_indices, set2_values, set2_shape):
    a = _sparse_rank(set1_indices, set1_values, set1_shape, "set1_")
    b = _sparse_rank(set2_indices, set2_values, set2_shape, "set2_")
    return _result(_same_rank(a, b))


@op(
    "SetSize",
    "set_indices: int64, set_values: T, set_shape: int64 -> size: int32",
    f"validate_indices: bool = true; {_ELEMENTS}",
    host=True,
)
def set_size_op(xp, set_indices, set_values, set_shape, *, validate_indices):
    """How many elements that differ each set has."""
    sets = _of_sparse(xp, set_indices, set_values, set_shape, validate_indices, "set_")
    (pairs,), places, elements = _pairs(sets)
    out = np.zeros(sets.shape, np.int32)
    counts = np.bincount(pairs // max(1, len(elements)), minlength=len(places))
    out.ravel()[places] = counts
    return out


@set_size_op.shape
def _(set_indices, set_values, set_shape):
    return None


for _op in (dense_to_dense_op, dense_to_sparse_op, sparse_to_sparse_op, set_size_op):
    _op.not_differentiable()


# -- public functions ----------------------------------------------------------------------------------------

_VALID = frozenset(getattr(dtypes, n) for n in "int8 int16 int32 int64 uint8 uint16 string".split())


def _converted(a: Any, b: Any) -> tuple[Any, Any, bool]:
    """Both as tensors, the dense one first; and whether they changed places."""
    a = convert_to_tensor_or_sparse_tensor(a, name="a")
    if a.dtype.base_dtype not in _VALID:
        raise TypeError(f"'a' invalid dtype {a.dtype}.")
    b = convert_to_tensor_or_sparse_tensor(b, name="b")
    if b.dtype.base_dtype != a.dtype.base_dtype:
        raise TypeError(f"Types don't match, {a.dtype} vs {b.dtype}.")
    if isinstance(a, SparseTensor) and not isinstance(b, SparseTensor):
        return b, a, True
    return a, b, False


def _operation(a: Any, b: Any, operation: str, validate_indices: bool) -> SparseTensor:
    how: dict[str, Any] = {"set_operation": operation, "validate_indices": validate_indices}
    if not isinstance(b, SparseTensor):
        return SparseTensor(*dense_to_dense_op(a, b, **how))
    second = (b.indices, b.values, b.dense_shape)
    if not isinstance(a, SparseTensor):
        return SparseTensor(*dense_to_sparse_op(a, *second, **how))
    first = (a.indices, a.values, a.dense_shape)
    return SparseTensor(*sparse_to_sparse_op(*first, *second, **how))


@export("sets.intersection", "sets.set_intersection")
def intersection(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """Returns the elements that are in both of each two sets, the last dimension of `a` and `b`."""
    a, b, _ = _converted(a, b)
    return _operation(a, b, "intersection", validate_indices)


@export("sets.difference", "sets.set_difference")
def difference(a: Any, b: Any, aminusb: bool = True, validate_indices: bool = True) -> SparseTensor:
    """Returns the elements of the sets of `a` that are not in those of `b`, or the other way round."""
    a, b, swapped = _converted(a, b)
    return _operation(a, b, "a-b" if aminusb != swapped else "b-a", validate_indices)


@export("sets.union", "sets.set_union")
def union(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """Returns the elements that are in any of each two sets, the last dimension of `a` and `b`."""
    a, b, _ = _converted(a, b)
    return _operation(a, b, "union", validate_indices)


@export("sets.size", "sets.set_size")
def size(a: Any, validate_indices: bool = True) -> Any:
    """Returns how many different elements each set of a SparseTensor has."""
    a = convert_to_tensor_or_sparse_tensor(a, name="a")
    if not isinstance(a, SparseTensor):
        raise TypeError(f"Expected `SparseTensor`, got {a}.")
    if a.values.dtype.base_dtype not in _VALID:
        raise TypeError(f"Invalid dtype {a.values.dtype}.")
    return set_size_op(a.indices, a.values, a.dense_shape, validate_indices=validate_indices)
