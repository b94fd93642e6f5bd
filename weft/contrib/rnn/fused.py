"""Recurrent cells and networks whose steps are one op each."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework.export import export
from weft.keras.engine.input_spec import InputSpec
from weft.layers.base import Layer
from weft.nn.rnn_cell.base import LayerRNNCell, input_depth
from weft.nn.rnn_cell.lstm import LSTMStateTuple
from weft.ops.nn.gru_block import gru_block_cell
from weft.ops.nn.lstm_block import block_lstm, lstm_block_cell


class _Weights(Layer):
    """The weights of a fused LSTM."""

    _num_units: int
    _use_peephole: bool

    def _make_weights(self, depth: int) -> None:
        n = self._num_units
        self._kernel = self.add_variable("kernel", [depth + n, n * 4])
        self._bias = self.add_variable("bias", [n * 4], initializer=tf.constant_initializer(0.0))
        self._diagonals: list[Any] | None = None
        if self._use_peephole:
            self._diagonals = [self.add_variable(f"w_{gate}_diag", [n]) for gate in "ifo"]
        self.built = True

    def _peepholes(self, dtype: Any) -> list[Any]:
        return self._diagonals or [tf.zeros([self._num_units], dtype=dtype)] * 3


@export("contrib.rnn.LSTMBlockCell")
class LSTMBlockCell(_Weights, LayerRNNCell):
    """`LSTMCell` in one op, with its variables."""

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        cell_clip: float | None = None,
        use_peephole: bool = False,
        dtype: Any = None,
        reuse: bool | None = None,
        name: str = "lstm_cell",
    ):
        super().__init__(_reuse=reuse, dtype=dtype, name=name)
        self._num_units, self._forget_bias = num_units, forget_bias
        self._use_peephole = use_peephole
        self._cell_clip = -1 if cell_clip is None else cell_clip
        self.input_spec = InputSpec(ndim=2)

    @property
    def state_size(self) -> LSTMStateTuple:
        return LSTMStateTuple(self._num_units, self._num_units)

    @property
    def output_size(self) -> int:
        return self._num_units

    def build(self, inputs_shape: Any) -> None:
        self._make_weights(input_depth(inputs_shape))

    def call(self, inputs: Any, state: Any) -> Any:
        if len(state) != 2:
            raise ValueError("Expecting state to be a tuple with length 2.")
        _, cs, _, _, _, _, h = lstm_block_cell(
            inputs,
            *state,
            self._kernel,
            *self._peepholes(self.dtype),
            self._bias,
            forget_bias=self._forget_bias,
            cell_clip=self._cell_clip,
            use_peephole=self._use_peephole,
        )
        return h, LSTMStateTuple(cs, h)


@export("contrib.rnn.FusedRNNCell")
class FusedRNNCell:
    """What goes over whole sequences, by time."""

    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
        scope: Any = None,
    ) -> Any:
        raise NotImplementedError("Abstract method")


@export("contrib.rnn.LSTMBlockWrapper")
class LSTMBlockWrapper(Layer):
    """An LSTM over whole sequences, by time, whose subclass says how all steps are computed."""

    @property
    def num_units(self) -> int:
        """How many cells there are."""
        raise NotImplementedError("Abstract method")

    def _call_cell(
        self, inputs: Any, cell_state: Any, output: Any, dtype: Any, sequence_length: Any
    ) -> Any:
        raise NotImplementedError("Abstract method")

    def call(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
    ) -> Any:
        is_list = isinstance(inputs, list)
        if is_list:
            inputs = tf.stack(inputs)
        steps, batch, depth = inputs.get_shape().with_rank(3).as_list()
        if not depth:
            raise ValueError(f"Expecting inputs_shape[2] to be set: {inputs.get_shape()}")
        sizes = tf.shape(inputs)
        steps, batch = (
            (sizes[0] if steps is None else steps),
            (sizes[1] if batch is None else batch),
        )
        if initial_state is None:
            if dtype is None:
                raise ValueError("Either initial_state or dtype needs to be specified")
            zeros = tf.zeros(tf.stack([batch, self.num_units]), dtype=dtype)
            initial_state = zeros, zeros
        elif len(initial_state) != 2:
            raise ValueError("Expecting initial_state to be a tuple with length 2 or None")
        else:
            dtype = initial_state[0].dtype if dtype is None else dtype
        if sequence_length is not None:
            sequence_length = tf.convert_to_tensor(sequence_length)
        cell_state, output = initial_state
        cells, outputs = self._call_cell(inputs, cell_state, output, dtype, sequence_length)
        if sequence_length is None:
            last = cells[-1], outputs[-1]
        else:
            mask = tf.transpose(tf.sequence_mask(sequence_length, steps, dtype=dtype), [1, 0])
            outputs *= tf.expand_dims(mask, 2)
            where = tf.stack([tf.cast(sequence_length, tf.int32), tf.range(batch)], axis=1)
            last = tuple(
                tf.gather_nd(tf.concat([tf.expand_dims(first, 0), all_], 0), where)
                for first, all_ in zip(initial_state, (cells, outputs))
            )
        return tf.unstack(outputs) if is_list else outputs, LSTMStateTuple(*last)


@export("contrib.rnn.LSTMBlockFusedCell")
class LSTMBlockFusedCell(LSTMBlockWrapper, _Weights):
    """An LSTM whose steps are all in one op."""

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        cell_clip: float | None = None,
        use_peephole: bool = False,
        reuse: bool | None = None,
        dtype: Any = None,
        name: str = "lstm_fused_cell",
    ):
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        self._num_units, self._forget_bias = num_units, forget_bias
        self._cell_clip = -1 if cell_clip is None else cell_clip
        self._use_peephole = use_peephole
        self.input_spec = InputSpec(ndim=3)

    @property
    def num_units(self) -> int:
        return self._num_units

    def build(self, input_shape: Any) -> None:
        self._make_weights(input_depth(input_shape))

    def _call_cell(
        self, inputs: Any, cell_state: Any, output: Any, dtype: Any, sequence_length: Any
    ) -> Any:
        length = tf.shape(inputs)[0] if sequence_length is None else tf.reduce_max(sequence_length)
        _, cs, _, _, _, _, h = block_lstm(
            tf.cast(length, tf.int64),
            inputs,
            cell_state,
            output,
            self._kernel,
            *self._peepholes(dtype),
            self._bias,
            forget_bias=self._forget_bias,
            cell_clip=self._cell_clip,
            use_peephole=self._use_peephole,
        )
        return cs, h


@export("contrib.rnn.GRUBlockCell")
class GRUBlockCell(LayerRNNCell):
    """`GRUCell` in one op."""

    _names = ("w_ru", "b_ru", "w_c", "b_c")

    def __init__(
        self,
        num_units: int | None = None,
        cell_size: int | None = None,
        reuse: bool | None = None,
        name: str = "gru_cell",
    ):
        super().__init__(_reuse=reuse, name=name)
        if (cell_size is None) == (num_units is None):
            raise ValueError("Exactly one of num_units or cell_size must be provided.")
        self._cell_size: Any = cell_size if num_units is None else num_units
        self.input_spec = InputSpec(ndim=2)

    @property
    def state_size(self) -> int:
        return self._cell_size

    @property
    def output_size(self) -> int:
        return self._cell_size

    def build(self, input_shape: Any) -> None:
        n = self._cell_size
        rows = input_depth(input_shape) + n
        gates, gates_bias, candidate, candidate_bias = self._names
        self._gate_kernel = self.add_variable(gates, [rows, n * 2])
        self._gate_bias = self.add_variable(
            gates_bias, [n * 2], initializer=tf.constant_initializer(1.0)
        )
        self._candidate_kernel = self.add_variable(candidate, [rows, n])
        self._candidate_bias = self.add_variable(
            candidate_bias, [n], initializer=tf.constant_initializer(0.0)
        )
        self.built = True

    def call(self, inputs: Any, h_prev: Any) -> Any:
        size = h_prev.get_shape().with_rank(2).as_list()[1]
        if size != self._cell_size:
            raise ValueError(f"Shape of h_prev[1] incorrect: cell_size {self._cell_size} vs {size}")
        *_, new_h = gru_block_cell(
            inputs,
            h_prev,
            self._gate_kernel,
            self._candidate_kernel,
            self._gate_bias,
            self._candidate_bias,
        )
        return new_h, new_h


@export("contrib.rnn.GRUBlockCellV2")
class GRUBlockCellV2(GRUBlockCell):
    """`GRUCell` in one op, with its variables."""

    _names = ("gates/kernel", "gates/bias", "candidate/kernel", "candidate/bias")
