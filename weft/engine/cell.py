"""Cell: one piece of mutable array state (a variable, a random counter) with one owner."""

from __future__ import annotations

import sys
from collections.abc import Callable, MutableMapping
from typing import Any

import numpy as np


class Cell:
    """A place for one array. To change it a new array takes the old one's place; `writable` is the exception.

    The value is a NumPy array after interpreted work and a device array after compiled work; None while it
    is not initialised.
    """

    __slots__ = ("name", "dtype", "shape", "value", "lock", "__weakref__", "extra")

    def __init__(self, name: str, dtype: Any = None, shape: tuple | None = None, value: Any = None):
        self.name, self.dtype, self.shape, self.value = name, dtype, shape, value
        self.extra: Any = None
        self.lock: Any = None  # of the store that the cell belongs to; held while a step changes it

    @property
    def is_initialized(self) -> bool:
        return self.value is not None

    @property
    def is_on_device(self) -> bool:
        """Whether compiled work has left the value on a device."""
        return type(self.value) is not np.ndarray and hasattr(self.value, "unsafe_buffer_pointer")

    def numpy(self) -> np.ndarray | None:
        """The value as a NumPy array that nobody may write into."""
        while True:
            value = self.value
            if value is None or type(value) is np.ndarray:
                return value
            try:
                return np.asarray(value)
            except RuntimeError:
                # A step of another thread took the array over. It puts a new one in its place before it lets
                # go of the lock.
                if self.value is value and self.lock is not None:
                    with self.lock:
                        pass
                if self.value is value:
                    raise

    def writable(self) -> np.ndarray:
        """The value as an array that may be changed in place: the value itself where nobody else can see it,
        else a copy, which becomes the value.

        A sparse update of a large table must not copy it. Everybody who could still see the change (a value
        read earlier in the step, a view, a device array that shares the memory, a fetch that is being copied)
        holds a reference to the array, and the interpreter counts references. So an array whose only holder
        is this cell, and which owns its memory, is free to be written.
        """
        value = self.value
        if (
            type(value) is np.ndarray
            and value.base is None
            and value.flags.writeable
            and _references(value) <= _ALONE
        ):
            return value
        del value
        self.value = np.array(self.value)
        return self.value

    def __repr__(self) -> str:
        return f"<cell {self.name}>"


def random_cell(cells: MutableMapping[Any, Cell], op: Any, make: Callable[[], Any]) -> Cell:
    """The cell of an operation's random counter; `make` gives its first value."""
    cell = cells.get(op)
    if cell is None:
        cell = cells[op] = Cell(op._name + "/counter", value=make())
        cell.extra = make
    return cell


def restart(counter: Cell) -> None:
    """Has a random counter begin again; who holds the cell goes on with it."""
    counter.value = counter.extra()


_ON_HOST = (np.ndarray, Cell)


def on_host(values: list[Any]) -> list[Any]:
    """Values, arrays of the host in place of what compiled work left on a device."""
    return [
        v if type(v) in _ON_HOST or not hasattr(v, "unsafe_buffer_pointer") else np.asarray(v)
        for v in values
    ]


class LocalCell(Cell):
    """State of a trace itself, that no step before or after has."""

    __slots__ = ()


def _references(value: Any) -> int:
    return sys.getrefcount(value)


def _count_when_alone() -> int:
    """What `_references` gives in `writable` for an array that only a cell holds, in this Python."""
    cell = Cell("", value=np.zeros(1))
    value = cell.value
    return _references(value)


# Without a global lock counts of references are no promise: then every update copies.
_ALONE = _count_when_alone() if getattr(sys, "_is_gil_enabled", lambda: True)() else -1
