"""Summary writers as resources: ops that write into an event file as the step runs."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

import numpy as np

from weft.framework import errors, file_system
from weft.framework.event_file import EventFile
from weft.framework.registry import OpDecl, op
from weft.ops.summary import media, values
from weft.ops.summary.values import REALS, histogram_value, invalid, new_summary, tag_of


class SummaryWriter:
    """An event file that ops write into: made by CreateSummaryFileWriter, gone after CloseSummaryWriter."""

    def __init__(self, name: str):
        self.name = name
        self._lock = threading.Lock()
        self._file: EventFile | None = None
        self._waiting: list[Any] = []

    def open(self, logdir: str, max_queue: int, flush_millis: int, suffix: str) -> None:
        """Makes the event file, unless there is one."""
        with self._lock:
            if self._file is not None:
                return
            if not file_system.is_directory(logdir):
                file_system.make_directories(logdir)
            file = EventFile(os.path.join(logdir, "events"), suffix)
            file.open()
            self._file, self._most, self._interval = file, max_queue, flush_millis / 1000
            self._flushed = time.monotonic()

    def _opened(self) -> EventFile:
        if self._file is None:
            raise errors.NotFoundError(
                None, None, f"Resource localhost/{self.name}/SummaryWriterInterface does not exist."
            )
        return self._file

    def write(self, event: Any) -> None:
        with self._lock:
            self._opened()
            self._waiting.append(event)
            late = time.monotonic() - self._flushed > self._interval
            if len(self._waiting) > self._most or late:
                self._flush()

    def write_summary(self, step: Any, summary: Any) -> None:
        from weft import proto

        self.write(proto.Event(step=int(step), wall_time=time.time(), summary=summary))

    def _flush(self) -> None:
        file = self._opened()
        waiting, self._waiting = self._waiting, []
        for event in waiting:
            file.write(event)
        file.flush()
        self._flushed = time.monotonic()

    def flush(self) -> None:
        with self._lock:
            self._flush()

    def close(self) -> None:
        with self._lock:
            file = self._opened()
            try:
                self._flush()
            finally:
                self._file = None
                file.close()

    def cancel_all(self) -> None:
        """Writes what waits when the session ends."""
        with self._lock:
            if self._file is not None:
                self._flush()
                self._file.close()
                self._file = None


@op(
    "SummaryWriter",
    "-> writer: resource",
    'shared_name: string = ""; container: string = ""',
    stateful=True,
    host=True,
)
def summary_writer(ctx, *, shared_name, container):
    """A handle of a summary writer, which another op opens."""
    name = shared_name or ctx.op.name
    return ctx.resources.get_or_create(
        "SummaryWriter", container, name, lambda: SummaryWriter(name)
    )


summary_writer.shape(lambda: ())


@op(
    "CreateSummaryFileWriter",
    "writer: resource, logdir: string, max_queue: int32, flush_millis: int32, filename_suffix: string",
    stateful=True,
    host=True,
)
def create_summary_file_writer(xp, writer, logdir, max_queue, flush_millis, filename_suffix):
    """Opens a writer with a new event file in a directory."""
    for name, value in (("logdir", logdir), ("filename_suffix", filename_suffix)):
        if value.ndim:
            raise invalid(f"{name} must be a scalar")
    suffix = os.fsdecode(filename_suffix[()])
    writer.open(os.fsdecode(logdir[()]), int(max_queue), int(flush_millis), suffix)


@op(
    "CreateSummaryDbWriter",
    "writer: resource, db_uri: string, experiment_name: string, run_name: string, user_name: string",
    stateful=True,
    host=True,
)
def create_summary_db_writer(xp, writer, db_uri, experiment_name, run_name, user_name):
    """Refuses: TensorBoard reads event files, and no longer the tables that TensorFlow 1.15 wrote."""
    raise errors.UnimplementedError(
        None,
        None,
        "weft does not write summaries into SQLite databases, which TensorBoard no longer reads; "
        "tf.contrib.summary.create_file_writer writes event files.",
    )


@op("FlushSummaryWriter", "writer: resource", stateful=True, host=True)
def flush_summary_writer(xp, writer):
    """Writes what waits."""
    writer.flush()


@op("CloseSummaryWriter", "writer: resource", stateful=True, host=True)
def close_summary_writer(xp, writer):
    """Writes what waits, and closes the file."""
    writer.close()


@op(
    "WriteSummary",
    "writer: resource, step: int64, tensor: T, tag: string, summary_metadata: string",
    "T: type",
    stateful=True,
    host=True,
)
def write_summary(xp, writer, step, tensor, tag, summary_metadata, *, T):
    """Writes a tensor under a tag."""
    summary = new_summary()
    metadata = summary_metadata[()]
    values.tensor_value(summary, tag_of(tag), tensor, metadata)
    if not metadata:
        summary.value[0].ClearField("metadata")
    writer.write_summary(step, summary)


@op(
    "WriteRawProtoSummary",
    "writer: resource, step: int64, tensor: string",
    stateful=True,
    host=True,
)
def write_raw_proto_summary(xp, writer, step, tensor):
    """Writes serialized summaries, all in one event."""
    from google.protobuf.message import DecodeError

    if step.ndim:
        raise invalid(f"step must be scalar, got shape {list(step.shape)}")
    summary = new_summary()
    for i, one in enumerate(tensor.reshape(-1).tolist()):
        try:
            summary.MergeFromString(one)
        except DecodeError:
            raise errors.DataLossError(
                None, None, f"Bad tf.compat.v1.Summary binary proto tensor string at index {i}"
            ) from None
    writer.write_summary(step, summary)


def _message(name: str, serialized: np.ndarray) -> Any:
    from google.protobuf.message import DecodeError

    from weft import proto

    try:
        return getattr(proto, name).FromString(serialized[()])
    except DecodeError:
        raise errors.DataLossError(
            None, None, f"Bad tf.{name} binary proto tensor string"
        ) from None


@op("ImportEvent", "writer: resource, event: string", stateful=True, host=True)
def import_event(xp, writer, event):
    """Writes a serialized event."""
    writer.write(_message("Event", event))


@op(
    "WriteGraphSummary",
    "writer: resource, step: int64, tensor: string",
    stateful=True,
    host=True,
)
def write_graph_summary(xp, writer, step, tensor):
    """Writes a serialized GraphDef."""
    from weft import proto

    if tensor.ndim:
        raise invalid(f"tensor must be scalar, got shape {list(tensor.shape)}")
    _message("GraphDef", tensor)
    event = proto.Event(step=int(step), wall_time=time.time(), graph_def=tensor[()])
    writer.write(event)


@op(
    "WriteScalarSummary",
    "writer: resource, step: int64, tag: string, value: T",
    f"T: type in {REALS}",
    stateful=True,
    host=True,
)
def write_scalar_summary(xp, writer, step, tag, value, *, T):
    """Writes a number under a tag."""
    summary = new_summary()
    summary.value.add(tag=tag_of(tag), simple_value=float(value.reshape(-1)[0].astype(np.float32)))
    writer.write_summary(step, summary)


@op(
    "WriteHistogramSummary",
    "writer: resource, step: int64, tag: string, values: T",
    f"T: type in {REALS} = float",
    stateful=True,
    host=True,
)
def write_histogram_summary(xp, writer, step, tag, values, *, T):
    """Writes the histogram of values under a tag."""
    tag = tag_of(tag)
    writer.write_summary(step, histogram_value(new_summary(), tag, values, tag))


@op(
    "WriteImageSummary",
    "writer: resource, step: int64, tag: string, tensor: T, bad_color: uint8",
    "max_images: int >= 1 = 3; T: type in {uint8, float, half} = float",
    stateful=True,
    host=True,
)
def write_image_summary(xp, writer, step, tag, tensor, bad_color, *, max_images):
    """Writes the first images of a batch under a tag."""
    summary = new_summary()
    media.image_values(summary, tag_of(tag), tensor, max_images, bad_color)
    writer.write_summary(step, summary)


@op(
    "WriteAudioSummary",
    "writer: resource, step: int64, tag: string, tensor: float, sample_rate: float",
    "max_outputs: int >= 1 = 3",
    stateful=True,
    host=True,
)
def write_audio_summary(xp, writer, step, tag, tensor, sample_rate, *, max_outputs):
    """Writes the first sounds of a batch under a tag."""
    summary = new_summary()
    rate = float(sample_rate.reshape(-1)[0])
    media.audio_values(summary, tag_of(tag), tensor, rate, max_outputs)
    writer.write_summary(step, summary)


_WRITING: tuple[OpDecl, ...] = (
    create_summary_file_writer,
    create_summary_db_writer,
    flush_summary_writer,
    close_summary_writer,
    write_summary,
    write_raw_proto_summary,
    import_event,
    write_graph_summary,
    write_scalar_summary,
    write_histogram_summary,
    write_image_summary,
    write_audio_summary,
)
for _decl in (summary_writer, *_WRITING):
    _decl.not_differentiable()
