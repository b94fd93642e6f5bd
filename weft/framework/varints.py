"""Whole numbers in bytes, seven bits to a byte: how messages and tables write lengths."""

from __future__ import annotations

from weft.framework import errors


def varint(number: int) -> bytes:
    """A whole number, seven bits to a byte, the lowest first."""
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def read_varint(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """The number at a position, and the position after it."""
    number = shift = 0
    for i in range(at, min(at + 10, len(data))):
        byte = data[i]
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, i + 1
        shift += 7
    raise errors.DataLossError(
        None, None, f"a number of variable length does not end, at byte {at}"
    )
