"""The framing of record files (TFRecord, event files): length, checksum of the length, data, checksum of the data."""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterator
from typing import Any

import google_crc32c

from weft.framework import errors

_checksum = google_crc32c.value
_HEADER = struct.Struct("<QI")
_FOOTER = struct.Struct("<I")
_pack_footer = _FOOTER.pack
HEADER_SIZE, FOOTER_SIZE = _HEADER.size, _FOOTER.size


def masked(crc: int) -> int:
    """A checksum as it is stored: rotated and shifted, so that checksums of checksums are sound."""
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def masked_crc(data: bytes) -> int:
    """The checksum of bytes, as it is stored."""
    return masked(_checksum(data))


@functools.lru_cache(1024)
def _header(length: int) -> bytes:
    return _HEADER.pack(length, masked_crc(struct.pack("<Q", length)))


def framed(record: bytes) -> bytes:
    """A record as it stands in a file."""
    crc = _checksum(record)
    footer = _pack_footer(((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)  # `masked`, inline
    return b"".join((_header(len(record)), record, footer))


def corrupted(offset: int, why: str = "corrupted record") -> errors.DataLossError:
    return errors.DataLossError(None, None, f"{why} at {offset}")


class Records:
    """The records of a stream of bytes, in order, read by the block; `offset` is where in the file the next begins.

    With the path of the file, an error says in which file and which record something is wrong.
    """

    _BLOCK = 256 * 1024

    def __init__(self, stream: Any, offset: int = 0, path: str | None = None):
        self._stream, self.offset = stream, offset
        self._path, self._count = path, 0
        self._data, self._at = b"", 0  # what was read, and where in it the next record begins

    def __iter__(self) -> Iterator[bytes]:
        while records := self.some(1024):
            yield from records

    def some(self, most: int) -> list[bytes]:
        """The next records: one, or what follows it in memory; none at the end. What is wrong with a record is raised
        when it is the first."""
        found: list[bytes] = []
        data, at = self._data, self._at
        start = at
        try:
            while len(found) < most:
                stop = at + HEADER_SIZE
                if stop <= len(data):
                    header = data[at:stop]
                    length = _HEADER.unpack(header)[0]
                    if header != _header(length):
                        raise corrupted(self.offset + at - start)
                    end = stop + length
                    if end + FOOTER_SIZE <= len(data):
                        record = data[stop:end]
                        if _FOOTER.unpack_from(data, end)[0] != masked(_checksum(record)):
                            raise corrupted(self.offset + at - start)
                        found.append(record)
                        at = end + FOOTER_SIZE
                        continue
                    stop = end + FOOTER_SIZE
                if found:
                    break
                if not self._read(stop - len(data)):
                    if self._at == len(self._data):
                        break
                    raise corrupted(self.offset, "truncated record")
                data, at = self._data, self._at
                start = at
        except errors.DataLossError as e:
            if not found and self._path is not None:
                why = f"{self._path}: {e.message} (record {self._count})"
                raise errors.DataLossError(None, None, why) from None
            if not found:
                raise
        self._count += len(found)
        self._at, self.offset = at, self.offset + at - start
        return found

    def _read(self, missing: int) -> bool:
        """Reads some more bytes, at least as many as are missing unless the stream ends; False if it has."""
        # Not more than there are: behind a pipe somebody may wait for us before he writes the next record.
        read = getattr(self._stream, "read1", None) or self._stream.read
        parts = [self._data[self._at :]]
        try:
            while missing > 0 and (more := read(max(missing, self._BLOCK))):
                parts.append(more)
                missing -= len(more)
        except (OverflowError, MemoryError):
            raise corrupted(self.offset) from None
        self._data, self._at = b"".join(parts), 0
        return missing <= 0
