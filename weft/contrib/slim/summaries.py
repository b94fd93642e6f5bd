"""`slim.summaries`: summaries of tensors under their own names."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework.graph_keys import GraphKeys


def _name(tensor: Any, name: str | None, prefix: str | None, postfix: str | None = None) -> str:
    return "/".join(part for part in (prefix, name or tensor.op.name, postfix) if part)


def _printed(summary: Any, tensor: Any, name: str) -> Any:
    """A summary that prints the tensor when it is made."""
    summary = tf.Print(summary, [tensor], name)
    tf.add_to_collection(GraphKeys.SUMMARIES, summary)
    return summary


def add_histogram_summary(tensor: Any, name: str | None = None, prefix: str | None = None) -> Any:
    """A histogram of a tensor."""
    return tf.summary.histogram(_name(tensor, name, prefix), tensor)


def add_image_summary(
    tensor: Any, name: str | None = None, prefix: str | None = None, print_summary: bool = False
) -> Any:
    """The images of a tensor."""
    full = _name(tensor, name, prefix)
    summary = tf.summary.image(name=full, tensor=tensor, collections=[] if print_summary else None)
    return _printed(summary, tensor, full) if print_summary else summary


def add_scalar_summary(
    tensor: Any, name: str | None = None, prefix: str | None = None, print_summary: bool = False
) -> Any:
    """A number."""
    full = _name(tensor, name, prefix)
    summary = tf.summary.scalar(name=full, tensor=tensor, collections=[] if print_summary else None)
    return _printed(summary, tensor, full) if print_summary else summary


def add_zero_fraction_summary(
    tensor: Any, name: str | None = None, prefix: str | None = None, print_summary: bool = False
) -> Any:
    """Which part of a tensor is zero."""
    full = _name(tensor, name, prefix, "Fraction_of_Zero_Values")
    return add_scalar_summary(tf.nn.zero_fraction(tensor), full, print_summary=print_summary)


def add_histogram_summaries(tensors: Any, prefix: str | None = None) -> list[Any]:
    """A histogram of each tensor."""
    return [add_histogram_summary(t, prefix=prefix) for t in tensors]


def add_image_summaries(tensors: Any, prefix: str | None = None) -> list[Any]:
    """The images of each tensor."""
    return [add_image_summary(t, prefix=prefix) for t in tensors]


def add_scalar_summaries(
    tensors: Any, prefix: str | None = None, print_summary: bool = False
) -> list[Any]:
    """Each number."""
    return [add_scalar_summary(t, prefix=prefix, print_summary=print_summary) for t in tensors]


def add_zero_fraction_summaries(tensors: Any, prefix: str | None = None) -> list[Any]:
    """Which part of each tensor is zero."""
    return [add_zero_fraction_summary(t, prefix=prefix) for t in tensors]
