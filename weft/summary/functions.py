"""Summary operations under the names of graphs: `tf.summary.scalar` and its companions."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

from weft import proto
from weft.framework import context, conversion, dtypes
from weft.framework.compat_text import as_str_any
from weft.framework.export import export
from weft.framework.graph_keys import GraphKeys
from weft.framework.scopes import name_scope
from weft.ops.by_name import raw
from weft.platform import tf_logging


def collect(value: Any, collections: Any, default: Any) -> None:
    """Adds a value to collections of the default graph."""
    for key in default if collections is None else collections:
        context.get_default_graph().add_to_collection(key, value)


def clean_tag(name: str | None) -> str | None:
    """Returns the name with an underscore for each character that no operation's name may have."""
    if name is None:
        return None
    cleaned = re.sub(r"[^-/\w\.]", "_", name).lstrip("/")
    if cleaned != name:
        tf_logging.info("Summary name %s is illegal; using %s instead.", name, cleaned)
    return cleaned


@contextlib.contextmanager
def summary_scope(
    name: str, family: str | None = None, default_name: str | None = None, values: Any = None
) -> Iterator[tuple[str, str]]:
    """Enters a name scope for a summary; gives its tag, which begins with the family, and the scope."""
    name, family = clean_tag(name), clean_tag(family)  # type: ignore[assignment]
    base = name if family is None else f"{family}/{name}"
    with name_scope(base, default_name, values) as scope:
        tag = scope.rstrip("/")
        yield (tag if family is None else f"{family}/{tag}"), scope


_DEFAULT = [GraphKeys.SUMMARIES]


@export("summary.scalar")
def scalar(name: str, tensor: Any, collections: Any = None, family: str | None = None) -> Any:
    """Returns a summary with a number under the name; it is in `collections`, that of all summaries by default."""
    with summary_scope(name, family, values=[tensor]) as (tag, scope):
        value = raw.ScalarSummary(tag, tensor, name=scope)
        collect(value, collections, _DEFAULT)
    return value


@export("summary.image")
def image(
    name: str,
    tensor: Any,
    max_outputs: int = 3,
    collections: Any = None,
    family: str | None = None,
) -> Any:
    """Returns a summary with the first images of a batch, `[batch, height, width, channels]` with 1, 3 or 4 channels.

    Floats are scaled, each image by itself: so that the largest number is 255, or, where there are negative ones,
    with 0 in the middle.
    """
    with summary_scope(name, family, values=[tensor]) as (tag, scope):
        value = raw.ImageSummary(tag, tensor, max_images=max_outputs, name=scope)
        collect(value, collections, _DEFAULT)
    return value


@export("summary.histogram")
def histogram(name: str, values: Any, collections: Any = None, family: str | None = None) -> Any:
    """Returns a summary with the histogram of all values."""
    with summary_scope(name, family, "HistogramSummary", [values]) as (tag, scope):
        value = raw.HistogramSummary(tag, values, name=scope)
        collect(value, collections, _DEFAULT)
    return value


@export("summary.audio")
def audio(
    name: str,
    tensor: Any,
    sample_rate: Any,
    max_outputs: int = 3,
    collections: Any = None,
    family: str | None = None,
) -> Any:
    """Returns a summary with the first sounds of a batch, `[batch, frames, channels]` or `[batch, frames]`, of
    samples between -1 and 1."""
    with summary_scope(name, family, values=[tensor]) as (tag, scope):
        rate = conversion.convert_to_tensor(sample_rate, dtype=dtypes.float32, name="sample_rate")
        value = raw.AudioSummaryV2(tag, tensor, rate, max_outputs=max_outputs, name=scope)
        collect(value, collections, _DEFAULT)
    return value


@export("summary.text")
def text(name: str, tensor: Any, collections: Any = None) -> Any:
    """Returns a summary with texts, which TensorBoard shows as Markdown."""
    if tensor.dtype != dtypes.string:
        raise ValueError(f"Expected tensor {tensor.name} to have dtype string, got {tensor.dtype}")
    plugin = proto.SummaryMetadata.PluginData(plugin_name="text")
    metadata = proto.SummaryMetadata(plugin_data=plugin)
    return tensor_summary(name, tensor, summary_metadata=metadata, collections=collections)


@export("summary.tensor_summary")
def tensor_summary(
    name: str,
    tensor: Any,
    summary_description: str | None = None,
    collections: Any = None,
    summary_metadata: Any = None,
    family: str | None = None,
    display_name: str | None = None,
) -> Any:
    """Returns a summary with a tensor of any dtype and shape."""
    metadata = proto.SummaryMetadata() if summary_metadata is None else summary_metadata
    if summary_description is not None:
        metadata.summary_description = summary_description
    if display_name is not None:
        metadata.display_name = display_name
    with summary_scope(name, family, values=[tensor]) as (tag, scope):
        value = raw.TensorSummaryV2(tag, tensor, metadata.SerializeToString(), name=scope)
        collect(value, collections, _DEFAULT)
    return value


def _check_graph() -> None:
    if context.executing_eagerly():
        raise RuntimeError(
            "Merging tf.summary.* ops is not compatible with eager execution. "
            "Use tf.contrib.summary instead."
        )


@export("summary.merge")
def merge(inputs: Any, collections: Any = None, name: str | None = None) -> Any:
    """Returns a summary with what several have."""
    _check_graph()
    name = clean_tag(name)
    with name_scope(name, "Merge", inputs):
        value = raw.MergeSummary(inputs, name=name)
        collect(value, collections, [])
    return value


@export("summary.merge_all")
def merge_all(
    key: Any = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None
) -> Any:
    """Returns a summary with what all in a collection of the default graph have; None if there are none."""
    _check_graph()
    found = context.get_default_graph().get_collection(key, scope)
    return merge(found, name=name) if found else None


@export("summary.get_summary_description")
def get_summary_description(node_def: Any) -> Any:
    """Returns the `SummaryDescription` of a TensorSummary's NodeDef."""
    from google.protobuf import json_format

    if node_def.op != "TensorSummary":
        raise ValueError(f"Can't get_summary_description on {node_def.op}")
    description = proto.SummaryDescription()
    json_format.Parse(as_str_any(node_def.attr["description"].s), description)
    return description
