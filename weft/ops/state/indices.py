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
        return f"indices{where} = [{values}] does not index into shape {text(shape)}"

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
            f"shape of indices ({text(indices)}) is not compatible with the shape of updates ({text(updates)}): Must "
            "have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got updates.shape "
            f"{text(updates)}, indices.shape {text(indices)}, params.shape {text(shape)}",
        )
