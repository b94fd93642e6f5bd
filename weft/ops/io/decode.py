"""Bytes as numbers, and compressed bytes: DecodeRaw, DecodePaddedRaw, DecodeCompressed."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from weft.framework import compression, dtypes, errors
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.shape_rules import same, scalar
from weft.ops.strings.elements import of


def _numbers(data: bytes, dtype: dtypes.DType, little_endian: bool, shape: tuple) -> np.ndarray:
    kind = np.dtype(dtype.np)
    found = np.frombuffer(data, kind if little_endian else kind.newbyteorder(">"))
    return found.astype(kind).reshape(shape)


@op(
    "DecodeRaw",
    "bytes: string -> output: out_type",
    "out_type: type in {half, float, double, int32, uint16, uint8, int16, int8, int64, complex64, complex128, "
    "bool}; little_endian: bool = true",
    host=True,
)
def decode_raw_op(xp, bytes, *, out_type, little_endian):
    """The bytes of each string as numbers along a new last axis; all strings have one length."""
    rows = bytes.reshape(-1).tolist()
    length = len(rows[0]) if rows else 0
    sizes = np.fromiter(map(len, rows), np.int64, len(rows))
    other = np.flatnonzero(sizes != length)
    if len(other):
        raise errors.InvalidArgumentError(
            None,
            None,
            "DecodeRaw requires input strings to all be the same size, but element "
            f"{other[0]} has size {length} != {sizes[other[0]]}",
        )
    width = out_type.size
    if length % width:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Input to DecodeRaw has length {length} that is not a multiple of {width}, the size of "
            f"{out_type.name}",
        )
    shape = (*bytes.shape, length // width)
    if not length:
        return np.zeros(shape, out_type.np)
    if out_type is dtypes.complex64 or out_type is dtypes.complex128:
        if not little_endian:  # TensorFlow turns all bytes of an element around
            return _numbers(b"".join(rows), out_type, False, shape)
    return _numbers(b"".join(rows), out_type, little_endian, shape)


@decode_raw_op.shape
def _(bytes):
    return None if bytes is None else (*bytes, None)


decode_raw_op.elementwise("bytes").not_differentiable()


@op(
    "DecodePaddedRaw",
    "input_bytes: string, fixed_length: int32 -> output: out_type",
    "out_type: type in {half, float, double, int32, uint16, uint8, int16, int8, int64}; "
    "little_endian: bool = true",
    host=True,
)
def decode_padded_raw_op(xp, input_bytes, fixed_length, *, out_type, little_endian):
    """The first bytes of each string as numbers along a new last axis, zeros where there are too few."""
    length, width = int(fixed_length), out_type.size
    if length % width:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"fixed_length ({length}) must be a multiple of the size of out_type ({width})",
        )
    if length <= 0:
        raise errors.InvalidArgumentError(
            None, None, f"fixed_length ({length}) must be greater than zero."
        )
    rows = [row[:length].ljust(length, b"\0") for row in input_bytes.reshape(-1)]
    return _numbers(b"".join(rows), out_type, little_endian, (*input_bytes.shape, length // width))


@decode_padded_raw_op.shape
def _(input_bytes, fixed_length, *, out_type, const):
    scalar(fixed_length)
    if input_bytes is None:
        return None
    length = const("fixed_length")
    return (*input_bytes, None if length is None else int(length) // out_type.size)


decode_padded_raw_op.elementwise("input_bytes").not_differentiable()


@export("decode_raw", "io.decode_raw")
def decode_raw(
    input_bytes: Any = None,
    out_type: Any = None,
    little_endian: bool = True,
    name: str | None = None,
    bytes: Any = None,
) -> Any:
    """Returns the bytes of each string as numbers along a new last axis; all strings have one length."""
    if bytes is not None:
        if input_bytes is not None:
            raise ValueError("Cannot specify both 'bytes' and 'input_bytes'")
        input_bytes = bytes
    if out_type is None:
        raise ValueError("decode_raw_v1() missing 1 positional argument: 'out_type'")
    return decode_raw_op(input_bytes, out_type=out_type, little_endian=little_endian, name=name)


@export("compat.v2.io.decode_raw")
def decode_raw_v2(
    input_bytes: Any,
    out_type: Any,
    little_endian: bool = True,
    fixed_length: Any = None,
    name: str | None = None,
) -> Any:
    """Returns the bytes of each string as numbers along a new last axis; with `fixed_length`, so many bytes."""
    if fixed_length is None:
        return decode_raw_op(input_bytes, out_type=out_type, little_endian=little_endian, name=name)
    return decode_padded_raw_op(
        input_bytes, fixed_length, out_type=out_type, little_endian=little_endian, name=name
    )


@op(
    "DecodeCompressed",
    "bytes: string -> output: string",
    'compression_type: string = ""',
    host=True,
)
def decode_compressed_op(xp, bytes, *, compression_type):
    """What compressed strings stand for."""
    compression.check_type(compression_type)
    if not compression_type:
        return bytes
    found = [
        compression.InflatedStream(io.BytesIO(row), compression_type).read()
        for row in bytes.reshape(-1)
    ]
    return of(found, bytes.shape)


decode_compressed_op.shape(same)
decode_compressed_op.elementwise("bytes").not_differentiable()


@export("decode_compressed", "io.decode_compressed")
def decode_compressed(bytes: Any, compression_type: str = "", name: str | None = None) -> Any:
    """Returns what compressed strings stand for; `compression_type` is `"ZLIB"`, `"GZIP"` or none."""
    return decode_compressed_op(bytes, compression_type=compression_type, name=name)
