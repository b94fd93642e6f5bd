"""What is made of several tensors and yet is one value: sparse and ragged tensors, some rows of a tensor."""

from __future__ import annotations

from typing import Any


class CompositeTensor:
    """A value whose parts are tensors. Sessions take and give all its parts at once."""

    def _nest_components(self) -> list[Any]:
        """The parts."""
        raise NotImplementedError(f"{type(self).__name__}._nest_components")

    def _nest_from_components(self, parts: list[Any]) -> Any:
        """The same kind of value, of other parts."""
        raise NotImplementedError(f"{type(self).__name__}._nest_from_components")

    def _fetched(self, arrays: list[Any]) -> Any:
        """What a session gives for this value, of the arrays that it has for the parts."""
        raise NotImplementedError(f"{type(self).__name__}._fetched")

    def _fed(self, value: Any) -> list[Any]:
        """What a session feeds to the parts, of the value that it is given."""
        return list(value)

    def consumers(self) -> list[Any]:
        """The operations that take a part of this value."""
        return list(
            dict.fromkeys(op for part in self._nest_components() for op in part.consumers())
        )
