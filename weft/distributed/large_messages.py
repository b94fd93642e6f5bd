"""Messages with large tensors, written and read without passing their bytes through protobuf.

On the wire a message may be written in pieces: pieces of the same field are merged. So a large tensor is
appended to the rest of its message, with one copy of its bytes; and it is read where it lies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from weft import proto
from weft.distributed.large_bytes import joined
from weft.framework import dtypes
from weft.framework.varints import varint

# Messages below this size go through protobuf, which is quicker then.
LARGE = 1 << 14
_BYTES = 2  # the wire type of what has a length
_WIDTHS = {1: 8, 5: 4}
# The fields with tensors in the messages that have them, and whether they are named.
_FIELDS = {
    "RunStepRequest": ("feed", 2, True),
    "RunStepResponse": ("tensor", 1, True),
    "RunGraphRequest": ("send", 3, True),
    "RunGraphResponse": ("recv", 1, True),
    "RecvTensorResponse": ("tensor", 1, False),
}


class WithTensors:
    """A message whose large tensors stand beside it, as arrays by name. The rest is as in the message itself."""

    def __init__(self, message: Any, arrays: list[tuple[str, Any]]):
        self.message, self.arrays = message, arrays

    def __getattr__(self, name: str) -> Any:
        return getattr(self.message, name)


# -- writing ---------------------------------------------------------------------------------------------


def _framed(field: int, chunks: list[Any]) -> list[Any]:
    """The pieces of a field that has a length."""
    size = sum(len(c) for c in chunks)
    return [varint(field << 3 | _BYTES) + varint(size), *chunks]


def _array_chunks(array: np.ndarray, dtype: dtypes.DType) -> list[Any]:
    head = proto.TensorProto(dtype=dtype.enum)
    head.tensor_shape.SetInParent()
    for n in array.shape:
        head.tensor_shape.dim.add(size=n)
    content: Any = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return [head.SerializeToString(), *_framed(4, [memoryview(content)])]


def is_large(value: Any) -> bool:
    """Whether a value is one that is worth the trouble."""
    return type(value) is np.ndarray and value.nbytes >= LARGE and value.dtype.kind != "O"


def write(message: Any, arrays: list[tuple[str, Any, dtypes.DType]]) -> bytes:
    """The bytes of a message with large arrays appended to its field of tensors."""
    _, field, named = _FIELDS[message.DESCRIPTOR.name]
    pieces: list[Any] = [message.SerializeToString()]
    for name, array, dtype in arrays:
        tensor = _array_chunks(array, dtype.base_dtype)
        if named:
            text = name.encode()
            tensor = [*_framed(1, [text]), *_framed(2, tensor)]
        pieces += _framed(field, tensor)
    return joined(pieces)


def write_bundle(message: Any, type_name: str, tensors: list[Any]) -> bytes:
    """The bytes of a RecvTensorResponse that has several tensors: arrays, or messages of small ones."""
    inner: list[Any] = _framed(1, [type_name.encode()])
    for item in tensors:
        chunks = (
            _array_chunks(item, dtypes.as_dtype(item.dtype))
            if type(item) is np.ndarray
            else [item.SerializeToString()]
        )
        inner += _framed(3, chunks)
    head = proto.TensorProto(dtype=dtypes.variant.enum)
    head.tensor_shape.SetInParent()
    tensor = [head.SerializeToString(), *_framed(15, inner)]
    return joined([message.SerializeToString(), *_framed(1, tensor)])


# -- reading ---------------------------------------------------------------------------------------------


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    n = shift = 0
    while True:
        byte = data[at]
        at += 1
        n |= (byte & 0x7F) << shift
        if byte < 0x80:
            return n, at
        shift += 7
        if shift > 63:
            raise ValueError("The message has a number that is too long.")


def _fields(data: bytes, at: int, end: int) -> Iterator[tuple[int, int, int, int, int]]:
    """The fields of a message: number, wire type, where the field begins, where its value does and ends."""
    while at < end:
        begin = at
        tag, at = _read_varint(data, at)
        kind = tag & 7
        if kind == 0:
            start = at
            _, at = _read_varint(data, at)
        elif kind == _BYTES:
            n, start = _read_varint(data, at)
            at = start + n
        elif kind in _WIDTHS:
            start, at = at, at + _WIDTHS[kind]
        else:
            raise ValueError(f"The message has a field of wire type {kind}.")
        if at > end:
            raise ValueError("The message is cut off.")
        yield tag >> 3, kind, begin, start, at


def _tensor(data: bytes, at: int, end: int, bundle: str) -> Any:
    """The value of a TensorProto: its message where it is small or of no plain type, else an array; a tuple
    of them for a bundle."""
    rest, content, bundled = [], None, None
    for number, kind, begin, start, stop in _fields(data, at, end):
        if number == 4 and kind == _BYTES:
            content = (start, stop)
        elif number == 15 and kind == _BYTES and bundled is None:
            bundled = (begin, start, stop)
        else:
            rest.append(data[begin:stop])
    if bundled is not None:
        begin, start, stop = bundled
        fields = list(_fields(data, start, stop))
        names = [data[s:e] for number, kind, _, s, e in fields if number == 1 and kind == _BYTES]
        if names == [bundle.encode()]:
            return tuple(
                _tensor(data, s, e, "")
                for number, kind, _, s, e in fields
                if (number, kind) == (3, 2)
            )
        return proto.TensorProto.FromString(data[at:end])
    head = proto.TensorProto.FromString(b"".join(rest))
    dtype = dtypes.as_dtype(head.dtype).base_dtype
    if content is None or dtype.np is None or dtype.np.kind == "O":
        return proto.TensorProto.FromString(data[at:end])
    shape = [d.size for d in head.tensor_shape.dim]
    size = 1
    for n in shape:
        size *= n
    start, stop = content
    if min(shape, default=0) < 0 or size * dtype.np.itemsize != stop - start:
        raise ValueError(f"{stop - start} bytes are no tensor of {dtype.name} with shape {shape}.")
    array = np.frombuffer(data, dtype.np, size, start).reshape(shape)
    # Arrays that do not lie as the processor likes it are slow in all that follows.
    return array if array.flags.aligned else array.copy()


def reader(cls: Any, bundle: str) -> Callable[[bytes], Any]:
    """A function from the bytes of a message to the message, with large tensors beside it."""
    found = _FIELDS.get(cls.DESCRIPTOR.name)
    if found is None:
        return cls.FromString
    _, field, named = found

    def read(data: bytes) -> Any:
        if len(data) < LARGE:
            return cls.FromString(data)
        arrays, rest = [], []
        for number, kind, begin, start, stop in _fields(data, 0, len(data)):
            if number != field or kind != _BYTES or stop - start < LARGE:
                rest.append(data[begin:stop])
                continue
            name = ""
            if named:
                for n, k, _, s, e in _fields(data, start, stop):
                    if (n, k) == (1, _BYTES):
                        name = data[s:e].decode()
                    elif (n, k) == (2, _BYTES):
                        start, stop = s, e
            arrays.append((name, _tensor(data, start, stop, bundle)))
        return WithTensors(cls.FromString(b"".join(rest)), arrays)

    return read
