"""The distance of sequences: how many labels have to be put in, taken out or replaced."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import errors
from weft.framework.registry import op
from weft.framework.shape_rules import ShapeError, rank


def _invalid(message: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, message)


@op(
    "EditDistance",
    "hypothesis_indices: int64, hypothesis_values: T, hypothesis_shape: int64, truth_indices: int64, "
    "truth_values: T, truth_shape: int64 -> output: float",
    "normalize: bool = true; T: type",
    host=True,
)
def edit_distance_op(
    xp,
    hypothesis_indices,
    hypothesis_values,
    hypothesis_shape,
    truth_indices,
    truth_values,
    truth_shape,
    *,
    normalize,
):
    """The distance of the sequences along the last axis, over the length of the truth if normalised."""
    _check("hypothesis", hypothesis_indices, hypothesis_values, hypothesis_shape)
    _check("truth", truth_indices, truth_values, truth_shape)
    if len(truth_shape) < 2:
        raise _invalid(
            f"Input SparseTensors must have rank at least 2, but truth_shape rank is: {len(truth_shape)}"
        )
    if len(truth_shape) != len(hypothesis_shape):
        raise _invalid(
            f"Expected truth and hypothesis to have matching ranks, but their shapes are: {list(truth_shape.shape)} "
            f"and {list(hypothesis_shape.shape)}"
        )
    shape = np.maximum(hypothesis_shape[:-1], truth_shape[:-1])
    if (shape < 0).any() or np.prod(shape) == 0:
        raise _invalid(f"Got output shape {shape.tolist()} which has 0 elements")
    # Equal labels get equal numbers, whatever they are.
    values = np.concatenate([hypothesis_values, truth_values])
    _, numbers = np.unique(values, return_inverse=True)
    numbers = numbers.reshape(-1)
    cut = len(hypothesis_values)
    said, said_length = _rows(hypothesis_indices, numbers[:cut], shape, -2)
    true, true_length = _rows(truth_indices, numbers[cut:], shape, -1)
    distance = _distances(said, said_length, true, true_length).astype(np.float32)
    if normalize:
        lengths = true_length.astype(np.float32)
        beyond = np.where(distance > 0, np.float32(np.inf), np.float32(0))
        distance = np.where(lengths > 0, distance / np.maximum(lengths, 1), beyond)
    return distance.reshape(shape).astype(np.float32)


def _check(name: str, indices: Any, values: Any, shape: Any) -> None:
    for array, part, wanted, kind in (
        (indices, "indices", 2, "matrix"),
        (values, "values", 1, "vector"),
        (shape, "shape", 1, "vector"),
    ):
        if array.ndim != wanted:
            raise _invalid(f"{name}_{part} should be a {kind}, but got shape: {list(array.shape)}")
    if len(values) != len(indices):
        raise _invalid(
            f"Expected {name}_values.NumElements == #rows({name}_indices), their shapes are: "
            f"{list(values.shape)} and {list(indices.shape)}"
        )
    if len(shape) != indices.shape[1]:
        raise _invalid(
            f"Expected {name}_shape.NumElements == #cols({name}_indices), their shapes are: {list(shape.shape)} "
            f"and {list(indices.shape)}"
        )


def _rows(
    indices: np.ndarray, values: np.ndarray, shape: np.ndarray, nothing: int
) -> tuple[np.ndarray, np.ndarray]:
    """The sequences as rows, filled up with a number that no label has, and their lengths."""
    groups = indices[:, :-1]
    outside = ((groups < 0) | (groups >= shape)).any(1)
    if outside.any():
        strides = np.append(np.cumprod(shape[:0:-1])[::-1], 1)
        raise errors.InternalError(
            None,
            None,
            f"Got an inner product {int(groups[np.argmax(outside)] @ strides)} which would require writing to "
            f"outside of the buffer for the output tensor (max elements {int(np.prod(shape))})",
        )
    row = np.ravel_multi_index(tuple(groups.T), tuple(shape.tolist()))
    counts = np.bincount(row, minlength=int(np.prod(shape)))
    order = np.argsort(row, kind="stable")
    out = np.full((len(counts), int(counts.max(initial=0))), nothing)
    places = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    out[row[order], places] = values[order]
    return out, counts


def _distances(
    a: np.ndarray, a_length: np.ndarray, b: np.ndarray, b_length: np.ndarray
) -> np.ndarray:
    """The distances of rows: for all at once, one label of `a` after the other."""
    columns = np.arange(b.shape[1] + 1)
    costs = np.broadcast_to(columns, (len(b), len(columns))).copy()
    for i in range(a.shape[1]):
        replaced = costs[:, :-1] + (a[:, i : i + 1] != b)
        best = np.minimum(costs + 1, np.pad(replaced, ((0, 0), (1, 0)), constant_values=2**40))
        # What is put in costs 1 for each step to the right.
        best = np.minimum.accumulate(best - columns, axis=1) + columns
        costs = np.where((i < a_length)[:, None], best, costs)
    return np.take_along_axis(costs, b_length[:, None], 1)[:, 0]


@edit_distance_op.shape
def _(
    hypothesis_indices,
    hypothesis_values,
    hypothesis_shape,
    truth_indices,
    truth_values,
    truth_shape,
    *,
    normalize,
    const,
):
    rank(hypothesis_indices, 2, "hypothesis_indices")
    rank(truth_indices, 2, "truth_indices")
    ranks = {
        shape[0]
        for shape in (rank(hypothesis_shape, 1), rank(truth_shape, 1))
        if shape[0] is not None
    }
    if len(ranks) > 1:
        raise ShapeError(f"Ranks of hypothesis and truth differ: {sorted(ranks)}")
    said, true = const("hypothesis_shape"), const("truth_shape")
    if said is not None and true is not None:
        return tuple(int(n) for n in np.maximum(said[:-1], true[:-1]))
    return (None,) * (ranks.pop() - 1) if ranks else None


edit_distance_op.not_differentiable()
