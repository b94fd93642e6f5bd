"""Long short-term memory: BasicLSTMCell, and LSTMCell with peepholes, clipping and projection."""

from __future__ import annotations

import collections
from typing import Any

import weft as tf
from weft.framework.export import export
from weft.initializers import by_name as initializers
from weft.keras import activations
from weft.keras.engine.input_spec import InputSpec
from weft.nn.rnn_cell.base import LayerRNNCell, check_supported, input_depth
from weft.platform import tf_logging


@export("nn.rnn_cell.LSTMStateTuple", "contrib.rnn.LSTMStateTuple")
class LSTMStateTuple(collections.namedtuple("LSTMStateTuple", ("c", "h"))):
    """The state of an LSTM: the memory `c` and the output `h`."""

    __slots__ = ()

    @property
    def dtype(self) -> Any:
        """The type of both."""
        c, h = self
        if c.dtype != h.dtype:
            raise TypeError(f"Inconsistent internal state: {c.dtype} vs {h.dtype}")
        return c.dtype


class _LSTM(LayerRNNCell):
    """A cell with a memory; the state is a tuple, or both parts side by side."""

    _kernel: Any
    _bias: Any

    def __init__(
        self,
        num_units: int,
        output_size: int,
        forget_bias: float,
        state_is_tuple: bool,
        activation: Any,
        reuse: Any,
        name: Any,
        dtype: Any,
        **kwargs: Any,
    ):
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        check_supported(self.dtype)
        if not state_is_tuple:
            tf_logging.warn(
                "%s: Using a concatenated state is slower and will soon be deprecated.  Use state_is_tuple=True.",
                self,
            )
        self.input_spec = InputSpec(ndim=2)
        self._num_units, self._output_size = num_units, output_size
        self._forget_bias, self._state_is_tuple = forget_bias, state_is_tuple
        self._activation = activations.get(activation) if activation else tf.tanh

    @property
    def state_size(self) -> Any:
        if self._state_is_tuple:
            return LSTMStateTuple(self._num_units, self._output_size)
        return self._num_units + self._output_size

    @property
    def output_size(self) -> int:
        return self._output_size

    def _taken_apart(self, state: Any) -> Any:
        if self._state_is_tuple:
            return state
        return tf.split(state, [self._num_units, self._output_size], axis=1)

    def _joined(self, c: Any, h: Any) -> Any:
        return LSTMStateTuple(c, h) if self._state_is_tuple else tf.concat([c, h], 1)

    def _gates(self, inputs: Any, h: Any) -> Any:
        """Input gate, new memory, forget gate and output gate, before their activations."""
        sums = tf.matmul(tf.concat([inputs, h], 1), self._kernel)
        return tf.split(value=tf.nn.bias_add(sums, self._bias), num_or_size_splits=4, axis=1)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "num_units": self._num_units,
            "forget_bias": self._forget_bias,
            "state_is_tuple": self._state_is_tuple,
            "activation": activations.serialize(self._activation),
            "reuse": self._reuse,
        }


@export("nn.rnn_cell.BasicLSTMCell", "contrib.rnn.BasicLSTMCell")
class BasicLSTMCell(_LSTM):
    """An LSTM as in Zaremba et al. 2014."""

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Any = None,
        reuse: bool | None = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ):
        super().__init__(
            num_units,
            num_units,
            forget_bias,
            state_is_tuple,
            activation,
            reuse,
            name,
            dtype,
            **kwargs,
        )

    def build(self, inputs_shape: Any) -> None:
        depth = input_depth(inputs_shape)
        check_supported(self.dtype)
        self._kernel = self.add_variable(
            "kernel", shape=[depth + self._num_units, 4 * self._num_units]
        )
        self._bias = self.add_variable(
            "bias", shape=[4 * self._num_units], initializer=tf.zeros_initializer(dtype=self.dtype)
        )
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        self._check_types(inputs, state)
        c, h = self._taken_apart(state)
        i, j, f, o = self._gates(inputs, h)
        forget = tf.sigmoid(f + tf.constant(self._forget_bias, dtype=f.dtype))
        c = c * forget + tf.sigmoid(i) * self._activation(j)
        h = self._activation(c) * tf.sigmoid(o)
        return h, self._joined(c, h)


@export("nn.rnn_cell.LSTMCell", "contrib.rnn.LSTMCell")
class LSTMCell(_LSTM):
    """An LSTM with optional peepholes, clipped memory and projected output (Sak et al. 2014)."""

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: int | None = None,
        num_proj_shards: int | None = None,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Any = None,
        reuse: bool | None = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ):
        super().__init__(
            num_units,
            num_proj or num_units,
            forget_bias,
            state_is_tuple,
            activation,
            reuse,
            name,
            dtype,
            **kwargs,
        )
        if num_unit_shards is not None or num_proj_shards is not None:
            tf_logging.warn(
                "%s: The num_unit_shards and proj_unit_shards parameters are deprecated and will be removed in Jan "
                "2017.  Use a variable scope with a partitioner instead.",
                self,
            )
        self._use_peepholes, self._cell_clip = use_peepholes, cell_clip
        self._initializer = initializers.get(initializer)
        self._num_proj, self._proj_clip = num_proj, proj_clip
        self._num_unit_shards, self._num_proj_shards = num_unit_shards, num_proj_shards

    def build(self, inputs_shape: Any) -> None:
        depth = input_depth(inputs_shape)
        check_supported(self.dtype)

        def weight(name: str, shape: list[int], shards: int | None = None) -> Any:
            partitioner = None if shards is None else tf.fixed_size_partitioner(shards)
            return self.add_variable(
                name, shape=shape, initializer=self._initializer, partitioner=partitioner
            )

        n = self._num_units
        self._kernel = weight("kernel", [depth + self._output_size, 4 * n], self._num_unit_shards)
        self._bias = self.add_variable(
            "bias", shape=[4 * n], initializer=tf.zeros_initializer(dtype=self.dtype or tf.float32)
        )
        if self._use_peepholes:
            self._w_f_diag = weight("w_f_diag", [n])
            self._w_i_diag = weight("w_i_diag", [n])
            self._w_o_diag = weight("w_o_diag", [n])
        if self._num_proj is not None:
            self._proj_kernel = weight(
                "projection/kernel", [n, self._num_proj], self._num_proj_shards
            )
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        self._check_types(inputs, state)
        c_before, m_before = self._taken_apart(state)
        if inputs.get_shape().with_rank(2).as_list()[1] is None:
            raise ValueError("Could not infer input size from inputs.get_shape()[-1]")
        i, j, f, o = self._gates(inputs, m_before)
        f = f + self._forget_bias
        if self._use_peepholes:
            f, i = f + self._w_f_diag * c_before, i + self._w_i_diag * c_before
        c = tf.sigmoid(f) * c_before + tf.sigmoid(i) * self._activation(j)
        if self._cell_clip is not None:
            c = tf.clip_by_value(c, -self._cell_clip, self._cell_clip)
        if self._use_peepholes:
            o = o + self._w_o_diag * c
        m = tf.sigmoid(o) * self._activation(c)
        if self._num_proj is not None:
            m = tf.matmul(m, self._proj_kernel)
            if self._proj_clip is not None:
                m = tf.clip_by_value(m, -self._proj_clip, self._proj_clip)
        return m, self._joined(c, m)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "use_peepholes": self._use_peepholes,
            "cell_clip": self._cell_clip,
            "initializer": initializers.serialize(self._initializer),
            "num_proj": self._num_proj,
            "proj_clip": self._proj_clip,
            "num_unit_shards": self._num_unit_shards,
            "num_proj_shards": self._num_proj_shards,
        }
