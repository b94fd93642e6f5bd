"""`tf.summary.FileWriter`: summaries, graphs and notes on runs as events."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator
from typing import Any

from google.protobuf.message import DecodeError

from weft import proto
from weft.files.file import GFile
from weft.files.records import tf_record_iterator
from weft.framework import context, errors, file_system
from weft.framework.export import export
from weft.framework.graph import Graph
from weft.platform import tf_logging
from weft.summary.event_file_writer import EventFileWriter
from weft.summary.plugin_asset import get_all_plugin_assets


class SummaryToEventTransformer:
    """Puts summaries and what else there is to note into events, and hands these to a writer."""

    def __init__(self, event_writer: Any, graph: Any = None, graph_def: Any = None):
        self.event_writer = event_writer
        self._run_tags: set[str] = set()
        self._seen_summary_tags: set[str] = set()
        if graph is not None or graph_def is not None:
            self.add_graph(graph=graph, graph_def=graph_def)
            from weft.framework.meta_graph import create_meta_graph_def

            described = graph.as_graph_def(add_shapes=True) if isinstance(graph, Graph) else graph
            self.add_meta_graph(create_meta_graph_def(graph_def=graph_def or described))

    def add_summary(self, summary: Any, global_step: Any = None) -> None:
        """Adds a `Summary`, which may be serialized."""
        if isinstance(summary, bytes):
            summary = proto.Summary.FromString(summary)
        # Plugins read what is said of a tag in its first event.
        for value in summary.value:
            if value.tag in self._seen_summary_tags:
                value.ClearField("metadata")
            else:
                self._seen_summary_tags.add(value.tag)
        self._add_event(proto.Event(summary=summary), global_step)

    def add_session_log(self, session_log: Any, global_step: Any = None) -> None:
        """Adds a `SessionLog`: that a session has started or stopped, or saved its variables."""
        self._add_event(proto.Event(session_log=session_log), global_step)

    def add_graph(self, graph: Any, global_step: Any = None, graph_def: Any = None) -> None:
        """Adds a graph, which TensorBoard draws; a `GraphDef` will do (deprecated)."""
        if graph is not None and graph_def is not None:
            raise ValueError("Please pass only graph, or graph_def (deprecated), but not both.")
        given = graph_def if graph is None else graph
        if isinstance(given, Graph):
            if graph is None:
                tf_logging.warning(
                    "When passing a `Graph` object, please use the `graph` named argument instead of "
                    "`graph_def`."
                )
            message = given.as_graph_def(add_shapes=True)
            self._write_plugin_assets(given)
        elif isinstance(given, proto.GraphDef):
            tf_logging.warning(
                "Passing a `GraphDef` to the SummaryWriter is deprecated. Pass a `Graph` object instead, such as "
                "`sess.graph`."
            )
            message = given
        else:
            raise TypeError(
                "The passed graph must be an instance of `Graph` or the deprecated `GraphDef`"
            )
        self._add_event(proto.Event(graph_def=message.SerializeToString()), global_step)

    def _write_plugin_assets(self, graph: Any) -> None:
        for asset in get_all_plugin_assets(graph):
            folder = os.path.join(self.event_writer.get_logdir(), "plugins", asset.plugin_name)
            file_system.make_directories(folder)
            for name, contents in asset.assets().items():
                with GFile(os.path.join(folder, name), "w") as file:
                    file.write(contents)

    def add_meta_graph(self, meta_graph_def: Any, global_step: Any = None) -> None:
        """Adds a `MetaGraphDef`, from which the graph can be built anew."""
        if not isinstance(meta_graph_def, proto.MetaGraphDef):
            raise TypeError(
                f"meta_graph_def must be type MetaGraphDef, saw type: {type(meta_graph_def)}"
            )
        event = proto.Event(meta_graph_def=meta_graph_def.SerializeToString())
        self._add_event(event, global_step)

    def add_run_metadata(self, run_metadata: Any, tag: str, global_step: Any = None) -> None:
        """Adds the `RunMetadata` of one step, under a tag of its own."""
        if tag in self._run_tags:
            raise ValueError("The provided tag was already used for this event type")
        self._run_tags.add(tag)
        tagged = proto.TaggedRunMetadata(tag=tag, run_metadata=run_metadata.SerializeToString())
        self._add_event(proto.Event(tagged_run_metadata=tagged), global_step)

    def _add_event(self, event: Any, step: Any) -> None:
        event.wall_time = time.time()
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)


@export("summary.FileWriter")
class FileWriter(SummaryToEventTransformer):
    """Writes summaries and graphs into an event file of a directory, on a thread of its own.

    Args:
      logdir: the directory.
      graph: a graph to add to the file at once.
      max_queue: how many events may wait for being written.
      flush_secs: how often events are handed to the operating system.
      graph_def: deprecated, as `graph`.
      filename_suffix: what the file's name ends in.
      session: write by operations of this session's graph, into the same file as `tf.contrib.summary` does.
    """

    def __init__(
        self,
        logdir: Any,
        graph: Any = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        graph_def: Any = None,
        filename_suffix: str | None = None,
        session: Any = None,
    ):
        if context.executing_eagerly():
            raise RuntimeError(
                "tf.summary.FileWriter is not compatible with eager execution. "
                "Use tf.contrib.summary instead."
            )
        self._closed = False
        if session is not None:
            from weft.summary.event_file_by_ops import EventFileWriterV2

            writer: Any = EventFileWriterV2(session, logdir, max_queue, flush_secs, filename_suffix)
        else:
            writer = EventFileWriter(logdir, max_queue, flush_secs, filename_suffix)
        super().__init__(writer, graph, graph_def)

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def get_logdir(self) -> str:
        """Returns the directory that the event file is in."""
        return self.event_writer.get_logdir()

    def _warn_if_closed(self) -> None:
        if self._closed:
            warnings.warn(
                "Attempting to use a closed FileWriter. The operation will be a noop unless the FileWriter is "
                "explicitly reopened.",
                stacklevel=4,
            )

    def _add_event(self, event: Any, step: Any) -> None:
        self._warn_if_closed()
        super()._add_event(event, step)

    def add_event(self, event: Any) -> None:
        """Adds an `Event`."""
        self._warn_if_closed()
        self.event_writer.add_event(event)

    def flush(self) -> None:
        """Waits until all events are written, and hands them to the operating system."""
        self._warn_if_closed()
        self.event_writer.flush()

    def close(self) -> None:
        """Writes what waits, and closes the file."""
        self.event_writer.close()
        self._closed = True

    def reopen(self) -> None:
        """Lets a closed writer write again, into a new file; does nothing to one that is open."""
        self.event_writer.reopen()
        self._closed = False


@export("train.summary_iterator")
def summary_iterator(path: Any) -> Iterator[Any]:
    """Yields the `Event` messages of an event file."""
    for number, record in enumerate(tf_record_iterator(path)):
        try:
            event = proto.Event.FromString(record)
        except DecodeError:
            raise errors.DataLossError(None, None, f"{path}: record {number} is no event") from None
        yield event
