"""The loop of decoding: `dynamic_decode`, and what a decoder has to have for it."""

from __future__ import annotations

import abc
from typing import Any

import weft as tf
from weft.framework import context, nest
from weft.framework.constant_value import constant_value
from weft.framework.export import export
from weft.framework.tensor_shape import TensorShape
from weft.nn.recurrent.steps import cache_variables, with_batch_and_time_swapped
from weft.nn.rnn_cell.base import zeros
from weft.ops.flow.tensor_array import TensorArray


@export("contrib.seq2seq.Decoder")
class Decoder(abc.ABC):
    """Steps of decoding: from inputs and a state to outputs, the next state, and the next inputs."""

    @property
    def batch_size(self) -> Any:
        """How many sequences are decoded."""
        raise NotImplementedError

    @property
    def output_size(self) -> Any:
        """The sizes of one step's outputs, in their structure."""
        raise NotImplementedError

    @property
    def output_dtype(self) -> Any:
        """The dtypes of the outputs, in their structure."""
        raise NotImplementedError

    @abc.abstractmethod
    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        """Which sequences are finished before the first step, the first inputs, and the first state."""
        raise NotImplementedError

    @abc.abstractmethod
    def step(
        self, time: Any, inputs: Any, state: Any, name: str | None = None
    ) -> tuple[Any, Any, Any, Any]:
        """One step: outputs, next state, next inputs, and which sequences are finished."""
        raise NotImplementedError

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> tuple[Any, Any]:
        """Outputs and state, made of those of all steps; a decoder may do without."""
        raise NotImplementedError

    @property
    def tracks_own_finished(self) -> bool:
        """Whether a sequence may be finished and go on later, as beams do that change places."""
        return False


def rnn_output_size(cell: Any, output_layer: Any) -> Any:
    """The size of a cell's outputs after the layer that follows it, if there is one."""
    size = cell.output_size
    if output_layer is None:
        return size
    shapes = nest.map_structure(lambda s: TensorShape([None]).concatenate(s), size)
    return nest.map_structure(lambda s: s[1:], output_layer.compute_output_shape(shapes))


def _element_shape(batch_size: Any, size: Any) -> TensorShape | None:
    if not isinstance(size, TensorShape) or size.ndims == 0:
        return None
    static = constant_value(tf.convert_to_tensor(batch_size, name="batch_size"))
    return TensorShape([None if static is None else int(static)]).concatenate(size)


def _stay(finished: Any, old: Any, new: Any) -> Any:
    """The new state, but the old one where sequences are finished."""
    if isinstance(old, TensorArray):
        return new
    new.set_shape(old.shape)
    return new if new.shape.ndims == 0 else tf.where(finished, old, new)


@export("contrib.seq2seq.dynamic_decode")
def dynamic_decode(
    decoder: Any,
    output_time_major: bool = False,
    impute_finished: bool = False,
    maximum_iterations: Any = None,
    parallel_iterations: int = 32,
    swap_memory: bool = False,
    scope: Any = None,
) -> tuple[Any, Any, Any]:
    """Decodes until all sequences are finished: outputs of all steps, the last state, and lengths."""
    if not isinstance(decoder, Decoder):
        raise TypeError(f"Expected decoder to be type Decoder, but saw: {type(decoder)}")
    with tf.variable_scope(scope, "decoder") as entered:
        if not context.executing_eagerly():
            cache_variables(entered)
        if maximum_iterations is not None:
            maximum_iterations = tf.convert_to_tensor(
                maximum_iterations, dtype=tf.int32, name="maximum_iterations"
            )
            if maximum_iterations.get_shape().ndims != 0:
                raise ValueError("maximum_iterations must be a scalar")
        first_finished, first_inputs, first_state = decoder.initialize()
        zero_outputs = nest.map_structure(
            lambda size, dtype: zeros(decoder.batch_size, size, dtype),
            decoder.output_size,
            decoder.output_dtype,
        )
        if maximum_iterations is not None:
            first_finished = tf.logical_or(first_finished, 0 >= maximum_iterations)
        lengths = tf.zeros_like(first_finished, dtype=tf.int32)
        arrays = nest.map_structure(
            lambda size, dtype: TensorArray(
                dtype=dtype,
                size=0,
                dynamic_size=True,
                element_shape=_element_shape(decoder.batch_size, size),
            ),
            decoder.output_size,
            decoder.output_dtype,
        )

        def body(
            time: Any, arrays: Any, state: Any, inputs: Any, finished: Any, lengths: Any
        ) -> tuple:
            outputs, next_state, next_inputs, now_finished = decoder.step(time, inputs, state)
            if not decoder.tracks_own_finished:
                now_finished = tf.logical_or(now_finished, finished)
            now = tf.fill(tf.shape(lengths), time + 1)
            lengths = tf.where(tf.logical_not(finished), now, lengths)
            nest.assert_same_structure(state, next_state)
            nest.assert_same_structure(arrays, outputs)
            nest.assert_same_structure(inputs, next_inputs)
            if impute_finished:
                outputs = nest.map_structure(
                    lambda out, zero: tf.where(finished, zero, out), outputs, zero_outputs
                )
                next_state = nest.map_structure(
                    lambda new, old: _stay(finished, old, new), next_state, state
                )
            arrays = nest.map_structure(lambda a, out: a.write(time, out), arrays, outputs)
            return time + 1, arrays, next_state, next_inputs, now_finished, lengths

        _, arrays, final_state, _, _, lengths = tf.while_loop(
            lambda time, arrays, state, inputs, finished, lengths: tf.logical_not(
                tf.reduce_all(finished)
            ),
            body,
            (tf.constant(0), arrays, first_state, first_inputs, first_finished, lengths),
            parallel_iterations=parallel_iterations,
            maximum_iterations=maximum_iterations,
            swap_memory=swap_memory,
        )
        outputs = nest.map_structure(lambda array: array.stack(), arrays)
        try:
            outputs, final_state = decoder.finalize(outputs, final_state, lengths)
        except NotImplementedError:
            pass  # a decoder may do without
        if not output_time_major:
            outputs = nest.map_structure(with_batch_and_time_swapped, outputs)
    return outputs, final_state, lengths
