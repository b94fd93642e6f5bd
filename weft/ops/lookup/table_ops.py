"""The ops on lookup tables, each for handles of both kinds: resources (V2), and references to strings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.framework.registry import op
from weft.framework.shape_rules import (
    Shape,
    fail,
    merge,
    rank_at_least,
    rank_at_most,
    scalar,
    text,
    vector,
)
from weft.ops.lookup import text_file
from weft.ops.lookup.tables import HashTable, Table
from weft.ops.queues.handles import held
from weft.ops.state.resource import short_name
from weft.ops.strings.elements import as_bytes, invalid, scalar_text, shown

# -- what is known of a table while the graph is built ---------------------------------------------------------


def _known(const: Any, decl_types: tuple[Any, Any]) -> tuple[Shape, Shape] | None:
    """The shapes of a table's keys and values where the op that makes it says them; ShapeError where it makes a
    table of other dtypes than an op on it is for."""
    source = const.origin("table_handle")
    if source is None or source._decl.name not in _SAYING:
        return None
    attrs = source._attrs
    for wanted, found in zip((attrs["key_dtype"], attrs["value_dtype"]), decl_types):
        if found is not wanted:
            fail(
                f"Trying to read value with wrong dtype. Expected {short_name(wanted)} got {short_name(found)}"
            )
    keys = source._inputs[0]._dims if source._inputs else ()
    return keys, attrs.get("value_shape", ())


_SAYING = ("MutableHashTableV2", "MutableHashTableOfTensorsV2", "MutableDenseHashTableV2")


def _check_handle(handle: Shape, is_old: bool) -> None:
    if not is_old:
        scalar(handle)
    elif vector(handle)[0] not in (2, None):
        fail("A handle of a table must have two elements", handle)


# -- ops on tables -----------------------------------------------------------------------------------------------


def _on_tables(
    old: str | None,
    new: str,
    args: str,
    attrs: str,
    rule: Callable,
    kernel: Callable,
    elementwise: tuple[str, ...] = (),
) -> None:
    """Declares an op on tables twice. The shape rule is told whether the handle is one of the old kind."""
    for name, handle in ((old, "ref table_handle: string"), (new, "table_handle: resource")):
        if name is None:
            continue
        is_old = name == old
        decl = op(name, args.replace("@handle", handle), attrs, host=True, stateful=not is_old)(
            kernel
        )
        decl.shape(rule(is_old))
        decl.not_differentiable()
        if elementwise:
            decl.elementwise(*elementwise)


def _find(ctx, table_handle, keys, default_value, *, Tin, Tout):
    """The values of keys in a table, and a default value for those that it lacks."""
    table = held(table_handle, Table)
    table.check_key_dtype(Tin)
    table.check_value_dtype(Tout)
    return table.find(keys, default_value)


def _find_shape(is_old: bool) -> Callable:
    def rule(table_handle, keys, default_value, *, Tin, Tout, const):
        _check_handle(table_handle, is_old)
        rank_at_most(default_value, 1)
        known = None if is_old or const.actual else _known(const, (Tin, Tout))
        if known is None or known[0] is None or known[1] is None or keys is None:
            return None
        key_shape, value_shape = known
        n = len(keys) - len(key_shape)
        if n < 0:
            fail(f"Expected keys to have suffix {text(key_shape)} but saw shape: {text(keys)}")
        merge(keys[n:], key_shape)
        return (*keys[:n], *value_shape)

    return rule


def _insert(ctx, table_handle, keys, values, *, Tin, Tout):
    """Gives keys of a table values."""
    table = held(table_handle, Table)
    table.check_key_dtype(Tin)
    table.check_value_dtype(Tout)
    table.insert(keys, values)


def _import(ctx, table_handle, keys, values, *, Tin, Tout):
    """Gives a table these keys and values and no others."""
    table = held(table_handle, Table)
    table.check_key_dtype(Tin)
    table.check_value_dtype(Tout)
    table.replace(keys, values)


def _pairs_shape(is_old: bool) -> Callable:
    def rule(table_handle, keys, values):
        _check_handle(table_handle, is_old)

    return rule


def _import_shape(is_old: bool) -> Callable:
    def rule(table_handle, keys, values, *, const):
        _check_handle(table_handle, is_old)
        # Buckets of a table of vectors come as they were exported: in rows.
        source = None if is_old or const.actual else const.origin("table_handle")
        if source is not None and source._decl.name in ("HashTableV2", "MutableHashTableV2"):
            merge(vector(keys), values)

    return rule


def _remove(ctx, table_handle, keys, *, Tin):
    """Forgets keys of a table."""
    table = held(table_handle, Table)
    table.check_key_dtype(Tin)
    table.remove(keys)


def _remove_shape(is_old: bool) -> Callable:
    def rule(table_handle, keys):
        _check_handle(table_handle, is_old)
        rank_at_least(keys, 1)

    return rule


def _size(ctx, table_handle):
    """How many keys a table has."""
    return np.asarray(held(table_handle, Table).size(), np.int64)


def _size_shape(is_old: bool) -> Callable:
    def rule(table_handle):
        _check_handle(table_handle, is_old)
        return ()

    return rule


def _export(ctx, table_handle, *, Tkeys, Tvalues):
    """The keys and values of a table."""
    table = held(table_handle, Table)
    table.check_key_dtype(Tkeys)
    table.check_value_dtype(Tvalues)
    return table.export()


def _export_shape(is_old: bool) -> Callable:
    def rule(table_handle, *, Tkeys, Tvalues, const):
        _check_handle(table_handle, is_old)
        known = None if is_old or const.actual else _known(const, (Tkeys, Tvalues))
        source = None if is_old or const.actual else const.origin("table_handle")
        if known is None or source is None or source._decl.name == "MutableDenseHashTableV2":
            return None, None  # the buckets of a dense table are rows, also of scalars
        return (None,), None if known[1] is None else (None, *known[1])

    return rule


def _initialize(ctx, table_handle, keys, values, *, Tkey, Tval):
    """Fills a table from vectors of keys and values."""
    table = _fillable(table_handle)
    table.check_key_dtype(Tkey)
    table.check_value_dtype(Tval)
    if keys.ndim != 1 or values.ndim != 1:
        raise invalid(
            f"Keys and values must be vectors, but received shapes {text(keys.shape)} and {text(values.shape)}"
        )
    if len(keys) != len(values):
        raise invalid(f"Keys and values must have the same size {len(keys)} vs {len(values)}")
    table.initialize(keys, values)


def _initialize_shape(is_old: bool) -> Callable:
    def rule(table_handle, keys, values):
        _check_handle(table_handle, is_old)
        merge(vector(keys), values)

    return rule


def _initialize_from_text_file(
    ctx, table_handle, filename, *, key_index, value_index, vocab_size, delimiter
):
    """Fills a table from the lines of a file."""
    table = _fillable(table_handle)
    separator = as_bytes(delimiter)
    if len(separator) != 1:
        raise invalid("delimiter should be only 1 char")
    path = shown(scalar_text(filename, "filename"))
    if not path:
        raise invalid("filename cannot be empty.")
    keys, values = text_file.keys_and_values(
        path, vocab_size, separator, key_index, table.key_dtype, value_index, table.value_dtype
    )
    if not table.is_initialized:  # by another op that reads the same file, as the shared name says
        table.initialize(keys, values)


def _text_file_shape(is_old: bool) -> Callable:
    def rule(table_handle, filename):
        _check_handle(table_handle, is_old)
        scalar(filename)

    return rule


def _fillable(handle: Any) -> HashTable:
    table = held(handle, Table)
    if not isinstance(table, HashTable):
        raise invalid(f"A table of kind {type(table).__name__} is not initializable")
    return table


_KEYS_IN, _PAIR_IN = "Tin: type", "Tin: type; Tout: type"
_on_tables(
    "LookupTableFind",
    "LookupTableFindV2",
    "@handle, keys: Tin, default_value: Tout -> values: Tout",
    _PAIR_IN,
    _find_shape,
    _find,
    elementwise=("keys",),
)
_on_tables(
    "LookupTableInsert",
    "LookupTableInsertV2",
    "@handle, keys: Tin, values: Tout",
    _PAIR_IN,
    _pairs_shape,
    _insert,
)
_on_tables(
    "LookupTableImport",
    "LookupTableImportV2",
    "@handle, keys: Tin, values: Tout",
    _PAIR_IN,
    _import_shape,
    _import,
)
_on_tables(None, "LookupTableRemoveV2", "@handle, keys: Tin", _KEYS_IN, _remove_shape, _remove)
_on_tables("LookupTableSize", "LookupTableSizeV2", "@handle -> size: int64", "", _size_shape, _size)
_on_tables(
    "LookupTableExport",
    "LookupTableExportV2",
    "@handle -> keys: Tkeys, values: Tvalues",
    "Tkeys: type; Tvalues: type",
    _export_shape,
    _export,
)
_on_tables(
    "InitializeTable",
    "InitializeTableV2",
    "@handle, keys: Tkey, values: Tval",
    "Tkey: type; Tval: type",
    _initialize_shape,
    _initialize,
)
_on_tables(
    "InitializeTableFromTextFile",
    "InitializeTableFromTextFileV2",
    "@handle, filename: string",
    r"key_index: int >= -2; value_index: int >= -2; vocab_size: int >= -1 = -1; delimiter: string = '\t'",
    _text_file_shape,
    _initialize_from_text_file,
)
