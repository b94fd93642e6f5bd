"""StringSplit and StringSplitV2: the parts of strings, as a sparse matrix."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from weft.framework import conversion, dtypes
from weft.framework.registry import op
from weft.framework.shape_rules import rank, scalar
from weft.framework.sparse_tensor import SparseTensor
from weft.ops.strings.elements import of, scalar_text

_SINGLE = of([bytes([i]) for i in range(256)], (256,))  # each byte as a string


def _sparse(parts: list[bytes], counts: np.ndarray) -> tuple[Any, Any, Any]:
    """A matrix with the parts of a string in each row."""
    rows = np.repeat(np.arange(len(counts)), counts)
    firsts = np.cumsum(counts) - counts
    columns = np.arange(len(rows)) - firsts[rows]
    indices = np.stack([rows, columns], 1).astype(np.int64)
    shape = np.array([len(counts), counts.max(initial=0)], np.int64)
    return indices, of(parts, (len(parts),)), shape


def _flat(rows: list[list[bytes]]) -> tuple[list[bytes], np.ndarray]:
    """The parts of all rows, and how many each row has."""
    counts = np.fromiter(map(len, rows), np.int64, len(rows))
    return list(itertools.chain.from_iterable(rows)), counts


@op(
    "StringSplit",
    "input: string, delimiter: string -> indices: int64, values: string, shape: int64",
    "skip_empty: bool = true",
    host=True,
)
def string_split_op(xp, input, delimiter, *, skip_empty):
    """The parts between any of the bytes of a delimiter; without a delimiter, every byte."""
    delimiter = scalar_text(delimiter, "delimiter")
    strings = input.tolist()
    if not delimiter:
        counts = np.fromiter(map(len, strings), np.int64, len(strings))
        return _sparse(_SINGLE[np.frombuffer(b"".join(strings), np.uint8)].tolist(), counts)
    first = delimiter[:1]
    if len(delimiter) > 1:
        alike = bytes.maketrans(delimiter, first * len(delimiter))
        strings = [s.translate(alike) for s in strings]
    parts, counts = _flat([s.split(first) if s else [] for s in strings])
    if skip_empty:
        filled = np.fromiter(map(bool, parts), bool, len(parts))
        rows = np.repeat(np.arange(len(strings)), counts)
        counts = np.bincount(rows[filled], minlength=len(strings)).astype(np.int64)
        parts = list(filter(None, parts))
    return _sparse(parts, counts)


@op(
    "StringSplitV2",
    "input: string, sep: string -> indices: int64, values: string, shape: int64",
    "maxsplit: int = -1",
    host=True,
)
def string_split_v2_op(xp, input, sep, *, maxsplit):
    """The parts between separators, or between white space if the separator is empty."""
    sep = scalar_text(sep, "sep") or None
    strings = input.tolist()
    if maxsplit == 0:
        return _sparse(strings, np.ones(len(strings), np.int64))
    most = max(maxsplit, -1)
    rows = [s.split(sep, most) for s in strings]
    if sep is None and most > 0:
        # What is behind the last split is a part of its own, also where nothing is left.
        rows = [row + [b""] if len(row) == most else row for row in rows]
    return _sparse(*_flat(rows))


@string_split_op.shape
@string_split_v2_op.shape
def _(input, sep):
    rank(input, 1)
    scalar(sep)
    return (None, 2), (None,), (2,)


@string_split_op.rows("input")
def _(xp, input, delimiter, *, skip_empty):
    flat = string_split_op.kernel(xp, input.reshape(-1), delimiter, skip_empty=skip_empty)
    return _of_each(*flat, input.shape[1])


@string_split_v2_op.rows("input")
def _(xp, input, sep, *, maxsplit):
    flat = string_split_v2_op.kernel(xp, input.reshape(-1), sep, maxsplit=maxsplit)
    return _of_each(*flat, input.shape[1])


def _of_each(indices: Any, values: Any, shape: Any, size: int) -> tuple[Any, Any, Any]:
    """The matrices of so many strings each, of which `indices`, `values` and `shape` are all in one."""
    runs = int(shape[0]) // size
    ends = np.searchsorted(indices[:, 0], np.arange(1, runs) * size)
    indices[:, 0] %= size
    found = np.split(indices, ends)
    most = [part[:, 1].max(initial=-1) + 1 for part in found]
    shapes = np.stack([np.full(runs, size), np.array(most, np.int64)], 1)
    return found, np.split(values, ends), shapes


string_split_op.not_differentiable()
string_split_v2_op.not_differentiable()


def split_on_bytes(source: Any, sep: Any, skip_empty: bool) -> SparseTensor:
    """A SparseTensor of the parts of strings between any of the bytes of `sep`."""
    sep = conversion.convert_to_tensor(" " if sep is None else sep, dtype=dtypes.string)
    source = conversion.convert_to_tensor(source, dtype=dtypes.string)
    return SparseTensor(*string_split_op(source, sep, skip_empty=skip_empty))


def split_on_text(source: Any, sep: Any, maxsplit: int) -> SparseTensor:
    """A SparseTensor of the parts of strings between whole separators, as Python's `str.split` gives them."""
    sep = conversion.convert_to_tensor("" if sep is None else sep, dtype=dtypes.string)
    source = conversion.convert_to_tensor(source, dtype=dtypes.string)
    return SparseTensor(*string_split_v2_op(source, sep, maxsplit=maxsplit))
