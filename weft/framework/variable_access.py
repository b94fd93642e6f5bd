"""Who wants to know that a variable was read: gradient tapes, and functions that are being traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.framework import context

# Called with each trainable variable that is read; gradient tapes join in here.
listeners: list[Callable[[Any], None]] = []


def variable_accessed(variable: Any) -> None:
    """Tells that a variable is read or changed here."""
    if context.current.graphs:
        watch = getattr(context.current.graphs[-1], "watch_variable", None)
        if watch is not None:
            watch(variable)
    if listeners and variable.trainable:
        for listener in listeners:
            listener(variable)
