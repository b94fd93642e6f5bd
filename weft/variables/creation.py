"""Which kind of variable `tf.Variable` makes, and the creators that programs put around it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from weft.framework import context
from weft.framework.export import export
from weft.framework.func_graph import init_scope
from weft.variables import base
from weft.variables.reference import RefVariable
from weft.variables.resource import ResourceVariable

_resource_is_default = False


@export("enable_resource_variables")
def enable_resource_variables() -> None:
    """Makes variables resource variables unless the program says otherwise."""
    global _resource_is_default
    _resource_is_default = True


@export("disable_resource_variables")
def disable_resource_variables() -> None:
    """Makes variables reference variables unless the program says otherwise; the default."""
    global _resource_is_default
    _resource_is_default = False


@export("resource_variables_enabled")
def resource_variables_enabled() -> bool:
    """Returns whether variables are resource variables unless the program says otherwise."""
    return _resource_is_default


def use_resource(asked: bool | None) -> bool:
    """Whether a variable is behind a handle: as asked, as its scope says, or by default."""
    from weft.variables.scope import get_variable_scope

    if asked is None:
        asked = get_variable_scope().use_resource
    if asked is None:
        asked = _resource_is_default
    if asked:
        return True
    with init_scope():  # a function that is traced makes its variables outside of itself
        return context.executing_eagerly()


def _default_creator(next_creator: Any = None, **kwargs: Any) -> Any:
    asked = kwargs.pop("use_resource", None)
    expected_shape = kwargs.pop("expected_shape", None)
    if use_resource(asked):
        return ResourceVariable(**kwargs)
    return RefVariable(expected_shape=expected_shape, **kwargs)


def _default_creator_v2(next_creator: Any = None, **kwargs: Any) -> ResourceVariable:
    return ResourceVariable(**kwargs)


base.default_creator = _default_creator
base.default_creator_v2 = _default_creator_v2


@contextlib.contextmanager
def _creator_scope(creator: Callable, priority: int) -> Iterator[None]:
    graph = context.get_default_graph()
    stack = base.creator_stack(graph)
    before = list(stack)
    stack.append((priority, creator))
    stack.sort(key=lambda item: item[0])  # stable: of equal priority the inner one is called first
    entered = list(stack)
    try:
        yield
    finally:
        if stack != entered:
            raise RuntimeError(
                "Exiting variable_creator_scope without proper nesting with other scopes of its kind."
            )
        stack[:] = before


@export("variable_creator_scope")
def variable_creator_scope(variable_creator: Callable) -> Any:
    """Lets `variable_creator(next_creator, **kwargs)` make the variables that are created inside."""
    return _creator_scope(variable_creator, 100)
