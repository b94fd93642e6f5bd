"""Tables that change: `tf.contrib.lookup.MutableHashTable`."""

from __future__ import annotations

import functools
from typing import Any

from weft.framework import context
from weft.framework.conversion import convert_to_tensor
from weft.framework.export import export
from weft.framework.graph import colocate_with
from weft.framework.graph_keys import GraphKeys
from weft.framework.scopes import name_scope
from weft.lookup.interface import LookupInterface, name_of
from weft.ops.by_name import raw
from weft.variables.collections import add_to_collection


class MutableTable(LookupInterface):
    """What tables that change have in common."""

    _table_name: Any

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        name: str,
        checkpoint: bool,
    ):
        super().__init__(key_dtype, value_dtype)
        self._default_value = convert_to_tensor(
            default_value, dtype=value_dtype, name="default_value"
        )
        self._checkpoint, self._name = checkpoint, name
        self._resource_handle = self._create_resource()
        self._table_name = name_of(self._resource_handle)
        if checkpoint:
            if not name:
                raise ValueError("A table that checkpoints hold needs a name.")
            if not context.executing_eagerly():
                add_to_collection(GraphKeys.SAVEABLE_OBJECTS, _saveable(self, name))

    @property
    def name(self) -> Any:
        return self._table_name

    def size(self, name: str | None = None) -> Any:
        """Returns how many keys the table has."""
        handle = self.resource_handle
        with name_scope(name, f"{self.name}_Size", [handle]), colocate_with(handle):
            return raw.LookupTableSizeV2(handle)

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """Returns the values of keys, the default value of those that are not in the table."""
        handle = self.resource_handle
        with name_scope(name, f"{self.name}_lookup_table_find", [handle, keys]):
            keys = convert_to_tensor(keys, dtype=self._key_dtype, name="keys")
            with colocate_with(handle):
                return raw.LookupTableFindV2(handle, keys, self._default_value)

    def insert(self, keys: Any, values: Any, name: str | None = None) -> Any:
        """Returns the operation that gives keys values, in the place of those they had."""
        handle = self.resource_handle
        with name_scope(name, f"{self.name}_lookup_table_insert", [handle, keys, values]):
            keys = convert_to_tensor(keys, dtype=self._key_dtype, name="keys")
            values = convert_to_tensor(values, dtype=self._value_dtype, name="values")
            with colocate_with(handle):
                return raw.LookupTableInsertV2(handle, keys, values)

    def remove(self, keys: Any, name: str | None = None) -> Any:
        """Returns the operation that forgets keys; those that are not in the table do no harm."""
        self._check_keys(keys)
        handle = self.resource_handle
        with name_scope(name, f"{self.name}_lookup_table_remove", [handle, keys]):
            return raw.LookupTableRemoveV2(handle, keys)

    def export(self, name: str | None = None) -> tuple[Any, Any]:
        """Returns all keys and values of the table."""
        handle = self.resource_handle
        with (
            name_scope(name, f"{self.name}_lookup_table_export_values", [handle]),
            colocate_with(handle),
        ):
            keys, values = raw.LookupTableExportV2(
                handle, Tkeys=self._key_dtype, Tvalues=self._value_dtype
            )
        return keys, values

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        """What checkpoints of objects hold of the table."""
        return {"table": functools.partial(_saveable, self, name=self._name)}


def _saveable(table: MutableTable, name: str) -> Any:
    from weft.lookup.saving import SaveableTable  # brings what trains, which few tables need

    return SaveableTable(table, name)


@export("contrib.lookup.MutableHashTable")
class MutableHashTable(MutableTable):
    """A table that changes at any time; values may be vectors, of the shape of the default value."""

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        name: str = "MutableHashTable",
        checkpoint: bool = True,
    ):
        super().__init__(key_dtype, value_dtype, default_value, name, checkpoint)

    def _create_resource(self) -> Any:
        how: dict[str, Any] = {
            "use_node_name_sharing": self._checkpoint and not context.executing_eagerly(),
            "key_dtype": self._key_dtype,
            "value_dtype": self._value_dtype,
            "name": self._name,
        }
        shape = self._default_value.get_shape()
        if shape.ndims == 0:
            return raw.MutableHashTableV2(**how)
        return raw.MutableHashTableOfTensorsV2(value_shape=shape, **how)
