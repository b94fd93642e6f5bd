"""Which strategy is in force here, and in which role: as one of its replicas, or across all of them.

Optimizers, metrics, losses and variables ask here; strategies themselves are a library of their own.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

from weft.framework import context


class Role(NamedTuple):
    """A strategy with the context of one of its replicas; None where all of them are meant."""

    strategy: Any
    replica: Any


class _Roles(threading.local):
    """The roles of a thread, innermost last, each with the graph that it was taken over."""

    def __init__(self) -> None:
        self.stack: list[tuple[Any, Role]] = []
        self.set_scope: Any = None  # of the strategy that was set without a `with` block
        self.update_device: str | None = None  # of the component that `extended.update` is changing


roles = _Roles()
# Makes the role of programs that have no strategy; set by the strategies.
default_role: Role | None = None


def role() -> Role | None:
    """The role in force over the default graph, or over that around the function that is being built."""
    stack = roles.stack
    if not stack:
        return None
    graph = context.get_default_graph()
    while graph is not None:
        for over, found in reversed(stack):
            if over is graph:
                return found
        graph = graph.outer_graph if graph.building_function else None
    return None


@contextlib.contextmanager
def in_role(strategy: Any, replica: Any) -> Iterator[None]:
    """Takes a role over the default graph."""
    entry = (context.get_default_graph(), Role(strategy, replica))
    stack = roles.stack
    stack.append(entry)
    try:
        yield
    finally:
        if not stack or stack[-1] is not entry:
            raise RuntimeError(
                "Variable scopes, strategy scopes and replica contexts must be left in the order they were entered."
            )
        stack.pop()


@contextlib.contextmanager
def updating(device: str) -> Iterator[None]:
    """Marks that the components of variables on one device are being updated."""
    before, roles.update_device = roles.update_device, device
    try:
        yield
    finally:
        roles.update_device = before


def update_device() -> str | None:
    return roles.update_device


def strategy() -> Any:
    """The strategy in force; None where the program has none."""
    found = role()
    return found.strategy if found is not None else None


def crosses_replicas() -> bool:
    """Whether a strategy is in force, and all of its replicas are meant."""
    found = role()
    return found is not None and found.replica is None


def replica() -> Any:
    """The context of the replica that is being built; None across replicas and where there is no strategy."""
    found = role()
    return found.replica if found is not None else None
