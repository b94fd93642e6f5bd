"""What the functions of `tf.contrib.layers` share: names, variables of the model, and the end of a layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft as tf
from weft.contrib.framework.arguments import add_arg_scope
from weft.contrib.framework.variables import add_once, model_variable
from weft.contrib.layers.utils import collect_named_outputs, get_variable_collections
from weft.framework.export import export
from weft.variables.modes import VariableAggregation, VariableSynchronization
from weft.variables.partitioned import PartitionedVariable


def exported(*names: str) -> Callable:
    """Exports to `tf.contrib.layers` and to `tf.contrib.slim`."""
    return export(*(f"contrib.{room}.{name}" for name in names for room in ("layers", "slim")))


def layer(*names: str) -> Callable:
    """A function that takes arguments from scopes, exported."""
    return lambda function: exported(*names)(add_arg_scope(function))


def keras_format(data_format: str | None, *allowed: str) -> str:
    """The format as layers call it."""
    if allowed and data_format not in allowed:
        raise ValueError(f"data_format has to be either {allowed[0]} or {allowed[1]}.")
    return "channels_first" if data_format and data_format.startswith("NC") else "channels_last"


def variable_getter(**rename: str) -> Callable:
    """A custom getter that makes variables of layers variables of the model, under other names."""

    def getter(
        getter: Callable,
        name: str,
        shape: Any = None,
        dtype: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        trainable: bool = True,
        collections: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        use_resource: bool | None = None,
        synchronization: Any = VariableSynchronization.AUTO,
        aggregation: Any = VariableAggregation.NONE,
        **_: Any,
    ) -> Any:
        scope, slash, short = name.rpartition("/")
        return model_variable(
            f"{scope}{slash}{rename.get(short, short)}",
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            regularizer=regularizer,
            collections=collections,
            trainable=trainable,
            caching_device=caching_device,
            partitioner=partitioner,
            custom_getter=getter,
            use_resource=use_resource,
            synchronization=synchronization,
            aggregation=aggregation,
        )

    return getter


def collect_variable(variable: Any, collections: Any, name: str) -> None:
    """Adds a variable, or its parts, to the collections for its name."""
    if variable is None:
        return
    parts = list(variable) if isinstance(variable, PartitionedVariable) else [variable]
    for collection in get_variable_collections(collections, name) or ():
        for part in parts:
            add_once(part, collection)


def parameter(
    name: str,
    shape: Any,
    dtype: Any,
    initializer: Any,
    variables_collections: Any,
    regularizer: Any = None,
    trainable: bool = True,
) -> Any:
    """A variable of the model, in the collections for its name."""
    return model_variable(
        name,
        shape=shape,
        dtype=dtype,
        initializer=initializer,
        regularizer=regularizer,
        collections=get_variable_collections(variables_collections, name),
        trainable=trainable,
    )


def finished(
    outputs: Any,
    scope: str,
    outputs_collections: Any,
    activation_fn: Callable | None = None,
    normalizer_fn: Callable | None = None,
    normalizer_params: dict[str, Any] | None = None,
) -> Any:
    """The outputs normalized, activated, and collected."""
    if normalizer_fn is not None:
        outputs = normalizer_fn(outputs, **(normalizer_params or {}))
    if activation_fn is not None:
        outputs = activation_fn(outputs)
    return collect_named_outputs(outputs_collections, scope, outputs)


def rank_of(inputs: Any) -> int:
    """The rank of a tensor; ValueError where it is not known."""
    if inputs.get_shape().ndims is None:
        raise ValueError(f"Inputs {inputs.name} has undefined rank.")
    return inputs.get_shape().ndims


def zeros() -> Any:
    return tf.zeros_initializer()
