"""Variables of models: how they are made, and how they are found again."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import weft as tf
from weft.contrib.framework.arguments import add_arg_scope
from weft.framework.export import export, find
from weft.framework.graph_keys import GraphKeys
from weft.train import steps
from weft.variables.modes import VariableAggregation, VariableSynchronization
from weft.variables.scope import VariableScope, get_variable, get_variable_scope

_AUTO, _NONE = VariableSynchronization.AUTO, VariableAggregation.NONE


def both(function: Callable, *names: str) -> Callable:
    """Exports a function to `tf.contrib.framework` and to `tf.contrib.slim`."""
    for name in names or (function.__name__,):
        export(f"contrib.framework.{name}", f"contrib.slim.{name}")(function)
    return function


for _step in (
    steps.assert_global_step,
    steps.get_global_step,
    steps.create_global_step,
    steps.get_or_create_global_step,
):
    both(_step)


@both
def assert_or_get_global_step(graph: Any = None, global_step_tensor: Any = None) -> Any:
    """The given global step, which is checked, or that of the graph."""
    if global_step_tensor is None:
        return steps.get_global_step(graph)
    steps.assert_global_step(global_step_tensor)
    return global_step_tensor


@both
def local_variable(
    initial_value: Any,
    validate_shape: bool = True,
    name: str | None = None,
    use_resource: bool | None = None,
) -> Any:
    """A variable of this process, which is neither trained nor saved."""
    return _untrained(initial_value, GraphKeys.LOCAL_VARIABLES, validate_shape, name, use_resource)


@both
def global_variable(
    initial_value: Any,
    validate_shape: bool = True,
    name: str | None = None,
    use_resource: bool | None = None,
) -> Any:
    """A variable that is saved and not trained."""
    return _untrained(initial_value, GraphKeys.GLOBAL_VARIABLES, validate_shape, name, use_resource)


def _untrained(value: Any, collection: str, validate: bool, name: Any, use_resource: Any) -> Any:
    return tf.Variable(
        value,
        trainable=False,
        collections=[collection],
        validate_shape=validate,
        use_resource=use_resource,
        name=name,
    )


@both
@add_arg_scope
def variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    collections: Any = None,
    caching_device: Any = None,
    device: Any = None,
    partitioner: Any = None,
    custom_getter: Callable | None = None,
    use_resource: bool | None = None,
    synchronization: Any = _AUTO,
    aggregation: Any = _NONE,
) -> Any:
    """`get_variable`, on a device."""
    if collections is None:
        collections = [GraphKeys.GLOBAL_VARIABLES]
    getter: Callable = get_variable
    if custom_getter is not None:
        getter = functools.partial(custom_getter, reuse=get_variable_scope().reuse)
    with tf.device(device or ""):
        return getter(
            name,
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
            collections=list(dict.fromkeys(collections)),
            caching_device=caching_device,
            partitioner=partitioner,
            use_resource=use_resource,
            synchronization=synchronization,
            aggregation=aggregation,
        )


@both
@add_arg_scope
def model_variable(
    name: str,
    shape: Any = None,
    dtype: Any = tf.float32,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    collections: Any = None,
    caching_device: Any = None,
    device: Any = None,
    partitioner: Any = None,
    custom_getter: Callable | None = None,
    use_resource: bool | None = None,
    synchronization: Any = _AUTO,
    aggregation: Any = _NONE,
) -> Any:
    """`get_variable` for a variable of the model, which a checkpoint of the model has to have."""
    return variable(
        name,
        shape=shape,
        dtype=dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=trainable,
        collections=[
            *(collections or ()),
            GraphKeys.GLOBAL_VARIABLES,
            GraphKeys.MODEL_VARIABLES,
        ],
        caching_device=caching_device,
        device=device,
        partitioner=partitioner,
        custom_getter=custom_getter,
        use_resource=use_resource,
        synchronization=synchronization,
        aggregation=aggregation,
    )


@both
def add_model_variable(var: Any) -> None:
    """Makes a variable one of the model."""
    add_once(var, GraphKeys.MODEL_VARIABLES)


def add_once(var: Any, collection: str) -> None:
    """Adds a variable to a collection that may have it."""
    if all(var is not v for v in tf.get_collection(collection)):
        tf.add_to_collection(collection, var)


# -- variables by name -----------------------------------------------------------------------------------


@both
def get_variables(
    scope: Any = None, suffix: str | None = None, collection: str = GraphKeys.GLOBAL_VARIABLES
) -> list[Any]:
    """The variables of a collection in a scope, whose names end so."""
    if isinstance(scope, VariableScope):
        scope = scope.name
    if suffix is not None:
        suffix = suffix if ":" in suffix else suffix + ":"
        scope = (scope or "") + ".*" + suffix
    return tf.get_collection(collection, scope)


@both
def get_model_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """The variables of the model in a scope."""
    return get_variables(scope, suffix, GraphKeys.MODEL_VARIABLES)


@both
def get_local_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """The local variables in a scope."""
    return get_variables(scope, suffix, GraphKeys.LOCAL_VARIABLES)


@both
def get_trainable_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """The trained variables in a scope."""
    return get_variables(scope, suffix, GraphKeys.TRAINABLE_VARIABLES)


@both
def get_variables_to_restore(include: Any = None, exclude: Any = None) -> list[Any]:
    """The variables in some scopes and not in others; lists of scopes."""

    def within(name: str, scopes: Any) -> list[Any]:
        if not isinstance(scopes, (list, tuple)):
            raise TypeError(f"{name} is provided but is not a list or a tuple.")
        return [v for scope in scopes for v in get_variables(scope)]

    included = get_variables() if include is None else within("include", include)
    excluded = set(map(id, [] if exclude is None else within("exclude", exclude)))
    return [v for v in included if id(v) not in excluded]


@both
def get_variables_by_suffix(suffix: str, scope: Any = None) -> list[Any]:
    """The variables whose names end so."""
    return get_variables(scope=scope, suffix=suffix)


@both
def get_variables_by_name(given_name: str, scope: Any = None) -> list[Any]:
    """The variables of a name, in whatever scope."""
    return get_variables(scope=scope, suffix=f"/{given_name}:|^{given_name}:")


@both
def get_unique_variable(var_op_name: str) -> Any:
    """The variable of a full name."""
    found = get_variables(scope=var_op_name)
    if not found:
        raise ValueError(f"Couldn't find variable {var_op_name}")
    for v in found:
        if v.op.name == var_op_name:
            return v
    raise ValueError(f"Variable {var_op_name} does not uniquely identify a variable")


@both
def get_variable_full_name(var: Any) -> str:
    """The name of a variable, or of the whole that it is a part of."""
    return var._save_slice_info.full_name if var._save_slice_info else var.op.name


@both
def filter_variables(
    var_list: list[Any],
    include_patterns: Any = None,
    exclude_patterns: Any = None,
    reg_search: bool = True,
) -> list[Any]:
    """Of some variables those whose names match one of some patterns, and none of others."""
    match = re.search if reg_search else re.match

    def matches(v: Any, patterns: Any) -> bool:
        return any(match(p, v.name) for p in patterns)

    chosen = [v for v in var_list if include_patterns is None or matches(v, include_patterns)]
    return [v for v in chosen if exclude_patterns is None or not matches(v, exclude_patterns)]


@both
class VariableDeviceChooser:
    """A device function that gives variables to the tasks of a job in turn."""

    def __init__(
        self,
        num_tasks: int = 0,
        job_name: str = "ps",
        device_type: str = "CPU",
        device_index: int = 0,
        replica: int | None = None,
    ):
        self._job_name, self._num_tasks, self._next_task_id = job_name, num_tasks, 0
        self._device_type, self._device_index = device_type, device_index
        self._replica = replica

    def __call__(self, op: Any) -> str:
        spec = tf.DeviceSpec(
            replica=self._replica, device_type=self._device_type, device_index=self._device_index
        )
        if self._num_tasks > 0:
            spec.job, spec.task = self._job_name, self._next_task_id
            self._next_task_id = (self._next_task_id + 1) % self._num_tasks
        return spec.to_string()


def __getattr__(name: str) -> Any:
    """What programs import from this module of TensorFlow's and stands elsewhere here."""
    return find("contrib.framework", name, __name__)
