"""Layers: recurrent networks over whole sequences, of several layers, in one direction or both."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import weft as tf
from weft.contrib.cudnn_rnn import saveables
from weft.contrib.cudnn_rnn.parameters import (
    LINEAR_INPUT,
    UNIDIRECTIONAL,
    CudnnParamsFormatConverter,
    Part,
    check_mode,
)
from weft.framework.graph_keys import GraphKeys
from weft.framework.tensor_shape import TensorShape
from weft.keras.engine.input_spec import InputSpec
from weft.layers.base import Layer
from weft.ops.flow.cond import smart_cond


class _CudnnRNN(Layer):
    """A recurrent network.

    Args:
      num_layers, num_units: how many layers, with how many cells each.
      direction: "unidirectional" or "bidirectional".
      dropout: the share of a layer's outputs that the next one does not see while training.
      kernel_initializer, bias_initializer: of the matrices and the vectors that the parameters consist of.
    """

    _rnn_mode: str
    _saveable_cls: Any

    def __init__(
        self,
        num_layers: int,
        num_units: int,
        input_mode: str = LINEAR_INPUT,
        direction: str = UNIDIRECTIONAL,
        dropout: float = 0.0,
        seed: int | None = None,
        dtype: Any = tf.float32,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: str | None = None,
    ):
        super().__init__(dtype=dtype, name=name)
        if tf.as_dtype(dtype) not in (tf.float16, tf.float32, tf.float64):
            raise ValueError(f"Only support float16, float32, float64, provided {dtype}")
        check_mode(input_mode, direction, None, num_units)
        self._num_layers, self._num_units = num_layers, num_units
        self._input_mode, self._direction = input_mode, direction
        self._dropout, self._seed = dropout, seed
        self._kernel_initializer, self._bias_initializer = kernel_initializer, bias_initializer
        self._input_size: int | None = None
        self._saveable: Any = None

    num_layers = property(lambda self: self._num_layers)
    num_units = property(lambda self: self._num_units)
    input_mode = property(lambda self: self._input_mode)
    rnn_mode = property(lambda self: self._rnn_mode)
    direction = property(lambda self: self._direction)
    num_dirs = property(lambda self: 1 if self._direction == UNIDIRECTIONAL else 2)
    saveable = property(lambda self: self._saveable)

    @property
    def input_size(self) -> int:
        """How many inputs there are at a time, once the layer is built."""
        if not self._input_size:
            raise ValueError("'input_size' is unknown since layer has not been built.")
        return self._input_size

    @property
    def canonical_weight_shapes(self) -> list[tuple[int, int]]:
        """The shapes of the matrices that the parameters begin with."""
        self._check_built("canonical_weight_shapes")
        return self._converter.weight_shapes

    @property
    def canonical_bias_shapes(self) -> list[tuple[int]]:
        """The shapes of the vectors that follow."""
        self._check_built("canonical_bias_shapes")
        return self._converter.bias_shapes

    def _check_built(self, what: str) -> None:
        if not self._input_size:
            raise RuntimeError(f"{type(self).__name__}.{what} invoked before input shape is known")

    def state_shape(self, batch_size: Any) -> tuple[list[Any], ...]:
        """The shapes of the states."""
        return ([self.num_layers * self.num_dirs, batch_size, self.num_units],)

    def build(self, input_shape: Any) -> None:
        if self.built:
            return
        shape = TensorShape(input_shape)
        if shape.ndims != 3:
            raise ValueError(f"Expecting input_shape with 3 dims, got {shape.ndims}")
        size = shape.as_list()[-1]
        if size is None:
            raise ValueError(
                "The last dimension of the inputs to `CudnnRNN` should be defined. Found `None`."
            )
        self.input_spec = InputSpec(ndim=3, axes={-1: size})
        self._converter: CudnnParamsFormatConverter = self._saveable_cls._converter(
            self._num_layers,
            self._num_units,
            size,
            input_mode=self._input_mode,
            direction=self._direction,
        )
        self._input_size = size
        self._set_scope(None)
        kernel = self._kernel_initializer or tf.glorot_uniform_initializer(
            seed=self._seed, dtype=self.dtype
        )
        bias = self._bias_initializer or tf.constant_initializer(0.0, dtype=self.dtype)

        def initial(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
            weights = [kernel(list(s), dtype=self.dtype) for s in self._converter.weight_shapes]
            biases = [bias(list(s), dtype=self.dtype) for s in self._converter.bias_shapes]
            return self._converter.join(weights, biases)

        shapes = [*self._converter.weight_shapes, *self._converter.bias_shapes]
        total = sum(math.prod(s) for s in shapes)
        with tf.variable_scope(self._scope, auxiliary_name_scope=False) as scope:
            scope.set_partitioner(None)  # it is one thing
            self.kernel = self.add_variable("opaque_kernel", [total], initializer=initial)
        if not tf.executing_eagerly() and tf.get_variable_scope().reuse is not True:
            self._saveable = self._saveable_cls(
                self.kernel,
                self._num_layers,
                self._num_units,
                size,
                input_mode=self._input_mode,
                direction=self._direction,
                scope=tf.get_variable_scope(),
                name=f"{self.kernel.op.name}_saveable",
            )
            tf.add_to_collection(GraphKeys.SAVEABLE_OBJECTS, self._saveable)
        self.built = True

    def call(
        self,
        inputs: Any,
        initial_state: tuple[Any, ...] | None = None,
        sequence_lengths: Any = None,
        time_major: bool = True,
        training: Any = True,
    ) -> tuple[Any, tuple[Any, ...]]:
        """The outputs of the last layer and the last states of all.

        Args:
          inputs: [time, batch, inputs], or [batch, time, inputs] where `time_major` is false.
          initial_state: a tuple of [layers * directions, batch, units] (batch first where time is not).
          sequence_lengths: how long each sequence is; beyond that outputs are zero.
          training: whether dropout acts.
        """
        if initial_state is not None and not isinstance(initial_state, tuple):
            raise TypeError(f"Invalid initial_state type: {initial_state}, expecting tuple.")
        inputs = tf.convert_to_tensor(inputs, dtype=self.dtype)
        swap = (lambda t: t) if time_major else (lambda t: tf.transpose(t, [1, 0, 2]))
        values = swap(inputs)
        if initial_state is None:
            shapes = self.state_shape(tf.shape(values)[1])
            states = tuple(tf.zeros(shape, dtype=self.dtype) for shape in shapes)
        else:
            states = tuple(swap(tf.convert_to_tensor(s, dtype=self.dtype)) for s in initial_state)
        if sequence_lengths is not None:
            sequence_lengths = tf.cast(sequence_lengths, tf.int32)
        parts = self._converter.parts(self.kernel)
        last: list[tuple[Any, ...]] = []
        for layer in range(self._num_layers):
            if layer and self._dropout:
                values = self._dropped(values, layer, training)
            outputs = []
            for way in range(self.num_dirs):
                i = layer * self.num_dirs + way
                found, final = self._one_way(
                    values, tuple(s[i] for s in states), parts[i], sequence_lengths, way == 1
                )
                outputs.append(found)
                last.append(final)
            values = outputs[0] if self.num_dirs == 1 else tf.concat(outputs, 2)
        return swap(values), tuple(swap(tf.stack(s)) for s in zip(*last))

    def _dropped(self, values: Any, layer: int, training: Any) -> Any:
        seed = None if self._seed is None else self._seed + layer
        drop: Callable[[], Any] = lambda: tf.nn.dropout(values, rate=self._dropout, seed=seed)  # noqa: E731
        return smart_cond(training, drop, lambda: tf.identity(values))

    def _one_way(
        self, values: Any, state: tuple[Any, ...], part: Part, lengths: Any, backwards: bool
    ) -> tuple[Any, tuple[Any, ...]]:
        def turned(t: Any) -> Any:
            if not backwards:
                return t
            if lengths is None:
                return tf.reverse(t, [0])
            return tf.reverse_sequence(t, lengths, seq_axis=0, batch_axis=1)

        # All steps of what a direction gives: outputs, and of an LSTM the cells' states.
        series = self._steps(turned(values), state, part)
        if lengths is None:
            return turned(series[0]), tuple(s[-1] for s in series)
        batch = tf.range(tf.shape(values)[1])
        at = tf.stack([lengths - 1, batch], 1)
        within = tf.transpose(tf.sequence_mask(lengths, tf.shape(values)[0], self.dtype))
        outputs = series[0] * within[:, :, tf.newaxis]
        return turned(outputs), tuple(tf.gather_nd(s, at) for s in series)

    def _steps(self, values: Any, state: tuple[Any, ...], part: Part) -> tuple[Any, ...]:
        raise NotImplementedError

    def _of_inputs(self, values: Any, weights: list[Any], biases: list[Any]) -> Any:
        """What the inputs of all steps give to the gates, in one product."""
        flat = tf.reshape(values, [-1, values.shape.as_list()[-1]])
        product = tf.matmul(flat, tf.concat(weights, 0), transpose_b=True) + tf.concat(biases, 0)
        width = len(weights) * self._num_units
        return tf.reshape(product, [tf.shape(values)[0], tf.shape(values)[1], width])


class CudnnLSTM(_CudnnRNN):
    __doc__ = f"{_CudnnRNN.__doc__}"
    _rnn_mode = "lstm"
    _saveable_cls = saveables.CudnnLSTMSaveable

    def state_shape(self, batch_size: Any) -> tuple[list[Any], ...]:
        return super().state_shape(batch_size) * 2

    def _steps(self, values: Any, state: tuple[Any, ...], part: Part) -> tuple[Any, ...]:
        of_inputs = self._of_inputs(values, part.of_inputs, part.input_biases)
        of_state, bias = tf.concat(part.of_state, 0), tf.concat(part.state_biases, 0)

        def step(last: tuple[Any, Any], x: Any) -> tuple[Any, Any]:
            h, c = last
            gates = x + tf.matmul(h, of_state, transpose_b=True) + bias
            enter, keep, new, give = tf.split(gates, 4, axis=1)
            c = tf.sigmoid(keep) * c + tf.sigmoid(enter) * tf.tanh(new)
            return tf.sigmoid(give) * tf.tanh(c), c

        return tuple(tf.scan(step, of_inputs, initializer=state))


class CudnnGRU(_CudnnRNN):
    __doc__ = f"{_CudnnRNN.__doc__}"
    _rnn_mode = "gru"
    _saveable_cls = saveables.CudnnGRUSaveable

    def _steps(self, values: Any, state: tuple[Any, ...], part: Part) -> tuple[Any, ...]:
        of_inputs = self._of_inputs(values, part.of_inputs, part.input_biases)
        of_state, bias = tf.concat(part.of_state, 0), tf.concat(part.state_biases, 0)

        def step(h: Any, x: Any) -> Any:
            x_reset, x_update, x_new = tf.split(x, 3, axis=1)
            h_reset, h_update, h_new = tf.split(
                tf.matmul(h, of_state, transpose_b=True) + bias, 3, axis=1
            )
            update = tf.sigmoid(x_update + h_update)
            new = tf.tanh(x_new + tf.sigmoid(x_reset + h_reset) * h_new)
            return (1 - update) * new + update * h

        return (tf.scan(step, of_inputs, initializer=state[0]),)


class _Simple(_CudnnRNN):
    _activation: Any

    def _steps(self, values: Any, state: tuple[Any, ...], part: Part) -> tuple[Any, ...]:
        of_inputs = self._of_inputs(values, part.of_inputs, part.input_biases)
        (of_state,), (bias,) = part.of_state, part.state_biases

        def step(h: Any, x: Any) -> Any:
            return self._activation(x + tf.matmul(h, of_state, transpose_b=True) + bias)

        return (tf.scan(step, of_inputs, initializer=state[0]),)


class CudnnRNNTanh(_Simple):
    __doc__ = f"{_CudnnRNN.__doc__}"
    _rnn_mode = "rnn_tanh"
    _saveable_cls = saveables.CudnnRNNTanhSaveable
    _activation = staticmethod(tf.tanh)


class CudnnRNNRelu(_Simple):
    __doc__ = f"{_CudnnRNN.__doc__}"
    _rnn_mode = "rnn_relu"
    _saveable_cls = saveables.CudnnRNNReluSaveable
    _activation = staticmethod(tf.nn.relu)
