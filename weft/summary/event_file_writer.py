"""Writes events on a thread of its own."""

from __future__ import annotations

import logging
import os
import queue
import threading
import time
from typing import Any

from weft.framework import file_system
from weft.framework.event_file import EventFile


class EventFileWriter:
    """Writes events into a file of a directory, on a thread of its own.

    At most `max_queue` events wait; a caller who adds more waits too. Every `flush_secs` seconds they are flushed.
    """

    def __init__(
        self,
        logdir: Any,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str | None = None,
    ):
        self._logdir = str(logdir)
        if not file_system.is_directory(self._logdir):
            file_system.make_directories(self._logdir)
        self._queue: queue.Queue = queue.Queue(max_queue)
        self._file = EventFile(os.path.join(self._logdir, "events"), filename_suffix or "")
        if filename_suffix:
            self._file.open()
        self._flush_secs = flush_secs
        self._closed = False
        self._start()

    def _start(self) -> None:
        self._failed: Exception | None = None
        self._thread = threading.Thread(
            target=self._write_events, name=f"events of {self._logdir}", daemon=True
        )
        self._thread.start()

    def _write_events(self) -> None:
        next_flush = 0.0  # the first event can be seen at once
        while True:
            event = self._queue.get()
            try:
                if event is None:
                    return
                self._file.write(event)
                if time.time() > next_flush:
                    self._file.flush()
                    next_flush = time.time() + self._flush_secs
            except Exception as e:  # raised where somebody flushes or closes, and told at once
                if self._failed is None:
                    logging.getLogger("tensorflow").error("An event was not written: %s", e)
                    self._failed = e
            finally:
                self._queue.task_done()

    def get_logdir(self) -> str:
        """Returns the directory that the file is in."""
        return self._logdir

    def reopen(self) -> None:
        """Lets a closed writer write again, into a new file; does nothing to one that is open."""
        if self._closed:
            self._start()
            self._closed = False

    def add_event(self, event: Any) -> None:
        """Adds an event to those that will be written; a closed writer lets it fall."""
        if not self._closed:
            self._queue.put(event)

    def flush(self) -> None:
        """Waits until all events are written, and hands them to the operating system."""
        self._queue.join()
        failed, self._failed = self._failed, None
        if failed is not None:
            raise failed
        self._file.flush()

    def close(self) -> None:
        """Writes what waits, and closes the file."""
        if self._closed:
            return
        self._queue.put(None)
        self._closed = True
        self._thread.join()
        try:
            self.flush()
        finally:
            self._file.close()
