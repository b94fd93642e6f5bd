"""The public functions that change variables of either kind."""

from __future__ import annotations

from typing import Any

from weft.framework.export import export
from weft.framework.indexed_slices import IndexedSlices
from weft.framework.scopes import name_scope
from weft.ops.by_name import raw


def _is_reference(ref: Any) -> bool:
    return ref.dtype._is_ref_dtype


@export("assign")
def assign(
    ref: Any,
    value: Any,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Any:
    """Gives a variable a new value; returns the variable as it is then."""
    if _is_reference(ref):
        return raw.Assign(
            ref, value, validate_shape=validate_shape, use_locking=use_locking, name=name
        )
    return ref.assign(value, name=name)


@export("assign_add")
def assign_add(
    ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None
) -> Any:
    """Adds to a variable; returns the variable as it is then."""
    if _is_reference(ref):
        return raw.AssignAdd(ref, value, use_locking=use_locking, name=name)
    return ref.assign_add(value)


@export("assign_sub")
def assign_sub(
    ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None
) -> Any:
    """Subtracts from a variable; returns the variable as it is then."""
    if _is_reference(ref):
        return raw.AssignSub(ref, value, use_locking=use_locking, name=name)
    return ref.assign_sub(value)


@export("count_up_to")
def count_up_to(ref: Any, limit: int, name: str | None = None) -> Any:
    """The value of a counter, which is one more afterwards; OutOfRangeError once it has reached `limit`."""
    if _is_reference(ref):
        return raw.CountUpTo(ref, limit=limit, name=name)
    return raw.ResourceCountUpTo(ref.handle, limit=limit, T=ref.dtype, name=name)


def _rows(kind: str, how: str, locking: bool) -> Any:
    def scatter(
        ref: Any, indices: Any, updates: Any, use_locking: bool = locking, name: str | None = None
    ) -> Any:
        if _is_reference(ref):
            return getattr(raw, "Scatter" + kind)(
                ref, indices, updates, use_locking=use_locking, name=name
            )
        values = _as_dtype_of(ref, updates)
        return ref._lazy_read(
            getattr(raw, "ResourceScatter" + kind)(ref.handle, indices, values, name=name)
        )

    scatter.__name__ = scatter.__qualname__ = "scatter_" + kind.lower()
    scatter.__doc__ = (
        f"{how} rows of a variable, those at `indices`; returns the variable as it is then."
    )
    return export(scatter.__name__)(scatter)


def _as_dtype_of(ref: Any, updates: Any) -> Any:
    from weft.framework.conversion import convert_to_tensor

    return convert_to_tensor(updates, ref.dtype)


scatter_update = _rows("Update", "Assigns to", True)
scatter_add = _rows("Add", "Adds to", False)
scatter_sub = _rows("Sub", "Subtracts from", False)
scatter_mul = _rows("Mul", "Multiplies", False)
scatter_div = _rows("Div", "Divides", False)
scatter_min = _rows("Min", "Takes the minimum with", False)
scatter_max = _rows("Max", "Takes the maximum with", False)


def _slices(kind: str, how: str, locking: bool) -> Any:
    def scatter(
        ref: Any, indices: Any, updates: Any, use_locking: bool = locking, name: str | None = None
    ) -> Any:
        if _is_reference(ref):
            return getattr(raw, "ScatterNd" + kind)(
                ref, indices, updates, use_locking=use_locking, name=name
            )
        return ref._lazy_read(
            getattr(raw, "ResourceScatterNd" + kind)(
                ref.handle, indices, _as_dtype_of(ref, updates), name=name
            )
        )

    scatter.__name__ = scatter.__qualname__ = "scatter_nd_" + kind.lower()
    scatter.__doc__ = (
        f"{how} slices of a variable, those at the positions that the last axis of `indices` tells; returns the "
        "variable as it is then."
    )
    return export(scatter.__name__)(scatter)


scatter_nd_update = _slices("Update", "Assigns to", True)
scatter_nd_add = _slices("Add", "Adds to", False)
scatter_nd_sub = _slices("Sub", "Subtracts from", False)


@export("batch_scatter_update")
def batch_scatter_update(
    ref: Any, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None
) -> Any:
    """Assigns slices to rows of a variable within each of the leading axes of `indices`:
    `ref[i, ..., indices[i, ..., j]] = updates[i, ..., j]`."""
    import weft as tf

    with name_scope(name):
        indices = tf.convert_to_tensor(indices, name="indices")
        shape = tf.shape(indices)
        rank = indices.dims and len(indices.dims)
        if rank is None:
            raise ValueError("batch_scatter_update needs indices of known rank.")
        index = tf.expand_dims(indices, -1)
        if rank > 1:
            axes = []
            for axis in range(rank - 1):
                where = tf.reshape(
                    tf.cast(tf.range(shape[axis]), indices.dtype),
                    [-1 if i == axis else 1 for i in range(rank)],
                )
                axes.append(tf.broadcast_to(where, shape))
            index = tf.stack([*axes, indices], axis=-1)
        return scatter_nd_update(ref, index, updates, use_locking=use_locking)


__all__ = ["IndexedSlices", "assign", "assign_add", "assign_sub", "count_up_to"]
