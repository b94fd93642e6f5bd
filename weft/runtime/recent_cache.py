"""A cache of bounded size that keeps what was used lately, at no cost to a hit but setting a flag."""

from __future__ import annotations

import threading
from typing import Any


class RecentCache:
    """A mapping that forgets the entries not used since it last looked for room (second chance)."""

    __slots__ = ("_entries", "_limit", "_lock")

    def __init__(self, limit: int):
        self._entries: dict[Any, list[Any]] = {}  # key -> [value, used]; oldest first
        self._limit = limit
        self._lock = threading.Lock()

    def get(self, key: Any) -> Any:
        """The value of a key, or None."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        entry[1] = True
        return entry[0]

    def put(self, key: Any, value: Any) -> None:
        """Adds an entry; where there is no room, one that was not used lately goes."""
        with self._lock:
            entries = self._entries
            entries[key] = [value, False]
            while len(entries) > self._limit:
                oldest = next(iter(entries))
                entry = entries.pop(oldest)
                if entry[1]:
                    entry[1] = False
                    entries[oldest] = entry

    def values(self) -> list[Any]:
        return [entry[0] for entry in list(self._entries.values())]

    def __len__(self) -> int:
        return len(self._entries)

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()
