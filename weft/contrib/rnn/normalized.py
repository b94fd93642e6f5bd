"""An LSTM cell with layer normalization and recurrent dropout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft as tf
from weft.contrib.layers.normalization import layer_norm
from weft.framework.export import export
from weft.nn.rnn_cell.base import RNNCell
from weft.nn.rnn_cell.lstm import LSTMStateTuple
from weft.platform import tf_logging


@export("contrib.rnn.LayerNormBasicLSTMCell")
class LayerNormBasicLSTMCell(RNNCell):
    """An LSTM whose gates and memory are normalized (Ba et al. 2016); dropout is applied to new memory only."""

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        input_size: Any = None,
        activation: Callable = tf.tanh,
        layer_norm: bool = True,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
        dropout_keep_prob: Any = 1.0,
        dropout_prob_seed: int | None = None,
        reuse: bool | None = None,
    ):
        super().__init__(_reuse=reuse)
        if input_size is not None:
            tf_logging.warn("%s: The input_size parameter is deprecated.", self)
        self._num_units, self._forget_bias = num_units, forget_bias
        self._activation, self._layer_norm = activation, layer_norm
        self._norm_gain, self._norm_shift = norm_gain, norm_shift
        self._keep_prob, self._seed = dropout_keep_prob, dropout_prob_seed

    @property
    def state_size(self) -> LSTMStateTuple:
        return LSTMStateTuple(self._num_units, self._num_units)

    @property
    def output_size(self) -> int:
        return self._num_units

    def _norm(self, x: Any, scope: str) -> Any:
        if not self._layer_norm:
            return x
        for name, value in (("gamma", self._norm_gain), ("beta", self._norm_shift)):
            with tf.variable_scope(scope):
                tf.get_variable(
                    name,
                    shape=x.get_shape()[-1:],
                    initializer=tf.constant_initializer(value),
                    dtype=x.dtype,
                )
        return layer_norm(x, reuse=True, scope=scope)

    def _linear(self, x: Any) -> Any:
        size = 4 * self._num_units
        kernel = tf.get_variable("kernel", [x.get_shape().as_list()[-1], size], dtype=x.dtype)
        out = tf.matmul(x, kernel)
        if self._layer_norm:
            return out
        return tf.nn.bias_add(out, tf.get_variable("bias", [size], dtype=x.dtype))

    def call(self, inputs: Any, state: Any) -> Any:
        c, h = state
        gates = tf.split(self._linear(tf.concat([inputs, h], 1)), 4, axis=1)
        names = ("input", "transform", "forget", "output")
        i, j, f, o = (self._norm(gate, name) for gate, name in zip(gates, names))
        g = self._activation(j)
        if not isinstance(self._keep_prob, float) or self._keep_prob < 1:
            g = tf.nn.dropout(g, rate=1 - self._keep_prob, seed=self._seed)
        c = c * tf.sigmoid(f + self._forget_bias) + tf.sigmoid(i) * g
        c = self._norm(c, "state")
        h = self._activation(c) * tf.sigmoid(o)
        return h, LSTMStateTuple(c, h)
