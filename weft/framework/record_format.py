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
    return b"".join((_header(len(record)), record, _FOOTER.pack(masked_crc(record))))


def corrupted(offset: int, why: str = "corrupted record") -> errors.DataLossError:
    return errors.DataLossError(None, None, f"{why} at {offset}")


def read_record(stream: Any, offset: int) -> bytes | None:
    """The record that begins where a stream of bytes is, `offset` bytes into the file; None at the end."""
    header = stream.read(HEADER_SIZE)
    if not header:
        return None
    if len(header) < HEADER_SIZE:
        raise corrupted(offset, "truncated record")
    length, crc = _HEADER.unpack(header)
    if header != _header(length):
        raise corrupted(offset)
    try:
        data = stream.read(length + FOOTER_SIZE)
    except (OverflowError, MemoryError):
        raise corrupted(offset) from None
    if len(data) < length + FOOTER_SIZE:
        raise corrupted(offset, "truncated record")
    record = data[:length]
    if _FOOTER.unpack_from(data, length)[0] != masked_crc(record):
        raise corrupted(offset)
    return record


def read_records(stream: Any, path: str) -> Iterator[bytes]:
    """The records of a file's bytes, in order; an error says in which file, and which record."""
    offset = number = 0
    while True:
        try:
            record = read_record(stream, offset)
        except errors.DataLossError as e:
            raise errors.DataLossError(
                None, None, f"{path}: {e.message} (record {number})"
            ) from None
        if record is None:
            return
        yield record
        offset += HEADER_SIZE + len(record) + FOOTER_SIZE
        number += 1
