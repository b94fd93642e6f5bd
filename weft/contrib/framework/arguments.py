"""Scopes of arguments: what functions take by default within a `with` block."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

from weft.framework.export import export


class _Scopes(threading.local):
    """The open scopes of a thread: for the key of each function, the arguments that it gets."""

    def __init__(self) -> None:
        self.stack: list[dict[str, dict[str, Any]]] = [{}]


_scopes = _Scopes()
_keyword_arguments: dict[str, tuple[str, ...]] = {}  # of each function that takes part


@export("contrib.framework.current_arg_scope", "contrib.slim.current_arg_scope")
def current_arg_scope() -> dict[str, dict[str, Any]]:
    """The innermost scope, which `arg_scope` can enter again."""
    return _scopes.stack[-1]


@export("contrib.framework.arg_scope_func_key", "contrib.slim.arg_scope_func_key")
def arg_scope_func_key(op: Any) -> str:
    """What a function is known by in scopes."""
    return getattr(op, "_key_op", str(op))


@export("contrib.framework.has_arg_scope", "contrib.slim.has_arg_scope")
def has_arg_scope(func: Any) -> bool:
    """Whether a function takes arguments from scopes."""
    return arg_scope_func_key(func) in _keyword_arguments


@export("contrib.framework.arg_scoped_arguments", "contrib.slim.arg_scoped_arguments")
def arg_scoped_arguments(func: Any) -> tuple[str, ...]:
    """The arguments that a function can take from scopes."""
    assert has_arg_scope(func)
    return _keyword_arguments[arg_scope_func_key(func)]


@export("contrib.framework.add_arg_scope", "contrib.slim.add_arg_scope")
def add_arg_scope(func: Callable) -> Callable:
    """Makes a function take arguments from scopes, where they are not given."""
    key = arg_scope_func_key(func)
    count = len(func.__defaults__ or ())  # type: ignore[attr-defined]
    code = func.__code__  # type: ignore[attr-defined]
    _keyword_arguments[key] = code.co_varnames[: code.co_argcount][-count:] if count else ()

    @functools.wraps(func)
    def with_scope(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **{**current_arg_scope().get(key, {}), **kwargs})

    with_scope._key_op = key  # type: ignore[attr-defined]
    return with_scope


@export("contrib.framework.arg_scope", "contrib.slim.arg_scope")
@contextlib.contextmanager
def arg_scope(list_ops_or_scope: Any, **kwargs: Any) -> Iterator[dict[str, dict[str, Any]]]:
    """Gives functions arguments within, on top of those of the scopes around; or enters a scope again."""
    if isinstance(list_ops_or_scope, dict):
        if kwargs:
            raise ValueError(
                "When attempting to re-use a scope by suppling adictionary, kwargs must be empty."
            )
        scope = dict(list_ops_or_scope)
    elif not isinstance(list_ops_or_scope, (list, tuple)):
        raise TypeError("list_ops_or_scope must either be a list/tuple or reused scope (i.e. dict)")
    else:
        scope = dict(current_arg_scope())
        for op in list_ops_or_scope:
            if not has_arg_scope(op):
                raise ValueError(
                    f"{(op.__module__, op.__name__)} is not decorated with @add_arg_scope"
                )
            key = arg_scope_func_key(op)
            scope[key] = {**scope.get(key, {}), **kwargs}
    stack = _scopes.stack
    stack.append(scope)
    try:
        yield scope
    finally:
        stack.pop()
