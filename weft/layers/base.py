"""`tf.layers.Layer`: a layer whose variables are those of a variable scope, named and shared as the scope says."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from typing import Any

import weft as tf
from weft.framework import context, dtypes, nest
from weft.framework.export import export
from weft.framework.func_graph import init_scope
from weft.framework.graph_keys import GraphKeys
from weft.framework.tensor import Tensor
from weft.keras.backend import unique_object_name
from weft.keras.engine import base_layer
from weft.variables.modes import VariableAggregation, VariableSynchronization
from weft.variables.partitioned import PartitionedVariable
from weft.variables.scope import VariableScope, get_variable

_AUTO, _NONE = VariableSynchronization.AUTO, VariableAggregation.NONE

_keras_style = False


@export("layers.experimental.keras_style_scope")
@contextlib.contextmanager
def keras_style_scope() -> Iterator[None]:
    """Lets layers and recurrent cells that are made within own their variables, as those of Keras do."""
    global _keras_style
    before, _keras_style = _keras_style, True
    try:
        yield
    finally:
        _keras_style = before


@export("layers.experimental.set_keras_style")
def set_keras_style() -> None:
    """Lets layers and recurrent cells own their variables from here on."""
    global _keras_style
    _keras_style = True


@export("layers.Layer")
class Layer(base_layer.Layer):
    """A layer whose variables are in a variable scope: that of its name, made unique when it is first called."""

    # Weights are dependencies by the names that `add_weight` has for them; attributes are not.
    _self_setattr_tracking = False

    def __init__(
        self, trainable: bool = True, name: str | None = None, dtype: Any = None, **kwargs: Any
    ):
        scope, reuse = kwargs.pop("_scope", None), kwargs.pop("_reuse", None)
        object.__setattr__(self, "_keras_style", _keras_style)
        self._use_resource_variables = False
        self._reuse = reuse
        super().__init__(trainable=trainable, name=name, dtype=dtype, **kwargs)
        if self._keras_style:
            for argument, value in (("scope", scope), ("reuse", reuse)):
                if value is not None:
                    raise ValueError(
                        f"{argument} argument not allowed when keras style layers are enabled, but saw: {value}"
                    )
        self._scope: Any = None
        if scope:
            with tf.variable_scope(scope) as captured:
                self._scope = captured
        self._current_scope: Any = None

    @property
    def graph(self) -> None:
        """Deprecated: layers do not know their graph."""
        if context.executing_eagerly():
            raise RuntimeError("Layer.graph not supported when executing eagerly.")
        return None

    def _init_set_name(self, name: Any, zero_based: bool = False) -> None:
        if isinstance(name, VariableScope):
            self._name, self._base_name = self._make_unique_name()[0], name.name
        elif name:
            self._name = self._base_name = name
        else:
            self._name, self._base_name = self._make_unique_name()

    def _make_unique_name(self, *args: Any, **kwargs: Any) -> tuple[str, str]:
        """A name that no other layer has, and the name of the class that it is made of."""
        kind = base_layer.to_snake_case(type(self).__name__)
        return unique_object_name(kind, *args, **kwargs), kind

    @property
    def scope_name(self) -> str:
        """The name of the layer's variable scope."""
        if not self._scope:
            raise ValueError(
                f'No name available for layer scope because the layer "{self._name}" has not been used yet. The '
                "scope name  is determined the first time the layer instance is called. You must therefore call "
                "the layer before querying `scope_name`."
            )
        return self._scope.name

    def _name_scope(self) -> Any:
        return (
            super()._name_scope() if self._keras_style else self._current_scope.original_name_scope
        )

    def _set_scope(self, scope: Any = None) -> None:
        if self._scope is not None:
            return
        if self._reuse:
            manager = tf.variable_scope(self._base_name if scope is None else scope)
        else:
            manager = tf.variable_scope(scope, default_name=self._base_name)
        with manager as captured:
            self._scope = captured

    # -- weights and losses --------------------------------------------------------------------------

    def add_weight(  # type: ignore[override]  # in the order of its own arguments
        self,
        name: str,
        shape: Any = None,
        dtype: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        trainable: bool | None = None,
        constraint: Any = None,
        use_resource: bool | None = None,
        synchronization: Any = _AUTO,
        aggregation: Any = _NONE,
        partitioner: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Makes a variable in the layer's scope, or finds it there where the scope is used again."""
        for key in kwargs:
            if key != "experimental_autocast":
                raise TypeError("Unknown keyword argument:", key)
        if self._keras_style:
            return super().add_weight(
                name=name,
                shape=shape,
                dtype=dtype,
                initializer=initializer,
                regularizer=regularizer,
                trainable=trainable and self.trainable,
                constraint=constraint,
                use_resource=use_resource,
                partitioner=partitioner,
            )
        trainable = base_layer.checked_trainable(trainable, synchronization)
        dtype = dtypes.as_dtype(dtype or self.dtype or dtypes.float32)
        before = _global_variables()
        self._set_scope(None)
        with tf.variable_scope(
            self._scope, reuse=self.built or self._reuse, auxiliary_name_scope=False
        ) as scope:
            self._current_scope = scope
            with tf.name_scope(self._name_scope()):
                variable = super().add_weight(
                    name,
                    shape,
                    dtype=dtype,
                    initializer=scope.initializer if initializer is None else initializer,
                    trainable=trainable and self.trainable,
                    constraint=constraint,
                    partitioner=partitioner,
                    use_resource=use_resource or self._use_resource_variables or scope.use_resource,
                    synchronization=synchronization,
                    aggregation=aggregation,
                    getter=get_variable,
                )
                if regularizer and not before & set(map(id, _parts(variable))):
                    self._handle_weight_regularization(name, variable, regularizer)
        self._move_if_not_trained(variable, trainable and self.trainable)
        return variable

    def _move_if_not_trained(self, variable: Any, wanted: bool) -> None:
        """A custom getter or creator may have made a variable that is not trained."""
        if not wanted or base_layer.eager_outside_functions():
            return
        trained = set(map(id, tf.trainable_variables()))
        if not all(id(part) in trained for part in _parts(variable)):
            if self._trainable_weights and self._trainable_weights[-1] is variable:
                self._trainable_weights.pop()
                self._non_trainable_weights.append(variable)

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Adds losses; in a graph they are regularization losses."""
        tensors, callables = len(self._losses), len(self._callable_losses)
        super().add_loss(losses, inputs=inputs)
        if context.executing_eagerly():
            return
        made = [make() for make in self._callable_losses[callables:]]
        _join_collection(
            self._losses[tensors:] + [loss for loss in made if loss is not None],
            GraphKeys.REGULARIZATION_LOSSES,
        )

    # -- calls ---------------------------------------------------------------------------------------

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Builds the layer if it is not, and computes its outputs. `scope` is for the first call."""
        scope = kwargs.pop("scope", None)
        if self._keras_style:
            if scope is not None:
                raise ValueError(
                    f"scope argument not allowed when keras style layers are enabled, but saw: {scope}"
                )
            return super().__call__(inputs, *args, **kwargs)
        self._set_scope(scope)
        if self.built:
            # Made once: entered again it is the same scope.
            if not hasattr(self, "_always_reuse_variable_scope"):
                self._always_reuse_variable_scope = tf.variable_scope(
                    self._scope, reuse=True, auxiliary_name_scope=False
                )
            manager = self._always_reuse_variable_scope
        else:
            manager = tf.variable_scope(self._scope, reuse=self._reuse, auxiliary_name_scope=False)
        with manager as entered:
            self._current_scope = entered
            if "scope" in self._call_arguments:
                kwargs["scope"] = entered
            outputs = super().__call__(inputs, *args, **kwargs)
        if not context.executing_eagerly():
            _join_collection(self.updates, GraphKeys.UPDATE_OPS)
        return outputs

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """A copy that shares tensors and the name of the scope."""
        result = memo[id(self)] = type(self).__new__(type(self))
        for key, value in vars(self).items():
            if key in ("_scope", "_always_reuse_variable_scope"):
                value = copy.copy(value)
            elif not isinstance(value, Tensor) and not (
                isinstance(value, (list, tuple))
                and value
                and all(isinstance(v, Tensor) for v in value)
            ):
                value = copy.deepcopy(value, memo)
            object.__setattr__(result, key, value)
        return result


def _parts(variable: Any) -> list[Any]:
    return list(variable) if isinstance(variable, PartitionedVariable) else [variable]


def _global_variables() -> set[int]:
    """The variables that there are, by id, in the graph where variables are made."""
    with init_scope():
        return set() if context.executing_eagerly() else set(map(id, tf.global_variables()))


def _join_collection(elements: list[Any], name: str) -> None:
    collection = tf.get_collection_ref(name)
    known = set(map(id, collection))
    for element in nest.flatten(elements):
        if id(element) not in known:
            known.add(id(element))
            collection.append(element)
