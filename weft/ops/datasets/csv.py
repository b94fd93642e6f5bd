"""CSVDataset: the records of files of comma-separated values (RFC 4180)."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from weft.framework import errors, file_system
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
from weft.ops.datasets.files import OpenFile, _compression, _names, _opened
from weft.ops.io.csv import _values

_LINE = re.compile(rb"([^\r\n]*)(\r\n|\r|\n)")
_QUOTED = re.compile(rb'(?:[^"]++|"")*+')
_BLOCK = 1 << 20
_ROWS_AT_ONCE = 256  # converted together, column by column


class _Lines:
    """The lines of a file from an offset on, each with its end; `offset` is the one behind the last."""

    def __init__(self, file: Any, offset: int):
        self.offset = offset
        self._lines = self._read(file)

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> tuple[bytes, bytes]:
        line, end = next(self._lines)
        self.offset += len(line) + len(end)
        return line, end

    @staticmethod
    def _read(file: Any) -> Iterator[tuple[bytes, bytes]]:
        rest = b""
        while block := file.read(_BLOCK):
            rest += block
            at = 0
            for found in _LINE.finditer(rest):
                if found.end() == len(rest) and found.group(2) == b"\r":
                    break  # the first half of an end, perhaps
                yield found.groups()  # type: ignore[misc]
                at = found.end()
            rest = rest[at:]
        if rest:
            yield rest.removesuffix(b"\r"), b""


def _fields(line: bytes, end: bytes, more: Iterator[tuple[bytes, bytes]], delimiter: bytes) -> list:
    """The fields of a record that begins with a line; what is in quotes may go on over `more` lines."""
    fields, at = [], 0
    while True:
        if line[at : at + 1] == b'"':
            while True:
                found = _QUOTED.match(line, at + 1)
                assert found is not None  # it matches nothing, too
                if found.end() < len(line):
                    break
                following = next(more, None)
                if following is None:
                    raise invalid("Reached end of file without closing quoted field in record")
                line, end = line + end + following[0], following[1]
            fields.append(found.group().replace(b'""', b'"'))
            at = found.end() + 1
            if at < len(line) and line[at : at + 1] != delimiter:
                raise invalid("Quote inside a string has to be escaped by another quote")
        else:
            stop = line.find(delimiter, at)
            field = line[at : len(line) if stop < 0 else stop]
            if b'"' in field:
                raise invalid("Unquoted fields cannot have quotes inside")
            fields.append(field)
            at += len(field)
        if at >= len(line):
            return fields
        at += 1
        if at == len(line):
            return [*fields, b""]


@dataset_op(
    "CSVDataset",
    "filenames: string, compression_type: string, buffer_size: int64, header: bool, field_delim: string, "
    "use_quote_delim: bool, na_value: string, select_cols: int64, record_defaults: output_types",
    elements="output_types: list(type) in {float, double, int32, int64, string} >= 1; "
    "output_shapes: list(shape) >= 1",
    old=True,
    stateful=True,
)
def csv_dataset(
    ctx,
    filenames,
    compression_type,
    buffer_size,
    header,
    field_delim,
    use_quote_delim,
    na_value,
    select_cols,
    record_defaults,
    *,
    output_types,
):
    """The records of files of comma-separated values, each as so many scalars."""
    names, compression = _names(filenames), _compression(compression_type)
    delimiter, missing = np.asarray(field_delim).item(), np.asarray(na_value).item()
    wanted, count, skips, quotes = (
        select_cols.tolist(),
        len(output_types),
        bool(header),
        bool(use_quote_delim),
    )
    for i, default in enumerate(record_defaults):
        if default.size > 1:
            raise invalid(
                f"Each record default should be at most 1-D with one value, but field {i} has {default.size}."
            )
    if int(buffer_size) <= 0:
        raise invalid("buffer_size should be positive")
    if len(delimiter) != 1:
        raise invalid("field_delim should be only 1 char")
    if wanted and len(wanted) != count:
        raise invalid("select_cols should match output size")
    if any(a >= b for a, b in zip(wanted, wanted[1:])):
        raise invalid("select_cols should be strictly increasing indices")
    if wanted and wanted[0] < 0:
        raise invalid("select_cols should be non-negative indices")

    def read(path: str, offset: int) -> Iterator[tuple[list[bytes] | Exception, int]]:
        """The fields of each record, or what is wrong with it."""
        file = _opened(path, compression, offset)
        try:
            with file_system.translated(path):
                lines = _Lines(file, offset)
                if skips and not offset and next(lines, None) is None:
                    yield invalid("Can't read header of file"), 0
                for line, end in lines:
                    try:
                        if quotes and b'"' in line:
                            fields = _fields(line, end, lines, delimiter)
                        else:
                            fields = line.split(delimiter)
                        if wanted:
                            fields = [fields[i] for i in wanted if i < len(fields)]
                        if len(fields) != count:
                            found = "more" if len(fields) > count else len(fields)
                            raise invalid(f"Expect {count} fields but have {found} in record")
                        yield fields, lines.offset
                    except errors.OpError as e:
                        yield e, lines.offset
        finally:
            file.close()

    def columns(rows: list[list[bytes]]) -> list[np.ndarray]:
        return [
            _values(i, *column, missing)
            for i, column in enumerate(zip(zip(*rows), output_types, record_defaults))
        ]

    def converted(rows: list[list[bytes]], where: list[str]) -> list[Element | Exception]:
        try:
            values = columns(rows)
        except errors.OpError as e:
            if len(rows) > 1:
                return [out for row, at in zip(rows, where) for out in converted([row], [at])]
            return [invalid(f"{e.message.replace('record 0', 'record')} ({where[0]})")]
        return [[c[i : i + 1].reshape(()) for c in values] for i in range(len(rows))]

    def walk(run: Run) -> Walk:
        current = OpenFile(names, read)

        def more(at: Place) -> None:
            rows: list[list[bytes]] = []
            where: list[str] = []
            failed: Exception | None = None
            while len(rows) < _ROWS_AT_ONCE and failed is None:
                try:
                    record = current.next(at)
                except (End, errors.OpError) as e:
                    failed = e
                else:
                    here = f"record {at.record - 1} of {names[at.file]}"
                    if isinstance(record, errors.OpError):
                        failed = invalid(f"{record.message} ({here})")
                    else:
                        rows.append(record)
                        where.append(here)
            if rows:
                at.ready.extend(converted(rows, where))
            if failed is not None:
                at.ready.append(failed)

        def advance(at: Place) -> Element:
            if not at.ready:
                more(at)
            element = at.ready.popleft()
            if isinstance(element, Exception):
                raise element
            return element

        return Walk(advance, Place(run, file=0, offset=0, record=0, ready=deque()))

    return Dataset(walk, UNKNOWN, "CSVDataset")
