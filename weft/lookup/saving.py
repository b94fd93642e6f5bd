"""What checkpoints take of a table: the tensors of its keys and values."""

from __future__ import annotations

from typing import Any

from weft.framework.graph import colocate_with
from weft.framework.scopes import name_scope
from weft.ops.by_name import raw
from weft.train.saveable import SaveableObject, SaveSpec


class SaveableTable(SaveableObject):
    """A table as savers see it."""

    def __init__(self, table: Any, name: str):
        keys, values = table.export()
        specs = [SaveSpec(keys, "", name + "-keys"), SaveSpec(values, "", name + "-values")]
        super().__init__(table, specs, name)

    def restore(self, restored_tensors: list[Any], restored_shapes: list[Any] | None) -> Any:
        """Builds the operation that gives the table what was read, in the place of all it has."""
        handle = self.op.resource_handle
        with name_scope(None, f"{self.name}_table_restore"), colocate_with(handle):
            return raw.LookupTableImportV2(handle, *restored_tensors[:2])
