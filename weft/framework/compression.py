"""Streams of compressed bytes: `ZLIB` and `GZIP`, as record files and readers name them."""

from __future__ import annotations

import io
import zlib
from typing import Any

from weft.framework import errors

_WINDOW_BITS = {"ZLIB": 15, "GZIP": 31}  # 16 more: with the header and trailer of gzip
CHUNK = 256 * 1024


def check_type(compression_type: str, also: tuple[str, ...] = ()) -> None:
    if compression_type and compression_type not in (*_WINDOW_BITS, *also):
        raise errors.InvalidArgumentError(
            None, None, "Only ZLIB, GZIP or NONE are supported compressions"
        )


class InflatedStream:
    """The bytes that a compressed stream stands for. A stream that breaks off ends there, or with `whole` is
    refused."""

    def __init__(self, stream: Any, compression_type: str, whole: bool = False):
        self._stream, self._type, self._whole = stream, compression_type, whole
        self._begun = False
        self._inflate = zlib.decompressobj(_WINDOW_BITS[compression_type])
        self._ready = bytearray()

    def read(self, size: int = -1) -> bytes:
        try:
            while (size < 0 or len(self._ready) < size) and (piece := self._next(size)):
                self._ready += piece
        except errors.DataLossError:
            if not self._ready or size < 0:
                raise  # else the next time, behind what was there before the fault
        if size < 0:
            size = len(self._ready)
        out = bytes(memoryview(self._ready)[:size])
        del self._ready[:size]
        return out

    def _next(self, wanted: int) -> bytes:
        """Some more bytes; none at the end. Never many more than are wanted: a small file may stand for terabytes."""
        limit = CHUNK if wanted < 0 else max(CHUNK, min(wanted - len(self._ready), 1 << 26))
        while True:
            inflate = self._inflate
            if inflate.eof:
                if self._type != "GZIP":
                    return b""
                data = inflate.unused_data or self._stream.read(CHUNK)
                if not data:
                    return b""
                self._inflate = inflate = zlib.decompressobj(_WINDOW_BITS["GZIP"])
            else:
                data = inflate.unconsumed_tail or self._stream.read(CHUNK)
                if not data and self._whole and self._begun:
                    raise errors.DataLossError(None, None, "the compressed data breaks off")
                self._begun = True
            try:
                piece = inflate.decompress(data, limit)
            except zlib.error as e:
                raise errors.DataLossError(None, None, f"inflate() failed: {e}") from None
            if piece or not (data or inflate.eof):
                return piece

    def close(self) -> None:
        self._stream.close()

    def __enter__(self) -> InflatedStream:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()


class _Readable(io.RawIOBase):
    """A stream that has `read` only, as Python's buffers want one."""

    def __init__(self, stream: Any):
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._stream.close()
        super().close()


def inflated_file(file: Any, compression_type: str) -> io.BufferedReader:
    """The bytes that a whole compressed file stands for, as a file."""
    stream = InflatedStream(file, compression_type, whole=True)
    return io.BufferedReader(_Readable(stream), CHUNK)


class DeflatedStream:
    """Writes compressed bytes into a stream."""

    def __init__(
        self,
        stream: Any,
        compression_type: str,
        *,
        flush_mode: int = zlib.Z_NO_FLUSH,
        input_buffer_size: int = CHUNK,
        output_buffer_size: int = CHUNK,
        window_bits: int | None = None,
        compression_level: int = zlib.Z_DEFAULT_COMPRESSION,
        compression_method: int = zlib.DEFLATED,
        mem_level: int = 9,
        compression_strategy: int = zlib.Z_DEFAULT_STRATEGY,
    ):
        if window_bits is None:
            window_bits = _WINDOW_BITS[compression_type]
        self._stream, self._flush_mode = stream, flush_mode
        self._in, self._out = input_buffer_size, output_buffer_size
        self._plain, self._packed = bytearray(), bytearray()
        try:
            self._deflate = zlib.compressobj(
                compression_level, compression_method, window_bits, mem_level, compression_strategy
            )
        except ValueError as e:
            raise errors.InvalidArgumentError(None, None, f"deflateInit failed: {e}") from None

    def write(self, data: bytes) -> None:
        self._plain += data
        if len(self._plain) > self._in:
            self._compress(self._flush_mode)

    def _compress(self, mode: int) -> None:
        self._packed += self._deflate.compress(self._plain)
        self._plain.clear()
        if mode != zlib.Z_NO_FLUSH:
            self._packed += self._deflate.flush(mode)
        if len(self._packed) > self._out or mode == zlib.Z_FINISH:
            self._write_out()

    def _write_out(self) -> None:
        self._stream.write(self._packed)
        self._packed = bytearray()

    def flush(self) -> None:
        """Hands on what is there; a reader can have all of it once the stream is closed."""
        self._compress(self._flush_mode)
        self._write_out()
        self._stream.flush()

    def close(self) -> None:
        self._compress(zlib.Z_FINISH)
        self._stream.close()


def opened_for_reading(stream: Any, compression_type: str) -> Any:
    """The stream, or what it stands for where it is compressed."""
    return InflatedStream(stream, compression_type) if compression_type else stream
