"""Tables that are filled once: `tf.lookup.StaticHashTable`."""

from __future__ import annotations

import uuid
from typing import Any

from weft.framework import context
from weft.framework.conversion import convert_to_tensor
from weft.framework.export import export
from weft.framework.func_graph import init_scope
from weft.framework.scopes import name_scope
from weft.framework.sparse_tensor import SparseTensor
from weft.framework.tensor_shape import TensorShape
from weft.framework.trackable import Trackable
from weft.lookup.interface import LookupInterface, name_of, outside_of_branches
from weft.ops.by_name import raw


@export("contrib.lookup.InitializableLookupTableBase")
class InitializableLookupTableBase(LookupInterface):
    """A table that an initializer fills."""

    def __init__(self, default_value: Any, initializer: Any):
        super().__init__(initializer.key_dtype, initializer.value_dtype)
        self._default_value = convert_to_tensor(default_value, dtype=self._value_dtype)
        self._default_value.get_shape().merge_with(TensorShape([]))
        self._initializer = initializer
        if isinstance(initializer, Trackable):
            self._track_trackable(initializer, "_initializer")
        with init_scope():
            self._resource_handle = self._create_resource()
        with outside_of_branches():
            self._init_op = self._initialize()

    def _initialize(self) -> Any:
        return self._initializer.initialize(self)

    @property
    def default_value(self) -> Any:
        """The value of keys that are not in the table."""
        return self._default_value

    @property
    def initializer(self) -> Any:
        """The operation that fills the table."""
        return self._init_op

    def size(self, name: str | None = None) -> Any:
        """Returns how many keys the table has."""
        with name_scope(name, f"{self.name}_Size", [self.resource_handle]):
            return raw.LookupTableSizeV2(self.resource_handle)

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """Returns the values of keys, in a SparseTensor if the keys are in one."""
        is_sparse = isinstance(keys, SparseTensor)
        dense = keys.values if is_sparse else keys
        self._check_keys(keys)
        with name_scope(
            name, f"{self.name}_Lookup", [self.resource_handle, dense, self._default_value]
        ):
            values = raw.LookupTableFindV2(self.resource_handle, dense, self._default_value)
        values.set_shape(dense.get_shape())
        return SparseTensor(keys.indices, values, keys.dense_shape) if is_sparse else values


class _HashTable(InitializableLookupTableBase):
    """A table whose resource is shared under a name."""

    _shared_name: str | None
    _name: str

    def _create_resource(self) -> Any:
        handle = raw.HashTableV2(
            shared_name=self._shared_name or "",
            key_dtype=self._key_dtype,
            value_dtype=self._value_dtype,
            name=self._name,
        )
        self._table_name = name_of(handle)
        return handle

    @property
    def name(self) -> Any:
        return self._table_name

    def export(self, name: str | None = None) -> tuple[Any, Any]:
        """Returns all keys and values of the table."""
        with name_scope(name, f"{self.name}_Export", [self.resource_handle]):
            keys, values = raw.LookupTableExportV2(
                self.resource_handle, Tkeys=self._key_dtype, Tvalues=self._value_dtype
            )
        values.set_shape(keys.get_shape().concatenate(self._default_value.get_shape()))
        return keys, values


@export("lookup.StaticHashTable")
class StaticHashTable(_HashTable):
    """A table that does not change once its initializer has run.

    `tf.tables_initializer()` runs the initializers of all tables; eagerly they run at once.
    """

    def __init__(self, initializer: Any, default_value: Any, name: str | None = None):
        self._shared_name = initializer._shared_name
        if not self._shared_name and not context.executing_eagerly():
            # Without a name each table operation had a resource of its own, also those of one program
            # that is imported several times.
            self._shared_name = f"hash_table_{uuid.uuid4()}"
        self._name = name or "hash_table"
        super().__init__(default_value, initializer)


@export("contrib.lookup.HashTable")
class HashTable(_HashTable):
    """A table that does not change once its initializer has run."""

    def __init__(
        self,
        initializer: Any,
        default_value: Any,
        shared_name: str | None = None,
        name: str | None = None,
    ):
        self._shared_name = shared_name
        self._name = name or "hash_table"
        super().__init__(default_value, initializer)

    @property
    def init(self) -> Any:
        """The operation that fills the table."""
        return self.initializer
