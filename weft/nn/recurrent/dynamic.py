"""Recurrent networks as loops: `tf.nn.dynamic_rnn` and `tf.nn.bidirectional_dynamic_rnn`."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework import context, nest
from weft.framework.export import export
from weft.framework.tensor_shape import TensorShape
from weft.nn.recurrent.steps import (
    batch_size_of,
    cache_variables,
    called,
    first_state,
    state_dtype,
    step,
    with_batch_and_time_swapped,
)
from weft.nn.rnn_cell.base import assert_like_rnncell, full_shape, known_shape


@export("nn.dynamic_rnn")
def dynamic_rnn(
    cell: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state: Any = None,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[Any, Any]:
    """Goes over sequences with a cell: the outputs of all steps, and the last states."""
    assert_like_rnncell("cell", cell)
    with tf.variable_scope(scope or "rnn") as varscope:
        cache_variables(varscope)
        flat = [tf.convert_to_tensor(x) for x in nest.flatten(inputs)]
        if not time_major:
            flat = [with_batch_and_time_swapped(x) for x in flat]
        if sequence_length is not None:
            sequence_length = tf.cast(sequence_length, tf.int32)
            if sequence_length.get_shape().ndims not in (None, 1):
                raise ValueError(
                    "sequence_length must be a vector of length batch_size, but saw shape: "
                    f"{sequence_length.get_shape()}"
                )
            sequence_length = tf.identity(sequence_length, name="sequence_length")
        batch_size = batch_size_of(flat)
        state = first_state(
            cell,
            initial_state,
            batch_size,
            dtype,
            "If there is no initial_state, you must give a dtype.",
        )
        if sequence_length is not None and not context.executing_eagerly():
            sequence_length = _checked_length(sequence_length, batch_size)
        outputs, final_state = _loop(
            cell,
            nest.pack_sequence_as(inputs, flat),
            state,
            parallel_iterations or 32,
            swap_memory,
            sequence_length,
            dtype,
        )
        if not time_major:
            outputs = nest.map_structure(with_batch_and_time_swapped, outputs)
        return outputs, final_state


def _checked_length(sequence_length: Any, batch_size: Any) -> Any:
    wanted, found = tf.stack([batch_size]), tf.shape(sequence_length)
    check = tf.Assert(
        tf.reduce_all(tf.equal(found, wanted)),
        [
            f"Expected shape for Tensor {sequence_length.name} is ",
            wanted,
            " but saw shape: ",
            found,
        ],
    )
    with tf.control_dependencies([check]):
        return tf.identity(sequence_length, name="CheckSeqLen")


def _loop(
    cell: Any,
    inputs: Any,
    state: Any,
    parallel_iterations: int,
    swap_memory: bool,
    sequence_length: Any,
    dtype: Any,
) -> tuple[Any, Any]:
    """Over inputs by time."""
    flat = nest.flatten(inputs)
    sizes = nest.flatten(cell.output_size)
    steps, batch_size = tf.shape(flat[0])[0], batch_size_of(flat)
    known_steps, known_batch = _check_inputs(flat)
    out_dtype = state_dtype(dtype, state)
    zero_output = nest.pack_sequence_as(
        cell.output_size, [tf.zeros(full_shape(batch_size, s), out_dtype) for s in sizes]
    )
    time = tf.constant(0, dtype=tf.int32, name="time")
    with tf.name_scope("dynamic_rnn") as base_name:

        def array(name: str, element_shape: Any, dtype: Any) -> Any:
            return tf.TensorArray(
                dtype=dtype,
                size=steps,
                element_shape=element_shape,
                tensor_array_name=f"{base_name}{name}",
            )

    shapes = [known_shape(known_batch, s) for s in sizes]
    outputs = tuple(array(f"output_{i}", s, out_dtype) for i, s in enumerate(shapes))
    arrays = [array(f"input_{i}", x.shape[1:], x.dtype).unstack(x) for i, x in enumerate(flat)]

    def body(time: Any, outputs: Any, state: Any) -> Any:
        now = [a.read(time) for a in arrays]
        for x, whole in zip(now, flat):
            x.set_shape(whole.shape[1:])
        now = nest.pack_sequence_as(inputs, now)
        if sequence_length is None:
            output, new_state = called(cell, now, state)
        else:
            output, new_state = step(
                time, sequence_length, zero_output, state, lambda: called(cell, now, state)
            )
        written = tuple(a.write(time, x) for a, x in zip(outputs, nest.flatten(output)))
        return time + 1, written, new_state

    bound = steps
    if sequence_length is not None:
        bound = tf.minimum(steps, tf.maximum(1, tf.reduce_max(sequence_length)))
    _, outputs, final_state = tf.while_loop(
        cond=lambda time, *_: time < bound,
        body=body,
        loop_vars=(time, outputs, state),
        parallel_iterations=parallel_iterations,
        maximum_iterations=steps,
        swap_memory=swap_memory,
    )
    stacked = [a.stack() for a in outputs]
    if not context.executing_eagerly():
        for x, shape in zip(stacked, shapes):
            x.set_shape(TensorShape([known_steps]).concatenate(shape))
    return nest.pack_sequence_as(cell.output_size, stacked), final_state


def _check_inputs(flat: list[Any]) -> list[Any]:
    """ValueError for inputs that are not sequences of one length and batch; those two, as far as known."""
    shapes = [x.get_shape().with_rank_at_least(3) for x in flat]
    first = shapes[0].as_list()
    for shape in shapes:
        if not shape[2:].is_fully_defined():
            raise ValueError(
                "Input size (depth of inputs) must be accessible via shape inference, but saw value None."
            )
        steps, batch = shape.as_list()[:2]
        if steps != first[0]:
            raise ValueError(
                "Time steps is not the same for all the elements in the input in a batch."
            )
        if batch != first[1]:
            raise ValueError("Batch_size is not the same for all the elements in the input.")
    return first[:2]


@export("nn.bidirectional_dynamic_rnn")
def bidirectional_dynamic_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[Any, Any]:
    """Goes over sequences with one cell, and from their ends with another: both outputs and both last states."""
    assert_like_rnncell("cell_fw", cell_fw)
    assert_like_rnncell("cell_bw", cell_bw)
    options = {
        "sequence_length": sequence_length,
        "dtype": dtype,
        "parallel_iterations": parallel_iterations,
        "swap_memory": swap_memory,
        "time_major": time_major,
    }
    time_axis = 0 if time_major else 1

    def reverse(x: Any) -> Any:
        if sequence_length is None:
            return tf.reverse(x, axis=[time_axis])
        return tf.reverse_sequence(
            x, seq_lengths=sequence_length, seq_axis=time_axis, batch_axis=1 - time_axis
        )

    with tf.variable_scope(scope or "bidirectional_rnn"):
        with tf.variable_scope("fw") as fw_scope:
            output_fw, state_fw = dynamic_rnn(
                cell_fw, inputs, initial_state=initial_state_fw, scope=fw_scope, **options
            )
        with tf.variable_scope("bw") as bw_scope:
            backwards, state_bw = dynamic_rnn(
                cell_bw,
                nest.map_structure(reverse, inputs),
                initial_state=initial_state_bw,
                scope=bw_scope,
                **options,
            )
    return (output_fw, nest.map_structure(reverse, backwards)), (state_fw, state_bw)
