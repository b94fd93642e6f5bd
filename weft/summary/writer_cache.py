"""One FileWriter for each directory: `tf.summary.FileWriterCache`."""

from __future__ import annotations

import threading
from typing import Any

from weft.framework import context
from weft.framework.export import export
from weft.summary.file_writer import FileWriter


@export("summary.FileWriterCache")
class FileWriterCache:
    """The FileWriters that parts of a program share, by directory."""

    _cache: dict[Any, FileWriter] = {}
    _lock = threading.RLock()

    @staticmethod
    def clear() -> None:
        """Closes all writers and forgets them."""
        with FileWriterCache._lock:
            while (
                FileWriterCache._cache
            ):  # a writer that can't be closed is not in the way of the next call
                _, writer = FileWriterCache._cache.popitem()
                writer.close()

    @staticmethod
    def get(logdir: Any) -> FileWriter:
        """Returns the writer of a directory; a new one has the default graph in its file."""
        with FileWriterCache._lock:
            found = FileWriterCache._cache.get(logdir)
            if found is None:
                found = FileWriter(logdir, graph=context.get_default_graph())
                FileWriterCache._cache[logdir] = found
            return found
