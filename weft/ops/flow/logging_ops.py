"""Assert, Print, PrintV2, StringFormat and Timestamp."""

from __future__ import annotations

import logging
import sys
import threading
import time
from typing import Any

import numpy as np

from weft.framework import context, conversion, dtypes, errors
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import fail
from weft.ops.flow.summarize import flat_summary, summary


def _only_constant_strings(operation: Any) -> bool:
    """Whether an operation has to run on the host: the texts of a compiled assertion are constants."""
    return any(
        t.dtype.base_dtype is dtypes.string and t.op._decl.name != "Const" for t in operation.inputs
    )


@op(
    "Assert",
    "condition: bool, data: T",
    "T: list(type) >= 1; summarize: int = 3",
    stateful=True,
    host=_only_constant_strings,
    reads_strings=True,
)
def assert_op(xp, condition, data, *, summarize):
    """Fails the step, with the data in the message, unless the condition holds."""
    if condition.ndim:
        raise errors.InvalidArgumentError(
            None, None, f"In[0] should be a scalar: {list(condition.shape)}"
        )
    if not condition:
        shown = " ".join(f"[{flat_summary(x, summarize)}]" for x in data)
        raise errors.InvalidArgumentError(None, None, f"assertion failed: {shown}")


@assert_op.kernel_for("xla")
def _(xp, condition, data, *, summarize):
    xp.check(condition, lambda: "assertion failed")


assert_op.not_differentiable()


@export("Assert", "debugging.Assert")
def assert_(
    condition: Any, data: Any, summarize: int | None = None, name: str | None = None
) -> Any:
    """Asserts that a condition holds when the returned operation runs; eagerly, now."""
    if context.executing_eagerly():
        if not bool(condition):
            limit = 3 if summarize is None else summarize
            shown = [flat_summary(conversion.convert_to_tensor(x).numpy(), limit) for x in data]
            raise errors.InvalidArgumentError(
                None,
                None,
                "Expected '{}' to be true. Summarized data: {}".format(
                    getattr(condition, "numpy", lambda: condition)(), "\n".join(shown)
                ),
            )
        return None
    with name_scope(name, "Assert", [condition, *data]):
        tensors = conversion.convert_n_to_tensor(data)
        condition = conversion.convert_to_tensor(condition, dtype=dtypes.bool, name="condition")
        return assert_op(condition, tensors, summarize=summarize, name="Assert")


# -- printing -----------------------------------------------------------------------------------------------


class _Counts:
    """How often each Print of a session has printed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._left: dict[Any, int] = {}

    def take(self, key: Any, first_n: int) -> bool:
        with self._lock:
            left = self._left.get(key, first_n)
            if left > 0:
                self._left[key] = left - 1
            return left > 0


@op(
    "Print",
    "input: T, data: U -> output: T",
    'T: type; U: list(type) >= 0; message: string = ""; first_n: int = -1; summarize: int = 3',
    stateful=True,
    host=True,
)
def print_op(ctx, input, data, *, message, first_n, summarize):
    """Prints the data to standard error, and passes its input on."""
    if first_n >= 0:
        counts = ctx.resources.get_or_create("Print", "", "counts", _Counts)
        if not counts.take(ctx.op, first_n):
            return input
    shown = "".join(f"[{flat_summary(x, summarize)}]" for x in data)
    _write(sys.stderr, f"{message}{shown}\n")
    return input


@print_op.shape
def _(input, data):
    return input


@print_op.gradient
def _(op, *grads):
    return [*grads, *([None] * (len(op.inputs) - 1))]


def _write(stream: Any, text: str) -> None:
    stream.write(text)
    stream.flush()


@export("Print")
def print_v1(
    input_: Any,
    data: Any,
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Any:
    """Returns `input_`, and prints `data` to standard error when that is computed."""
    return print_op(input_, data, message=message, first_n=first_n, summarize=summarize, name=name)


_LEVELS = {
    "log(info)": logging.INFO,
    "log(warning)": logging.WARNING,
    "log(error)": logging.ERROR,
}


@op(
    "PrintV2",
    "input: string",
    'output_stream: string = "stderr"; end: string = "\\n"',
    stateful=True,
    host=True,
)
def print_v2_op(xp, input, *, output_stream, end):
    """Writes a text to a stream, a log or the end of a file."""
    text = input[()]
    text = (text.decode(errors="replace") if isinstance(text, bytes) else text) + end
    if output_stream == "stderr":
        _write(sys.stderr, text)
    elif output_stream == "stdout":
        _write(sys.stdout, text)
    elif output_stream in _LEVELS:
        logging.getLogger("tensorflow").log(_LEVELS[output_stream], text.rstrip("\n"))
    elif output_stream.startswith("file://"):
        with open(output_stream[len("file://") :], "a") as f:
            f.write(text)
    else:
        raise errors.InvalidArgumentError(
            None, None, f"Unknown output stream {output_stream!r} of PrintV2."
        )


@print_v2_op.shape
def _(input):
    return None


@op(
    "StringFormat",
    "inputs: T -> output: string",
    'T: list(type) >= 0; template: string = "%s"; placeholder: string = "%s"; summarize: int = 3',
    host=True,
)
def string_format_op(xp, inputs, *, template, placeholder, summarize):
    """A text in which the placeholders are the values of tensors."""
    parts = template.split(placeholder)
    text = parts[0]
    for x, part in zip(inputs, parts[1:]):
        text += summary(x, summarize) + part
    out = np.empty((), object)
    out[()] = text.encode()
    return out


@string_format_op.shape
def _(inputs, *, template, placeholder):
    count = template.count(placeholder)
    if count != len(inputs):
        fail(f"num placeholders in template and num inputs must match: {count} vs. {len(inputs)}")
    return ()


string_format_op.not_differentiable()


@export("strings.format")
def string_format(
    template: str, inputs: Any, placeholder: str = "{}", summarize: int = 3, name: str | None = None
) -> Any:
    """Returns a text in which the placeholders of the template are the values of tensors."""
    from weft.framework.tensor import Tensor

    if isinstance(inputs, Tensor) or not isinstance(inputs, (list, tuple)):
        inputs = [inputs]
    if template.count(placeholder) != len(inputs):
        raise ValueError(
            f"{template.count(placeholder)} placeholder(s) in template does not match {len(inputs)} tensor(s) "
            "provided as input"
        )
    return string_format_op(
        list(inputs), template=template, placeholder=placeholder, summarize=summarize, name=name
    )


@op("Timestamp", "-> ts: double", "", stateful=True, host=True)
def timestamp(xp):
    """The seconds since 1970."""
    return np.asarray(time.time())


@timestamp.shape
def _():
    return ()


timestamp.not_differentiable()


@export("timestamp")
def timestamp_(name: str | None = None) -> Any:
    """Returns the time as seconds since 1970, each time it is computed."""
    return timestamp(name=name)


@op("Abort", "", 'error_msg: string = ""; exit_without_error: bool = false', host=True)
def abort(xp, *, error_msg, exit_without_error):
    """Ends the process."""
    import os

    if exit_without_error:
        os._exit(0)
    sys.stderr.write(f"Abort_op intentional failure; {error_msg}\n")
    sys.stderr.flush()
    os.abort()


abort.not_differentiable()
