"""What readers find in a work item, record by record: whole files, lines, records of fixed length, TFRecords."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from weft.framework import compression, errors, file_system, record_format

Records = Iterator[tuple[bytes, bytes]]  # key and value


def _open(work: bytes, compression_type: str = "") -> Any:
    stream = file_system.open_file(os.fsdecode(work), "rb")
    return compression.opened_for_reading(stream, compression_type)


def identity(work: bytes) -> Records:
    """The work item itself."""
    yield work, work


def whole_file(work: bytes) -> Records:
    """The contents of the file."""
    yield work, file_system.read_file(os.fsdecode(work))


class Format:
    """A file that is open while its records are read."""

    def start(self, work: bytes) -> Records:
        """Opens the file, which may fail, and gives its records."""
        stream = _open(work, self.compression_type)
        try:
            records = self.records(work, stream)
            next(records)  # up to the first record: the header has been skipped
        except BaseException:
            stream.close()
            raise
        return self._closing(stream, records)

    compression_type = ""

    def records(self, work: bytes, stream: Any) -> Records:
        """Yields something once the header has been read, then the records."""
        raise errors.UnimplementedError(None, None, type(self).__name__)

    @staticmethod
    def _closing(stream: Any, records: Records) -> Records:
        with stream:
            yield from records


class Lines(Format):
    """The lines of a text file, without their ends."""

    def __init__(self, skip_header_lines: int):
        if skip_header_lines < 0:
            raise errors.InvalidArgumentError(
                None, None, f"skip_header_lines must be >= 0 not {skip_header_lines}"
            )
        self.skipped = skip_header_lines

    def records(self, work: bytes, stream: Any) -> Records:
        for _ in range(self.skipped):
            if not stream.readline():
                break
        yield b"", b""
        number = self.skipped
        while line := stream.readline():
            text = line.removesuffix(b"\n").removesuffix(b"\r")
            if not text and not line.endswith(b"\n"):
                return  # a carriage return that no line follows
            number += 1
            yield b"%s:%d" % (work, number), text


class FixedLength(Format):
    """Records of one length, one every so many bytes."""

    def __init__(self, header: int, record: int, footer: int, hop: int, encoding: str = ""):
        for name, size in (
            ("header_bytes", header),
            ("record_bytes", record),
            ("footer_bytes", footer),
            ("hop_bytes", hop),
        ):
            if size < 0:
                raise errors.InvalidArgumentError(None, None, f"{name} must be >= 0 not {size}")
        self.header, self.record, self.footer = header, record, footer
        self.hop = hop or record
        self.compression_type = encoding if encoding in ("ZLIB", "GZIP") else ""

    def records(self, work: bytes, stream: Any) -> Records:
        if len(stream.read(self.header)) < self.header:
            raise errors.OutOfRangeError(None, None, "reached end of file")
        yield b"", b""
        number, seen = 0, b""  # what was read of the next records already
        while True:
            seen += stream.read(max(self.record + self.footer - len(seen), 0))
            if len(seen) < self.record + self.footer or not self.hop:
                return
            yield b"%s:%d" % (work, number), seen[: self.record]
            number += 1
            if len(stream.read(max(self.hop - len(seen), 0))) < self.hop - len(seen):
                return
            seen = seen[self.hop :]


class TFRecords(Format):
    """The records of a TFRecord file."""

    def __init__(self, compression_type: str):
        compression.check_type(compression_type)
        self.compression_type = compression_type

    def records(self, work: bytes, stream: Any) -> Records:
        yield b"", b""
        rest = record_format.Records(stream, path=os.fsdecode(work))
        while found := rest.some(1):
            size = record_format.HEADER_SIZE + len(found[0]) + record_format.FOOTER_SIZE
            yield b"%s:%d" % (work, rest.offset - size), found[0]
