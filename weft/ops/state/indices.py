"""Checks of indices into a variable, in TensorFlow's words, for all ops that update or gather rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import errors
from weft.framework.shape_rules import Shape, text


def check_rows(xp: Any, indices: Any, rows: int, name: str = "indices") -> None:
    """InvalidArgumentError unless every index is that of a row."""

    def message() -> str:
        bad = np.argwhere((indices < 0) | (indices >= rows))[0]
        where = f"[{','.join(map(str, bad))}]" if len(bad) else ""
        return f"{name}{where} = {indices[tuple(bad)]} is not in [0, {rows})"

    xp.check((indices >= 0) & (indices < rows), message)


def check_nd(xp: Any, indices: Any, shape: tuple[int, ...]) -> None:
    """InvalidArgumentError unless the last axis of `indices` holds positions within `shape`."""
    limits = np.array(shape[: indices.shape[-1]], indices.dtype)

    def message() -> str:
        bad = np.argwhere(((indices < 0) | (indices >= limits)).any(-1))[0]
        where = f"[{','.join(map(str, bad))}]" if len(bad) else ""
        values = ", ".join(map(str, indices[tuple(bad)]))
        return f"indices{where} = [{values}] does not index into param shape {text(shape)}"

    xp.check((indices >= 0) & (indices < limits), message)


def check_row_updates(shape: Shape, indices: Shape, updates: Shape) -> None:
    """InvalidArgumentError unless there is one row of updates for each index, or one scalar for all."""
    assert shape is not None and indices is not None
    if not shape:
        raise errors.InvalidArgumentError(None, None, "params must be at least 1-D, got shape []")
    if updates != () and updates != indices + shape[1:]:
        raise errors.InvalidArgumentError(
            None,
            None,
            "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got "
            f"updates.shape {text(updates)}, indices.shape {text(indices)}, params.shape {text(shape)}",
        )


def check_nd_updates(shape: Shape, indices: Shape, updates: Shape) -> None:
    """InvalidArgumentError unless there is one slice of updates for each position."""
    assert shape is not None and indices is not None
    if not shape:
        raise errors.InvalidArgumentError(None, None, "Output must be at least 1-D, got shape: []")
    if not indices or not 1 <= indices[-1] <= len(shape):  # type: ignore[operator]
        raise errors.InvalidArgumentError(
            None,
            None,
            f"The inner dimension of indices {text(indices)} must be from 1 to the rank of params {text(shape)}.",
        )
    k: int = indices[-1]  # type: ignore[assignment]
    if updates != indices[:-1] + shape[k:]:
        raise errors.InvalidArgumentError(
            None,
            None,
            "Must have updates.shape = indices.shape[:batch_dim] + params_shape[slice_dim:], got "
            f"updates.shape: {text(updates)}, indices.shape: {text(indices)}, params_shape: {text(shape)}, "
            f"slice_dim: {k}, and batch_dim: {len(indices) - 1}",
        )
