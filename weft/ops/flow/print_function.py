"""tf.print."""

from __future__ import annotations

import logging
import sys
from typing import Any

import numpy as np

from weft.framework import context, nest
from weft.framework.composite_tensor import CompositeTensor
from weft.framework.export import export
from weft.framework.sparse_tensor import SparseTensor
from weft.framework.tensor import Tensor
from weft.ops.flow.logging_ops import print_v2_op, string_format
from weft.ops.flow.summarize import summary

_STREAMS = {"stdout": "stdout", "stderr": "stderr"}
_LOGS = {
    "INFO": "log(info)",
    "WARNING": "log(warning)",
    "WARN": "log(warning)",
    "ERROR": "log(error)",
}


@export("print")
def print_(*inputs: Any, **kwargs: Any) -> Any:
    """Prints tensors and other values: returns the operation that does; eagerly, prints now.

    Takes `output_stream` (sys.stdout, sys.stderr, tf.logging.info and its like, or "file://path"), `summarize`
    (how many elements at each end of an axis, -1 for all), `sep`, `end` and `name`.
    """
    stream = kwargs.pop("output_stream", sys.stderr)
    name = kwargs.pop("name", None)
    summarize = kwargs.pop("summarize", 3)
    separator = kwargs.pop("sep", " ")
    end = kwargs.pop("end", "\n")
    if kwargs:
        raise ValueError(f"Unrecognized keyword arguments for tf.print: {kwargs}")
    where = _stream_name(stream)
    if summarize is None:
        summarize = 3
    if (
        len(inputs) == 1
        and isinstance(inputs[0], Tensor)
        and not context.executing_eagerly()
        and inputs[0].dtype.name == "string"
        and inputs[0]._dims == ()
    ):
        text: Any = inputs[0]
    else:
        template = _Template()
        for i, x in enumerate(inputs):
            if i:
                template.text += separator
            template.add(x)
        if context.executing_eagerly():
            print_v2_op(_eager_text(template, summarize), output_stream=where, end=end)
            return None
        mark = template.placeholder()
        text = string_format(template.text, template.tensors, placeholder=mark, summarize=summarize)
    result = print_v2_op(text, output_stream=where, end=end, name=name)
    return None if context.executing_eagerly() else result


def _eager_text(template: _Template, summarize: int) -> Any:
    parts = template.text.split(template.mark)
    text = parts[0]
    for t, part in zip(template.tensors, parts[1:]):
        value = t.numpy()
        text += summary(value, summarize) + part
    return text


def _stream_name(stream: Any) -> str:
    if isinstance(stream, str):
        if stream.startswith("file://"):
            return stream
        if stream in _LOGS.values() or stream in _STREAMS:
            return stream
    if stream is sys.stdout:
        return "stdout"
    if stream is sys.stderr:
        return "stderr"
    level = getattr(stream, "__name__", "").upper()
    if callable(stream) and level in _LOGS:
        return _LOGS[level]
    level = {logging.INFO: "INFO", logging.WARNING: "WARNING", logging.ERROR: "ERROR"}.get(
        stream if isinstance(stream, int) else -1, ""
    )
    if level:
        return _LOGS[level]
    raise ValueError(
        "Unsupported output stream, logging level, or file."
        f"{stream}. Supported streams are sys.stdout, sys.stderr, tf.logging.info, tf.logging.warning and "
        "tf.logging.error. File needs to be in the form of 'file://<filepath>'."
    )


def _stands_for_tensor(x: Any) -> bool:
    """Whether something such as a variable is one tensor; a ragged tensor is printed as what it is made of."""
    return hasattr(x, "_as_graph_element") and not isinstance(x, CompositeTensor)


class _Template:
    """What is printed, with a mark in place of each tensor."""

    mark = "\0tensor\0"

    def __init__(self) -> None:
        self.text = ""
        self.tensors: list[Any] = []

    def placeholder(self) -> str:
        """A mark for the graph that the text itself does not contain."""
        plain = self.text.replace(self.mark, "")
        mark = "{}"
        while mark in plain:
            mark = "{" + "x" * (len(mark) - 1) + "}"
        self.text = self.text.replace(self.mark, mark)
        return mark

    def add(self, x: Any) -> None:
        if isinstance(x, str):
            self.text += x
            return
        self._add(x)

    def _add(self, x: Any) -> None:
        if isinstance(x, SparseTensor):
            self.text += "'SparseTensor(indices="
            self._tensor(x.indices)
            self.text += ", values="
            self._tensor(x.values)
            self.text += ", shape="
            self._tensor(x.dense_shape)
            self.text += ")'"
        elif isinstance(x, Tensor):
            self._tensor(x)
        elif _stands_for_tensor(x) or hasattr(x, "_should_act_as_resource_variable"):
            from weft.framework import conversion

            self._tensor(conversion.convert_to_tensor(x))
        elif nest.is_nested(x) and nest.flatten(x) and self._has_tensor(x):
            self._structure(x)
        else:
            self.text += _plain(x)

    @staticmethod
    def _has_tensor(x: Any) -> bool:
        return any(
            isinstance(leaf, (Tensor, SparseTensor)) or _stands_for_tensor(leaf)
            for leaf in nest.flatten(x)
        )

    def _structure(self, x: Any) -> None:
        if isinstance(x, dict):
            self.text += "{"
            for i, key in enumerate(sorted(x)):
                self.text += (", " if i else "") + f"{key!r}: "
                self._inner(x[key])
            self.text += "}"
            return
        if hasattr(x, "_fields"):
            self.text += f"{type(x).__name__}("
            for i, (field, value) in enumerate(zip(x._fields, x)):
                self.text += (", " if i else "") + f"{field}="
                self._inner(value)
            self.text += ")"
            return
        left, right = ("(", ")") if isinstance(x, tuple) else ("[", "]")
        self.text += left
        for i, value in enumerate(x):
            self.text += ", " if i else ""
            self._inner(value)
        self.text += ",)" if isinstance(x, tuple) and len(x) == 1 else right

    def _inner(self, x: Any) -> None:
        if isinstance(x, str):
            self.text += repr(x)
        else:
            self._add(x)

    def _tensor(self, t: Any) -> None:
        self.text += self.mark
        self.tensors.append(t)


def _plain(x: Any) -> str:
    if isinstance(x, np.ndarray) or nest.is_nested(x):
        return repr(x)
    return str(x)
