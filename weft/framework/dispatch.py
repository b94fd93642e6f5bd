"""Dispatch: gives public functions a meaning for types other than Tensor (sparse, ragged).

A family of such a type says once which functions it has a meaning for (`take_calls`); `export` then gives those
functions a second chance: a call that has failed with TypeError or ValueError goes to the family if it is for
values of its type. So dispatch costs nothing where plain tensors are given, and a family is not even imported
before there is a value of its type.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable)

_takers: dict[
    str, list[tuple[str, str]]
] = {}  # public name -> modules and what of them takes a call


def take_calls(module: str, handler: str, *names: str) -> None:
    """Lets `handler` of a module take the calls of public functions, which are exported later.

    The module has `takes(args, kwargs)`, whether a call is for values of its type, and the handler is called
    with the function and its arguments.
    """
    for name in names:
        _takers.setdefault(name, []).append((module, handler))


def dispatching(function: F, names: tuple[str, ...]) -> F:
    """The function, with a second chance for the calls that others take."""
    takers = [taker for name in names for taker in _takers.get(name, ())]
    if not takers:
        return function

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (TypeError, ValueError):
            handler = _taker(takers, args, kwargs)
            if handler is None:
                raise
        return handler(wrapper, *args, **kwargs)

    return wrapper  # type: ignore[return-value]


def _taker(takers: list[tuple[str, str]], args: tuple, kwargs: dict[str, Any]) -> Callable | None:
    for name, handler in takers:
        module = sys.modules.get(name)
        if module is not None and module.takes(args, kwargs):
            return getattr(module, handler)
    return None
