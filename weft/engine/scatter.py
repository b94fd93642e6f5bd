"""Indexed updates of NumPy arrays in place, where repeated positions take effect each."""

from __future__ import annotations

from typing import Any

import numpy as np

_UFUNCS: dict[str, Any] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.true_divide,
    "min": np.minimum,
    "max": np.maximum,
}


def scatter_into(array: np.ndarray, index: Any, updates: Any, how: str = "update") -> None:
    """Changes the elements of `array` at `index` (a tuple, as for `array[index]`).

    `how` is update (the last one wins), add, sub, mul, div, min, max.
    """
    if how == "update":
        array[index] = updates
        return
    ufunc = _UFUNCS[how]
    if how == "div" and array.dtype.kind in "iu":
        ufunc = truncating_divide
    if _has_repeats(index):
        if ufunc is truncating_divide:
            _in_rounds(array, index[0], updates, ufunc)
        else:
            ufunc.at(array, index, updates)
    else:
        array[index] = ufunc(array[index], updates)


def truncating_divide(a: Any, b: Any) -> Any:
    """Integer division as in C, toward zero."""
    quotient = np.floor_divide(a, b)
    return quotient + ((quotient < 0) & (quotient * b != a))


def _has_repeats(index: tuple) -> bool:
    """Whether one position can occur twice; slices never repeat one."""
    parts = [np.asarray(p) for p in index if not isinstance(p, slice) and p is not Ellipsis]
    if not parts or all(p.size <= 1 for p in parts):
        return False
    if len(parts) > 1:
        parts = list(np.broadcast_arrays(*parts))
        rows = np.stack([p.ravel() for p in parts], axis=1)
        return len(np.unique(rows, axis=0)) < len(rows)
    flat = np.sort(parts[0], axis=None)
    return bool((flat[1:] == flat[:-1]).any())


def _in_rounds(array: np.ndarray, index: Any, updates: Any, ufunc: Any) -> None:
    for where in rounds(np.ravel(index)):
        rows = np.ravel(index)[where]
        spread = np.broadcast_to(updates, index.shape + array.shape[1:])
        array[rows] = ufunc(array[rows], spread.reshape((-1, *array.shape[1:]))[where])


def rounds(indices: np.ndarray) -> list[np.ndarray]:
    """Splits the places of a vector so that no value occurs twice in a part: the first occurrence of each
    value, then the second, and so on."""
    order = np.argsort(indices, kind="stable")
    ordered = indices[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(ordered) else ordered
    turn = np.arange(len(ordered)) - np.repeat(starts, np.diff(np.r_[starts, len(ordered)]))
    return [np.sort(order[turn == t]) for t in range(int(turn.max(initial=-1)) + 1)]
