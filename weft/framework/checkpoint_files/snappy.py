"""Reading of Snappy's blocks, in which older checkpoints keep their tables."""

from __future__ import annotations

from weft.framework import errors
from weft.framework.varints import read_varint

_LARGEST = 1 << 31


def _corrupt() -> errors.DataLossError:
    return errors.DataLossError(None, None, "corrupted compressed block contents")


def decompressed(data: bytes | memoryview) -> bytes:
    """The bytes of which a compressed block was made."""
    length, at = read_varint(data, 0)
    if length > min(_LARGEST, 64 * len(data)):  # a tag of two bytes copies 64 at most
        raise _corrupt()
    out = bytearray()
    end = len(data)
    while at < end:
        tag = data[at]
        at += 1
        if tag & 3 == 0:  # literal bytes
            count = (tag >> 2) + 1
            if count > 60:
                extra = count - 60
                count = int.from_bytes(data[at : at + extra], "little") + 1
                at += extra
            if at + count > end:
                raise _corrupt()
            out += data[at : at + count]
            at += count
        else:  # a copy of what came `back` bytes ago, which may reach into itself
            extra = (1, 2, 4)[(tag & 3) - 1]
            back = int.from_bytes(data[at : at + extra], "little")
            at += extra
            count = (tag >> 2) + 1
            if tag & 3 == 1:
                back |= tag >> 5 << 8
                count = (tag >> 2 & 7) + 4
            if not 0 < back <= len(out) or at > end:
                raise _corrupt()
            start = len(out) - back
            seen = bytes(out[start : start + count])
            out += (seen * (count // len(seen) + 1))[:count]
        if len(out) > length:
            raise _corrupt()
    if len(out) != length:
        raise _corrupt()
    return bytes(out)
