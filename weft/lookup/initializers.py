"""What fills static tables: tensors, or a text file."""

from __future__ import annotations

from typing import Any

from weft.framework import context, dtypes
from weft.framework.conversion import convert_to_tensor
from weft.framework.export import export
from weft.framework.graph_keys import GraphKeys
from weft.framework.scopes import name_scope
from weft.framework.tensor import Tensor
from weft.framework.trackable import Trackable
from weft.lookup.interface import TableInitializerBase, check_dtypes, outside_of_branches
from weft.ops.by_name import raw
from weft.variables.collections import add_to_collection


@export("lookup.KeyValueTensorInitializer", "contrib.lookup.KeyValueTensorInitializer")
class KeyValueTensorInitializer(TableInitializerBase):
    """Fills a table from vectors of keys and values."""

    def __init__(
        self,
        keys: Any,
        values: Any,
        key_dtype: Any = None,
        value_dtype: Any = None,
        name: str | None = None,
    ):
        with outside_of_branches():
            self._keys = convert_to_tensor(keys, dtype=key_dtype, name="keys")
            self._values = convert_to_tensor(values, dtype=value_dtype, name="values")
        self._name = name if name is not None else "key_value_init"
        super().__init__(self._keys.dtype, self._values.dtype)

    def initialize(self, table: Any) -> Any:
        """Returns the operation that fills a table."""
        check_dtypes(table, self._keys.dtype, self._values.dtype)
        with name_scope(self._name, None, [table.resource_handle, self._keys, self._values]):
            init = raw.LookupTableImportV2(table.resource_handle, self._keys, self._values)
        if not context.executing_eagerly():
            add_to_collection(GraphKeys.TABLE_INITIALIZERS, init)
        return init


@export("lookup.TextFileIndex", "contrib.lookup.TextFileIndex")
class TextFileIndex:
    """What of a line is a key or a value: the whole line, its number, or (a number from 0 on) a column."""

    WHOLE_LINE = -2
    LINE_NUMBER = -1


@export("lookup.TextFileInitializer", "contrib.lookup.TextFileInitializer")
class TextFileInitializer(TableInitializerBase):
    """Fills a table from a text file: a key and a value from each line."""

    def __init__(
        self,
        filename: Any,
        key_dtype: Any,
        key_index: int,
        value_dtype: Any,
        value_index: int,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = None,
    ):
        if not isinstance(filename, Tensor) and not filename:
            raise ValueError(f"Filename required for {name}.")
        key_dtype, value_dtype = dtypes.as_dtype(key_dtype), dtypes.as_dtype(value_dtype)
        _check_column("key", key_index, key_dtype, integers_too=True)
        _check_column("value", value_index, value_dtype, integers_too=False)
        if vocab_size is not None and vocab_size <= 0:
            raise ValueError(f"Invalid vocab_size {vocab_size}.")
        self._filename = filename
        self._key_index, self._value_index = key_index, value_index
        self._vocab_size, self._delimiter, self._name = vocab_size, delimiter, name
        self._track_trackable(Trackable(), "_filename")  # as TensorFlow's checkpoints have it
        super().__init__(key_dtype, value_dtype)

    def initialize(self, table: Any) -> Any:
        """Returns the operation that fills a table."""
        check_dtypes(table, self.key_dtype, self.value_dtype)
        with name_scope(self._name, "text_file_init", [table.resource_handle]):
            filename = convert_to_tensor(self._filename, dtypes.string, name="asset_filepath")
            init = raw.InitializeTableFromTextFileV2(
                table.resource_handle,
                filename,
                key_index=self._key_index,
                value_index=self._value_index,
                vocab_size=-1 if self._vocab_size is None else self._vocab_size,
                delimiter=self._delimiter,
            )
        if not context.executing_eagerly():
            add_to_collection(GraphKeys.TABLE_INITIALIZERS, init)
            if filename.op.type == "Const":
                add_to_collection(GraphKeys.ASSET_FILEPATHS, filename)
        return init

    @property
    def _shared_name(self) -> str:
        size = f"_{self._vocab_size}" if self._vocab_size else ""
        return f"hash_table_{self._filename}{size}_{self._key_index}_{self._value_index}"


def _check_column(what: str, index: int, dtype: dtypes.DType, integers_too: bool) -> None:
    """ValueError where a part of a line cannot be of a dtype."""
    label = what.capitalize() + "s"
    if index < TextFileIndex.WHOLE_LINE:
        raise ValueError(f"Invalid {what} index {index}.")
    if index == TextFileIndex.LINE_NUMBER and dtype != dtypes.int64:
        raise ValueError(f"Signature mismatch. {label} must be dtype {dtypes.int64}, got {dtype}.")
    if index == TextFileIndex.WHOLE_LINE and dtype != dtypes.string:
        if integers_too and not dtype.is_integer:
            raise ValueError(f"Signature mismatch. {label} must be integer or string, got {dtype}.")
        if not integers_too:
            raise ValueError(
                f"Signature mismatch. {label} must be dtype {dtypes.string}, got {dtype}."
            )


@export("contrib.lookup.TextFileStringTableInitializer")
class TextFileStringTableInitializer(TextFileInitializer):
    """Fills a table of strings by int64 ids from a text file."""

    def __init__(
        self,
        filename: Any,
        key_column_index: int = TextFileIndex.LINE_NUMBER,
        value_column_index: int = TextFileIndex.WHOLE_LINE,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = "text_file_string_table_init",
    ):
        super().__init__(
            filename,
            dtypes.int64,
            key_column_index,
            dtypes.string,
            value_column_index,
            vocab_size=vocab_size,
            delimiter=delimiter,
            name=name,
        )


@export("contrib.lookup.TextFileIdTableInitializer")
class TextFileIdTableInitializer(TextFileInitializer):
    """Fills a table of int64 ids by strings (or numbers) from a text file."""

    def __init__(
        self,
        filename: Any,
        key_column_index: int = TextFileIndex.WHOLE_LINE,
        value_column_index: int = TextFileIndex.LINE_NUMBER,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = "text_file_id_table_init",
        key_dtype: Any = dtypes.string,
    ):
        super().__init__(
            filename,
            key_dtype,
            key_column_index,
            dtypes.int64,
            value_column_index,
            vocab_size=vocab_size,
            delimiter=delimiter,
            name=name,
        )
