"""Cells with one vector of state: BasicRNNCell and GRUCell."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework.export import export
from weft.initializers import by_name as initializers
from weft.keras import activations
from weft.keras.engine.input_spec import InputSpec
from weft.nn.rnn_cell.base import LayerRNNCell, check_supported, input_depth


class _OneState(LayerRNNCell):
    """A cell whose state is its output."""

    def __init__(
        self, num_units: int, activation: Any, reuse: Any, name: Any, dtype: Any, **kwargs: Any
    ):
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        check_supported(self.dtype)
        self.input_spec = InputSpec(ndim=2)
        self._num_units = num_units
        self._activation = activations.get(activation) if activation else tf.tanh

    @property
    def state_size(self) -> int:
        return self._num_units

    @property
    def output_size(self) -> int:
        return self._num_units

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "num_units": self._num_units,
            "activation": activations.serialize(self._activation),
            "reuse": self._reuse,
        }


@export("nn.rnn_cell.BasicRNNCell", "contrib.rnn.BasicRNNCell")
class BasicRNNCell(_OneState):
    """`activation([inputs, state] @ kernel + bias)`."""

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: bool | None = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ):
        super().__init__(num_units, activation, reuse, name, dtype, **kwargs)

    def build(self, inputs_shape: Any) -> None:
        depth = input_depth(inputs_shape)
        check_supported(self.dtype)
        self._kernel = self.add_variable("kernel", shape=[depth + self._num_units, self._num_units])
        self._bias = self.add_variable(
            "bias", shape=[self._num_units], initializer=tf.zeros_initializer(dtype=self.dtype)
        )
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        self._check_types(inputs, state)
        sums = tf.matmul(tf.concat([inputs, state], 1), self._kernel)
        output = self._activation(tf.nn.bias_add(sums, self._bias))
        return output, output


@export("nn.rnn_cell.GRUCell", "contrib.rnn.GRUCell")
class GRUCell(_OneState):
    """A gated recurrent unit (Cho et al. 2014)."""

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: bool | None = None,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ):
        super().__init__(num_units, activation, reuse, name, dtype, **kwargs)
        self._kernel_initializer = initializers.get(kernel_initializer)
        self._bias_initializer = initializers.get(bias_initializer)

    def build(self, inputs_shape: Any) -> None:
        depth = input_depth(inputs_shape) + self._num_units
        check_supported(self.dtype)
        bias = self._bias_initializer
        self._gate_kernel = self.add_variable(
            "gates/kernel", shape=[depth, 2 * self._num_units], initializer=self._kernel_initializer
        )
        self._gate_bias = self.add_variable(
            "gates/bias",
            shape=[2 * self._num_units],
            initializer=tf.constant_initializer(1.0, dtype=self.dtype) if bias is None else bias,
        )
        self._candidate_kernel = self.add_variable(
            "candidate/kernel", shape=[depth, self._num_units], initializer=self._kernel_initializer
        )
        self._candidate_bias = self.add_variable(
            "candidate/bias",
            shape=[self._num_units],
            initializer=tf.zeros_initializer(dtype=self.dtype) if bias is None else bias,
        )
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        self._check_types(inputs, state)
        gates = tf.matmul(tf.concat([inputs, state], 1), self._gate_kernel)
        gates = tf.sigmoid(tf.nn.bias_add(gates, self._gate_bias))
        reset, update = tf.split(value=gates, num_or_size_splits=2, axis=1)
        candidate = tf.matmul(tf.concat([inputs, reset * state], 1), self._candidate_kernel)
        candidate = self._activation(tf.nn.bias_add(candidate, self._candidate_bias))
        new_state = update * state + (1 - update) * candidate
        return new_state, new_state

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "kernel_initializer": initializers.serialize(self._kernel_initializer),
            "bias_initializer": initializers.serialize(self._bias_initializer),
        }
