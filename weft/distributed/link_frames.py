"""Frames: what travels over a link, a message with arrays beside it. Nothing is copied on the way to the socket,
and a large array is received where it stays.

A frame is its head, a text, a message of protobuf, a table of its tensors with the bytes of small ones, and then
the bytes of the large ones, one after another.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from weft import proto
from weft.distributed import wire
from weft.framework import dtypes

_HEAD = struct.Struct("<4sBxHIIQ")  # mark, kind, and how long are text, message, tensors and table
_TENSOR = struct.Struct("<BBHQ")  # type, rank, and how long are name and bytes
_MARK = b"weft"
HEAD_SIZE = _HEAD.size
# Arrays below this size lie in the table; they are copied once, which is quicker than a call for each.
SMALL = 1 << 13
_MOST_DIMS = 254
_MESSAGE = 0  # stands for the type where the bytes are a TensorProto: of texts, references to state

_TYPES: dict[int, np.dtype] = {
    d.enum: d.np
    for d in (getattr(dtypes, name) for name in dtypes.__dict__)
    if isinstance(d, dtypes.DType)
    and not d._is_ref_dtype
    and d.np is not None
    and d.np.kind in "biufcV"
}
_ENUMS = {t: enum for enum, t in sorted(_TYPES.items(), reverse=True)}


class Frame:
    """A frame that has come: its tensors are pairs of a name and an array."""

    __slots__ = ("kind", "text", "message", "tensors")

    def __init__(self, kind: int, text: str, message: bytes, tensors: list[tuple[str, Any]]):
        self.kind, self.text, self.message, self.tensors = kind, text, message, tensors


def written(kind: int, text: str, message: bytes, tensors: list[tuple[str, Any]]) -> list[Any]:
    """The pieces of a frame: bytes, and views of large arrays."""
    table = bytearray()
    large = []
    for name, value in tensors:
        encoded = name.encode()
        enum = _ENUMS.get(value.dtype) if type(value) is np.ndarray else None
        if enum is None:
            message_of = value if type(value) is proto.TensorProto else as_message(value)
            content: Any = message_of.SerializeToString()
            enum, dims = _MESSAGE, ()
        else:
            dims = value.shape
            content = np.ascontiguousarray(value).reshape(-1).view(np.uint8).data
        table += _TENSOR.pack(enum, len(dims), len(encoded), len(content))
        table += encoded
        table += struct.pack(f"<{len(dims)}q", *dims)
        if len(content) < SMALL:
            table += content
        else:
            large.append(content)
    encoded = text.encode()
    head = _HEAD.pack(_MARK, kind, len(encoded), len(message), len(tensors), len(table))
    return [b"".join((head, encoded, message, table)), *large]


def as_message(value: Any, dtype: dtypes.DType | None = None) -> Any:
    """The TensorProto of a value."""
    out = proto.TensorProto()
    wire.to_message(value, dtype or wire.dtype_of(value), out)
    return out


def typed(value: Any, dtype: dtypes.DType) -> Any:
    """A value that tells its type: an array of numbers as it is, everything else as a message."""
    if type(value) is np.ndarray and value.dtype in _ENUMS:
        return value
    return as_message(value, dtype)


def sizes(head: Any) -> tuple[int, int, int, int, int]:
    """What a head says: the kind, and how long are text, message, list of tensors and table."""
    mark, kind, text, message, count, table = _HEAD.unpack(head)
    if mark != _MARK or table < count * _TENSOR.size:
        raise ValueError("What has come is no frame.")
    return kind, text, message, count, table


def tensors(table: memoryview, count: int, fill: Any) -> list[tuple[str, Any]]:
    """The tensors of a table; `fill` is called with the memory that a large one's bytes go to."""
    found = []
    at = 0
    for _ in range(count):
        enum, rank, name_size, size = _TENSOR.unpack_from(table, at)
        at += _TENSOR.size
        name = str(table[at : at + name_size], "utf-8")
        at += name_size
        dims = struct.unpack_from(f"<{rank}q", table, at)
        at += 8 * rank
        dtype = _TYPES.get(enum)
        if enum == _MESSAGE:
            array = np.empty(size, np.uint8)
        elif dtype is None:
            raise ValueError(f"A tensor of type {enum} has come.")
        else:
            # Sizes first: a frame that lies must not take the memory that it speaks of.
            elements = 1
            for n in dims:
                elements *= n
            if min(dims, default=0) < 0 or elements * dtype.itemsize != size:
                raise ValueError(f"{size} bytes are no tensor of {dtype} with shape {dims}.")
            array = np.empty(dims, dtype)
        content = array.reshape(-1).view(np.uint8).data
        if size < SMALL:
            if at + size > len(table):
                raise ValueError("A frame ends within a tensor.")
            content[:] = table[at : at + size]
            at += size
        else:
            fill(content)
        if enum == _MESSAGE:
            array = wire.from_message(proto.TensorProto.FromString(content))
        found.append((name, array))
    if at != len(table):
        raise ValueError("A frame has more than it tells of.")
    return found
