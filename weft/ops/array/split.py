"""Cutting a tensor into parts along a dimension: Split, SplitV."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import conversion
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.shape_rules import Shape, ShapeError, vector
from weft.ops.array import concat
from weft.ops.array.boxes import along


def _axis(dim: Any, n: int) -> int:
    if dim.size != 1:
        raise ShapeError("split_dim must have exactly one element.")
    a = int(dim.reshape(-1)[0])
    if not -n <= a < n:
        raise ShapeError(f"-input rank(-{n}) <= split_dim < input rank ({n}), but got {a}")
    return a % n


def _parts(xp: Any, value: Any, sizes: list[int], a: int) -> list[Any]:
    out, start = [], 0
    for s in sizes:
        out.append(along(xp, value, a, start, s))
        start += s
    return out


def _equal_size(whole: int, count: int, a: int) -> int:
    if whole % count:
        raise ShapeError(
            f"Number of ways to split should evenly divide the split dimension, but got split_dim {a} (size = "
            f"{whole}) and num_split {count}"
        )
    return whole // count


@op(
    "Split",
    "split_dim: int32, value: T -> output: num_split*T",
    "num_split: int >= 1; T: type",
    static=("split_dim",),
)
def split_op(xp, split_dim, value, *, num_split):
    """Equal parts of a tensor along a dimension."""
    a = _axis(split_dim, value.ndim)
    return _parts(xp, value, [_equal_size(value.shape[a], num_split, a)] * num_split, a)


@split_op.shape
def _(split_dim, value, *, num_split, const):
    dim = const("split_dim")
    if value is None:
        return [None] * num_split
    if not value:
        raise ShapeError("Shape must be at least rank 1 but is rank 0 for value []")
    if dim is None:
        return [(None,) * len(value)] * num_split
    a = _axis(dim, len(value))
    size = value[a]
    if size is not None:
        if size % num_split:
            raise ShapeError(
                f"Dimension size must be evenly divisible by {num_split} but is {size}: Number of ways to split "
                "should evenly divide the split dimension"
            )
        size //= num_split
    return [(*value[:a], size, *value[a + 1 :])] * num_split


@split_op.gradient
def _(op, *grads):
    return [None, concat.concat(list(grads), op.inputs[0])]


def _given_sizes(whole: int | None, sizes: Any, count: int) -> list[int]:
    """The sizes of the parts, the one -1 among them filled in."""
    sizes = [int(s) for s in sizes]
    if len(sizes) != count:
        raise ShapeError(f"size_splits has {len(sizes)} elements, but there are {count} outputs")
    if sizes.count(-1) > 1:
        raise ShapeError("There can only be one -1 in the input.")
    for i, s in enumerate(sizes):
        if s < -1:
            raise ShapeError(f"Split size at index {i} must be >= 0. Got: {s}")
    if whole is None:
        return sizes
    total = sum(s for s in sizes if s >= 0)
    if -1 in sizes:
        if total > whole:
            raise ShapeError(
                "can't split axis of size "
                f"{whole} into pieces of size {sizes}: Determined shape must either match "
                f"input shape along split_dim exactly or be smaller, got {total}"
            )
        sizes[sizes.index(-1)] = whole - total
    elif total != whole:
        raise ShapeError(
            f"can't split axis of size {whole} into pieces of size {sizes}: Determined shape must either match "
            f"input shape along split_dim exactly if fully specified, got {total}"
        )
    return sizes


@op(
    "SplitV",
    "value: T, size_splits: Tlen, split_dim: int32 -> output: num_split*T",
    "num_split: int >= 1; T: type; Tlen: type in {int32, int64} = int64",
    static=("size_splits", "split_dim"),
)
def split_v(xp, value, size_splits, split_dim, *, num_split):
    """Parts of given sizes of a tensor along a dimension."""
    a = _axis(split_dim, value.ndim)
    if size_splits.ndim != 1:
        raise ShapeError("size_splits must be a vector")
    return _parts(xp, value, _given_sizes(value.shape[a], size_splits, num_split), a)


@split_v.shape
def _(value, size_splits, split_dim, *, num_split, const):
    vector(size_splits, "size_splits")
    dim, sizes = const("split_dim"), const("size_splits")
    if value is None or dim is None:
        n = None if value is None else len(value)
        return [None if n is None else (None,) * n] * num_split
    if not value:
        raise ShapeError("Shape must be at least rank 1 but is rank 0 for value []")
    a = _axis(dim, len(value))
    if sizes is None:
        given: list[int | None] = [value[a]] if num_split == 1 else [None] * num_split
        partial = const.shape("size_splits")
        if partial is not None and len(partial) == num_split and num_split > 1:
            given = list(partial)
    else:
        given = [None if s < 0 else s for s in _given_sizes(value[a], sizes, num_split)]
    out: list[Shape] = [(*value[:a], s, *value[a + 1 :]) for s in given]
    return out


@split_v.gradient
def _(op, *grads):
    return [concat.concat(list(grads), op.inputs[2]), None, None]


@export("split")
def split(
    value: Any, num_or_size_splits: Any, axis: Any = 0, num: int | None = None, name: str = "split"
) -> list[Any]:
    """Returns parts of `value` along `axis`: that many equal ones, or ones of the given sizes."""
    sizes = conversion.convert_to_tensor(num_or_size_splits)
    if isinstance(num_or_size_splits, (int, np.integer)):
        return split_op(axis, value, num_split=int(num_or_size_splits), name=name)
    if sizes._rank() == 0:
        raise ValueError(
            "Rank-0 tensors are not supported as the num_or_size_splits argument to split. Argument provided: "
            f"{num_or_size_splits}"
        )
    if num is None:
        dims = sizes._dims
        if not dims or dims[0] is None:
            raise ValueError(f"Cannot infer num from shape {num_or_size_splits}")
        num = dims[0]
    return split_v(value, sizes, axis, num_split=num, name=name)
