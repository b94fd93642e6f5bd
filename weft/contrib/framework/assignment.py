"""Variables that get their values from arrays or from checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import weft as tf
from weft.contrib.framework.variables import both, get_variable_full_name
from weft.framework.export import export_all
from weft.framework.graph_keys import GraphKeys
from weft.platform import tf_logging

export_all(
    "contrib.framework",
    checkpoints_iterator=tf.train.checkpoints_iterator,
    init_from_checkpoint=tf.train.init_from_checkpoint,
    list_variables=tf.train.list_variables,
    load_checkpoint=tf.train.load_checkpoint,
    load_variable=tf.train.load_variable,
)


def _fed(var: Any, feeds: dict[Any, Any], value: Any) -> Any:
    """An operation that gives a variable what is fed."""
    fed = tf.placeholder(var.dtype.base_dtype, var.get_shape(), name="placeholder/" + var.op.name)
    feeds[fed] = value
    return var.assign(fed)


@both
def assign_from_values(var_names_to_values: dict[str, Any]) -> tuple[Any, dict[Any, Any]]:
    """An operation, and what to feed it, that gives the variables of these names these values."""
    feeds: dict[Any, Any] = {}
    assigned = []
    for name, value in var_names_to_values.items():
        found = tf.get_collection(GraphKeys.GLOBAL_VARIABLES, name)
        if not found:
            raise ValueError(f"Variable {name} wasn't found")
        exact = [v for v in found if v.op.name == name]
        if len(found) > 1 and not exact:
            raise ValueError(f"Variable {name} doesn't uniquely identify a variable")
        var = exact[0] if exact else found[0]
        assigned.append(_fed(var, feeds, np.reshape(value, var.get_shape().as_list())))
    return tf.group(*assigned), feeds


@both
def assign_from_values_fn(var_names_to_values: dict[str, Any]) -> Callable:
    """A function of a session that gives the variables of these names these values."""
    assign, feeds = assign_from_values(var_names_to_values)
    return lambda session: session.run(assign, feeds)


@both
def assign_from_checkpoint(
    model_path: str, var_list: Any, ignore_missing_vars: bool = False
) -> tuple[Any, dict[Any, Any]]:
    """An operation, and what to feed it, that gives variables their values of a checkpoint."""
    by_name: dict[str, list[Any]] = {}
    if isinstance(var_list, (tuple, list)):
        for var in var_list:
            by_name.setdefault(get_variable_full_name(var), []).append(var)
    else:
        for name, var in var_list.items():
            by_name[name] = list(var) if isinstance(var, (tuple, list)) else [var]
    reader = tf.train.NewCheckpointReader(model_path)
    feeds: dict[Any, Any] = {}
    assigned = []
    for name, variables in by_name.items():
        if not reader.has_tensor(name):
            message = f"Checkpoint is missing variable [{name}]"
            if not ignore_missing_vars:
                raise ValueError(message)
            tf_logging.warning(message)
            continue
        value = reader.get_tensor(name)
        for var in variables:
            part = var._save_slice_info
            if part:
                ends = zip(part.var_offset, part.var_shape)
                assigned.append(_fed(var, feeds, value[tuple(slice(a, a + n) for a, n in ends)]))
                continue
            if tuple(var.get_shape().as_list()) != value.shape:
                raise ValueError(
                    f"Total size of new array must be unchanged for {name} lh_shape: [{value.shape}], rh_shape: "
                    f"[{var.get_shape()}]"
                )
            assigned.append(_fed(var, feeds, value))
    return tf.group(*assigned), feeds


@both
def assign_from_checkpoint_fn(
    model_path: str,
    var_list: Any,
    ignore_missing_vars: bool = False,
    reshape_variables: bool = False,
) -> Callable | None:
    """A function of a session that restores variables from a checkpoint; None where none is to restore."""
    if not var_list:
        raise ValueError("var_list cannot be empty")
    if ignore_missing_vars:
        reader = tf.train.NewCheckpointReader(model_path)
        named = var_list if isinstance(var_list, dict) else {v.op.name: v for v in var_list}
        for name in named:
            if not reader.has_tensor(name):
                tf_logging.warning("Variable %s missing in checkpoint %s", name, model_path)
        var_list = {name: v for name, v in named.items() if reader.has_tensor(name)}
    if not var_list:
        tf_logging.warning("No Variables to restore")
        return None
    saver = tf.train.Saver(var_list, reshape=reshape_variables)
    return lambda session: saver.restore(session, model_path)
