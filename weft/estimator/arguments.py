"""The arguments of functions that users give: what they take by name is what they are called with."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any


def arguments_of(function: Callable) -> tuple[str, ...]:
    """The names of the positional arguments that are still open."""
    if isinstance(function, functools.partial):
        names = arguments_of(function.func)[len(function.args) :]
        return tuple(name for name in names if name not in function.keywords)
    if not inspect.isroutine(function):  # an object that can be called
        function = type(function).__call__.__get__(function)
    names = tuple(inspect.getfullargspec(function).args)
    return names[1:] if inspect.ismethod(function) else names


def those_taken(function: Callable, offered: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the values offered that a function takes."""
    names = arguments_of(function)
    return {name: value for name, value in offered.items() if name in names}


def refuse_others(what: str, function: Callable, known: set[str]) -> None:
    """ValueError if a function has arguments that nobody gives."""
    others = [name for name in arguments_of(function) if name not in known]
    if others:
        raise ValueError(f"{what} ({function}) has following not expected args: {others}")
