"""Positions of elements, a row for each: their order, their runs, and what is required of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from weft.framework import errors
from weft.framework.shape_rules import Shape, merge_dim, rank, text, vector


def refuse(message: str) -> None:
    """Raises InvalidArgumentError."""
    raise errors.InvalidArgumentError(None, None, message)


def check_ranks(indices: Shape, values: Shape, shape: Shape, prefix: str = "") -> None:
    """What shape rules want of the parts of a sparse tensor: whether they fit each other is for the kernel."""
    rank(indices, 2, f"{prefix}indices")
    vector(values, f"{prefix}values")
    vector(shape, f"{prefix}shape")


def check_parts(indices: Any, values: Any, shape: Any, prefix: str = "") -> None:
    """Raises unless arrays of positions, elements and sizes are one sparse tensor."""
    indices = rank(indices.shape, 2, f"{prefix}indices")
    values, shape = vector(values.shape, f"{prefix}values"), vector(shape.shape, f"{prefix}shape")
    merge_dim(
        indices[0],
        values[0],
        f"{prefix}indices and {prefix}values must be as many: rows of positions and elements",
    )
    merge_dim(
        indices[1],
        shape[0],
        f"the second dimension of {prefix}indices must be the length of {prefix}shape",
    )


def whole_shape(sizes: np.ndarray) -> tuple[int, ...]:
    """A vector of sizes as a shape; InvalidArgumentError where one is negative or all are too many."""
    dims = tuple(sizes.tolist())
    for i, d in enumerate(dims):
        if d < 0:
            refuse(
                f"Dimension {i} of a sparse tensor's shape must be >= 0, got {d} in {list(dims)}"
            )
    if math.prod(d for d in dims if d) >= 2**63:
        refuse(f"Shape {list(dims)} has more elements than 64 bits can count")
    return dims


# -- what an op may require


def outside(xp: Any, indices: Any, shape: Any) -> Any:
    """For each row whether it lies out of bounds."""
    bad = xp.zeros(indices.shape[:1], bool)
    for d in range(indices.shape[1]):  # `any` along so short an axis takes five times as long
        column = indices[:, d]
        bad = bad | (column < 0) | (column >= shape[d])
    return bad


def steps(xp: Any, indices: Any) -> tuple[Any, Any]:
    """For each row after the first whether it comes before the last one, and whether it repeats it."""
    before, after = indices[:-1], indices[1:]
    falls = xp.zeros(after.shape[:1], bool)
    equal = xp.ones(after.shape[:1], bool)
    for d in range(indices.shape[1]):
        falls = falls | (equal & (after[:, d] < before[:, d]))
        equal = equal & (after[:, d] == before[:, d])
    return falls, equal


def require_valid(xp: Any, indices: Any, shape: Any) -> None:
    """Checks that positions are in bounds, in row-major order and without repetitions."""
    falls, equal = steps(xp, indices)
    bad_place = outside(xp, indices, shape)

    def message() -> str:
        wrong = np.array(bad_place)
        wrong[1:] |= np.asarray(falls | equal)
        n = int(np.flatnonzero(wrong)[0])
        what = f"indices[{n}] = {_listed(indices[n])}"
        if bad_place[n]:
            return f"{what} is out of bounds: need 0 <= index < {_listed(shape)}"
        if falls[n - 1]:
            return (
                f"{what} is out of order. Many sparse ops require sorted indices; `tf.sparse.reorder` "
                "gives a copy in order."
            )
        return f"{what} is repeated"

    xp.check(~bad_place, message)
    xp.check(~(falls | equal), message)


def require_inside(
    xp: Any, indices: Any, shape: Any, describe: Callable[[int, int], str] | None = None
) -> None:
    """Checks that positions are in bounds; `describe` tells of the wrong coordinate by row and column."""
    bad_place = outside(xp, indices, shape)

    def message() -> str:
        n = int(np.flatnonzero(bad_place)[0])
        if describe is not None:
            return describe(n, int(np.flatnonzero((indices[n] < 0) | (indices[n] >= shape))[0]))
        return f"indices[{n}] = {_listed(indices[n])} is out of bounds: need 0 <= index < {_listed(shape)}"

    xp.check(~bad_place, message)


def _listed(row: Any) -> str:
    return text(tuple(np.asarray(row).tolist()))


# -- order and runs


def is_in_order(indices: np.ndarray) -> bool:
    """Whether no row comes before the one above it."""
    falls, _ = steps(np, indices)
    return not falls.any()


def order_of(indices: np.ndarray) -> np.ndarray | None:
    """The permutation that puts rows in row-major order, equal ones as they come; None if they are."""
    if not indices.shape[1] or is_in_order(indices):
        return None
    return np.lexsort(indices.T[::-1])


def starts_of_runs(indices: np.ndarray) -> np.ndarray:
    """Where each run of equal rows begins."""
    if not len(indices):
        return np.zeros(0, np.int64)
    return np.flatnonzero(np.append(True, (indices[1:] != indices[:-1]).any(1)))


def flat_positions(indices: Any, shape: tuple[int, ...]) -> Any:
    """Each position as one number, in row-major order."""
    strides = [math.prod(shape[d + 1 :]) for d in range(len(shape))]
    return (indices * np.array(strides, np.int64)).sum(-1, dtype=np.int64)


def joined(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The distinct rows of both in order; and for each row of `a`, of `b`, which of these it is."""
    both = np.concatenate([a, b])
    order = order_of(both)
    ordered = both if order is None else both[order]
    starts = starts_of_runs(ordered)
    number = np.zeros(len(both), np.int64)
    number[starts] = 1
    number = np.cumsum(number) - 1
    which = number
    if order is not None:
        which = np.empty_like(number)
        which[order] = number
    return ordered[starts], which[: len(a)], which[len(a) :]
