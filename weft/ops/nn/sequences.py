"""Arguments that are one number, one for each spatial axis, or one for each axis."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any


def per_axis(value: Any, n: int, channel_index: int, name: str) -> list[Any]:
    """The argument as a list with one item for each axis, batch and channels included."""
    if value is None:
        value = [1]
    elif not isinstance(value, Sized) or getattr(value, "shape", None) == ():
        value = [value]
    if len(value) == n + 2:
        return list(value)
    if len(value) == 1:
        value = [value[0]] * n
    elif len(value) != n:
        raise ValueError(f"{name} should be of length 1, {n} or {n + 2} but was {len(value)}")
    return [1, 1, *value] if channel_index == 1 else [1, *value, 1]


def channel_index(data_format: str | None, n: int) -> int:
    """Where the channels stand among the axes."""
    return 1 if data_format is not None and data_format.startswith("NC") else n + 1
