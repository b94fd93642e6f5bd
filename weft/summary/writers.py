"""Summary writers as objects: an event file that the operations of a step write into."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
from collections.abc import Callable, Iterator
from typing import Any

from weft.framework import context, conversion, dtypes
from weft.framework.export import export, find
from weft.framework.func_graph import init_scope
from weft.framework.scopes import name_scope
from weft.ops.by_name import raw
from weft.platform import tf_logging
from weft.summary.recording import current

_INITIALIZERS = "_SUMMARY_WRITER_V2"
_numbers = itertools.count()


@export("compat.v2.summary.SummaryWriter", "contrib.summary.SummaryWriter")
class SummaryWriter:
    """What summaries are written with. This one, which `create_noop_writer` gives, lets them fall."""

    def set_as_default(self) -> None:
        """Has the summaries of this thread written with this writer from now on."""

    @contextlib.contextmanager
    def as_default(self) -> Iterator[Any]:
        """Has the summaries in a `with` block written with this writer, and flushes it then."""
        yield None

    def init(self) -> Any:
        """Returns the operation that opens the file."""

    def flush(self) -> Any:
        """Returns the operation that hands what is written to the operating system."""

    def close(self) -> Any:
        """Returns the operation that closes the file."""


class ResourceSummaryWriter(SummaryWriter):
    """A writer whose file all steps of a session share."""

    def __init__(
        self, shared_name: str, start: Callable, name: str | None = None, ends: bool = False
    ):
        self._resource = raw.SummaryWriter(shared_name=shared_name, name=name)
        self._start = start
        self._init_op = start(self._resource)
        self._ends = (
            ends  # as TensorFlow 2's: closed once and for all, told apart where that is known
        )
        self._closed = False
        if not context.executing_eagerly():
            context.get_default_graph().add_to_collection(_INITIALIZERS, self._init_op)

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("SummaryWriter is already closed")

    def set_as_default(self) -> None:
        self._check_open()
        current.writer = self

    @contextlib.contextmanager
    def as_default(self) -> Iterator[Any]:
        self._check_open()
        before = current.writer
        current.writer = self
        try:
            yield self
            self.flush()
        finally:
            current.writer = before

    def init(self) -> Any:
        self._check_open()
        return self._init_op if self._ends else self._start(self._resource)

    def flush(self) -> Any:
        return None if self._closed else flush(self)

    def close(self) -> Any:
        if self._closed:
            return None
        flushed = self.flush()
        self._closed = self._ends and context.executing_eagerly()
        with contextlib.ExitStack() as stack:
            if flushed is not None:
                graph = context.get_default_graph()
                stack.enter_context(graph.control_dependencies([flushed]))
            return raw.CloseSummaryWriter(self._resource)


def _start(logdir: Any, max_queue: Any, flush_millis: Any, suffix: Any) -> Callable:
    return functools.partial(
        raw.CreateSummaryFileWriter,
        logdir=logdir,
        max_queue=10 if max_queue is None else max_queue,
        flush_millis=120_000 if flush_millis is None else flush_millis,
        filename_suffix=suffix,
    )


@export("contrib.summary.create_file_writer")
def create_file_writer(
    logdir: Any,
    max_queue: Any = None,
    flush_millis: Any = None,
    filename_suffix: Any = None,
    name: str | None = None,
) -> SummaryWriter:
    """Returns a writer into an event file of a directory; with None for the directory one that lets all fall.

    Args:
      logdir: the directory. Writers of one directory share the file of the first one.
      max_queue: how many summaries wait before they are written.
      flush_millis: how often they are written at the latest.
      filename_suffix: what the file's name ends in; `.v2` by default.
      name: under which name the file is shared, instead of the directory's.
    """
    if logdir is None:
        return SummaryWriter()
    logdir = str(logdir)
    suffix = ".v2" if filename_suffix is None else filename_suffix
    return ResourceSummaryWriter(
        name or f"logdir:{logdir}", _start(logdir, max_queue, flush_millis, suffix)
    )


@export("contrib.summary.create_summary_file_writer")
def create_summary_file_writer(*args: Any, **kwargs: Any) -> SummaryWriter:
    """Returns what `create_file_writer` does, as which it is known now."""
    tf_logging.warning(
        "Deprecation Warning: create_summary_file_writer was renamed to create_file_writer"
    )
    return create_file_writer(*args, **kwargs)


@export("compat.v2.summary.create_file_writer")
def create_file_writer_v2(
    logdir: Any,
    max_queue: Any = None,
    flush_millis: Any = None,
    filename_suffix: Any = None,
    name: str | None = None,
) -> SummaryWriter:
    """Returns a writer into a new event file of a directory."""
    if logdir is None:
        raise ValueError("logdir cannot be None")
    number = next(_numbers)
    with name_scope(name, "create_file_writer") as scope, init_scope():
        suffix = ".v2" if filename_suffix is None else filename_suffix
        suffix = conversion.convert_to_tensor(suffix, dtypes.string)
        unique = f".{os.getpid()}.{number}"
        suffix = raw.StringJoin([unique, suffix])
        shared = f"cd{number}" if context.executing_eagerly() else scope.rstrip("/")
        start = _start(logdir, max_queue, flush_millis, suffix)
        return ResourceSummaryWriter(shared, start, name, ends=True)


@export("compat.v2.summary.create_noop_writer")
def create_noop_writer() -> SummaryWriter:
    """Returns a writer that lets all summaries fall."""
    return SummaryWriter()


@export("contrib.summary.create_db_writer")
def create_db_writer(
    db_uri: str,
    experiment_name: str | None = None,
    run_name: str | None = None,
    user_name: str | None = None,
    name: str | None = None,
) -> SummaryWriter:
    """Returns a writer into a database, which weft refuses when a step opens it."""
    start = functools.partial(
        raw.CreateSummaryDbWriter,
        db_uri=db_uri,
        experiment_name=experiment_name or "",
        run_name=run_name or "",
        user_name=user_name or "",
    )
    return ResourceSummaryWriter(name or "", start)


@export("contrib.summary.flush", "compat.v2.summary.flush")
def flush(writer: Any = None, name: str | None = None) -> Any:
    """Returns the operation that hands what a writer, that of this thread if None, has written to the system."""
    writer = current.writer if writer is None else writer
    if writer is None:
        return find("", "no_op", "weft")()
    return raw.FlushSummaryWriter(getattr(writer, "_resource", writer), name=name)


@export("contrib.summary.summary_writer_initializer_op")
def summary_writer_initializer_op() -> list[Any]:
    """Returns the operations that open the files of the default graph's writers."""
    if context.executing_eagerly():
        raise RuntimeError(
            "tf.contrib.summary.summary_writer_initializer_op is only supported in graph mode."
        )
    return context.get_default_graph().get_collection(_INITIALIZERS)
