"""Resources: state that outlives a step (variables, queues, tables, random counters), owned by a device."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, MutableMapping
from typing import Any

from weft.engine.cell import restart

DEFAULT_CONTAINER = "localhost"


class ResourceStore:
    """Everything that keeps state between steps, by container and name."""

    def __init__(self, collectives: Any = None) -> None:
        self.lock = threading.RLock()
        self._collectives = collectives
        self.epoch = 0  # grows when resources go away, so that plans look them up again
        # Random counters by operation: a server's store outlives the graphs that its clients bring.
        self.random: MutableMapping[Any, Any] = weakref.WeakKeyDictionary()
        self._items: dict[tuple[str, str, str], Any] = {}

    @property
    def collectives(self) -> Any:
        """Where devices of the store meet those of their groups."""
        if self._collectives is None:
            from weft.runtime.collectives import Collectives

            with self.lock:
                self._collectives = self._collectives or Collectives()
        return self._collectives

    @collectives.setter
    def collectives(self, collectives: Any) -> None:
        self._collectives = collectives

    def get_or_create(self, kind: str, container: str, name: str, make: Callable[[], Any]) -> Any:
        """The resource of a kind and name, made at its first use."""
        key = (kind, container or DEFAULT_CONTAINER, name)
        found = self._items.get(key)
        if found is None:
            with self.lock:
                found = self._items.get(key)
                if found is None:
                    found = self._items[key] = make()
        return found

    def find(self, kind: str, container: str, name: str) -> Any:
        """The resource, or None."""
        return self._items.get((kind, container or DEFAULT_CONTAINER, name))

    def put(self, kind: str, container: str, name: str, value: Any) -> None:
        with self.lock:
            self._items[(kind, container or DEFAULT_CONTAINER, name)] = value

    def delete(self, resource: Any) -> bool:
        """Forgets a resource; False if it is not there."""
        with self.lock:
            for key, value in self._items.items():
                if value is resource:
                    del self._items[key]
                    self.epoch += 1
                    return True
        return False

    def clear(self, containers: Any = None) -> None:
        """Forgets the resources of some containers, or of all."""
        with self.lock:
            self._items = {
                k: v for k, v in self._items.items() if containers and k[1] not in containers
            }
            if not containers:
                self.random.clear()
            self.epoch += 1

    def restart_random(self, ops: set[Any]) -> None:
        """Has operations draw random numbers from the beginning."""
        with self.lock:
            for op in ops:
                if (counter := self.random.get(op)) is not None:
                    restart(counter)

    def items(self) -> dict[tuple[str, str, str], Any]:
        with self.lock:
            return dict(self._items)

    def close(self) -> None:
        """Cancels what waits in resources (queues) and forgets them."""
        for item in self.items().values():
            cancel = getattr(item, "cancel_all", None)
            if cancel is not None:
                cancel()
        self.clear()
