"""Batches of sparse tensors: cut into their rows, and put together again."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from weft.framework.shape_rules import text
from weft.ops.sparse.coordinates import check_parts, refuse, require_valid, whole_shape


class Parts(NamedTuple):
    """The arrays of a sparse tensor."""

    indices: np.ndarray
    values: np.ndarray
    shape: np.ndarray


def rows_of(xp: Any, batch: Parts) -> list[Parts]:
    """The sparse tensors that lie along the first axis."""
    check_parts(*batch, "sparse_")
    rank = len(batch.shape)
    if rank < 2:
        refuse(f"Rank of input SparseTensor should be > 1, but saw rank: {rank}")
    n = whole_shape(batch.shape)[0]
    require_valid(xp, batch.indices, batch.shape)
    cuts = np.searchsorted(batch.indices[:, 0], np.arange(1, n))
    indices = np.split(batch.indices[:, 1:], cuts) if n else []
    values = np.split(batch.values, cuts) if n else []
    return [Parts(i, v, batch.shape[1:]) for i, v in zip(indices, values)]


def check_part(part: Parts, number: int, dtype: np.dtype, dtype_name: str) -> None:
    """Raises InvalidArgumentError unless arrays that come from outside are a sparse tensor."""
    indices, values, shape = part
    if indices.ndim != 2 or indices.dtype != np.int64:
        refuse(
            f"Expected serialized_sparse[{number}, 0] to represent an index matrix of int64 but received "
            f"{indices.dtype} of shape {text(indices.shape)}"
        )
    if values.ndim != 1:
        refuse(
            f"Expected serialized_sparse[{number}, 1] to represent a values vector but received shape "
            f"{text(values.shape)}"
        )
    if values.dtype != dtype:
        refuse(
            f"Requested SparseTensor of type {dtype_name} but SparseTensor[{number}].values.dtype() == "
            f"{values.dtype.name}"
        )
    if len(indices) != len(values):
        refuse(
            f"Expected row counts of SparseTensor[{number}].indices and SparseTensor[{number}].values to "
            f"match but they do not: {len(indices)} vs. {len(values)}"
        )
    if shape.ndim != 1 or shape.dtype != np.int64:
        refuse(
            f"Expected serialized_sparse[{number}, 2] to be a shape vector but it is {shape.dtype} of shape "
            f"{text(shape.shape)}"
        )
    if indices.shape[1] != len(shape):
        refuse(
            f"Expected column counts of SparseTensor[{number}].indices to match size of "
            f"SparseTensor[{number}].shape but they do not: {indices.shape[1]} vs. {len(shape)}"
        )


def together(parts: list[Parts], outer: tuple[int, ...]) -> Parts:
    """Sparse tensors as one, with axes before theirs; the sizes of theirs are the greatest of all."""
    rank = len(parts[0].shape)
    for i, part in enumerate(parts):
        if len(part.shape) != rank:
            refuse(
                f"Inconsistent shape across SparseTensors: rank prior to SparseTensor[{i}] was: "
                f"{rank} but rank of SparseTensor[{i}] is: {len(part.shape)}"
            )
    sizes = np.max([p.shape for p in parts], axis=0).astype(np.int64)
    shape = np.concatenate([np.array(outer, np.int64), sizes])
    whole_shape(shape)
    numbers = np.repeat(np.arange(len(parts)), [len(p.values) for p in parts])
    before = np.stack(np.unravel_index(numbers, outer), axis=1)
    return Parts(
        np.concatenate([before, np.concatenate([p.indices for p in parts])], axis=1),
        np.concatenate([p.values for p in parts]),
        shape,
    )
