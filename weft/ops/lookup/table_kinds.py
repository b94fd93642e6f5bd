"""The ops that make tables, each for handles of both kinds: resources (V2), and references to strings."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from weft.framework.registry import op
from weft.framework.shape_rules import Shape, rank_at_most, text
from weft.ops.lookup.dense_table import MutableDenseHashTable
from weft.ops.lookup.tables import HashTable, MutableHashTable, Table
from weft.ops.strings.elements import invalid

_NAMES = "container: string = ''; shared_name: string = ''; use_node_name_sharing: bool = false"
_TYPES = "key_dtype: type; value_dtype: type"
_SHAPE = "value_shape: shape = []"
_BUCKETS = "initial_num_buckets: int = 131072; max_load_factor: float = 0.800000011920929"


# Tables without a name to share: session -> operation -> table. They end with their session.
_private: weakref.WeakKeyDictionary[Any, dict[Any, Table]] = weakref.WeakKeyDictionary()


def _found(
    ctx: Any, container: str, shared_name: str, by_node: bool, make: Callable[[], Table]
) -> Table:
    """The table that an op declares; made at its first use."""
    name = shared_name or ctx.op.name
    key_dtype, value_dtype = (ctx.op.get_attr(a) for a in ("key_dtype", "value_dtype"))
    session = getattr(
        ctx.step, "session", None
    )  # eagerly there is none, but each op has a name of its own
    if shared_name or by_node or session is None:
        table = ctx.resources.get_or_create("table", container, name, make)
    else:
        with ctx.lock:
            own = _private.setdefault(session, {})
            table = own.get(ctx.op)
            if table is None:
                table = own[ctx.op] = make()
    table.check_dtypes(name, key_dtype, value_dtype)
    return table


def _declared(
    names: tuple[str, str], inputs: tuple[str, str], attrs: str, kernel: Callable
) -> None:
    """Declares a kind of table twice: the older op gives a reference to two strings, the newer a resource."""
    for name, args, handle, shape in zip(
        names, inputs, ("ref table_handle: string", "table_handle: resource"), ((2,), ())
    ):
        decl = op(name, f"{args} -> {handle}", f"{_NAMES}; {attrs}", stateful=True, host=True)(
            kernel
        )
        decl.shape(_shape_of_handle(shape))
        decl.not_differentiable()


def _shape_of_handle(shape: Shape) -> Callable:
    def rule(*keys: Shape) -> Shape:
        for key in keys:
            rank_at_most(key, 1)
        return shape

    return rule


def _hash_table(ctx, *, container, shared_name, use_node_name_sharing, key_dtype, value_dtype):
    """A table that is filled once."""
    return _found(
        ctx,
        container,
        shared_name,
        use_node_name_sharing,
        lambda: HashTable(key_dtype, value_dtype),
    )


def _mutable_hash_table(
    ctx, *, container, shared_name, use_node_name_sharing, key_dtype, value_dtype
):
    """A table that changes."""
    return _found(
        ctx,
        container,
        shared_name,
        use_node_name_sharing,
        lambda: MutableHashTable(key_dtype, value_dtype),
    )


def _mutable_hash_table_of_tensors(
    ctx, *, container, shared_name, use_node_name_sharing, key_dtype, value_dtype, value_shape
):
    """A table that changes, whose values are vectors."""

    def make() -> Table:
        if value_shape is None or len(value_shape) != 1 or None in value_shape:
            raise invalid(f"Default value must be a vector, got shape {text(value_shape)}")
        return MutableHashTable(key_dtype, value_dtype, value_shape)

    return _found(ctx, container, shared_name, use_node_name_sharing, make)


def _mutable_dense_hash_table(
    ctx,
    empty_key,
    deleted_key=None,
    *,
    container,
    shared_name,
    use_node_name_sharing,
    key_dtype,
    value_dtype,
    value_shape,
    initial_num_buckets,
    max_load_factor,
):
    """A table that changes, whose keys may be vectors."""

    def make() -> Table:
        if deleted_key is None:
            raise invalid("Unknown input name: deleted_key, which only MutableDenseHashTableV2 has")
        if value_shape is None or None in value_shape:
            raise invalid(
                f"Empty value must be a scalar or a vector, got shape {text(value_shape)}"
            )
        return MutableDenseHashTable(
            key_dtype,
            value_dtype,
            value_shape,
            empty_key.copy(),
            deleted_key.copy(),
            initial_num_buckets,
            max_load_factor,
        )

    return _found(ctx, container, shared_name, use_node_name_sharing, make)


_declared(("HashTable", "HashTableV2"), ("", ""), _TYPES, _hash_table)
_declared(("MutableHashTable", "MutableHashTableV2"), ("", ""), _TYPES, _mutable_hash_table)
_declared(
    ("MutableHashTableOfTensors", "MutableHashTableOfTensorsV2"),
    ("", ""),
    f"{_TYPES}; {_SHAPE}",
    _mutable_hash_table_of_tensors,
)
_declared(
    ("MutableDenseHashTable", "MutableDenseHashTableV2"),
    ("empty_key: key_dtype", "empty_key: key_dtype, deleted_key: key_dtype"),
    f"{_TYPES}; {_SHAPE}; {_BUCKETS}",
    _mutable_dense_hash_table,
)
