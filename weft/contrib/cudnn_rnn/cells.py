"""Cells that compute a step as cuDNN does."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.contrib.rnn.fused import LSTMBlockCell
from weft.nn.rnn_cell.base import input_depth
from weft.nn.rnn_cell.simple import GRUCell


class CudnnCompatibleLSTMCell(LSTMBlockCell):
    """`LSTMBlockCell` without a bias of the forget gate."""

    def __init__(self, num_units: int, reuse: bool | None = None):
        super().__init__(num_units, forget_bias=0, reuse=reuse, name="cudnn_compatible_lstm_cell")


class CudnnCompatibleGRUCell(GRUCell):
    """A GRU whose reset gate acts on the product of the state, not on the state, with a bias of its own."""

    def __init__(self, num_units: int, reuse: bool | None = None, kernel_initializer: Any = None):
        super().__init__(num_units, reuse=reuse, kernel_initializer=kernel_initializer)

    def build(self, inputs_shape: Any) -> None:
        depth, n = input_depth(inputs_shape), self._num_units
        kernel = self._kernel_initializer
        zeros = tf.zeros_initializer(dtype=self.dtype)
        ones = tf.constant_initializer(1.0, dtype=self.dtype)

        def add(name: str, shape: list[int], initializer: Any) -> Any:
            return self.add_variable(name, shape=shape, initializer=initializer)

        self._gate_kernel = add("gates/kernel", [depth + n, 2 * n], kernel)
        self._gate_bias = add("gates/bias", [2 * n], ones)
        candidate = "candidate/{}_projection/{}".format
        self._input_kernel = add(candidate("input", "kernel"), [depth, n], kernel)
        self._hidden_kernel = add(candidate("hidden", "kernel"), [n, n], kernel)
        self._input_bias = add(candidate("input", "bias"), [n], zeros)
        self._hidden_bias = add(candidate("hidden", "bias"), [n], zeros)
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        gates = tf.matmul(tf.concat([inputs, state], 1), self._gate_kernel)
        gates = tf.sigmoid(tf.nn.bias_add(gates, self._gate_bias))
        reset, update = tf.split(gates, 2, axis=1)
        of_state = tf.nn.bias_add(tf.matmul(state, self._hidden_kernel), self._hidden_bias)
        of_inputs = tf.nn.bias_add(tf.matmul(inputs, self._input_kernel), self._input_bias)
        candidate = self._activation(of_inputs + reset * of_state)
        new_state = (1 - update) * candidate + update * state
        return new_state, new_state
