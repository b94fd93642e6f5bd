"""Rows of class numbers as sets: how many are in one, in both, in one only.

A set is a row of numbers and a mask of those that count; so what is compared are arrays, which compile.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import conversion, dtypes
from weft.framework.graph import control_dependencies
from weft.framework.sparse_tensor import SparseTensor, is_sparse
from weft.ops.array.constant import constant_v1
from weft.ops.array.reshape import expand_dims
from weft.ops.by_name import raw
from weft.ops.flow.cond import cond
from weft.ops.flow.logging_ops import assert_
from weft.ops.math.cast import cast
from weft.ops.math.reduce_functions import reduce_all, reduce_any, reduce_sum


class RowSets:
    """A set in each row of a tensor."""

    def __init__(self, numbers: Any, counts: Any):
        self.numbers = numbers
        self.counts = counts  # which of the numbers make up the set: each once

    @classmethod
    def of(cls, values: Any, like: Any = None) -> RowSets:
        """The sets of the rows of a tensor, dense or sparse; of its elements, if `like` has a dimension more."""
        if is_sparse(values):
            if not isinstance(values, SparseTensor):
                values = SparseTensor.from_value(values)
            numbers = _dense(values, cast(values.values, dtypes.int64), np.int64(0))
            present = _dense(values, raw.Equal(values.values, values.values), np.bool_(False))
        else:
            numbers = cast(conversion.convert_to_tensor(values), dtypes.int64)
            present = raw.Equal(numbers, numbers)
        if like is not None:
            numbers, present = _with_rank_of(like, numbers, present)
        return cls(numbers, _first_of_each(numbers, present))

    def only(self, number: Any) -> RowSets:
        """The sets without what is not this number."""
        same = raw.Equal(self.numbers, cast(number, dtypes.int64))
        return RowSets(self.numbers, raw.LogicalAnd(self.counts, same))

    def size(self) -> Any:
        """How many numbers are in each set."""
        return reduce_sum(cast(self.counts, dtypes.float64), -1)

    def holds(self, numbers: Any) -> Any:
        """Which of the numbers of a row are in its set."""
        same = raw.Equal(expand_dims(numbers, -1), expand_dims(self.numbers, -2))
        return reduce_any(raw.LogicalAnd(same, expand_dims(self.counts, -2)), -1)

    def size_with(self, other: RowSets) -> Any:
        """How many numbers are in both sets of a row."""
        check = _same_rows(self.numbers, other.numbers)
        with control_dependencies([] if check is None else [check]):
            both = raw.LogicalAnd(self.counts, other.holds(self.numbers))
            return reduce_sum(cast(both, dtypes.float64), -1)


def _dense(sparse: SparseTensor, values: Any, default: Any) -> Any:
    dense = raw.SparseToDense(
        sparse.indices, sparse.dense_shape, values, default, validate_indices=False
    )
    dense.set_shape(sparse.shape)
    return dense


def _with_rank_of(other: Any, numbers: Any, present: Any) -> tuple[Any, Any]:
    """Both with a last dimension of size 1, where `other` has one dimension more."""

    def expanded() -> tuple[Any, Any]:
        return expand_dims(numbers, -1), expand_dims(present, -1)

    n, m = numbers._rank(), other._rank()
    if n is None or m is None:
        one_less = raw.Equal(raw.Rank(other), raw.Rank(numbers) + 1)
        return cond(one_less, expanded, lambda: (numbers, present))
    if m == n:
        return numbers, present
    if m != n + 1:
        raise ValueError(
            f"Unexpected labels shape {numbers.shape} for predictions shape {other.shape}."
        )
    return expanded()


def _first_of_each(numbers: Any, present: Any) -> Any:
    """Which elements of a row are the first with their number, of those that are present."""
    n = raw.Shape(numbers)[-1]
    places = raw.Range(0, n, 1)
    before = raw.Less(expand_dims(places, 0), expand_dims(places, 1))
    same = raw.Equal(expand_dims(numbers, -1), expand_dims(numbers, -2))
    earlier = raw.LogicalAnd(raw.LogicalAnd(same, expand_dims(present, -2)), before)
    return raw.LogicalAnd(present, raw.LogicalNot(reduce_any(earlier, -1)))


def _same_rows(a: Any, b: Any) -> Any:
    """Checks that two tensors agree in all dimensions but the last."""
    a.shape[:-1].assert_is_compatible_with(b.shape[:-1])
    if a.shape[:-1].is_fully_defined() and b.shape[:-1].is_fully_defined():
        return None
    x, y = raw.Shape(a)[:-1], raw.Shape(b)[:-1]
    same_rank = raw.Equal(raw.Size(x), raw.Size(y))
    ok = cond(same_rank, lambda: reduce_all(raw.Equal(x, y)), lambda: constant_v1(False))
    return assert_(ok, ["Rows of labels and predictions do not match.", x, y])
