"""The gradient tapes of this thread: they are told of each operation that runs eagerly or joins a graph."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any


class _Recording(threading.local):
    def __init__(self) -> None:
        self.tapes: list[Any] = []


recording = _Recording()


class Step:
    """A piece of a computation that brings its own gradient: a function call, a capture, a custom gradient.

    `backward` takes the gradients of the outputs and gives those of the inputs.
    """

    __slots__ = ("_inputs", "_outputs", "backward", "type", "name", "skip_input_indices")

    def __init__(
        self, kind: str, inputs: list[Any], outputs: list[Any], backward: Callable[..., Any]
    ):
        self._inputs, self._outputs, self.backward = inputs, outputs, backward
        self.type = self.name = kind


def record(op: Any) -> None:
    """Tells the tapes of an operation (or Step) that has inputs and outputs."""
    for tape in recording.tapes:
        tape._record(op)


def record_step(
    kind: str, outputs: list[Any], inputs: list[Any], backward: Callable[..., Any]
) -> None:
    """Tells the tapes that `outputs` follow from `inputs`, with `backward` as the gradient."""
    if recording.tapes:
        record(Step(kind, list(inputs), list(outputs), backward))


def note_outputs(op: Any, tensors: list[Any]) -> None:
    """Tells the tapes that recorded an operation of outputs that it has got since."""
    known = [id(t) for t in op._outputs]
    for tape in recording.tapes:
        if any(k in tape._watched for k in known):
            tape._watched.update((id(t), t) for t in tensors)


def is_watched(tensors: Any) -> bool:
    """Whether a tape wants to know what follows from any of the tensors."""
    return any(id(t) in tape._watched for tape in recording.tapes for t in tensors)


@contextlib.contextmanager
def stop_recording() -> Iterator[None]:
    """Hides what happens inside from all tapes."""
    before, recording.tapes = recording.tapes, []
    try:
        yield
    finally:
        recording.tapes = before
