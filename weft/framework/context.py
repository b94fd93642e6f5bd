"""What is current: the default graph, the default session, and whether ops run at once (eagerly)."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any


class _Current(threading.local):
    def __init__(self) -> None:
        self.graphs: list[Any] = []
        self.modes: list[bool] = []  # for each of `graphs`, whether ops ran eagerly around it
        self.sessions: list[Any] = []
        self.eager = process_default.eager


class _ProcessDefault:
    """What a thread starts with."""

    eager = False
    graph: Any = None


process_default = _ProcessDefault()
current = _Current()


class DefaultStack:
    """A stack of defaults that insists on being left in the order it was entered."""

    @staticmethod
    @contextlib.contextmanager
    def push(stack: list[Any], item: Any) -> Iterator[Any]:
        stack.append(item)
        eager = current.eager
        is_graph = stack is current.graphs
        modes = current.modes
        if is_graph:
            modes.append(eager)
            current.eager = False
        try:
            yield item
        finally:
            current.eager = eager
            if is_graph:
                modes.pop()
            if stack[-1] is not item:
                raise AssertionError(
                    f"Nesting violated: {item!r} is left while {stack[-1]!r} is still the default."
                )
            stack.pop()


def get_default_graph() -> Any:
    """Returns the default graph of this thread."""
    graphs = current.graphs
    if graphs:
        return graphs[-1]
    if process_default.graph is None:
        from weft.framework.graph import Graph

        process_default.graph = Graph()
    return process_default.graph


def reset_default_graph() -> None:
    """Clears the default graph stack and makes a new global default graph."""
    if current.graphs:
        raise AssertionError(
            "Do not use tf.reset_default_graph() to clear nested graphs. If you need a cleared graph, "
            "exit the nesting and create a new graph."
        )
    process_default.graph = None


def has_default_graph() -> bool:
    return bool(current.graphs)


def get_default_session() -> Any:
    """Returns the innermost session of this thread's `with` blocks, or None."""
    sessions = current.sessions
    return sessions[-1] if sessions else None


def executing_eagerly() -> bool:
    """Returns whether ops run as they are called, rather than being added to a graph."""
    return current.eager


@contextlib.contextmanager
def outermost(depth: int, eager: bool) -> Iterator[None]:
    """Leaves all default graphs of this thread but the first `depth`, and runs ops eagerly or not."""
    before = current.graphs, current.modes, current.eager
    current.graphs, current.modes = before[0][:depth], before[1][:depth]
    current.eager = eager
    try:
        yield
    finally:
        current.graphs, current.modes, current.eager = before


@contextlib.contextmanager
def execution_mode(eager: bool) -> Iterator[None]:
    before, current.eager = current.eager, eager
    try:
        yield
    finally:
        current.eager = before


def enable_eager_execution(
    config: Any = None, device_policy: Any = None, execution_mode: Any = None
) -> None:
    """Makes eager execution the mode of the process: of this thread, and of those that start later."""
    if current.graphs or process_default.graph is not None and process_default.graph._ops:
        raise ValueError("tf.enable_eager_execution must be called at program startup.")
    load_eager()
    process_default.eager = True
    current.eager = True


# Imports eager execution; set by the package.
load_eager: Any = lambda: None  # noqa: E731


def disable_eager_execution() -> None:
    """Makes graph construction the mode of the process."""
    process_default.eager = False
    current.eager = False
