"""Event files: records of `Event` messages, which TensorBoard reads."""

from __future__ import annotations

import logging
import socket
import time
from typing import Any

from weft.framework import errors, file_system
from weft.framework.record_file import RecordFile

_VERSION = "brain.Event:2"


class EventFile:
    """A file `<prefix>.out.tfevents.<seconds>.<host><suffix>`, made when the first event is written."""

    def __init__(self, prefix: str, suffix: str = ""):
        self._prefix, self._suffix = prefix, suffix
        self._file: RecordFile | None = None
        self._unflushed = 0
        self.name = ""

    def open(self) -> None:
        """Makes the file, unless it is there; a new one if somebody has removed it."""
        if self._file is not None:
            if file_system.exists(self.name):
                return
            if self._unflushed:
                logging.getLogger("tensorflow").warning(
                    "The events file %s has disappeared; %d events are lost.",
                    self.name,
                    self._unflushed,
                )
            self._file.close()
        seconds = int(time.time())
        self.name = (
            f"{self._prefix}.out.tfevents.{seconds:010d}.{socket.gethostname()}{self._suffix}"
        )
        self._file = RecordFile(self.name)
        self._unflushed = 0
        from weft import proto

        self.write(proto.Event(wall_time=seconds, file_version=_VERSION))
        self.flush()

    def write(self, event: Any) -> None:
        if self._file is None:
            self.open()
        assert self._file is not None
        self._file.write(event.SerializeToString())
        self._unflushed += 1

    def flush(self) -> None:
        """Hands what was written to the operating system; UnknownError if the file has been removed."""
        if self._file is None or not self._unflushed:
            return
        self._file.flush()
        if not file_system.exists(self.name):
            raise errors.UnknownError(
                None,
                None,
                f"Failed to flush {self._unflushed} events to {self.name}: the events file has disappeared.",
            )
        self._unflushed = 0

    def close(self) -> None:
        if self._file is not None:
            try:
                self.flush()
            finally:
                file, self._file = self._file, None
                self._unflushed = 0
                file.close()
