"""Collections: lists of anything that a graph keeps under a name."""

from __future__ import annotations

import re
from typing import Any


class Collections:
    """The part of a graph that keeps collections."""

    def __init__(self) -> None:
        self._collections: dict[Any, list[Any]] = {}

    def _check_not_finalized(self) -> None: ...

    @property
    def collections(self) -> list[Any]:
        """The names of all collections."""
        return list(self._collections)

    def get_all_collection_keys(self) -> list[str]:
        """Returns the names of collections, but for those whose names are not strings."""
        return [k for k in self._collections if isinstance(k, str)]

    def add_to_collection(self, name: Any, value: Any) -> None:
        """Adds a value to a collection; one value may be there several times."""
        self._check_not_finalized()
        self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names: Any, value: Any) -> None:
        """Adds a value to each of several collections (a name alone is one)."""
        names = (names,) if isinstance(names, str) else dict.fromkeys(names)
        for name in names:
            self.add_to_collection(name, value)

    def get_collection_ref(self, name: Any) -> list[Any]:
        """Returns the list itself of a collection, which changes may be made to."""
        return self._collections.setdefault(name, [])

    def get_collection(self, name: Any, scope: str | None = None) -> list[Any]:
        """Returns the values of a collection; with a scope, those whose names match it as a prefix pattern."""
        values = self._collections.get(name, [])
        if scope is None:
            return list(values)
        pattern = re.compile(scope)
        return [v for v in values if hasattr(v, "name") and pattern.match(v.name)]

    def clear_collection(self, name: Any) -> None:
        """Removes all values from a collection."""
        self._check_not_finalized()
        self._collections.pop(name, None)
