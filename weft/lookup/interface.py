"""What tables and their initializers have in common; running the initializers."""

from __future__ import annotations

import contextlib
from typing import Any

from weft.framework import context, dtypes, function_tracing
from weft.framework.export import export
from weft.framework.func_graph import init_scope
from weft.framework.graph_keys import GraphKeys
from weft.framework.trackable import Trackable
from weft.ops.flow.grouping import group, no_op
from weft.variables.collections import get_collection


@export("tables_initializer", "initializers.tables_initializer")
def tables_initializer(name: str = "init_all_tables") -> Any:
    """Returns an operation that initializes all tables of the graph."""
    initializers = get_collection(GraphKeys.TABLE_INITIALIZERS)
    return group(*initializers, name=name) if initializers else no_op(name=name)


@export("initialize_all_tables")
def initialize_all_tables(name: str = "init_all_tables") -> Any:
    """Returns an operation that initializes all tables of the graph."""
    return tables_initializer(name)


def in_branch() -> bool:
    """Whether operations are added to a branch of a cond or to a loop, which may not run."""
    if context.executing_eagerly():
        return False
    graph = context.get_default_graph()
    return graph.building_function and not function_tracing.in_function(graph)


def outside_of_branches() -> Any:
    """A context in which operations are added where they run in any case."""
    return init_scope() if in_branch() else contextlib.nullcontext()


@export("contrib.lookup.LookupInterface")
class LookupInterface(Trackable):
    """A table that persists across steps."""

    _resource_handle: Any = None

    def __init__(self, key_dtype: Any, value_dtype: Any):
        self._key_dtype = dtypes.as_dtype(key_dtype)
        self._value_dtype = dtypes.as_dtype(value_dtype)

    def _create_resource(self) -> Any:
        raise NotImplementedError("A table says what makes its resource.")

    @property
    def resource_handle(self) -> Any:
        """The handle of the table's resource."""
        if self._resource_handle is None:
            with init_scope():
                self._resource_handle = self._create_resource()
        return self._resource_handle

    @property
    def key_dtype(self) -> dtypes.DType:
        """The dtype of keys."""
        return self._key_dtype

    @property
    def value_dtype(self) -> dtypes.DType:
        """The dtype of values."""
        return self._value_dtype

    @property
    def name(self) -> Any:
        """The name of the table."""
        return NotImplementedError

    def size(self, name: str | None = None) -> Any:
        """Returns how many keys the table has."""
        raise NotImplementedError("A table says how large it is.")

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """Returns the values of keys."""
        raise NotImplementedError("A table says what values its keys have.")

    def _check_keys(self, keys: Any) -> None:
        if keys.dtype.base_dtype != self._key_dtype:
            raise TypeError(
                f"Signature mismatch. Keys must be dtype {self._key_dtype}, got {keys.dtype}."
            )


def name_of(handle: Any) -> str | None:
    """What a table is called: eagerly it has no name."""
    return None if context.executing_eagerly() else handle.op.name.split("/")[-1]


@export("contrib.lookup.TableInitializerBase")
class TableInitializerBase(Trackable):
    """What fills a table."""

    def __init__(self, key_dtype: Any, value_dtype: Any):
        self._key_dtype = dtypes.as_dtype(key_dtype)
        self._value_dtype = dtypes.as_dtype(value_dtype)

    @property
    def key_dtype(self) -> dtypes.DType:
        """The dtype of keys that the table must have."""
        return self._key_dtype

    @property
    def value_dtype(self) -> dtypes.DType:
        """The dtype of values that the table must have."""
        return self._value_dtype

    def initialize(self, table: Any) -> Any:
        """Returns the operation that fills a table."""
        raise NotImplementedError("An initializer says how it fills a table.")

    @property
    def _shared_name(self) -> str:
        """What tables are called that this fills with the same data; empty: no two of them are the same."""
        return ""


def check_dtypes(table: Any, key_dtype: dtypes.DType, value_dtype: dtypes.DType) -> None:
    """TypeError where a table has other dtypes than what is to fill it."""
    if key_dtype.base_dtype != table.key_dtype:
        raise TypeError(f"Invalid key dtype, expected {table.key_dtype} but got {key_dtype}.")
    if value_dtype.base_dtype != table.value_dtype:
        raise TypeError(f"Invalid value dtype, expected {table.value_dtype} but got {value_dtype}.")
