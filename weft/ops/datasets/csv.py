"""CSVDataset: the records of files of comma-separated values (RFC 4180)."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from weft.framework import errors, file_system
from weft.ops.datasets.dataset import UNKNOWN, Dataset, Element, End, Run, Walk, dataset_op, invalid
from weft.ops.datasets.files import _compression, _names, _opened
from weft.ops.io.csv import _values

_LINE = re.compile(rb"([^\r\n]*)(\r\n|\r|\n)")
_QUOTED = re.compile(rb'(?:[^"]++|"")*+')
_BLOCK = 1 << 20
_ROWS_AT_ONCE = 256  # converted together, column by column


def _lines(file: Any) -> Iterator[tuple[bytes, bytes]]:
    """The lines of a file, each with its end."""
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

    def records(path: str) -> Iterator[list[bytes] | Exception]:
        """The fields of each record, or what is wrong with it."""
        file = _opened(path, compression)
        try:
            with file_system.translated(path):
                lines = _lines(file)
                if skips and next(lines, None) is None:
                    yield invalid(f"Can't read header of file {path}")
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
                        yield fields
                    except errors.OpError as e:
                        yield e
        finally:
            file.close()

    def columns(rows: list[list[bytes]]) -> list[np.ndarray]:
        return [
            _values(i, *column, missing)
            for i, column in enumerate(zip(zip(*rows), output_types, record_defaults))
        ]

    def converted(rows: list[list[bytes]]) -> list[Element | Exception]:
        try:
            values = columns(rows)
        except errors.OpError as e:
            if len(rows) > 1:
                return [out for row in rows for out in converted([row])]
            return [invalid(e.message.replace("record 0", "record"))]
        return [[c[i : i + 1].reshape(()) for c in values] for i in range(len(rows))]

    def walk(run: Run) -> Walk:
        rest = (record for path in names for record in records(path))
        ready: deque[Element | Exception] = deque()

        def advance() -> Element:
            if not ready:
                run.check()
                rows: list[list[bytes]] = []
                for record in rest:
                    if isinstance(record, Exception):
                        ready.append(record)
                        break
                    rows.append(record)
                    if len(rows) == _ROWS_AT_ONCE:
                        break
                if rows:
                    ready.extendleft(reversed(converted(rows)))
            if not ready:
                raise End
            element = ready.popleft()
            if isinstance(element, Exception):
                raise element
            return element

        return advance

    return Dataset(walk, UNKNOWN, "CSVDataset")
