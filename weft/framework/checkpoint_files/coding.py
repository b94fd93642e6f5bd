"""Numbers and names in bytes: varints, and codes that sort as what they stand for."""

from __future__ import annotations

import re

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


def ordered_count(number: int) -> bytes:
    """A number that is not negative: how many bytes it has, then these, the highest first."""
    digits = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return bytes([len(digits)]) + digits


_ESCAPED = {b"\0": b"\0\xff", b"\xff": b"\xff\0"}


def ordered_text(text: bytes) -> bytes:
    """Bytes of any length: 0 and 255 are escaped, 0 and 1 end them."""
    return re.sub(b"[\0\xff]", lambda m: _ESCAPED[m[0]], text, flags=re.DOTALL) + b"\0\1"


def ordered_signed(number: int) -> bytes:
    """A signed number of 64 bits: as many high bits as it has bytes tell its length, inverted if negative."""
    magnitude = ~number if number < 0 else number
    length = magnitude.bit_length() // 7 + 1  # seven bits of each byte, one of them the sign
    header = ((1 << length) - 1) << (7 * length)
    return ((number & (1 << 8 * length) - 1) ^ header).to_bytes(length, "big")
