"""Tables in buckets: `tf.lookup.experimental.DenseHashTable`."""

from __future__ import annotations

from typing import Any

from weft.framework import context
from weft.framework.conversion import convert_to_tensor
from weft.framework.export import export
from weft.lookup.mutable_table import MutableTable
from weft.ops.by_name import raw

_BUCKETS = 131072


@export("lookup.experimental.DenseHashTable", "contrib.lookup.MutableDenseHashTable")
class DenseHashTable(MutableTable):
    """A table that changes at any time; keys and values may be vectors.

    Two keys stand for empty buckets and for those whose key was removed; they cannot be keys themselves.
    """

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        empty_key: Any,
        deleted_key: Any,
        initial_num_buckets: int | None = None,
        name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
    ):
        self._initial_num_buckets = initial_num_buckets
        self._empty_key = convert_to_tensor(empty_key, dtype=key_dtype, name="empty_key")
        self._deleted_key = convert_to_tensor(deleted_key, dtype=key_dtype, name="deleted_key")
        super().__init__(key_dtype, value_dtype, default_value, name, checkpoint)

    def _create_resource(self) -> Any:
        return raw.MutableDenseHashTableV2(
            self._empty_key,
            self._deleted_key,
            use_node_name_sharing=self._checkpoint and not context.executing_eagerly(),
            value_dtype=self._value_dtype,
            value_shape=self._default_value.get_shape(),
            initial_num_buckets=self._initial_num_buckets or _BUCKETS,
            name=self._name,
        )

    def insert_or_assign(self, keys: Any, values: Any, name: str | None = None) -> Any:
        """Returns the operation that gives keys values, in the place of those they had."""
        return self.insert(keys, values, name)

    def erase(self, keys: Any, name: str | None = None) -> Any:
        """Returns the operation that forgets keys; those that are not in the table do no harm."""
        return self.remove(keys, name)
