"""What provides items."""

from __future__ import annotations

from typing import Any


class DataProvider:
    """Items of one example, by name, and how many examples there are."""

    def __init__(self, items_to_tensors: dict[str, Any], num_samples: int | None):
        self._items_to_tensors, self._num_samples = items_to_tensors, num_samples

    def get(self, items: Any) -> list[Any]:
        """The items of these names."""
        if not isinstance(items, (list, tuple)):
            raise ValueError("items must be a list or tuple")
        for item in items:
            if item not in self._items_to_tensors:
                raise ValueError(
                    f"Item [{item}] is invalid. Valid entries include: {self.list_items()}"
                )
        return [self._items_to_tensors[item] for item in items]

    def list_items(self) -> Any:
        """The names of all items."""
        return self._items_to_tensors.keys()

    def num_samples(self) -> int | None:
        """How many examples there are."""
        return self._num_samples
