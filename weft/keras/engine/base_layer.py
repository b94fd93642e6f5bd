"""What all layers share: weights, the call that builds them, losses and updates."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np

import weft as tf
from weft.framework import context, dtypes, nest
from weft.framework.export import export
from weft.framework.func_graph import init_scope
from weft.framework.tensor import Tensor
from weft.framework.tensor_shape import as_shape
from weft.framework.trackable import Trackable, untracked
from weft.initializers import by_name as initializers
from weft.keras import backend, constraints, regularizers
from weft.keras.engine.call_context import (
    current,
    eager_outside_functions,
    effects_happen_at_once,
    reachable_from,
)
from weft.keras.engine.input_spec import InputSpec, assert_input_compatibility
from weft.keras.engine.nodes import Connected
from weft.variables.base import Variable, VariableV1
from weft.variables.modes import VariableAggregation, VariableSynchronization
from weft.variables.module import Module
from weft.variables.partitioned import PartitionedVariable

_AUTO, _NONE = VariableSynchronization.AUTO, VariableAggregation.NONE
_CONSTRUCTOR_KEYS = {
    "input_shape",
    "batch_input_shape",
    "batch_size",
    "weights",
    "activity_regularizer",
    "autocast",
}


def to_snake_case(name: str) -> str:
    """The name of a class as names of layers are written: `BatchNormalization` is `batch_normalization`."""
    words = re.sub("(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    words = re.sub("([a-z])([A-Z])", r"\1_\2", words).lower()
    return "private" + words if words.startswith("_") else words


def make_variable(
    name: str,
    shape: Any = None,
    dtype: Any = dtypes.float32,
    initializer: Any = None,
    **options: Any,
) -> Any:
    """A new variable, named in the current name scope: how layers make theirs when nobody shares them by name."""
    options.pop("partitioner", None)
    options.pop("regularizer", None)
    if options.get("use_resource") is None:
        options["use_resource"] = True
    if initializer is not None and not callable(initializer):
        return VariableV1(initial_value=initializer, name=name, **options)
    if inspect.isclass(initializer):
        initializer = initializer()
    sizes = as_shape(shape).as_list()
    return VariableV1(
        initial_value=lambda: initializer(sizes, dtype=dtype), name=name, dtype=dtype, **options
    )


def default_method(method: Callable) -> Callable:
    """Marks a method that a layer may define in its own way."""
    method._is_default = True  # type: ignore[attr-defined]
    return method


def is_default(method: Any) -> bool:
    return getattr(method, "_is_default", False)


@export("keras.layers.Layer")
class Layer(Connected, Module):
    """Something with weights that can be called: `build` makes the weights for the shape of the first inputs,
    `call` computes."""

    _TF_MODULE_IGNORED_PROPERTIES = frozenset({"_trainable_weights", "_non_trainable_weights"})
    _name: str
    _keras_style = True  # weights are named and found by the layer, not by variable scopes

    @untracked
    def __init__(
        self,
        trainable: bool = True,
        name: str | None = None,
        dtype: Any = None,
        dynamic: bool = False,
        **kwargs: Any,
    ):
        for key in kwargs:
            if key not in _CONSTRUCTOR_KEYS:
                raise TypeError("Keyword argument not understood:", key)
        self._trainable_weights: list[Any] = []
        self._non_trainable_weights: list[Any] = []
        self._trainable = trainable
        self.stateful = False
        self.built = False
        self.input_spec = None
        self.supports_masking = False
        self._init_set_name(name)
        self._activity_regularizer = kwargs.pop("activity_regularizer", None)
        self._updates: list[Any] = []
        self._update_inputs: dict[int, list[Any]] = {}  # what an update may depend on, by its id
        self._losses: list[Any] = []
        self._callable_losses: list[Callable] = []
        self._eager_losses: list[Any] = []
        self._conditional_losses: set[int] = set()
        self._dtype = None if dtype is None else dtypes.as_dtype(dtype).name
        self._autocast = kwargs.get("autocast", False)
        self._dynamic = dynamic
        self._inbound_nodes: list[Any] = []
        self._outbound_nodes: list[Any] = []
        self._initial_weights = kwargs.get("weights")
        if "batch_input_shape" in kwargs:
            self._batch_input_shape = tuple(kwargs["batch_input_shape"])
        elif "input_shape" in kwargs:
            self._batch_input_shape = (kwargs.get("batch_size"), *kwargs["input_shape"])

    # -- for subclasses ------------------------------------------------------------------------------

    @default_method
    def build(self, input_shape: Any) -> None:
        """Makes the weights; layers without any have nothing to do."""
        self.built = True

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Computes the outputs."""
        return inputs

    @default_method
    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The mask of the outputs."""
        if self.supports_masking:
            return mask
        if any(m is not None for m in nest.flatten(mask)):
            raise TypeError(
                f"Layer {self.name} does not support masking, but was passed an input_mask: {mask}"
            )
        return None

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shape of the outputs for a shape of the inputs, where it can be found by a trial in a graph."""
        if not context.executing_eagerly():
            raise NotImplementedError
        if not self.built:
            self.build(input_shape)
            self.built = True
        with tf.Graph().as_default():
            shapes = _as_shapes(input_shape)
            inputs = nest.map_structure(
                lambda s: tf.placeholder(self.dtype or backend.floatx(), s), shapes
            )
            kwargs = {"training": False} if "training" in self._call_arguments else {}
            return nest.map_structure(lambda t: t.shape, self.call(inputs, **kwargs))

    def compute_output_signature(self, input_signature: Any) -> Any:
        """Shapes and types of the outputs, as TensorSpec, for those of the inputs."""
        for spec in nest.flatten(input_signature):
            if not isinstance(spec, tf.TensorSpec):
                raise TypeError(
                    "Only TensorSpec signature types are supported, but saw signature signature entry: "
                    f"{spec}."
                )
        shapes = self.compute_output_shape(nest.map_structure(lambda s: s.shape, input_signature))
        dtype = self.dtype or nest.flatten(input_signature)[0].dtype
        return nest.map_structure(lambda s: tf.TensorSpec(dtype=dtype, shape=s), shapes)

    # -- names ---------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        return self._name

    def _init_set_name(self, name: Any, zero_based: bool = True) -> None:
        self._name = name or backend.unique_object_name(
            to_snake_case(type(self).__name__), zero_based=zero_based
        )

    def _name_scope(self) -> Any:
        """The name scope of what `build` and `call` make."""
        return self.name

    # -- weights -------------------------------------------------------------------------------------

    def add_weight(
        self,
        name: str | None = None,
        shape: Any = None,
        dtype: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        trainable: bool | None = None,
        constraint: Any = None,
        partitioner: Any = None,
        use_resource: bool | None = None,
        synchronization: Any = _AUTO,
        aggregation: Any = _NONE,
        **kwargs: Any,
    ) -> Any:
        """Makes a variable of this layer."""
        for key in kwargs:
            if key not in ("getter", "collections", "experimental_autocast"):
                raise TypeError("Unknown keyword argument:", key)
        dtype = dtypes.as_dtype(dtype or self.dtype or backend.floatx())
        if self._dtype is None:
            self._dtype = dtype.base_dtype.name
        trainable = checked_trainable(trainable, synchronization)
        initializer = initializers.get(initializer)
        if initializer is None:
            initializer = _default_initializer(name, dtype, self.name)
        variable = kwargs.get("getter", make_variable)(
            name=name or "variable",
            shape=() if shape is None else shape,
            initializer=initializer,
            dtype=dtype,
            constraint=constraints.get(constraint),
            trainable=trainable,
            partitioner=partitioner,
            use_resource=use_resource,
            collections=kwargs.get("collections"),
            synchronization=synchronization,
            aggregation=aggregation,
        )
        regularizer = regularizers.get(regularizer)
        if regularizer is not None:
            self._handle_weight_regularization(
                variable.name.partition(":")[0], variable, regularizer
            )
        if isinstance(variable, Trackable):
            self._track_trackable(variable, name or "variable", overwrite=True)
        weights = self._trainable_weights if trainable else self._non_trainable_weights
        if all(variable is not v for v in weights):
            weights.append(variable)
        return variable

    def add_variable(self, *args: Any, **kwargs: Any) -> Any:
        """Deprecated: `add_weight`."""
        return self.add_weight(*args, **kwargs)

    def __setattr__(self, name: str, value: Any) -> None:
        """Variables that become attributes are weights."""
        super().__setattr__(name, value)
        if name in ("_trainable_weights", "_non_trainable_weights"):
            return
        known = getattr(self, "_trainable_weights", None)
        if known is None or not self._keras_style:
            return
        for leaf in nest.flatten(value):
            if isinstance(leaf, Variable) and not any(
                leaf is v for v in (*known, *self._non_trainable_weights)
            ):
                (known if leaf.trainable else self._non_trainable_weights).append(leaf)

    def _children(self) -> list[Layer]:
        """The layers that are attributes of this one, in the order of the attributes."""
        if not self._keras_style:
            return []
        found: dict[int, Layer] = {}
        for name, value in vars(self).items():
            if name in ("_inbound_nodes", "_outbound_nodes"):
                continue
            for leaf in nest.flatten(value):
                if isinstance(leaf, Layer) and leaf is not self:
                    found.setdefault(id(leaf), leaf)
        return list(found.values())

    def _of_children(self, attribute: str) -> list[Any]:
        return [item for layer in self._children() for item in getattr(layer, attribute)]

    @property
    def trainable(self) -> bool:
        """Whether the weights are trained."""
        return self._trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self._trainable = value
        for layer in self._children():
            layer.trainable = value

    @property
    def trainable_weights(self) -> list[Any]:
        if not self.trainable:
            return []
        return self._trainable_weights + self._of_children("trainable_weights")

    @property
    def non_trainable_weights(self) -> list[Any]:
        if self.trainable:
            return self._non_trainable_weights + self._of_children("non_trainable_weights")
        return self._trainable_weights + self._non_trainable_weights + self._of_children("weights")

    @property
    def weights(self) -> list[Any]:
        """All variables of the layer, those first that are trained."""
        return self.trainable_weights + self.non_trainable_weights

    variables: Any = property(lambda self: self.weights)
    trainable_variables: Any = property(lambda self: self.trainable_weights)
    non_trainable_variables = property(lambda self: self.non_trainable_weights)

    def get_weights(self) -> list[np.ndarray]:
        """The values of the weights as arrays."""
        return backend.batch_get_value(self.weights)

    def set_weights(self, weights: list[Any]) -> None:
        """Gives the weights the values of arrays."""
        variables = self.weights
        if len(variables) != len(weights):
            raise ValueError(
                f'You called `set_weights(weights)` on layer "{self.name}" with a  weight list of length '
                f"{len(weights)}, but the layer was expecting {len(variables)} weights. Provided weights: "
                f"{str(weights)[:50]}..."
            )
        for variable, value in zip(variables, weights):
            if tuple(variable.shape.as_list()) != np.shape(value):
                raise ValueError(
                    f"Layer weight shape {tuple(variable.shape.as_list())} not compatible with provided weight "
                    f"shape {np.shape(value)}"
                )
        backend.batch_set_value(list(zip(variables, weights)))

    def count_params(self) -> int:
        """How many numbers the weights have."""
        if not self.built:
            raise ValueError(
                f"You tried to call `count_params` on {self.name}, but the layer isn't built. You can build it "
                f"manually via: `{self.name}.build(batch_input_shape)`."
            )
        return int(sum(np.prod(v.shape.as_list()) for v in self.weights))

    # -- settings ------------------------------------------------------------------------------------

    @property
    def dtype(self) -> Any:
        """The name of the weights' type; None until it is known."""
        return self._dtype

    @property
    def dynamic(self) -> bool:
        return self._dynamic

    @property
    def input_spec(self) -> Any:
        """What is required of the inputs: an InputSpec or several."""
        return self._input_spec

    @input_spec.setter
    def input_spec(self, value: Any) -> None:
        for spec in nest.flatten(value):
            if spec is not None and not isinstance(spec, InputSpec):
                raise TypeError(f"Layer input_spec must be an instance of InputSpec. Got: {spec}")
        self._input_spec = value

    @property
    def activity_regularizer(self) -> Any:
        """A function of the outputs that gives a loss."""
        return self._activity_regularizer

    @activity_regularizer.setter
    def activity_regularizer(self, regularizer: Any) -> None:
        self._activity_regularizer = regularizer

    @default_method
    def get_config(self) -> dict[str, Any]:
        """The arguments that make a layer like this one."""
        config: dict[str, Any] = {"name": self.name, "trainable": self.trainable}
        if hasattr(self, "_batch_input_shape"):
            config["batch_input_shape"] = self._batch_input_shape
        config["dtype"] = self.dtype
        if self.dynamic:
            config["dynamic"] = True
        arguments = inspect.getfullargspec(self.__init__).args  # type: ignore[misc]
        own = [a for a in arguments if a not in config and a not in ("self", "dynamic")]
        if own and is_default(self.get_config):
            raise NotImplementedError(
                "Layers with arguments in `__init__` must override `get_config`."
            )
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """A layer with the configuration that `get_config` gave."""
        return cls(**config)

    # -- calls ---------------------------------------------------------------------------------------

    @functools.cached_property
    def _call_arguments(self) -> list[str]:
        return inspect.getfullargspec(self.call).args[1:]

    @functools.cached_property
    def _call_takes_any(self) -> bool:
        return inspect.getfullargspec(self.call).varkw is not None

    def _passed(self, name: str, args: tuple, kwargs: dict[str, Any]) -> bool:
        return name in kwargs or name in self._call_arguments[1 : 1 + len(args)]

    def _value_passed(self, name: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        return kwargs[name] if name in kwargs else args[self._call_arguments.index(name) - 1]

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Builds the layer if it is not, and computes its outputs."""
        inputs = nest.map_structure(
            lambda x: tf.convert_to_tensor(x) if isinstance(x, (np.ndarray, float, int)) else x,
            inputs,
        )
        masks = self._mask_for_call(inputs, args, kwargs)
        training = self._training_for_call(args, kwargs)
        if effects_happen_at_once() and not current.in_call:
            self._clear_losses()
        with current.enter(self, inputs, training):
            assert_input_compatibility(self.input_spec, inputs, self.name)
            with tf.name_scope(self._name_scope()):
                self._maybe_build(inputs)
                outputs = self.call(self._cast(inputs), *args, **kwargs)
                if outputs is None:
                    raise ValueError(
                        "A layer's `call` method should return a Tensor or a list of Tensors, not None "
                        f"(layer: {self.name})."
                    )
                self._regularize_activity(inputs, outputs)
                self._mask_outputs(inputs, outputs, masks)
        return outputs

    def apply(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Deprecated: calls the layer."""
        return self(inputs, *args, **kwargs)

    def _training_for_call(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Whether the layer is to train: as passed, as the calling layer says, or as the program has fixed."""
        takes = "training" in self._call_arguments or self._call_takes_any
        if self._passed("training", args, kwargs):
            value = self._value_passed("training", args, kwargs)
            if not takes:
                kwargs.pop("training")
            return value
        value = current.training
        if value is None and backend.learning_phase_is_set():
            value = backend.learning_phase()
        if takes and value is not None:
            value = tf.cast(value, tf.bool) if isinstance(value, Tensor) else bool(value)
            kwargs["training"] = value
        return value

    def _mask_for_call(self, inputs: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        if self._passed("mask", args, kwargs):
            return self._value_passed("mask", args, kwargs)
        takes = "mask" in self._call_arguments
        if not takes and is_default(self.compute_mask):
            return None
        masks = nest.map_structure(lambda x: getattr(x, "_keras_mask", None), inputs)
        if all(m is None for m in nest.flatten(masks)):
            return None
        if takes:
            kwargs["mask"] = masks
        return masks

    def _mask_outputs(self, inputs: Any, outputs: Any, masks: Any) -> None:
        flat = nest.flatten(outputs)
        if any(getattr(x, "_keras_mask", None) is not None for x in flat):
            return
        if not self.supports_masking and is_default(self.compute_mask):
            return
        found = self.compute_mask(inputs, masks)
        if found is None:
            return
        for output, mask in zip(flat, nest.flatten(found)):
            if mask is not None:
                output._keras_mask = mask

    def _maybe_build(self, inputs: Any) -> None:
        if not self.built:
            flat = nest.flatten(inputs)
            if self._dtype is None and flat and hasattr(flat[0], "dtype"):
                self._dtype = dtypes.as_dtype(flat[0].dtype).base_dtype.name
            shapes = None
            if all(hasattr(x, "shape") for x in flat):
                shapes = nest.map_structure(lambda x: x.shape, inputs)
            if not is_default(self.build):
                if self._keras_style and eager_outside_functions():
                    with init_scope():
                        self.build(shapes)
                else:
                    self.build(shapes)
            self.built = True
        if self._initial_weights is not None:
            self.set_weights(self._initial_weights)
            self._initial_weights = None

    def _cast(self, inputs: Any) -> Any:
        """The inputs in the type of the layer, for layers that ask for it."""
        if (
            not self._autocast
            or self._dtype is None
            or not dtypes.as_dtype(self._dtype).is_floating
        ):
            return inputs
        return nest.map_structure(
            lambda x: (
                tf.cast(x, self._dtype) if isinstance(x, Tensor) and x.dtype.is_floating else x
            ),
            inputs,
        )

    # -- losses --------------------------------------------------------------------------------------

    @property
    def losses(self) -> list[Any]:
        """The losses added by this layer and those in it; penalties on weights are computed when asked for."""
        found = list(self._eager_losses or self._losses)
        found += [loss for make in self._callable_losses if (loss := make()) is not None]
        return found + self._of_children("losses")

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Adds losses: tensors, or functions that make them. `inputs` says that they depend on what was called."""
        for loss in nest.flatten(losses):
            if loss is None:
                continue
            if callable(loss) and not isinstance(loss, (Tensor, Variable)):
                self._callable_losses.append(functools.partial(_made_loss, loss))
                continue
            loss = tf.convert_to_tensor(
                loss, dtype=None if tf.is_tensor(loss) else backend.floatx()
            )
            if inputs is not None:
                self._conditional_losses.add(id(loss))
            if not effects_happen_at_once():
                self._losses.append(loss)
            elif current.in_call:
                self._eager_losses.append(loss)
            else:
                raise ValueError(
                    "Expected a symbolic Tensors or a callable for the loss value. Please wrap your loss "
                    "computation in a zero argument `lambda`."
                )

    def _clear_losses(self) -> None:
        self._eager_losses = self._no_dependency([])
        for layer in self._children():
            layer._clear_losses()

    def get_losses_for(self, inputs: Any) -> list[Any]:
        """The losses that depend on some inputs; for None, those that depend on none."""
        losses = self.losses
        if inputs is None:
            return [x for x in losses if id(x) not in self._conditional_losses]
        losses = [x for x in losses if id(x) in self._conditional_losses]
        found = reachable_from(nest.flatten(inputs), {id(x) for x in losses})
        return [x for x in losses if id(x) in found]

    def _handle_weight_regularization(self, name: str, variable: Any, regularizer: Any) -> None:
        def penalty(v: Any) -> Any:
            with tf.name_scope(name + "/Regularizer"):
                return regularizer(v)

        parts = variable if isinstance(variable, PartitionedVariable) else [variable]
        for part in parts:
            self.add_loss(functools.partial(penalty, part))

    def _regularize_activity(self, inputs: Any, outputs: Any) -> None:
        if not self._activity_regularizer:
            return
        with tf.name_scope("ActivityRegularizer"):
            for output in nest.flatten(outputs):
                loss = self._activity_regularizer(output)
                self.add_loss(loss / tf.cast(tf.shape(output)[0], loss.dtype), inputs=inputs)

    # -- updates -------------------------------------------------------------------------------------

    @property
    def updates(self) -> list[Any]:
        """The operations that change state which is not trained, such as moving averages."""
        if not self.trainable and not self.stateful:
            return []
        return self._updates + self._of_children("updates")

    def add_update(self, updates: Any, inputs: Any = None) -> None:
        """Adds operations, or functions that make them. Eagerly they happen at once, unless the layer is frozen."""
        updates = list(updates) if isinstance(updates, (list, tuple)) else [updates]
        if effects_happen_at_once():
            if not current.frozen:
                for update in updates:
                    if callable(update) and not isinstance(update, (Tensor, Variable)):
                        update()
            return
        depends_on = nest.flatten(current.inputs) if current.in_call else []
        for update in updates:
            while callable(update) and not hasattr(update, "op"):
                update = update()
            update = getattr(update, "op", update)
            if not isinstance(update, tf.Operation):
                update = tf.convert_to_tensor(update)
            self._update_inputs[id(update)] = depends_on
            self._updates.append(update)

    def get_updates_for(self, inputs: Any) -> list[Any]:
        """The updates that depend on some inputs; for None, those that depend on none."""
        if inputs is None:
            return [u for u in self.updates if not self._depends(u, self._update_inputs.get(id(u)))]
        given = nest.flatten(inputs)
        return [u for u in self.updates if self._depends(u, given)]

    @staticmethod
    def _depends(update: Any, inputs: list[Any] | None) -> bool:
        return bool(reachable_from(inputs or [], {id(update)}))


def _made_loss(make: Callable) -> Any:
    loss = make()
    return loss if loss is None or tf.is_tensor(loss) else tf.convert_to_tensor(loss)


def _as_shapes(structure: Any) -> Any:
    """Shapes as they may be written, tuples of sizes or lists of such, as TensorShapes."""
    if isinstance(structure, (list, tuple)) and any(
        isinstance(s, (list, tuple, tf.TensorShape)) for s in structure
    ):
        return [as_shape(s) for s in structure]
    return as_shape(structure)


def checked_trainable(trainable: bool | None, synchronization: Any) -> bool:
    """Whether a variable is trained; one that replicas keep for themselves cannot be."""
    if synchronization != VariableSynchronization.ON_READ:
        return True if trainable is None else trainable
    if trainable:
        raise ValueError(
            "Synchronization value can be set to VariableSynchronization.ON_READ only for non-trainable "
            "variables. You have specified trainable=True and synchronization=VariableSynchronization.ON_READ."
        )
    return False


def _default_initializer(name: str | None, dtype: Any, layer: str) -> Any:
    if dtype.is_floating:
        return initializers.get("glorot_uniform")
    if dtype.is_integer or dtype.is_bool:
        return initializers.get("zeros")
    raise ValueError(
        f"An initializer for variable {name} of type {dtype.base_dtype} is required for layer {layer}"
    )
