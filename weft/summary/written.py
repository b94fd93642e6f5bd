"""Summaries that are written as the step runs, with the writer of the thread: `tf.contrib.summary.scalar` and kin."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from typing import Any

from weft import proto
from weft.framework import context, conversion, dtypes
from weft.framework.export import export, find
from weft.framework.graph import Graph
from weft.framework.scopes import name_scope
from weft.framework.tensor import Tensor
from weft.ops.by_name import raw
from weft.ops.flow.cond import smart_cond
from weft.summary.functions import summary_scope
from weft.summary.recording import current, get_step, should_record
from weft.summary.writers import summary_writer_initializer_op

_SUMMARIES = "_SUMMARY_V2"


def _false() -> Any:
    return conversion.convert_to_tensor(False)


def _true_after(operation: Any) -> Any:
    if context.executing_eagerly():
        return conversion.convert_to_tensor(True)
    with context.get_default_graph().control_dependencies([operation]):
        return conversion.convert_to_tensor(True)


def _if_recording(record: Callable[[], Any], default: bool, name: str | None) -> Any:
    made = smart_cond(should_record(default), record, _false, name=name)
    if not context.executing_eagerly():
        context.get_default_graph().add_to_collection(_SUMMARIES, made)
    return made


def _step(step: Any) -> Any:
    if step is None:
        step = find("train", "get_or_create_global_step", "weft")()
    return conversion.convert_to_tensor(step, dtype=dtypes.int64)


def _serialized(metadata: Any) -> Any:
    if metadata is None:
        return b""
    to_bytes = getattr(metadata, "SerializeToString", None)
    return metadata if to_bytes is None else to_bytes()


# -- tf.contrib.summary --------------------------------------------------------------------------------------


def _written(name: str, tensor: Any, family: str | None, write: Callable[..., Any]) -> Any:
    """The outcome of `write(tag, scope, resource)`, which is called where summaries are recorded."""
    writer = current.writer
    if getattr(writer, "_resource", None) is None:
        return find("", "no_op", "weft")()
    around = "" if context.executing_eagerly() else context.get_default_graph().get_name_scope()

    def record() -> Any:
        # Not in the scope of a cond: the tag is the same whether one is needed or not.
        with name_scope(around + "/" * bool(around)):
            with summary_scope(name, family, values=[tensor]) as (tag, scope):
                return _true_after(write(tag, scope, writer._resource))

    return _if_recording(record, default=False, name=None)


@export("contrib.summary.generic")
def generic(
    name: str, tensor: Any, metadata: Any = None, family: str | None = None, step: Any = None
) -> Any:
    """Writes a tensor under the name, with what plugins are to know of it."""

    def write(tag: str, scope: str, writer: Any) -> Any:
        return raw.WriteSummary(writer, _step(step), tensor, tag, _serialized(metadata), name=scope)

    return _written(name, tensor, family, write)


@export("contrib.summary.scalar")
def scalar(name: str, tensor: Any, family: str | None = None, step: Any = None) -> Any:
    """Writes a number under the name."""

    def write(tag: str, scope: str, writer: Any) -> Any:
        return raw.WriteScalarSummary(writer, _step(step), tag, tensor, name=scope)

    return _written(name, tensor, family, write)


@export("contrib.summary.histogram")
def histogram(name: str, tensor: Any, family: str | None = None, step: Any = None) -> Any:
    """Writes the histogram of values under the name."""

    def write(tag: str, scope: str, writer: Any) -> Any:
        return raw.WriteHistogramSummary(writer, _step(step), tag, tensor, name=scope)

    return _written(name, tensor, family, write)


@export("contrib.summary.image")
def image(
    name: str,
    tensor: Any,
    bad_color: Any = None,
    max_images: int = 3,
    family: str | None = None,
    step: Any = None,
) -> Any:
    """Writes the first images of a batch under the name; pixels that are not finite get `bad_color`, red."""

    def write(tag: str, scope: str, writer: Any) -> Any:
        color = [255, 0, 0, 255] if bad_color is None else bad_color
        color = conversion.convert_to_tensor(color, dtype=dtypes.uint8)
        return raw.WriteImageSummary(
            writer, _step(step), tag, tensor, color, max_images=max_images, name=scope
        )

    return _written(name, tensor, family, write)


@export("contrib.summary.audio")
def audio(
    name: str,
    tensor: Any,
    sample_rate: Any,
    max_outputs: int,
    family: str | None = None,
    step: Any = None,
) -> Any:
    """Writes the first sounds of a batch under the name."""

    def write(tag: str, scope: str, writer: Any) -> Any:
        return raw.WriteAudioSummary(
            writer, _step(step), tag, tensor, sample_rate, max_outputs=max_outputs, name=scope
        )

    return _written(name, tensor, family, write)


@export("contrib.summary.graph")
def graph(param: Any, step: Any = None, name: str | None = None) -> Any:
    """Writes a serialized graph, which TensorBoard draws; eagerly also a Graph or a GraphDef."""
    if not context.executing_eagerly() and not isinstance(param, Tensor):
        raise TypeError(
            f"graph() needs a tf.Tensor (e.g. tf.placeholder) in graph mode, but was: {type(param)}"
        )
    writer = current.writer
    if getattr(writer, "_resource", None) is None:
        return find("", "no_op", "weft")()
    if isinstance(param, (Graph, proto.GraphDef)):
        param = _serialized_graph(param)
    tensor = conversion.convert_to_tensor(param, dtype=dtypes.string)
    return raw.WriteGraphSummary(writer._resource, _step(step), tensor, name=name)


def _serialized_graph(given: Any) -> bytes:
    if isinstance(given, Graph):
        given = given.as_graph_def(add_shapes=True)
    return given.SerializeToString()


@export("contrib.summary.import_event", "compat.v2.summary.import_event")
def import_event(tensor: Any, name: str | None = None) -> Any:
    """Writes a serialized `Event`."""
    if getattr(current.writer, "_resource", None) is None:
        raise RuntimeError("No default tf.contrib.summary.SummaryWriter found")
    return raw.ImportEvent(current.writer._resource, tensor, name=name)


@export("contrib.summary.event")
def event(
    name: str, tensor: Any, metadata: Any = None, family: str | None = None, step: Any = None
) -> Any:
    """Writes a tensor under the name; `generic` by its older name."""
    return generic(name, tensor, metadata, family, step)


@export("contrib.summary.eval_dir")
def eval_dir(model_dir: str, name: str | None = None) -> str:
    """Returns the directory for the summaries of an evaluation."""
    return os.path.join(model_dir, f"eval_{name}" if name else "eval")


@export("summary.all_v2_summary_ops", "contrib.summary.all_summary_ops")
def all_v2_summary_ops() -> Any:
    """Returns the operations of the default graph that write summaries; None under eager execution."""
    if context.executing_eagerly():
        return None
    return context.get_default_graph().get_collection(_SUMMARIES)


@export("summary.initialize", "contrib.summary.initialize")
def initialize(graph: Any = None, session: Any = None) -> None:
    """Opens the files of the default graph's writers, and writes a graph if one is given."""
    if context.executing_eagerly():
        return
    if current.writer is None:
        raise RuntimeError("No default tf.contrib.summary.SummaryWriter found")
    session = session or context.get_default_session()
    if session is None:
        raise ValueError("session must be passed if no default session exists")
    session.run(summary_writer_initializer_op())
    if graph is not None:
        made = raw.Placeholder(dtype=dtypes.string, shape=[])
        writing = globals()["graph"](made, 0)
        session.run(writing, feed_dict={made: _serialized_graph(graph)})


# -- tf.compat.v2.summary ------------------------------------------------------------------------------------


@export("compat.v2.summary.experimental.summary_scope")
@contextlib.contextmanager
def summary_scope_v2(
    name: str | None, default_name: str = "summary", values: Any = None
) -> Iterator[tuple[str, str]]:
    """Enters a name scope for a summary; gives its tag, which need not be unlike others, and the scope."""
    name = name or default_name
    around = "" if context.executing_eagerly() else context.get_default_graph().get_name_scope()
    tag = f"{around}/{name}" if around else name
    cleaned = re.sub(r"[^-_/.A-Za-z0-9]", "", name) or None
    with name_scope(cleaned, default_name, values) as scope:
        yield tag, scope


def _step_v2(step: Any) -> Any:
    step = get_step() if step is None else step
    if step is None:
        raise ValueError("No step set via 'step' argument or tf.summary.experimental.set_step()")
    return conversion.convert_to_tensor(step, dtype=dtypes.int64)


@export("compat.v2.summary.write")
def write(
    tag: str, tensor: Any, step: Any = None, metadata: Any = None, name: str | None = None
) -> Any:
    """Writes a tensor under a tag; gives whether it was written."""
    with name_scope(name, "write_summary") as scope:
        writer = current.writer
        if getattr(writer, "_resource", None) is None:
            return _false()
        step = _step_v2(step)

        def record() -> Any:
            arguments = writer._resource, step, tensor, tag, _serialized(metadata)
            return _true_after(raw.WriteSummary(*arguments, name=scope))

        return _if_recording(record, default=True, name="summary_cond")


@export("compat.v2.summary.experimental.write_raw_pb")
def write_raw_pb(tensor: Any, step: Any = None, name: str | None = None) -> Any:
    """Writes serialized `Summary` messages; gives whether they were written."""
    with name_scope(name, "write_raw_pb") as scope:
        writer = current.writer
        if getattr(writer, "_resource", None) is None:
            return _false()
        step = _step_v2(step)

        def record() -> Any:
            return _true_after(raw.WriteRawProtoSummary(writer._resource, step, tensor, name=scope))

        return _if_recording(record, default=True, name="summary_cond")
