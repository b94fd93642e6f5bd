"""MutableDenseHashTable: keys and values in buckets, in the order in which TensorFlow looks for them.

The buckets are what checkpoints hold; keys are found by a dictionary of their buckets.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from weft.framework import dtypes
from weft.framework.shape_rules import text
from weft.ops.lookup.tables import Table, key_list
from weft.ops.strings.elements import invalid
from weft.ops.strings.packed import pack
from weft.ops.strings.word_hashes import hash64

_GOLDEN = np.uint64(0x9E3779B97F4A7800)


class MutableDenseHashTable(Table):
    """A table whose keys may be vectors; one key says that a bucket is empty, one that its key was removed."""

    def __init__(
        self,
        key_dtype: dtypes.DType,
        value_dtype: dtypes.DType,
        value_shape: tuple[int, ...],
        empty_key: np.ndarray,
        deleted_key: np.ndarray,
        initial_num_buckets: int,
        max_load_factor: float,
    ):
        super().__init__(key_dtype, value_dtype, value_shape)
        if not 0 < max_load_factor < 1:
            raise invalid(f"max_load_factor must be between 0 and 1, got: {max_load_factor:g}")
        if len(value_shape) > 1:
            raise invalid(
                f"Empty value must be a scalar or a vector, got shape {text(value_shape)}"
            )
        if empty_key.ndim > 1:
            raise invalid(
                f"Empty key must be a scalar or a vector, got shape {text(empty_key.shape)}"
            )
        if deleted_key.shape != empty_key.shape:
            raise invalid(
                "Empty and deleted keys must have same shape, got shapes: "
                f"{text(empty_key.shape)} and {text(deleted_key.shape)}"
            )
        self.key_shape = empty_key.shape
        self._special = {"empty_key": empty_key, "deleted_key": deleted_key}
        self._markers = {
            name: key_list(key[None], key.ndim)[0] for name, key in self._special.items()
        }
        if len(set(self._markers.values())) < len(self._markers):
            raise invalid("Empty and deleted keys cannot be equal")
        _check_count(initial_num_buckets)
        self._max_load = float(np.float32(max_load_factor))
        self._allocate(initial_num_buckets)

    def _allocate(self, count: int) -> None:
        """Makes all buckets empty."""
        self._keys = np.empty((count, max(1, int(np.prod(self.key_shape)))), self.key_dtype.np)
        self._keys[:] = self._special["empty_key"]
        width = max(1, int(np.prod(self.value_shape)))
        self._values = np.zeros((count, width), self.value_dtype.np or object)
        if self.value_dtype is dtypes.string:
            self._values[:] = b""
        self._free = np.ones(count, bool)
        self._buckets: dict[Any, int] = {}

    def _checked(self, keys: np.ndarray) -> tuple[np.ndarray, list[Any]]:
        """Keys as rows, and as the dictionary has them."""
        count = keys.shape[0] if keys.ndim else 1
        width = self._keys.shape[1]
        if keys.size != count * width:
            expected = (count, *self.key_shape)
            raise invalid(f"Expected key shape {text(expected)} got {text(keys.shape)}")
        listed = key_list(keys, len(self.key_shape))
        for name, marker in self._markers.items():
            if marker in listed:
                raise invalid(f"Using the {name} as a table key is not allowed")
        return keys.reshape(count, width), listed

    def _find(self, keys: np.ndarray, default: np.ndarray) -> np.ndarray:
        _, listed = self._checked(keys)
        rows = np.fromiter(
            map(self._buckets.get, listed, itertools.repeat(-1)), np.int64, len(listed)
        )
        found = self._values[rows]
        found[rows < 0] = default
        return found

    def _insert(self, keys: np.ndarray, values: np.ndarray) -> None:
        rows, listed = self._checked(keys)
        pending, most = len(self._buckets) + len(listed), len(self._keys)
        while pending > most * self._max_load:
            most *= 2
        if most > len(self._keys):
            self._grow(most)
        self._put(rows, listed, values.reshape(len(listed), self._values.shape[1]))

    def _grow(self, count: int) -> None:
        kept = np.array(sorted(self._buckets.values()), np.int64)
        keys, values = self._keys[kept], self._values[kept]
        self._allocate(count)
        self._put(keys, key_list(keys.reshape(-1, *self.key_shape), len(self.key_shape)), values)

    def _put(self, rows: np.ndarray, listed: list[Any], values: np.ndarray) -> None:
        """Gives keys values; new ones get buckets."""
        first: dict[Any, int] = {}
        for i, key in enumerate(listed):
            if key not in self._buckets:
                first.setdefault(key, i)
        if first:
            new = np.fromiter(first.values(), np.int64, len(first))
            places = self._places(self._hashes(rows[new]))
            self._keys[places] = rows[new]
            self._buckets.update(zip(first, places.tolist()))
        at = np.fromiter(map(self._buckets.__getitem__, listed), np.int64, len(listed))
        self._values[at] = values

    def _places(self, hashes: np.ndarray) -> np.ndarray:
        """A free bucket for each of several new keys: the first one on the way that searches for it take."""
        mask = len(self._keys) - 1
        places = (hashes & np.uint64(mask)).astype(np.int64)
        waiting, probes = np.arange(len(places)), 0
        while len(waiting):
            wanted = places[waiting]
            free = np.flatnonzero(self._free[wanted])
            taken, winners = np.unique(wanted[free], return_index=True)
            self._free[taken] = False
            stays = np.ones(len(waiting), bool)
            stays[free[winners]] = False
            waiting = waiting[stays]
            probes += 1
            places[waiting] = (places[waiting] + probes) & mask
        return places

    def _hashes(self, rows: np.ndarray) -> np.ndarray:
        if rows.dtype == object:
            parts = hash64(pack(rows)).reshape(rows.shape)
        else:
            parts = rows.astype(np.int64).view(np.uint64)
        if len(parts.T) == 1:
            return parts.ravel()
        out = np.zeros(len(parts), np.uint64)
        for part in parts.T:
            out = out ^ (part + _GOLDEN + (out << np.uint64(10)) + (out >> np.uint64(4)))
        return out

    def _remove(self, keys: np.ndarray) -> None:
        _, listed = self._checked(keys)
        gone = [self._buckets.pop(key) for key in dict.fromkeys(listed) if key in self._buckets]
        self._keys[gone] = self._special["deleted_key"]
        self._free[gone] = True

    def replace(self, keys: np.ndarray, values: np.ndarray) -> None:
        """Takes buckets as `export` gives them."""
        key_width, width = self._keys.shape[1], self._values.shape[1]
        if keys.ndim != 2 or keys.shape[1] != key_width or values.shape != (len(keys), width):
            raise invalid(
                f"Expected shapes [?,{key_width}] and [?,{width}] for the buckets of keys and values, got "
                f"{text(keys.shape)} and {text(values.shape)}"
            )
        _check_count(len(keys))
        with self.lock:
            self._keys, self._values = keys.copy(), values.copy()
            listed = key_list(keys.reshape(-1, *self.key_shape), len(self.key_shape))
            special = set(self._markers.values())
            self._buckets = {key: i for i, key in enumerate(listed) if key not in special}
            self._free = np.ones(len(keys), bool)
            self._free[list(self._buckets.values())] = False

    def export(self) -> tuple[np.ndarray, np.ndarray]:
        with self.lock:
            return self._keys.copy(), self._values.copy()

    def size(self) -> int:
        return len(self._buckets)


def _check_count(buckets: int) -> None:
    if buckets < 4 or buckets & (buckets - 1):
        raise invalid(f"Number of buckets must be at least 4 and a power of 2, got: {buckets}")
