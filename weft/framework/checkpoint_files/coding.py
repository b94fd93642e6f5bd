"""Numbers and names in bytes that sort as what they stand for."""

from __future__ import annotations

import re


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
