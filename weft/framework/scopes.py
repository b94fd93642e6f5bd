"""`name_scope`: prefixes the names of the operations that a function adds."""

from __future__ import annotations

from typing import Any

from weft.framework import context
from weft.framework.export import export
from weft.framework.tensor import Tensor


class NameScope:
    """A context manager for functions that add operations.

    It makes the graph of `values` (or else the default one) the default, and enters the scope `name`, or
    `default_name` where `name` is None. Entering gives the scope's name with a slash at its end, which an
    operation may take as its whole name.
    """

    __slots__ = ("_name", "_values", "_graph", "_default_name", "_before", "_scope", "_entered")

    def __init__(self, name: str | None, default_name: str | None = None, values: Any = None):
        if name is not None and not isinstance(name, str):
            raise TypeError("name for name_scope must be a string.")
        if values is not None and name is None and default_name is None:
            raise ValueError(
                "At least one of name (None) and default_name (None) must be provided."
            )
        self._name = default_name if name is None else name
        self._default_name = default_name
        self._values = values
        self._entered: Any = None

    @property
    def name(self) -> str | None:
        return self._name

    def __enter__(self) -> str:
        if context.current.eager:
            name, stack = self._name, _eager_scopes
            if not name:
                scope = ""  # out of all scopes
            elif name.endswith("/"):
                scope = name
            else:
                scope = stack[-1] + name + "/" if stack else name + "/"
            stack.append(scope)
            self._entered = "eager"
            return scope
        graph = context.get_default_graph()
        if self._values:
            graph = graph_of(self._values, graph)
        self._graph = graph
        default = None
        if graph is not context.get_default_graph():
            default = graph.as_default()
            default.__enter__()
        scope = graph.name_scope(self._name)
        try:
            entered = scope.__enter__()
        except BaseException:
            if default is not None:
                default.__exit__(None, None, None)
            raise
        self._entered = (scope, default)
        return entered

    def __exit__(self, *error: Any) -> None:
        entered, self._entered = self._entered, None
        if entered is None:
            return
        if entered == "eager":
            _eager_scopes.pop()
            return
        scope, default = entered
        scope.__exit__(None, None, None)
        if default is not None:
            default.__exit__(None, None, None)


_eager_scopes: list[str] = []


def graph_of(values: Any, default: Any) -> Any:
    """The graph of the tensors among `values`; ValueError if they are of different ones."""
    if default.building_function:
        return default
    graph = None
    first = None
    for value in values:
        if isinstance(value, (list, tuple)):
            items = value
        else:
            items = (value,)
        for item in items:
            found = (
                getattr(item, "graph", None)
                if isinstance(item, Tensor) or hasattr(item, "op")
                else None
            )
            if found is None:
                continue
            if graph is None:
                graph, first = found, item
            elif found is not graph:
                if found.building_function or graph.building_function:
                    return default
                raise ValueError(f"{item} must be from the same graph as {first}.")
    if graph is None or graph is default or graph.building_function:
        return default
    return graph


name_scope = NameScope
export("name_scope")(NameScope)


@export("op_scope")
def op_scope(values: Any, name: str | None, default_name: str | None = None) -> NameScope:
    """Deprecated: `name_scope` with its arguments in another order."""
    return NameScope(name, default_name, values)


@export("get_name_scope")
def get_name_scope() -> str:
    """Returns the current name scope."""
    if context.current.eager:
        return _eager_scopes[-1].rstrip("/") if _eager_scopes else ""
    return context.get_default_graph().get_name_scope()
