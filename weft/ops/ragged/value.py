"""RaggedTensorValue: what a session gives for a ragged tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework.export import export


@export("ragged.RaggedTensorValue")
class RaggedTensorValue:
    """The rows `values[row_splits[i]:row_splits[i + 1]]`; `values` is an array, or ragged itself."""

    def __init__(self, values: Any, row_splits: Any):
        if (
            not isinstance(row_splits, (np.ndarray, np.generic))
            or row_splits.dtype not in (np.int64, np.int32)
            or row_splits.ndim != 1
        ):
            raise TypeError("row_splits must be a 1D int32 or int64 numpy array")
        if not isinstance(values, (np.ndarray, np.generic, RaggedTensorValue)):
            raise TypeError("values must be a numpy array or a RaggedTensorValue")
        if isinstance(values, RaggedTensorValue) and row_splits.dtype != values.row_splits.dtype:
            raise ValueError("row_splits and values.row_splits must have the same dtype")
        self._values: Any = values
        self._row_splits: Any = row_splits

    @property
    def row_splits(self) -> np.ndarray:
        """Where the rows begin, and where the last one ends."""
        return self._row_splits

    @property
    def values(self) -> Any:
        """All rows, one after another."""
        return self._values

    @property
    def dtype(self) -> Any:
        """The dtype of the values."""
        return self._values.dtype

    @property
    def flat_values(self) -> Any:
        """The innermost values."""
        values = self._values
        while isinstance(values, RaggedTensorValue):
            values = values._values
        return values

    @property
    def nested_row_splits(self) -> tuple:
        """The splits of all ragged dimensions, the outermost first."""
        inner = self._values
        below = inner.nested_row_splits if isinstance(inner, RaggedTensorValue) else ()
        return (self._row_splits, *below)

    @property
    def ragged_rank(self) -> int:
        """How many dimensions are ragged."""
        return len(self.nested_row_splits)

    @property
    def shape(self) -> tuple:
        """The sizes; None for a ragged dimension."""
        return (len(self._row_splits) - 1, None, *self._values.shape[1:])

    def to_list(self) -> list[Any]:
        """The rows as nested lists."""
        inner = self._values
        flat = inner.to_list() if isinstance(inner, RaggedTensorValue) else inner.tolist()
        splits = self._row_splits.tolist()
        return [flat[start:limit] for start, limit in zip(splits, splits[1:])]

    def __str__(self) -> str:
        return f"<tf.RaggedTensorValue {self.to_list()}>"

    def __repr__(self) -> str:
        return f"tf.RaggedTensorValue(values={self._values!r}, row_splits={self._row_splits!r})"


def nested_value(flat_values: Any, nested_splits: Any) -> Any:
    """The value that has these innermost values and splits, the outermost first."""
    value = flat_values
    for splits in reversed(list(nested_splits)):
        value = RaggedTensorValue(value, splits)
    return value
