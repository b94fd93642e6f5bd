"""AutoGraph: Python control flow on tensors becomes control flow of the graph."""

from __future__ import annotations

from collections.abc import Callable


def converted(function: Callable) -> Callable:
    """The function as it is traced."""
    return function
