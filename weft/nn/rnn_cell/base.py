"""What recurrent cells share: a cell takes inputs and a state, and gives outputs and the next state."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework import context, dtypes, nest
from weft.framework.constant_value import constant_value
from weft.framework.export import export
from weft.framework.tensor import Tensor
from weft.framework.tensor_shape import TensorShape, as_shape
from weft.layers.base import Layer
from weft.variables.partitioned import PartitionedVariable
from weft.variables.scope import get_variable_scope


def assert_like_rnncell(cell_name: str, cell: Any) -> None:
    """TypeError where something lacks what a cell has."""
    missing = [
        f"'{name}' property is missing"
        for name in ("output_size", "state_size")
        if not hasattr(cell, name)
    ]
    if not hasattr(cell, "zero_state") and not hasattr(cell, "get_initial_state"):
        missing.append("either 'zero_state' or 'get_initial_state' method is required")
    if not callable(cell):
        missing.append("is not callable")
    if missing:
        raise TypeError(
            f"The argument {cell_name!r} ({cell}) is not an RNNCell: {', '.join(missing)}."
        )


def known_shape(*parts: Any) -> TensorShape:
    """The parts of a shape (sizes, shapes or tensors) as one, as far as it is known."""
    shape = as_shape([])
    for part in parts:
        if isinstance(part, Tensor):
            value = constant_value(part)
            if value is None:
                rank = part.shape.as_list()[0] if part.shape.ndims == 1 else None
                one = part.shape.ndims == 0
                part = [None] if one else TensorShape(None) if rank is None else [None] * rank
            else:
                part = value.reshape(-1).tolist()
        elif part is None or isinstance(part, int):
            part = [part]
        shape = shape.concatenate(as_shape(part))
    return shape


def full_shape(*parts: Any) -> Any:
    """The parts of a shape as a vector; what is not known while the graph is built must be tensors."""
    vectors = []
    for part in parts:
        if isinstance(part, Tensor):
            if part.shape.ndims not in (0, 1):
                raise ValueError(
                    f"prefix tensor must be either a scalar or vector, but saw tensor: {part}"
                )
            vectors.append(tf.reshape(tf.cast(part, tf.int32), [-1]))
            continue
        sizes = as_shape([part] if isinstance(part, int) else part)
        if not sizes.is_fully_defined():
            raise ValueError(f"A size of a state or an output is not known: {part}")
        vectors.append(tf.constant(sizes.as_list(), dtype=tf.int32))
    return tf.concat(vectors, 0)


def zeros(batch_size: Any, size: Any, dtype: Any) -> Any:
    """Zeros for each of a batch."""
    out = tf.zeros(full_shape(batch_size, size), dtype=dtype)
    if not context.executing_eagerly():
        out.set_shape(known_shape(batch_size, size))
    return out


@export("nn.rnn_cell.RNNCell", "contrib.rnn.RNNCell")
class RNNCell(Layer):
    """A cell as programs write them: its variables are whatever `get_variable` makes in its call."""

    def __init__(
        self, trainable: bool = True, name: str | None = None, dtype: Any = None, **kwargs: Any
    ):
        super().__init__(trainable=trainable, name=name, dtype=dtype, **kwargs)
        self._is_tf_rnn_cell = True

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:  # type: ignore[override]
        """One step: the outputs, and the state after it."""
        if scope is not None:
            with tf.variable_scope(scope, custom_getter=self._rnn_get_variable) as entered:
                return super().__call__(inputs, state, scope=entered)
        if not hasattr(self, "rnncell_scope"):
            self.rnncell_scope = tf.variable_scope(
                get_variable_scope(), custom_getter=self._rnn_get_variable
            )
        with self.rnncell_scope:
            return super().__call__(inputs, state)

    def _rnn_get_variable(self, getter: Any, *args: Any, **kwargs: Any) -> Any:
        """Makes what is a variable in a call a weight of the cell."""
        variable = getter(*args, **kwargs)
        part = list(variable)[0] if isinstance(variable, PartitionedVariable) else variable
        if context.executing_eagerly():
            trainable = part.trainable
        else:
            trainable = any(part is v for v in tf.trainable_variables())
        weights = self._trainable_weights if trainable else self._non_trainable_weights
        if all(variable is not v for v in weights):
            weights.append(variable)
        return variable

    @property
    def state_size(self) -> Any:
        """The size of the state, or a structure of sizes."""
        raise NotImplementedError("Abstract method")

    @property
    def output_size(self) -> Any:
        """The size of the outputs, or a structure of sizes."""
        raise NotImplementedError("Abstract method")

    def build(self, _: Any) -> None:
        # There are cells whose variables come into being in `call`.
        pass

    def get_initial_state(
        self, inputs: Any = None, batch_size: Any = None, dtype: Any = None
    ) -> Any:
        """A state of zeros, for inputs or for a batch size and type."""
        if inputs is not None:
            inputs = tf.convert_to_tensor(inputs, name="inputs")
            found = inputs.shape.as_list()[0]
            if batch_size is not None:
                static = constant_value(batch_size) if tf.is_tensor(batch_size) else batch_size
                if found != static:
                    raise ValueError(
                        "batch size from input tensor is different from the input param. Input tensor batch: "
                        f"{found}, batch_size: {batch_size}"
                    )
            if dtype is not None and inputs.dtype != dtype:
                raise ValueError(
                    "dtype from input tensor is different from the input param. Input tensor dtype: "
                    f"{inputs.dtype}, dtype: {dtype}"
                )
            batch_size = tf.shape(inputs)[0] if found is None else found
            dtype = inputs.dtype
        if batch_size is None or dtype is None:
            raise ValueError(
                "batch_size and dtype cannot be None while constructing initial state: "
                f"batch_size={batch_size}, dtype={dtype}"
            )
        return self.zero_state(batch_size, dtype)

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """A state of zeros."""
        with tf.name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            return nest.map_structure(lambda size: zeros(batch_size, size, dtype), self.state_size)

    def get_config(self) -> dict[str, Any]:
        return {"name": self.name, "trainable": self.trainable, "dtype": self.dtype}


class LayerRNNCell(RNNCell):
    """A cell that makes its variables in `build`, as layers do."""

    def __call__(
        self, inputs: Any, state: Any, scope: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        return Layer.__call__(self, inputs, state, *args, scope=scope, **kwargs)

    def _check_types(self, *values: Any) -> None:
        for x in nest.flatten(values):
            check_supported(x.dtype)


def check_supported(dtype: Any) -> None:
    """ValueError for types that cells do not compute with."""
    if dtype is None:
        return
    dtype = dtypes.as_dtype(dtype)
    if not (dtype.is_floating or dtype.is_complex):
        raise ValueError(f"RNN cell only supports floating point inputs, but saw dtype: {dtype}")


def input_depth(inputs_shape: Any) -> int:
    """The size of the inputs of a cell."""
    shape = as_shape(inputs_shape)
    if shape.ndims is None or shape.as_list()[-1] is None:
        raise ValueError(f"Expected inputs.shape[-1] to be known, saw shape: {inputs_shape}")
    return shape.as_list()[-1]
