"""What decodes records."""

from __future__ import annotations

import abc
from typing import Any


class DataDecoder(abc.ABC):
    """Makes items, which are tensors with names, of a record."""

    @abc.abstractmethod
    def decode(self, data: Any, items: Any) -> list[Any]:
        """The items of these names."""

    @abc.abstractmethod
    def list_items(self) -> Any:
        """The names of all items."""
