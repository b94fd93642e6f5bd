"""Lists and mappings of trackable objects, which only grow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from weft.framework.export import export
from weft.framework.trackable import Trackable
from weft.framework.tracked_structures import TrackedStructure, wrapped


def _trackable(owner: TrackedStructure, value: Any) -> Any:
    value = wrapped(value)
    if not isinstance(value, Trackable):
        raise ValueError(
            f"Only trackable objects (such as Layers or Optimizers) may be stored in a {type(owner).__name__} "
            f"object. Got {value}, which does not inherit from Trackable."
        )
    return value


@export("contrib.checkpoint.List")
class List(TrackedStructure, Sequence):  # type: ignore[misc]
    """A list of trackable objects, each a dependency by its place. It may be appended to."""

    def __init__(self, elements: Iterable[Any] = ()):
        self._storage: list[Any] = []
        self.extend(elements)

    def _elements(self) -> Iterable[tuple[Any, Any]]:
        return enumerate(self._storage)

    def append(self, value: Any) -> None:
        """Adds an object at the end."""
        self._storage.append(self._tracked(_trackable(self, value), len(self)))

    def extend(self, values: Iterable[Any]) -> None:
        """Adds several objects at the end."""
        for value in values:
            self.append(value)

    def __iadd__(self, values: Iterable[Any]) -> Any:
        self.extend(values)
        return self

    def __add__(self, other: Iterable[Any]) -> Any:
        return type(self)([*self, *other])

    def __radd__(self, other: Iterable[Any]) -> Any:
        return type(self)([*other, *self])

    def __mul__(self, n: int) -> Any:
        return type(self)(self._storage * n)

    __rmul__ = __mul__

    def __imul__(self, n: int) -> Any:
        if n <= 0:
            raise ValueError(
                f"List only supports append, multiplying in place by {n} removes elements."
            )
        self.extend(self._storage * (n - 1))
        return self

    def copy(self) -> Any:
        return type(self)(self)

    def __getitem__(self, key: Any) -> Any:
        return self._storage[key]

    def __len__(self) -> int:
        return len(self._storage)

    def __repr__(self) -> str:
        return f"List({self._storage!r})"


@export("contrib.checkpoint.Mapping")
class TrackedMapping(TrackedStructure, Mapping):  # type: ignore[misc]
    """A mapping from strings to trackable objects, which may be added and not replaced."""

    def __init__(self, *args: Any, **kwargs: Any):
        self._storage: dict[str, Any] = {}
        self.update(*args, **kwargs)

    def _elements(self) -> Iterable[tuple[Any, Any]]:
        return sorted(self._storage.items())

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise TypeError(f"Mapping accepts only string keys, but got a key {key!r}.")
        value = _trackable(self, value)
        current = self._storage.setdefault(key, value)
        if current is not value:
            raise ValueError(
                f"Mappings are an append-only data structure. Tried to overwrite the key '{key}' with value "
                f"{value}, but it already contains {current}"
            )
        self._tracked(value, key)

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Adds several objects."""
        for key, value in dict(*args, **kwargs).items():
            self[key] = value

    def __getitem__(self, key: str) -> Any:
        return self._storage[key]

    def __iter__(self) -> Any:
        return iter(self._storage)

    def __len__(self) -> int:
        return len(self._storage)

    def __repr__(self) -> str:
        return f"Mapping({self._storage!r})"


@export("contrib.checkpoint.UniqueNameTracker")
class UniqueNameTracker(TrackedStructure):
    """Dependencies by names of which those that were taken get a number."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def _elements(self) -> Iterable[tuple[Any, Any]]:
        return self._tracking.dependencies.items()

    def track(self, trackable: Any, base_name: str) -> Any:
        """Makes an object a dependency by a name, or that with a number; gives the object."""
        if not isinstance(trackable, Trackable):
            raise ValueError(
                f"Expected a trackable value, got {trackable} which does not inherit from tf.track.Trackable."
            )
        count = self._counts.get(base_name, 0)
        while self._lookup_dependency(name := f"{base_name}_{count}" if count else base_name):
            count += 1
        self._counts[base_name] = count + 1
        return self._tracked(trackable, name)
