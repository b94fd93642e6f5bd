"""Packing: the small results of a call on an accelerator come to the host as the bytes of one array.

Each array that is read on the host costs a round trip to the device, some tens of microseconds, whatever its
size. A step with a loss, an accuracy and a check would wait three times for a dozen bytes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_SMALL = 1 << 14  # bytes
_ALIGNED = 16


class Packed:
    """Arrays, of which the small ones lie in `bytes`, and `places` says where; a tree that may leave a trace."""

    __slots__ = ("bytes", "large", "places")

    def __init__(self, packed: Any, large: tuple, places: tuple):
        self.bytes, self.large, self.places = packed, large, places

    def flatten(self) -> tuple[tuple, tuple]:
        return (self.bytes, self.large), self.places

    @classmethod
    def unflatten(cls, places: tuple, children: tuple) -> Packed:
        packed, large = children
        return cls(packed, large, places)

    def unpack(self) -> list[Any]:
        """The arrays: the small ones, once they are there, as NumPy's, the others as they are."""
        packed: Any = None
        if self.bytes is not None:
            self.bytes.copy_to_host_async()  # on its way before there is somebody to wait for it
            packed = np.array(self.bytes)
        large = iter(self.large)
        out = []
        for place in self.places:
            if place is None:
                out.append(next(large))
                continue
            start, dtype, shape = place
            end = start + dtype.itemsize * math.prod(shape)
            out.append(packed[start:end].view(dtype).reshape(shape))
        return out


def pack(jax: Any, values: list[Any]) -> Packed:
    """Packs traced values."""
    large: list[Any] = []
    parts: list[Any] = []
    places: list[Any] = []  # (start, dtype, shape); None for the large ones
    at = 0
    for value in values:
        if not _is_small(value):
            large.append(value)
            places.append(None)
            continue
        raw = _as_bytes(jax, value)
        places.append((at, np.dtype(value.dtype), value.shape))
        parts.append(jax.numpy.pad(raw, (0, -raw.size % _ALIGNED)))
        at += parts[-1].size
    packed = jax.numpy.concatenate(parts) if parts else None
    return Packed(packed, tuple(large), tuple(places))


def _is_small(value: Any) -> bool:
    dtype = getattr(value, "dtype", None)
    if dtype is None or not hasattr(value, "nbytes") or value.nbytes > _SMALL:
        return False
    return np.dtype(dtype).kind in "biuf" and value.size > 0


def _as_bytes(jax: Any, value: Any) -> Any:
    if value.dtype == bool:
        return value.astype(np.uint8).reshape(-1)
    return jax.lax.bitcast_convert_type(value, np.uint8).reshape(-1)
