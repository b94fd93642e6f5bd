"""SqlDataset: the rows that a query of a SQLite database gives."""

from __future__ import annotations

import re
import sqlite3
from typing import Any

import numpy as np

from weft.framework import dtypes, errors, file_system
from weft.ops.datasets.dataset import (
    UNKNOWN,
    Dataset,
    Element,
    End,
    Place,
    Run,
    Walk,
    dataset_op,
    invalid,
)

_TYPES = "DT_STRING, DT_INT8, DT_INT16, DT_INT32, DT_INT64, DT_UINT8, DT_UINT16, DT_BOOL, DT_DOUBLE"
_KNOWN = frozenset("string int8 int16 int32 int64 uint8 uint16 bool float64".split())


def _text(value: Any) -> str:
    return file_system.path_text(np.asarray(value, object).item())


_BEGINNINGS = {
    int: re.compile(rb"\s*([+-]?\d+)"),
    float: re.compile(rb"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"),
}


def _number(value: Any, kind: type) -> Any:
    """A column as a number, as SQLite reads text as one: the longest beginning that is a number, or zero."""
    if isinstance(value, (str, bytes)):
        found = _BEGINNINGS[kind].match(value.encode() if isinstance(value, str) else value)
        return kind(found.group(1)) if found else kind(0)
    return kind(0 if value is None else value)


def _component(value: Any, dtype: dtypes.DType) -> np.ndarray:
    if dtype is dtypes.string:
        text = np.empty((), object)
        if value is None:
            text[()] = b""
        else:
            text[()] = value if isinstance(value, bytes) else str(value).encode()
        return text
    if dtype is dtypes.bool:
        return np.asarray(_number(value, int) != 0)
    if dtype is dtypes.float64:
        return np.asarray(_number(value, float), np.float64)
    return np.asarray(_number(value, int), np.int64).astype(dtype.as_numpy_dtype)


class _Query:
    """The rows of a query, of which some may be passed over first."""

    def __init__(self, path: str, query: str, columns: int):
        self._path, self._query, self._columns = path, query, columns
        self._cursor: Any = None
        self._row = -1

    def row(self, number: int) -> Any:
        """The row of a number; None behind the last. What the database says against it is an UnknownError."""
        try:
            if self._row != number:
                self._begin()
                for _ in range(number):
                    self._cursor.fetchone()
            self._row = number + 1
            return self._cursor.fetchone()
        except sqlite3.Error as e:
            self._row = -1
            raise errors.UnknownError(
                None, None, f"{self._path}: {e}, in the query {self._query!r}"
            ) from None

    def _begin(self) -> None:
        connection = sqlite3.connect(self._path, check_same_thread=False)
        self._cursor = connection.execute(self._query)
        found = len(self._cursor.description or ())
        if found != self._columns:
            raise invalid(
                f"The number of columns in query ({found}) must match the number of elements in output_types "
                f"({self._columns})."
            )


@dataset_op(
    "SqlDataset",
    "driver_name: string, data_source_name: string, query: string",
    old=True,
    stateful=True,
)
def sql_dataset(ctx, driver_name, data_source_name, query, *, output_types, output_shapes):
    """The rows that a query gives, each as scalars."""
    if not all(t.name in _KNOWN for t in output_types):
        raise invalid(f"Each element of `output_types_` must be one of: {_TYPES}")
    if any(shape is None or len(shape) for shape in output_shapes):
        raise invalid("Each element of `output_shapes_` must be a scalar.")
    driver, path, text = _text(driver_name), _text(data_source_name), _text(query)
    if driver != "sqlite":
        raise invalid(
            f"The database type, {driver}, is not supported by SqlDataset. The set of supported databases is: "
            "{'sqlite'}."
        )

    def walk(run: Run) -> Walk:
        rows = _Query(path, text, len(output_types))

        def advance(at: Place) -> Element:
            run.check()
            row = rows.row(at.row)
            if row is None:
                raise End
            at.row += 1
            return [_component(value, dtype) for value, dtype in zip(row, output_types)]

        return Walk(advance, Place(run, row=0))

    return Dataset(walk, UNKNOWN, "SqlDataset")
