"""Writes events by operations of a session's graph, into the file that all writers of a directory share."""

from __future__ import annotations

from typing import Any

from weft.framework import conversion, dtypes, file_system
from weft.framework.scopes import name_scope
from weft.ops.by_name import raw
from weft.summary.writers import create_file_writer
from weft.summary.written import import_event


class EventFileWriterV2:
    """Hands events to a summary writer of the session, which others of the same directory use as well."""

    def __init__(
        self,
        session: Any,
        logdir: Any,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str | None = "",
    ):
        self._session, self._logdir, self._closed = session, str(logdir), False
        if not file_system.is_directory(self._logdir):
            file_system.make_directories(self._logdir)
        with session.graph.as_default(), name_scope("filewriter"):
            writer = create_file_writer(
                self._logdir, max_queue, int(flush_secs * 1000), filename_suffix
            )
            unused = conversion.convert_to_tensor("unused", dtype=dtypes.string)
            self._event = raw.PlaceholderWithDefault(unused, shape=[])
            with writer.as_default():
                self._add_event_op = import_event(self._event)
            self._init_op = writer.init()
            self._flush_op = writer.flush()
            self._close_op = writer.close()
        session.run(self._init_op)

    def get_logdir(self) -> str:
        """Returns the directory that the file is in."""
        return self._logdir

    def reopen(self) -> None:
        """Lets a closed writer write again, into a new file; does nothing to one that is open."""
        if self._closed:
            self._closed = False
            self._session.run(self._init_op)

    def add_event(self, event: Any) -> None:
        """Adds an event; a closed writer lets it fall."""
        if not self._closed:
            feed = {self._event: event.SerializeToString()}
            self._session.run(self._add_event_op, feed_dict=feed)

    def flush(self) -> None:
        """Writes all events into the file."""
        self._session.run(self._flush_op)

    def close(self) -> None:
        """Writes what waits, and closes the file for all who share it."""
        if not self._closed:
            self.flush()
            self._session.run(self._close_op)
            self._closed = True
