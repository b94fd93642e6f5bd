"""Decorators for functions that will go: each tells so once, when it is called."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from weft.framework.export import export
from weft.platform import tf_logging

_told: set[Any] = set()


def _tell(key: Any, message: str) -> None:
    if key not in _told:
        _told.add(key)
        tf_logging.warning(message)


def _when(date: str | None) -> str:
    return "in a future version" if date is None else f"after {date}"


@export("contrib.framework.deprecated")
def deprecated(date: str | None, instructions: str, warn_once: bool = True) -> Callable:
    """Marks a function that will be removed, and says what to use."""
    if not instructions:
        raise ValueError("Don't deprecate things without conveying a reason!")

    def decorate(func: Any) -> Any:
        @functools.wraps(func)
        def told(*args: Any, **kwargs: Any) -> Any:
            _tell(
                func if warn_once else object(),
                f"{func.__qualname__} (from {func.__module__}) is deprecated and will be removed {_when(date)}.\n"
                f"Instructions for updating:\n{instructions}",
            )
            return func(*args, **kwargs)

        return told

    return decorate


@export("contrib.framework.deprecated_args")
def deprecated_args(
    date: str | None, instructions: str, *deprecated_arg_names_or_tuples: Any, **kwargs: Any
) -> Callable:
    """Marks arguments that will be removed; with a value, only what differs from it is told."""
    if not instructions:
        raise ValueError("Don't deprecate things without conveying a reason!")
    warn_once = kwargs.get("warn_once", True)
    names = {
        (n if isinstance(n, str) else n[0]): (() if isinstance(n, str) else n[1:])
        for n in deprecated_arg_names_or_tuples
    }

    def decorate(func: Any) -> Any:
        signature = inspect.signature(func)
        missing = set(names) - set(signature.parameters)
        if missing and not any(
            p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL) for p in signature.parameters.values()
        ):
            raise ValueError(
                f"The following deprecated arguments are not present in the function signature: {sorted(missing)}."
            )

        @functools.wraps(func)
        def told(*args: Any, **kwargs: Any) -> Any:
            given = signature.bind_partial(*args, **kwargs).arguments
            for name, fine in names.items():
                if name in given and not any(given[name] is v or given[name] == v for v in fine):
                    _tell(
                        (func, name) if warn_once else object(),
                        f"Calling {func.__qualname__} (from {func.__module__}) with {name} is deprecated and will be "
                        f"removed {_when(date)}.\nInstructions for updating:\n{instructions}",
                    )
            return func(*args, **kwargs)

        return told

    return decorate


@export("contrib.framework.deprecated_arg_values")
def deprecated_arg_values(
    date: str | None, instructions: str, warn_once: bool = True, **deprecated_kwargs: Any
) -> Callable:
    """Marks values of arguments that will not be taken any more."""
    if not instructions:
        raise ValueError("Don't deprecate things without conveying a reason!")

    def decorate(func: Any) -> Any:
        signature = inspect.signature(func)

        @functools.wraps(func)
        def told(*args: Any, **kwargs: Any) -> Any:
            given = signature.bind_partial(*args, **kwargs).arguments
            for name, value in deprecated_kwargs.items():
                if name in given and given[name] == value:
                    _tell(
                        (func, name) if warn_once else object(),
                        f"Calling {func.__qualname__} (from {func.__module__}) with {name}={value} is deprecated and "
                        f"will be removed {_when(date)}.\nInstructions for updating:\n{instructions}",
                    )
            return func(*args, **kwargs)

        return told

    return decorate
