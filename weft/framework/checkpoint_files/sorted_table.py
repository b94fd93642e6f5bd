"""Sorted tables of keys and values, in LevelDB's format: blocks of entries that share prefixes, an index, a footer."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from weft.framework import errors
from weft.framework.checkpoint_files.snappy import decompressed
from weft.framework.record_format import masked_crc
from weft.framework.varints import read_varint, varint

_BLOCK_SIZE = 262144
_RESTART_INTERVAL = 16
_TRAILER_SIZE = 5
_FOOTER_SIZE = 48
_MAGIC = struct.pack("<Q", 0xDB4775248B80FB57)
_PLAIN, _SNAPPY = 0, 1


# -- writing --------------------------------------------------------------------------------------------


class _Block:
    """A block that is being written."""

    def __init__(self, restart_interval: int):
        self._interval = restart_interval
        self._parts: list[bytes] = []
        self._restarts = [0]
        self._length = self._since_restart = 0
        self._last_key = b""

    @property
    def size(self) -> int:
        return self._length + 4 * len(self._restarts) + 4

    @property
    def empty(self) -> bool:
        return not self._parts

    def add(self, key: bytes, value: bytes) -> None:
        shared = 0
        if self._since_restart < self._interval:
            shared = _shared_prefix(self._last_key, key)
        else:
            self._restarts.append(self._length)
            self._since_restart = 0
        own = key[shared:]
        entry = b"".join((varint(shared), varint(len(own)), varint(len(value)), own, value))
        self._parts.append(entry)
        self._length += len(entry)
        self._last_key = key
        self._since_restart += 1

    def bytes(self) -> bytes:
        count = len(self._restarts)
        return b"".join((*self._parts, struct.pack(f"<{count + 1}I", *self._restarts, count)))


def _shared_prefix(a: bytes, b: bytes) -> int:
    n = min(len(a), len(b))
    return next((i for i in range(n) if a[i] != b[i]), n)


def _between(last: bytes, key: bytes) -> bytes:
    """A short key that is at least `last` and less than `key`."""
    i = _shared_prefix(last, key)
    if i < min(len(last), len(key)) and last[i] < 255 and last[i] + 1 < key[i]:
        return last[:i] + bytes([last[i] + 1])
    return last


def _after(last: bytes) -> bytes:
    """A short key that is at least `last`."""
    for i, byte in enumerate(last):
        if byte != 255:
            return last[:i] + bytes([byte + 1])
    return last


def table(entries: Iterable[tuple[bytes, bytes]]) -> bytes:
    """The bytes of a table of these entries, which come in the order of their keys."""
    out: list[bytes] = []
    offset = 0

    def write(contents: bytes) -> bytes:
        nonlocal offset
        kind = bytes([_PLAIN])
        out.extend((contents, kind, struct.pack("<I", masked_crc(contents + kind))))
        handle = varint(offset) + varint(len(contents))
        offset += len(contents) + _TRAILER_SIZE
        return handle

    index, block = _Block(1), _Block(_RESTART_INTERVAL)
    last, pending = b"", None
    for key, value in entries:
        if not block.empty and len(key) + len(value) >= 2 * _BLOCK_SIZE:
            pending, block = write(block.bytes()), _Block(_RESTART_INTERVAL)
        if pending is not None:
            index.add(_between(last, key), pending)
            pending = None
        block.add(key, value)
        last = key
        if block.size >= _BLOCK_SIZE:
            pending, block = write(block.bytes()), _Block(_RESTART_INTERVAL)
    if not block.empty:
        pending = write(block.bytes())
    meta = write(_Block(_RESTART_INTERVAL).bytes())
    if pending is not None:
        index.add(_after(last), pending)
    footer = meta + write(index.bytes())
    out.extend((footer.ljust(_FOOTER_SIZE - len(_MAGIC), b"\0"), _MAGIC))
    return b"".join(out)


# -- reading --------------------------------------------------------------------------------------------


def corrupt(why: str) -> errors.DataLossError:
    return errors.DataLossError(None, None, why)


def _checked_block(data: memoryview, offset: int, size: int) -> memoryview:
    end = offset + size + _TRAILER_SIZE
    if end > len(data):
        raise corrupt(
            f"truncated block read: a block of {size} bytes at {offset} reaches past the end"
        )
    contents, kind = data[offset : offset + size], data[offset + size]
    if (
        masked_crc(bytes(data[offset : offset + size + 1]))
        != struct.unpack("<I", data[end - 4 : end])[0]
    ):
        raise corrupt(f"block checksum mismatch at {offset}")
    if kind == _PLAIN:
        return contents
    if kind == _SNAPPY:
        return memoryview(decompressed(contents))
    raise corrupt(f"bad block type {kind} at {offset}")


def _entries_of_block(block: memoryview) -> Iterator[tuple[bytes, memoryview]]:
    if len(block) < 4:
        raise corrupt("bad block contents")
    end = len(block) - 4 - 4 * struct.unpack("<I", block[-4:])[0]
    if end < 0:
        raise corrupt("bad block contents")
    at, key = 0, b""
    while at < end:
        shared, at = read_varint(block, at)
        own, at = read_varint(block, at)
        length, at = read_varint(block, at)
        if shared > len(key) or at + own + length > end:
            raise corrupt("bad entry in block")
        key = key[:shared] + bytes(block[at : at + own])
        at += own
        yield key, block[at : at + length]
        at += length


def is_table(tail: bytes) -> bool:
    """Whether a file that ends so may be a table."""
    return len(tail) >= _FOOTER_SIZE and tail[-len(_MAGIC) :] == _MAGIC


def entries(contents: bytes) -> Iterator[tuple[bytes, memoryview]]:
    """The keys and values of a table, in order; what is altered or cut short raises DataLossError."""
    if len(contents) < _FOOTER_SIZE:
        raise corrupt("file is too short to be an sstable")
    if not is_table(contents):
        raise corrupt("not an sstable (bad magic number)")
    data = memoryview(contents)
    footer = data[-_FOOTER_SIZE:]
    at = 0
    for _ in range(2):  # the place of the block of blocks about the table, which says nothing here
        _, at = read_varint(footer, at)
    offset, at = read_varint(footer, at)
    size, _ = read_varint(footer, at)
    for _, handle in _entries_of_block(_checked_block(data, offset, size)):
        offset, at = read_varint(handle, 0)
        size, _ = read_varint(handle, at)
        yield from _entries_of_block(_checked_block(data, offset, size))
