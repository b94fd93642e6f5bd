"""Which layer is being called, and what it passes on to the layers that it calls."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from weft.framework import context
from weft.framework.func_graph import init_scope


class CallContext(threading.local):
    """The innermost call of a layer in this thread."""

    def __init__(self) -> None:
        self.layer: Any = None
        self.inputs: Any = None
        self.training: Any = None
        self.frozen = False

    @property
    def in_call(self) -> bool:
        return self.layer is not None

    @contextlib.contextmanager
    def enter(self, layer: Any, inputs: Any, training: Any) -> Iterator[None]:
        before = self.layer, self.inputs, self.training, self.frozen
        self.layer, self.inputs, self.training = layer, inputs, training
        self.frozen = self.frozen or not layer.trainable
        try:
            yield
        finally:
            self.layer, self.inputs, self.training, self.frozen = before


current = CallContext()


def eager_outside_functions() -> bool:
    """Whether the program runs eagerly, where it does not trace a function."""
    with init_scope():
        return context.executing_eagerly()


def effects_happen_at_once() -> bool:
    """Whether updates run where they are asked for: eagerly, and in functions that eager programs trace."""
    if context.executing_eagerly():
        return True
    return context.get_default_graph().building_function and eager_outside_functions()


def reachable_from(inputs: list[Any], targets: set[int]) -> set[int]:
    """Those of the operations and tensors, by id, that depend on the inputs."""
    found: set[int] = set()
    waiting = [x for x in inputs if hasattr(x, "consumers")]
    seen: set[int] = set()
    while waiting:
        tensor = waiting.pop()
        if id(tensor) in seen:
            continue
        seen.add(id(tensor))
        if id(tensor) in targets:
            found.add(id(tensor))
        for op in tensor.consumers():
            if id(op) in seen:
                continue
            seen.add(id(op))
            if id(op) in targets:
                found.add(id(op))
            waiting.extend(op.outputs)
    return found
