"""The variables of the default graph by collection, and operations that initialise or check them."""

from __future__ import annotations

from typing import Any

from weft.framework import context, dtypes
from weft.framework.export import export
from weft.framework.graph import colocate_with, device
from weft.framework.graph_keys import GraphKeys
from weft.framework.scopes import name_scope
from weft.ops.by_name import raw


def _of(collection: str, scope: str | None) -> list[Any]:
    return context.get_default_graph().get_collection(collection, scope)


@export("global_variables")
def global_variables(scope: str | None = None) -> list[Any]:
    """Returns the variables that are shared, saved and restored; with `scope`, those whose name it matches."""
    return _of(GraphKeys.GLOBAL_VARIABLES, scope)


@export("all_variables")
def all_variables() -> list[Any]:
    """Deprecated: `global_variables`."""
    return global_variables()


@export("local_variables")
def local_variables(scope: str | None = None) -> list[Any]:
    """Returns the variables of this process, which are not saved."""
    return _of(GraphKeys.LOCAL_VARIABLES, scope)


@export("model_variables")
def model_variables(scope: str | None = None) -> list[Any]:
    """Returns the variables of the collection MODEL_VARIABLES."""
    return _of(GraphKeys.MODEL_VARIABLES, scope)


@export("trainable_variables")
def trainable_variables(scope: str | None = None) -> list[Any]:
    """Returns the variables that were created with `trainable=True`."""
    return _of(GraphKeys.TRAINABLE_VARIABLES, scope)


@export("moving_average_variables")
def moving_average_variables(scope: str | None = None) -> list[Any]:
    """Returns the variables that have moving averages."""
    return _of(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


@export("variables_initializer", "initializers.variables")
def variables_initializer(var_list: Any, name: str = "init") -> Any:
    """An operation that runs the initialisers of some variables."""
    import weft as tf

    if var_list and not context.executing_eagerly():
        return tf.group(*[v.initializer for v in var_list], name=name)
    return tf.no_op(name=name)


@export("initialize_variables")
def initialize_variables(var_list: Any, name: str = "init") -> Any:
    """Deprecated: `variables_initializer`."""
    return variables_initializer(var_list, name=name)


@export("global_variables_initializer", "initializers.global_variables")
def global_variables_initializer() -> Any:
    """An operation that initialises all global variables."""
    return variables_initializer(global_variables())


@export("initialize_all_variables")
def initialize_all_variables() -> Any:
    """Deprecated: `global_variables_initializer`."""
    return global_variables_initializer()


@export("local_variables_initializer", "initializers.local_variables")
def local_variables_initializer() -> Any:
    """An operation that initialises all local variables."""
    return variables_initializer(local_variables())


@export("initialize_local_variables")
def initialize_local_variables() -> Any:
    """Deprecated: `local_variables_initializer`."""
    return local_variables_initializer()


@export("is_variable_initialized")
def is_variable_initialized(variable: Any, name: str | None = None) -> Any:
    """Whether a variable has a value, as a tensor."""
    if variable.dtype._is_ref_dtype:
        return raw.IsVariableInitialized(variable, name=name)
    return variable.is_initialized(name=name)


def _reference_ops() -> list[Any]:
    ops = context.get_default_graph().get_operations()
    return [
        op.outputs[0] for op in ops if op.type in ("Variable", "VariableV2", "AutoReloadVariable")
    ]


@export("assert_variables_initialized")
def assert_variables_initialized(var_list: Any = None) -> Any:
    """Deprecated: an operation that fails where a variable is not initialised; None without variables."""
    import weft as tf

    if var_list is None:
        var_list = global_variables() + local_variables() or _reference_ops()
    if not var_list:
        return None
    ranks = []
    for variable in var_list:
        with colocate_with(variable.op):
            ranks.append(raw.Rank(variable))
    return ranks[0] if len(ranks) == 1 else tf.stack(ranks)


@export("report_uninitialized_variables")
def report_uninitialized_variables(
    var_list: Any = None, name: str = "report_uninitialized_variables"
) -> Any:
    """A vector of the names of those variables that are not initialised."""
    import weft as tf

    if var_list is None:
        var_list = global_variables() + local_variables() or _reference_ops()
    with name_scope(name):
        initialized = [is_variable_initialized(v) for v in var_list or ()]
        with device("/cpu:0"):
            if not initialized:
                return tf.constant([], dtype=dtypes.string)
            missing = tf.logical_not(tf.stack(initialized))
            names = tf.constant([v.op.name for v in var_list])
            return tf.boolean_mask(names, missing)
