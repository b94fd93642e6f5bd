"""Cell: one piece of mutable array state (a variable, a random counter) with one owner."""

from __future__ import annotations

from typing import Any

import numpy as np


class Cell:
    """A place for one array. Its value is never written in place: a new array takes the old one's place.

    The value is a NumPy array after interpreted work and a device array after compiled work; None while it
    is not initialised.
    """

    __slots__ = ("name", "dtype", "shape", "value", "__weakref__", "extra")

    def __init__(self, name: str, dtype: Any = None, shape: tuple | None = None, value: Any = None):
        self.name, self.dtype, self.shape, self.value = name, dtype, shape, value
        self.extra: Any = None

    @property
    def is_initialized(self) -> bool:
        return self.value is not None

    def numpy(self) -> np.ndarray | None:
        """The value as a NumPy array that nobody may write into."""
        value = self.value
        if value is None or type(value) is np.ndarray:
            return value
        return np.asarray(value)

    def __repr__(self) -> str:
        return f"<cell {self.name}>"
