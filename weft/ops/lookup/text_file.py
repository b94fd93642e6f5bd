"""Files of text as keys and values: one of each to a line."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import dtypes, errors, file_system
from weft.ops.state.resource import short_name
from weft.ops.strings.elements import invalid, of, shown
from weft.ops.strings.numbers import to_numbers

WHOLE_LINE, LINE_NUMBER = -2, -1
_NUMBERS = (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64)


def keys_and_values(
    filename: str,
    vocab_size: int,
    delimiter: bytes,
    key_index: int,
    key_dtype: dtypes.DType,
    value_index: int,
    value_dtype: dtypes.DType,
) -> tuple[np.ndarray, np.ndarray]:
    """The keys and values that the lines of a file say, by the columns that they are in."""
    _check_dtype("Key", key_index, key_dtype, key_dtype.is_integer)
    _check_dtype("Value", value_index, value_dtype, False)
    lines = _lines(filename, vocab_size)
    columns = _columns(filename, lines, delimiter, max(key_index, value_index))
    return (
        _converted(lines, columns, key_index, key_dtype),
        _converted(lines, columns, value_index, value_dtype),
    )


def _check_dtype(what: str, index: int, dtype: dtypes.DType, integers_too: bool) -> None:
    if index == LINE_NUMBER and dtype is not dtypes.int64:
        raise invalid(
            f"{what} index for line number requires table {what.lower()} dtype of int64, got {short_name(dtype)}"
        )
    if index == WHOLE_LINE and dtype is not dtypes.string and not integers_too:
        kinds = "string or integer" if what == "Key" else "string"
        raise invalid(
            f"{what} index for whole line requires table {what.lower()} dtype of {kinds}, got {short_name(dtype)}"
        )


def _lines(filename: str, vocab_size: int) -> list[bytes]:
    """The lines of a file, at most `vocab_size` if that is not negative; none of them may be empty."""
    lines = file_system.read_file(filename).replace(b"\r\n", b"\n").split(b"\n")
    lines[-1] = lines[-1].removesuffix(b"\r")
    if not lines[-1]:
        lines.pop()
    found = len(lines)
    if vocab_size >= 0:
        lines = lines[:vocab_size]
    if b"" in lines:
        i = lines.index(b"")
        position = sum(map(len, lines[:i])) + i + 1
        raise invalid(
            f"Invalid content in {filename}: empty line found at position {position} (line {i})."
        )
    if found < vocab_size:
        raise invalid(f"Invalid vocab_size in {filename}: expected {vocab_size} but got {found}")
    if not lines:
        raise errors.OutOfRangeError(None, None, f"{filename} is empty: end of file")
    return lines


def _columns(filename: str, lines: list[bytes], delimiter: bytes, last: int) -> list[list[bytes]]:
    """The lines in their columns; nothing, if no column is wanted."""
    if last < 0:
        return []
    columns = [line.split(delimiter) for line in lines]
    counts = np.fromiter(map(len, columns), np.int64, len(columns))
    for i in np.flatnonzero(counts <= last)[:1].tolist():
        raise invalid(
            f"Invalid number of columns in {filename} line {i} ({shown(lines[i])}) : expected {last} got "
            f"{counts[i]}"
        )
    return columns


def _converted(
    lines: list[bytes], columns: list[list[bytes]], index: int, dtype: dtypes.DType
) -> Any:
    """What a column says; WHOLE_LINE and LINE_NUMBER count as columns."""
    if index == LINE_NUMBER:
        return np.arange(len(lines), dtype=np.int64)
    parts = lines if index == WHOLE_LINE else [row[index] for row in columns]
    if dtype is dtypes.string:
        return of(parts, (len(parts),))
    if dtype not in _NUMBERS:
        raise invalid(f"Data type {short_name(dtype)} not supported.")
    numbers, bad = to_numbers(parts, dtype)
    if bad is not None:
        raise invalid(
            f"Field {shown(parts[bad])} in line {bad} is not a valid {short_name(dtype)}."
        )
    return numbers
