"""tf.Module: a named container of variables and other modules."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any

from weft.framework import nest
from weft.framework.export import export
from weft.framework.scopes import name_scope
from weft.framework.tracked_structures import AutoTrackable
from weft.variables.base import Variable

_IDENTIFIER = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*$")
_WORD_ENDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=.)(?=[A-Z][a-z])")


@export("Module")
class Module(AutoTrackable):
    """A container of variables and modules, which are what its attributes hold, in whatever structures."""

    # Attributes, by name, that are not looked into for variables and modules.
    _TF_MODULE_IGNORED_PROPERTIES: frozenset[str] = frozenset()

    def __init__(self, name: str | None = None):
        if name is None:
            name = _WORD_ENDS.sub("_", type(self).__name__).lower()
        elif not _IDENTIFIER.match(name):
            raise ValueError(
                f"{name!r} is not a valid module name. Module names must be valid Python identifiers (e.g. a valid "
                "class name)."
            )
        self._name = name
        with name_scope(name) as scope:
            self._scope_name = scope

    @property
    def name(self) -> str:
        """The name of the module, as given or made of the name of its class."""
        return self._name

    @property
    def name_scope(self) -> Any:
        """The scope of the module's operations, to enter by `with`."""
        return name_scope(self._scope_name)

    @property
    def variables(self) -> tuple[Any, ...]:
        """The variables of this module and of those in it: by attribute, its own first."""
        return tuple(self._flatten(predicate=_is_variable))

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        """The variables that are trainable, in the order of `variables`."""
        return tuple(self._flatten(predicate=lambda x: _is_variable(x) and x.trainable))

    @property
    def submodules(self) -> tuple[Any, ...]:
        """The modules in this one, and in those."""
        return tuple(self._flatten(predicate=lambda x: isinstance(x, Module)))

    def _flatten(
        self,
        recursive: bool = True,
        predicate: Callable[[Any], bool] | None = None,
        attribute_traversal_key: Callable[[str], Any] | None = None,
        with_path: bool = False,
    ) -> Iterator[Any]:
        """Gives what the attributes hold and the predicate accepts, each thing once; with the way to it if asked."""
        seen: set[int] = {id(self)}
        waiting: list[tuple[tuple, Module]] = [((), self)]
        while waiting:
            path, module = waiting.pop(0)
            inner: list[tuple[tuple, Module]] = []
            for name in sorted(vars(module), key=attribute_traversal_key):
                if name in module._TF_MODULE_IGNORED_PROPERTIES:
                    continue
                for place, leaf in _leaves(vars(module)[name]):
                    if id(leaf) in seen:
                        continue
                    seen.add(id(leaf))
                    way = (*path, name, *place)
                    if predicate is None or predicate(leaf):
                        yield (way, leaf) if with_path else leaf
                    if recursive and isinstance(leaf, Module):
                        inner.append((way, leaf))
            waiting[:0] = inner

    @classmethod
    def with_name_scope(cls, method: Callable) -> Callable:
        """Makes a method enter the module's name scope."""

        @functools.wraps(method)
        def within(self: Module, *args: Any, **kwargs: Any) -> Any:
            with self.name_scope:
                return method(self, *args, **kwargs)

        return within


def _is_variable(x: Any) -> bool:
    return isinstance(x, Variable)


def _leaves(value: Any, path: tuple = ()) -> Iterator[tuple[tuple, Any]]:
    """What a structure holds, with the keys that lead there."""
    if not nest.is_nested(value):
        yield path, value
        return
    keys = sorted(value) if isinstance(value, dict) else range(len(value))
    for key, part in zip(keys, nest.children(value)):
        yield from _leaves(part, (*path, key))
