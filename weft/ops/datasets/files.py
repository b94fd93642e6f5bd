"""Datasets of what files hold: lines, records, records of a length; and of the names of files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from weft.framework import errors, file_system, record_format
from weft.framework.compression import inflated_file
from weft.framework.record_file import RecordFile
from weft.framework.registry import op
from weft.ops.datasets.block import Block
from weft.ops.datasets.dataset import (
    UNKNOWN,
    Dataset,
    Element,
    End,
    Place,
    Run,
    Walk,
    as_dataset,
    dataset_op,
    invalid,
)


def _scalar(text: bytes) -> np.ndarray:
    array = np.empty((), object)
    array[()] = text
    return array


def _names(filenames: Any) -> list[str]:
    flat = np.asarray(filenames, object)
    if flat.ndim > 1:
        raise invalid("`filenames` must be a scalar or a vector.")
    return [file_system.path_text(f) for f in flat.reshape(-1)]


def _compression(value: Any) -> str:
    text = np.asarray(value, object).item()
    kind = text.decode() if isinstance(text, bytes) else text
    if kind not in ("", "ZLIB", "GZIP"):
        raise invalid("Unsupported compression_type.")
    return kind


def _opened(path: str, compression: str, offset: int = 0) -> Any:
    """A file from so many bytes on, as they are without compression."""
    file = file_system.open_file(path, "rb")
    if not compression:
        if offset:
            file.seek(offset)
        return file
    file = inflated_file(file, compression)
    while offset:
        skipped = len(file.read(min(offset, 1 << 20)))
        if not skipped:
            raise errors.DataLossError(None, None, f"{path}: shorter than it was")
        offset -= skipped
    return file


# The records of a file from an offset on, each with the offset behind it.
Read = Callable[[str, int], Iterator[tuple[Any, int]]]


class OpenFile:
    """The file that a walk reads. Where it is says the place, with its `file`, `offset` and `record`; the file is
    opened there if it is not there anyway."""

    def __init__(self, names: list[str], read: Read):
        self._names, self._read = names, read
        self._records: Iterator[tuple[Any, int]] = iter(())
        self._where: tuple[int, int] | None = None

    def next(self, at: Place) -> Any:
        """The next record; `End` after the last file. A file that cannot be read is passed over once it was said."""
        return self.some(at, 1)[0]

    def some(self, at: Place, most: int) -> list[Any]:
        """As `next`, one record and up to so many, as `Walk.some` has it."""
        while at.file < len(self._names):
            at.run.check()
            name, found = self._names[at.file], []
            if self._where != (at.file, at.offset):
                self._records = self._read(name, at.offset)
            if most > 1 and os.path.exists(name) and not os.path.isfile(name):
                most = 1  # a pipe
            try:
                for record, at.offset in self._records:
                    found.append(record)
                    at.record += 1
                    if len(found) == most:
                        break
            except errors.OpError as e:
                if not found:
                    raise self._failed(at, name, e) from None
                self._where = None  # opened again the next time, to find the error where it is
                return found
            if found:
                self._where = at.file, at.offset
                return found
            self._go_on(at)
        raise End

    def _failed(self, at: Place, name: str, e: errors.OpError) -> errors.OpError:
        number = at.record
        self._go_on(at)
        if not isinstance(e, errors.DataLossError):
            return e
        return errors.DataLossError(None, None, f"{name}: {e.message} (record {number})")

    @staticmethod
    def _go_on(at: Place) -> None:
        at.file, at.offset, at.record = at.file + 1, 0, 0


def _of_files(names: list[str], read: Read, kind: str) -> Dataset:
    """The records of files, one file after the other."""

    def walk(run: Run) -> Walk:
        current = OpenFile(names, read)

        def several(at: Place, most: int) -> Block:
            records = current.some(at, most)
            return Block(len(records), [np.fromiter(records, object, len(records))])

        at = Place(run, file=0, offset=0, record=0)
        return Walk(lambda at: [_scalar(current.next(at))], at).in_blocks(several)

    return Dataset(walk, UNKNOWN, kind)


@dataset_op(
    "TextLineDataset",
    "filenames: string, compression_type: string, buffer_size: int64",
    elements="",
    stateful=True,
)
def text_line_dataset(ctx, filenames, compression_type, buffer_size):
    """The lines of files, without their ends."""
    compression = _compression(compression_type)

    def read(path: str, offset: int) -> Iterator[tuple[bytes, int]]:
        file = _opened(path, compression, offset)
        try:
            with file_system.translated(path):
                while line := file.readline():
                    offset += len(line)
                    yield line.removesuffix(b"\n").removesuffix(b"\r"), offset
        finally:
            file.close()

    return _of_files(_names(filenames), read, "TextLineDataset")


@dataset_op(
    "TFRecordDataset",
    "filenames: string, compression_type: string, buffer_size: int64",
    elements="",
    stateful=True,
)
def tf_record_dataset(ctx, filenames, compression_type, buffer_size):
    """The records of files, whose checksums are checked."""
    compression = _compression(compression_type)

    def read(path: str, offset: int) -> Iterator[tuple[bytes, int]]:
        file = _opened(path, compression, offset)
        try:
            rest = record_format.Records(file, offset)
            while True:
                with file_system.translated(path):
                    records = rest.some(1024)
                if not records:
                    return
                for record in records:
                    offset += record_format.HEADER_SIZE + len(record) + record_format.FOOTER_SIZE
                    yield record, offset
        finally:
            file.close()

    return _of_files(_names(filenames), read, "TFRecordDataset")


def _fixed_length(
    filenames: Any, header: Any, record: Any, footer: Any, compression: str
) -> Dataset:
    before, size, after = int(header), int(record), int(footer)
    if before < 0:
        raise invalid("`header_bytes` must be >= 0")
    if size <= 0:
        raise invalid("`record_bytes` must be > 0")
    if after < 0:
        raise invalid("`footer_bytes` must be >= 0")

    def read(path: str, offset: int) -> Iterator[tuple[bytes, int]]:
        file = _opened(path, compression)
        first = max(offset, before)
        try:
            with file_system.translated(path):
                if compression:
                    chunks = []
                    while chunk := file.read(1 << 20):
                        chunks.append(chunk)
                    data = b"".join(chunks)
                    body = len(data) - before - after
                    if body < 0 or body % size:
                        raise _uneven(path, before, size, after, len(data))
                    for end in range(first + size, len(data) - after + 1, size):
                        yield data[end - size : end], end
                    return
                length = file_system.stat(path).length
                count, rest = divmod(length - before - after, size)
                if count < 0 or rest:
                    raise _uneven(path, before, size, after, length)
                file.seek(first)
                for end in range(first + size, length - after + 1, size):
                    record = file.read(size)
                    if len(record) < size:
                        raise record_format.corrupted(end - size, "truncated record")
                    yield record, end
        finally:
            file.close()

    return _of_files(_names(filenames), read, "FixedLengthRecordDataset")


def _uneven(path: str, before: int, size: int, after: int, length: int) -> errors.OpError:
    return invalid(
        f'Excluding the header ({before} bytes) and footer ({after} bytes), input file "{path}" has body length '
        f"{length - before - after} bytes, which is not an exact multiple of the record length ({size} bytes)."
    )


_FIXED = "filenames: string, header_bytes: int64, record_bytes: int64, footer_bytes: int64, buffer_size: int64"


@dataset_op("FixedLengthRecordDataset", _FIXED, elements="", stateful=True)
def fixed_length_record_dataset(
    ctx, filenames, header_bytes, record_bytes, footer_bytes, buffer_size
):
    """The records of one length in files."""
    return _fixed_length(filenames, header_bytes, record_bytes, footer_bytes, "")


@dataset_op(
    "FixedLengthRecordDatasetV2", f"{_FIXED}, compression_type: string", elements="", stateful=True
)
def fixed_length_record_dataset_v2(
    ctx, filenames, header_bytes, record_bytes, footer_bytes, buffer_size, compression_type
):
    """The records of one length in files."""
    return _fixed_length(
        filenames, header_bytes, record_bytes, footer_bytes, _compression(compression_type)
    )


@dataset_op("MatchingFilesDataset", "patterns: string", elements="", old=True, stateful=True)
def matching_files_dataset(ctx, patterns):
    """The names of the files that patterns match, in order."""
    wanted = _names(patterns)

    def walk(run: Run) -> Walk:
        def advance(at: Place) -> Element:
            if at.found is None:
                at.found = sorted({path for p in wanted for path in file_system.glob(p)})[::-1]
            if not at.found:
                raise End
            return [_scalar(at.found.pop().encode())]

        return Walk(advance, Place(run, found=None))

    return Dataset(walk, UNKNOWN, "MatchingFilesDataset")


def _dataset_to_tf_record(ctx, input_dataset, filename, compression_type):
    """Writes the elements, which are strings, as the records of a file."""
    path = file_system.path_text(np.asarray(filename, object).item())
    kind = _compression(compression_type)
    run = Run(ctx.functions, ctx.resources)
    following = as_dataset(input_dataset).walk(run)
    file = RecordFile(path, kind or "")
    try:
        while True:
            ctx.step.check()
            try:
                (record,) = following()
            except End:
                return
            file.write(record.item())
    finally:
        file.close()


for _name in ("DatasetToTFRecord", "ExperimentalDatasetToTFRecord"):
    _decl = op(
        _name,
        "input_dataset: variant, filename: string, compression_type: string",
        "",
        host=True,
        stateful=True,
    )(_dataset_to_tf_record)
    _decl.shape(lambda *inputs: [])
    _decl.not_differentiable()
