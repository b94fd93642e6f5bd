"""What checkpoints take of a table: the tensors of its keys and values."""

from __future__ import annotations

from typing import Any

from weft.framework.graph import colocate_with
from weft.framework.scopes import name_scope
from weft.ops.by_name import raw


class SaveSpec:
    """A tensor that goes into a checkpoint, and what it is called there."""

    def __init__(self, tensor: Any, slice_spec: str, name: str, dtype: Any = None):
        self._tensor, self.slice_spec, self.name = tensor, slice_spec, name
        self.dtype = dtype if dtype is not None else self.tensor.dtype

    @property
    def tensor(self) -> Any:
        return self._tensor() if callable(self._tensor) else self._tensor

    @property
    def device(self) -> str:
        return self.tensor.device


class SaveableTable:
    """A table as savers see it."""

    def __init__(self, table: Any, name: str):
        keys, values = table.export()
        self.op, self.name, self.device = table, name, None
        self.specs: list[Any] = [
            SaveSpec(keys, "", name + "-keys"),
            SaveSpec(values, "", name + "-values"),
        ]

    @property
    def optional_restore(self) -> bool:
        return False

    def restore(
        self, restored_tensors: list[Any], restored_shapes: Any, name: str | None = None
    ) -> Any:
        """Returns the operation that gives the table what a checkpoint holds."""
        with (
            name_scope(name, f"{self.name}_table_restore"),
            colocate_with(self.op.resource_handle),
        ):
            return raw.LookupTableImportV2(self.op.resource_handle, *restored_tensors[:2])
