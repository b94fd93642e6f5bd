"""Slots: variables that an optimizer keeps for each variable it trains, named after that one."""

from __future__ import annotations

import contextlib
from typing import Any

import weft as tf
from weft.framework import context, replication
from weft.variables.base import Variable
from weft.variables.reference import RefVariable
from weft.variables.resource import is_resource_variable
from weft.variables.save_slice import SaveSliceInfo


def _create(primary: Any, value: Any, validate_shape: bool, shape: Any, dtype: Any) -> Any:
    """A variable named after the variable scope, of the kind that `primary` is."""
    use_resource = True if is_resource_variable(primary) else None
    if isinstance(primary, RefVariable):
        use_resource = False
    scope = tf.get_variable_scope()
    partitioner = scope.partitioner
    scope.set_partitioner(None)  # the slot of a part is no whole that could be cut
    try:
        slot = tf.get_variable(
            "",
            initializer=value,
            trainable=False,
            use_resource=use_resource,
            shape=shape if callable(value) else None,
            dtype=dtype,
            validate_shape=validate_shape,
        )
    finally:
        scope.set_partitioner(partitioner)
    if isinstance(primary, Variable) and primary._save_slice_info:
        own_name = slot.name[len(primary.op.name + "/") : -2]
        info = primary._save_slice_info
        slot._set_save_slice_info(
            SaveSliceInfo(
                f"{info.full_name}/{own_name}",
                list(info.full_shape or ()),
                list(info.var_offset or ()),
                list(info.var_shape or ()),
            )
        )
    return slot


def beside(variable: Any) -> Any:
    """Puts variables that are made inside where another is: on each of its devices, where it has several."""
    strategy = replication.strategy()
    if strategy is not None:
        return strategy.extended.colocate_vars_with(variable)
    eager = context.executing_eagerly()
    return tf.colocate_with(None if eager else variable, ignore_existing=eager)


@contextlib.contextmanager
def _beside(primary: Any, name: str, colocate: bool) -> Any:
    prefix = primary._shared_name if context.executing_eagerly() else primary.op.name
    with tf.variable_scope(None, f"{prefix}/{name}"):
        if colocate and (replication.strategy() or not context.executing_eagerly()):
            with beside(primary):
                yield
        else:
            yield


def create_slot(primary: Any, val: Any, name: str, colocate_with_primary: bool = True) -> Any:
    """A slot of `primary` with the initial value of a tensor."""
    validate_shape = val.get_shape().is_fully_defined()
    with _beside(primary, name, colocate_with_primary):
        return _create(primary, val, validate_shape, None, None)


def create_slot_with_initializer(
    primary: Any,
    initializer: Any,
    shape: Any,
    dtype: Any,
    name: str,
    colocate_with_primary: bool = True,
) -> Any:
    """A slot of `primary` with the initial value that an initializer gives."""
    with _beside(primary, name, colocate_with_primary):
        return _create(primary, initializer, shape.is_fully_defined(), shape, dtype)


def create_zeros_slot(
    primary: Any, name: str, dtype: Any = None, colocate_with_primary: bool = True
) -> Any:
    """A slot of `primary` that starts with zeros."""
    dtype = primary.dtype if dtype is None else dtype
    shape = primary.get_shape()
    if shape.is_fully_defined():
        return create_slot_with_initializer(
            primary, tf.zeros_initializer(), shape, dtype, name, colocate_with_primary
        )
    source = primary.initialized_value() if isinstance(primary, Variable) else primary
    zeros = tf.zeros(tf.shape(source), dtype=tf.as_dtype(dtype).base_dtype)
    return create_slot(primary, zeros, name, colocate_with_primary)
