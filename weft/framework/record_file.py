"""Files that records are added to, whole or not at all."""

from __future__ import annotations

from typing import Any

from weft.framework import compression, errors, file_system
from weft.framework.record_format import framed


class RecordFile:
    """A new file of records, plain or compressed.

    A record that does not find room raises an error and is left out: what stands before it stays readable, and what is
    written when there is room again follows.
    """

    def __init__(self, path: str, compression_type: str = "", **details: int):
        self._path = path
        self._plain = file_system.open_file(path, "wb")
        self._stream = self._plain
        if compression_type:
            try:
                self._stream = compression.DeflatedStream(self._plain, compression_type, **details)
            except errors.OpError:
                self._plain.close()
                raise
        self._size = 0

    def write(self, record: bytes) -> None:
        data = framed(record)
        try:
            self._stream.write(data)
        except OSError as e:
            self._cut_back()
            raise file_system.failed(self._path, e) from None
        self._size += len(data)

    def _cut_back(self) -> None:
        """Takes away what there is of the record that failed: of one that is larger than the buffer."""
        raw: Any = getattr(self._plain, "raw", None)
        if self._stream is self._plain and raw is not None and raw.tell() > self._size:
            self._plain.seek(self._size)
            self._plain.truncate()

    def flush(self) -> None:
        """Hands what has been written to the operating system."""
        with file_system.translated(self._path):
            self._stream.flush()

    def close(self) -> None:
        with file_system.translated(self._path):
            self._stream.close()
