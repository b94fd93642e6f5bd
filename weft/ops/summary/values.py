"""Numbers and tensors as summaries: ScalarSummary, HistogramSummary, TensorSummary; and MergeSummary."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import errors
from weft.framework.registry import op
from weft.framework.shape_rules import scalars, text
from weft.ops.io.tensors import content_proto
from weft.ops.summary import histogram

REALS = "{float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}"


def invalid(message: str) -> errors.OpError:
    return errors.InvalidArgumentError(None, None, message)


def tag_of(array: np.ndarray, what: str = "tag") -> str:
    """A tag as text."""
    if array.ndim:
        raise invalid(f"{what} must be scalar")
    return tag_text(array.item())


def tag_text(tag: bytes) -> str:
    try:
        return tag.decode()
    except UnicodeDecodeError:
        raise invalid(f"A tag has to be text in UTF-8, got {tag!r}") from None


def serialized(summary: Any) -> bytes:
    return summary.SerializeToString()


def new_summary() -> Any:
    from weft import proto

    return proto.Summary()


@op("ScalarSummary", "tags: string, values: T -> summary: string", f"T: type in {REALS}", host=True)
def scalar_summary(xp, tags, values, *, T):
    """A summary with each of the values under its tag."""
    if tags.shape != values.shape:
        tag = f" (tag '{tags.reshape(-1)[0].decode(errors='replace')}')" if tags.size == 1 else ""
        raise invalid(
            f"tags and values not the same shape: {text(tags.shape)} != {text(values.shape)}{tag}"
        )
    summary = new_summary()
    numbers = values.reshape(-1).astype(np.float32).tolist()
    for tag, number in zip(tags.reshape(-1).tolist(), numbers):
        summary.value.add(tag=tag_text(tag), simple_value=number)
    return serialized(summary)


@op(
    "HistogramSummary",
    "tag: string, values: T -> summary: string",
    f"T: type in {REALS} = float",
    host=True,
)
def histogram_summary(ctx, tag, values, *, T):
    """A summary with the histogram of all the values, which are finite."""
    tag = tag_of(tag, "tags")
    return serialized(histogram_value(new_summary(), tag, values, ctx.op.name))


def histogram_value(summary: Any, tag: str, values: np.ndarray, where: str) -> Any:
    numbers = values.reshape(-1).astype(np.float64)
    if not np.isfinite(numbers).all():
        first = numbers[~np.isfinite(numbers)][0]
        raise invalid(
            f"{'Nan' if np.isnan(first) else 'Infinity'} in summary histogram for: {where}"
        )
    value = summary.value.add(tag=tag)
    histogram.fill(value.histo, numbers)
    return summary


@op(
    "TensorSummary",
    "tensor: T -> summary: string",
    'T: type; description: string = ""; labels: list(string) = []; display_name: string = ""',
    host=True,
)
def tensor_summary(ctx, tensor, *, T):
    """A summary with the tensor under the name of the operation."""
    summary = new_summary()
    value = summary.value.add(node_name=ctx.op.name)
    value.tensor.CopyFrom(content_proto(tensor))
    return serialized(summary)


@op(
    "TensorSummaryV2",
    "tag: string, tensor: T, serialized_summary_metadata: string -> summary: string",
    "T: type",
    host=True,
)
def tensor_summary_v2(xp, tag, tensor, serialized_summary_metadata, *, T):
    """A summary with the tensor under a tag, and what plugins are told about it."""
    summary = new_summary()
    tensor_value(summary, tag_of(tag), tensor, serialized_summary_metadata[()])
    return serialized(summary)


def tensor_value(summary: Any, tag: str, tensor: np.ndarray, metadata: bytes) -> None:
    from google.protobuf.message import DecodeError

    value = summary.value.add(tag=tag)
    value.tensor.CopyFrom(content_proto(tensor))
    try:
        value.metadata.MergeFromString(metadata)
    except DecodeError:
        raise invalid("serialized_summary_metadata is no SummaryMetadata message") from None
    value.metadata.SetInParent()


@op("MergeSummary", "inputs: N*string -> summary: string", "N: int >= 1", host=True)
def merge_summary(xp, inputs):
    """A summary with what several have; tags are different."""
    from google.protobuf.message import DecodeError

    summary = new_summary()
    try:
        for array in inputs:
            for one in array.reshape(-1).tolist():
                summary.MergeFromString(one)
    except DecodeError:
        raise invalid("Could not parse one of the summary inputs") from None
    seen = set()
    for value in summary.value:
        tag = value.tag
        if tag and tag in seen:
            raise invalid(f"Duplicate tag {tag} found in summary inputs")
        seen.add(tag)
    return serialized(summary)


for _decl in (scalar_summary, histogram_summary, tensor_summary, tensor_summary_v2):
    _decl.shape(scalars)
    _decl.not_differentiable()
merge_summary.shape(lambda inputs: ())
merge_summary.not_differentiable()
