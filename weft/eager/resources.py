"""What eager execution has in place of a session: a store of resources, a library of functions, a step."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from weft.framework import context, random_seed
from weft.ops.queues.waiting import wait_for_one
from weft.runtime.functions import FunctionPrograms
from weft.runtime.resources import ResourceStore
from weft.variables.resource import ANONYMOUS

UNIQUE = "/anonymous_"  # in names of resources that nobody finds again


class EagerResources(ResourceStore):
    """The store of eager execution. A resource without a name of its own lives as long as its handle."""

    def __init__(self) -> None:
        super().__init__()
        self.random = {}  # by operation and attributes: there is no graph that they would go with

    def get_or_create(self, kind: str, container: str, name: str, make: Callable[[], Any]) -> Any:
        if name == ANONYMOUS or UNIQUE in name:
            return make()
        return super().get_or_create(kind, container, name, make)


class Library:
    """The functions that eager execution knows: those of the graph around all functions."""

    outer_graph = None

    def _get_function(self, name: str) -> Any:
        return self._graph()._get_function(name)

    def _add_function(self, function: Any) -> None:
        self._graph()._add_function(function)

    def _is_function(self, name: str) -> bool:
        return self._get_function(name) is not None

    @staticmethod
    def _graph() -> Any:
        return context.get_default_graph()


class EagerStep:
    """What a kernel sees of its step: eager operations are not cancelled."""

    stopped = False
    error = None
    id = 0

    def __init__(self) -> None:
        self.extra: dict[str, Any] = {}

    def check(self) -> None:
        """Nothing stops an eager operation."""

    def wait(self, condition: threading.Condition, timeout: float | None = None) -> None:
        condition.wait(timeout)

    def at_end(self, function: Callable[[], Any]) -> None:
        """An eager operation ends at once, what it gives does not."""

    def wait_for(self, waits: list[Any]) -> None:
        """Returns once one of several waiting operations is done."""
        wait_for_one(waits)


library = Library()
programs = FunctionPrograms(library)
resources = EagerResources()
random_seed.on_eager_seed.append(resources.random.clear)
