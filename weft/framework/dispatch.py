"""Dispatch: gives public functions a meaning for types other than Tensor (sparse, ragged).

A function that has failed with TypeError or ValueError asks the handlers that were added for it, so that
dispatch costs nothing where plain tensors are given.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable)

NOT_SUPPORTED = object()

_handlers: dict[str, list[Callable[..., Any]]] = {}


def _key(function: Callable) -> str:
    return f"{function.__module__}.{function.__qualname__}"


def add_handler(function: Callable, handler: Callable[..., Any]) -> None:
    """Adds a handler, called with the arguments of a failed call: gives a result, or `NOT_SUPPORTED`."""
    _handlers.setdefault(_key(function), []).append(handler)


def handled(function: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    """What the first handler that supports the arguments gives, or `NOT_SUPPORTED`."""
    for handler in _handlers.get(_key(function), ()):
        result = handler(*args, **kwargs)
        if result is not NOT_SUPPORTED:
            return result
    return NOT_SUPPORTED


def dispatchable(function: F) -> F:
    """Lets handlers take the calls of a function that it cannot serve itself."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (TypeError, ValueError):
            result = handled(wrapper, args, kwargs)
            if result is NOT_SUPPORTED:
                raise
            return result

    return wrapper  # type: ignore[return-value]
