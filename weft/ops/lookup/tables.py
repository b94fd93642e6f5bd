"""Tables of the host: keys are found by a dictionary, the values of all of them lie in one array."""

from __future__ import annotations

import collections
import itertools
import threading
from typing import Any

import numpy as np

from weft.framework import dtypes, errors
from weft.framework.shape_rules import text
from weft.ops.state.resource import short_name
from weft.ops.strings.elements import invalid, of

_FEW = 64  # rows of removed keys that nobody minds


def key_list(keys: np.ndarray, key_rank: int) -> list[Any]:
    """Keys as a dictionary takes them: elements, or rows as bytes (of strings as tuples)."""
    if key_rank == 0:
        return keys.ravel().tolist()
    rows = np.ascontiguousarray(keys.reshape(-1, keys.shape[-1]))
    if rows.dtype == object:
        return list(map(tuple, rows.tolist()))
    return [row.tobytes() for row in rows]


class Rows:
    """Which row of an array belongs to which key."""

    def __init__(self, dtype: np.dtype, shape: tuple[int, ...]):
        self._rows: dict[Any, int] = {}
        self._end = 0  # the first row that was never used
        self._values = np.empty((0, *shape), dtype)

    def __len__(self) -> int:
        return len(self._rows)

    def find(self, keys: list[Any], default: np.ndarray) -> np.ndarray:
        """The values of keys; the default where there is no such key."""
        rows = np.fromiter(map(self._rows.get, keys, itertools.repeat(-1)), np.int64, len(keys))
        missing = rows < 0
        if not missing.any():
            return self._values[rows]
        out = np.empty((len(keys), *self._values.shape[1:]), self._values.dtype)
        out[~missing] = self._values[rows[~missing]]
        out[missing] = default
        return out

    def insert(self, keys: list[Any], values: np.ndarray) -> None:
        """Gives keys values, the last one where a key comes several times."""
        known = self._rows
        new = [key for key in dict.fromkeys(keys) if key not in known]
        end = self._end + len(new)
        if end > len(self._values):
            grown = np.empty(
                (max(end, 2 * len(self._values)), *self._values.shape[1:]), self._values.dtype
            )
            grown[: self._end] = self._values[: self._end]
            self._values = grown
        known.update(zip(new, range(self._end, end)))
        self._end = end
        rows = np.fromiter(map(known.__getitem__, keys), np.int64, len(keys))
        self._values[rows] = values

    def remove(self, keys: list[Any]) -> None:
        """Forgets keys; those that are not there do no harm."""
        collections.deque(map(self._rows.pop, keys, itertools.repeat(None)), maxlen=0)
        if self._end > 2 * len(self._rows) + _FEW:
            keys, values = self.contents()
            self._values, self._end = values, len(keys)
            self._rows = dict(zip(keys, range(len(keys))))

    def contents(self) -> tuple[list[Any], np.ndarray]:
        """All keys and their values."""
        rows = np.fromiter(self._rows.values(), np.int64, len(self._rows))
        return list(self._rows), self._values[rows]


class Table:
    """What all tables have: the dtypes and shapes of keys and values, and checks of what is asked of them."""

    key_shape: tuple[int, ...] = ()

    def __init__(
        self,
        key_dtype: dtypes.DType,
        value_dtype: dtypes.DType,
        value_shape: tuple[int, ...] = (),
    ):
        self.key_dtype, self.value_dtype, self.value_shape = key_dtype, value_dtype, value_shape
        self.lock = threading.Lock()

    def check_dtypes(self, name: str, key_dtype: dtypes.DType, value_dtype: dtypes.DType) -> None:
        """InvalidArgumentError where an op declares a table of the same name to be another one."""
        if (key_dtype, value_dtype) != (self.key_dtype, self.value_dtype):
            raise invalid(
                f"Conflicting key/value dtypes {short_name(key_dtype)}->{short_name(value_dtype)} with "
                f"{short_name(self.key_dtype)}-{short_name(self.value_dtype)} for table {name}"
            )

    def check_key_dtype(self, key_dtype: dtypes.DType) -> None:
        if key_dtype is not self.key_dtype:
            raise invalid(
                f"Key must be type {short_name(self.key_dtype)} but got {short_name(key_dtype)}"
            )

    def check_value_dtype(self, value_dtype: dtypes.DType) -> None:
        if value_dtype is not self.value_dtype:
            raise invalid(
                f"Value must be type {short_name(self.value_dtype)} but got {short_name(value_dtype)}"
            )

    def count_shape(self, keys: np.ndarray) -> tuple[int, ...]:
        """The shape of keys without that of a single one."""
        rank = len(self.key_shape)
        if rank > keys.ndim or keys.shape[keys.ndim - rank :] != self.key_shape:
            raise invalid(
                f"Input key shape {text(keys.shape)} must end with the table's key shape {text(self.key_shape)}"
            )
        return keys.shape[: keys.ndim - rank]

    def check_values(self, count_shape: tuple[int, ...], values: np.ndarray) -> None:
        expected = (*count_shape, *self.value_shape)
        if values.shape != expected:
            raise invalid(f"Expected shape {text(expected)} for value, got {text(values.shape)}")

    # -- what ops do

    def find(self, keys: np.ndarray, default: np.ndarray) -> np.ndarray:
        """The values of keys; the default where there is no such key."""
        shape = self.count_shape(keys)
        if default.shape != self.value_shape:
            raise invalid(
                f"Expected shape {text(self.value_shape)} for default value, got {text(default.shape)}"
            )
        with self.lock:
            found = self._find(keys, default)
        return found.reshape((*shape, *self.value_shape))

    def insert(self, keys: np.ndarray, values: np.ndarray) -> None:
        """Gives keys values."""
        self.check_values(self.count_shape(keys), values)
        with self.lock:
            self._insert(keys, values)

    def remove(self, keys: np.ndarray) -> None:
        """Forgets keys."""
        self.count_shape(keys)
        with self.lock:
            self._remove(keys)

    def replace(self, keys: np.ndarray, values: np.ndarray) -> None:
        """Holds these keys and values and no others."""
        self.check_values(self.count_shape(keys), values)
        with self.lock:
            self._replace(keys, values)

    def _find(self, keys: np.ndarray, default: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _insert(self, keys: np.ndarray, values: np.ndarray) -> None:
        raise NotImplementedError

    def _remove(self, keys: np.ndarray) -> None:
        raise NotImplementedError

    def _replace(self, keys: np.ndarray, values: np.ndarray) -> None:
        raise NotImplementedError

    def export(self) -> tuple[np.ndarray, np.ndarray]:
        """All keys and values."""
        raise NotImplementedError

    def size(self) -> int:
        """How many keys there are."""
        raise NotImplementedError


class MutableHashTable(Table):
    """A table that changes at any time; its keys are scalars."""

    def __init__(
        self,
        key_dtype: dtypes.DType,
        value_dtype: dtypes.DType,
        value_shape: tuple[int, ...] = (),
    ):
        super().__init__(key_dtype, value_dtype, value_shape)
        self._rows = self._no_rows()

    def _no_rows(self) -> Rows:
        return Rows(self.value_dtype.np or np.dtype(object), self.value_shape)

    def _find(self, keys: np.ndarray, default: np.ndarray) -> np.ndarray:
        return self._rows.find(key_list(keys, 0), default)

    def _insert(self, keys: np.ndarray, values: np.ndarray) -> None:
        self._rows.insert(key_list(keys, 0), values.reshape(-1, *self.value_shape))

    def _remove(self, keys: np.ndarray) -> None:
        self._rows.remove(key_list(keys, 0))

    def _replace(self, keys: np.ndarray, values: np.ndarray) -> None:
        self._rows = self._no_rows()
        self._insert(keys, values)

    def export(self) -> tuple[np.ndarray, np.ndarray]:
        with self.lock:
            keys, values = self._rows.contents()
        return _key_array(keys, self.key_dtype), values

    def size(self) -> int:
        return len(self._rows)


def _key_array(keys: list[Any], dtype: dtypes.DType) -> np.ndarray:
    return of(keys, (len(keys),)) if dtype is dtypes.string else np.array(keys, dtype.np)


class HashTable(MutableHashTable):
    """A table that is filled once, and not changed afterwards."""

    is_initialized = False

    def initialize(self, keys: np.ndarray, values: np.ndarray) -> None:
        """Fills the table; of one that is filled already only the number of keys is compared."""
        self.check_values(self.count_shape(keys), values)
        if not keys.size:
            raise invalid("keys and values cannot be empty tensors.")
        keys_, values = key_list(keys, 0), values.reshape(-1)
        with self.lock:
            if self.is_initialized:
                if len(keys_) != len(self._rows):
                    raise errors.FailedPreconditionError(
                        None, None, "Table was already initialized with different data."
                    )
                return
            rows = self._no_rows()
            rows.insert(keys_, values)
            kept = rows.find(keys_, values)
            for i in np.flatnonzero(kept != values)[:1].tolist():
                first = keys_.index(keys_[i])
                raise errors.FailedPreconditionError(
                    None,
                    None,
                    f"HashTable has different value for same key. Key {_shown(keys_[i])} has "
                    f"{_shown(values[first])} and trying to add value "
                    f"{_shown(kept[i] if first == i else values[i])}",
                )
            self._rows, self.is_initialized = rows, True

    def find(self, keys: np.ndarray, default: np.ndarray) -> np.ndarray:
        if not self.is_initialized:
            raise errors.FailedPreconditionError(None, None, "Table not initialized.")
        return super().find(keys, default)

    def insert(self, keys: np.ndarray, values: np.ndarray) -> None:
        raise _not_supported("Insert")

    def remove(self, keys: np.ndarray) -> None:
        raise _not_supported("Remove")

    def replace(self, keys: np.ndarray, values: np.ndarray) -> None:
        self.initialize(keys, values)

    def export(self) -> tuple[np.ndarray, np.ndarray]:
        if not self.is_initialized:
            raise errors.AbortedError(None, None, "HashTable is not initialized.")
        return super().export()


def _not_supported(what: str) -> errors.UnimplementedError:
    return errors.UnimplementedError(
        None, None, f"{what} not supported by InitializableLookupTable implementations"
    )


def _shown(value: Any) -> str:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)
