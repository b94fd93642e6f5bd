"""A cache of bounded size that keeps what was used lately, at no cost to a hit but setting a flag."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


class RecentCache:
    """A mapping that forgets the entries not used since it last looked for room (second chance)."""

    __slots__ = ("_entries", "_limit", "_lock", "_dropped")

    def __init__(self, limit: int, dropped: Callable[[Any], Any] | None = None):
        self._entries: dict[Any, list[Any]] = {}  # key -> [value, used]; oldest first
        self._limit = limit
        self._lock = threading.Lock()
        self._dropped = dropped  # is told of what goes

    def get(self, key: Any) -> Any:
        """The value of a key, or None."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        entry[1] = True
        return entry[0]

    def put(self, key: Any, value: Any) -> None:
        """Adds an entry; where there is no room, one that was not used lately goes."""
        gone = []
        with self._lock:
            entries = self._entries
            if key in entries:
                gone.append(entries[key][0])
            entries[key] = [value, False]
            while len(entries) > self._limit:
                oldest = next(iter(entries))
                entry = entries.pop(oldest)
                if entry[1]:
                    entry[1] = False
                    entries[oldest] = entry
                else:
                    gone.append(entry[0])
        self._tell(gone)

    def values(self) -> list[Any]:
        return [entry[0] for entry in list(self._entries.values())]

    def __len__(self) -> int:
        return len(self._entries)

    def clear(self) -> None:
        with self._lock:
            gone = [entry[0] for entry in self._entries.values()]
            self._entries.clear()
        self._tell(gone)

    def _tell(self, gone: list[Any]) -> None:
        if self._dropped is not None:
            for value in gone:
                self._dropped(value)
