"""Recurrent networks whose steps are all in the graph: `tf.nn.static_rnn` and what is made of it."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework import nest
from weft.framework.export import export
from weft.framework.tensor_shape import unknown_shape
from weft.nn.recurrent.steps import cache_variables, called, first_state, state_dtype, step
from weft.nn.rnn_cell.base import assert_like_rnncell, zeros


@export("nn.static_rnn", "contrib.rnn.static_rnn")
def static_rnn(
    cell: Any,
    inputs: Any,
    initial_state: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """Goes over a list of inputs with a cell: the list of outputs, and the last state."""
    assert_like_rnncell("cell", cell)
    if not nest.is_nested(inputs):
        raise TypeError("inputs must be a sequence")
    if not inputs:
        raise ValueError("inputs must not be empty")
    with tf.variable_scope(scope or "rnn") as varscope:
        cache_variables(varscope)
        batch_size = _batch_size(inputs)
        state = first_state(
            cell,
            initial_state,
            batch_size,
            dtype,
            "If no initial_state is provided, dtype must be specified",
        )
        zero_output = None
        if sequence_length is not None:
            sequence_length = tf.convert_to_tensor(sequence_length, name="sequence_length")
            if sequence_length.get_shape().ndims not in (None, 1):
                raise ValueError("sequence_length must be a vector of length batch_size")
            out_dtype = state_dtype(dtype, state)
            zero_output = nest.map_structure(
                lambda size: zeros(batch_size, size, out_dtype), cell.output_size
            )
            sequence_length = tf.cast(sequence_length, tf.int32)
        outputs = []
        for time, now in enumerate(inputs):
            if time > 0:
                varscope.reuse_variables()
            if sequence_length is None:
                output, state = called(cell, now, state)
            else:
                output, state = step(
                    time,
                    sequence_length,
                    zero_output,
                    state,
                    lambda now=now, state=state: called(cell, now, state),
                )
            outputs.append(output)
        return outputs, state


def _batch_size(inputs: Any) -> Any:
    """The batch size of a list of inputs, as a number if it is known; their depths must be."""
    first = nest.flatten(inputs)[0]
    batch = first.get_shape().with_rank_at_least(1).dims[0]
    if first.get_shape().ndims != 1:
        for x in nest.flatten(inputs):
            sizes = x.get_shape().with_rank_at_least(2)
            batch = batch.merge_with(sizes.dims[0])
            for i, size in enumerate(sizes.as_list()[1:]):
                if size is None:
                    raise ValueError(
                        f"Input size (dimension {i} of inputs) must be accessible via shape inference, but saw "
                        "value None."
                    )
    return tf.shape(first)[0] if batch.value is None else batch.value


@export("nn.static_state_saving_rnn", "contrib.rnn.static_state_saving_rnn")
def static_state_saving_rnn(
    cell: Any,
    inputs: Any,
    state_saver: Any,
    state_name: Any,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """`static_rnn` with the first state from a saver, to which the last one goes."""
    sizes = cell.state_size
    is_tuple = nest.is_nested(sizes)
    if is_tuple != nest.is_nested(state_name):
        raise ValueError(
            "state_name should be the same type as cell.state_size.  "
            f"state_name: {state_name}, cell.state_size: {sizes}"
        )
    names = nest.flatten(state_name)
    if len(names) != len(nest.flatten(sizes)):
        raise ValueError(
            f"#elems(state_name) != #elems(state_size): {len(names)} vs. {len(nest.flatten(sizes))}"
        )
    first = nest.pack_sequence_as(sizes, [state_saver.state(name) for name in names])
    outputs, state = static_rnn(
        cell, inputs, initial_state=first, sequence_length=sequence_length, scope=scope
    )
    saved = [state_saver.save_state(name, s) for name, s in zip(names, nest.flatten(state))]
    with tf.control_dependencies(saved):
        outputs[-1] = nest.map_structure(tf.identity, outputs[-1])
        state = nest.map_structure(tf.identity, state)
    return outputs, state


def _reversed(inputs: Any, lengths: Any) -> list[Any]:
    """A list of inputs from the end; with lengths, each of the batch from its own end."""
    if lengths is None:
        return list(reversed(inputs))
    columns = []
    for sequence in zip(*(nest.flatten(x) for x in inputs)):
        shape = unknown_shape(rank=sequence[0].get_shape().ndims)
        for x in sequence:
            shape = shape.merge_with(x.get_shape())
        backwards = tf.unstack(tf.reverse_sequence(tf.stack(sequence), lengths, 0, 1))
        for x in backwards:
            x.set_shape(shape)
        columns.append(backwards)
    return [nest.pack_sequence_as(x, list(flat)) for x, flat in zip(inputs, zip(*columns))]


@export("nn.static_bidirectional_rnn", "contrib.rnn.static_bidirectional_rnn")
def static_bidirectional_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[Any, Any, Any]:
    """Goes over a list of inputs from both ends: the outputs side by side, and both last states."""
    assert_like_rnncell("cell_fw", cell_fw)
    assert_like_rnncell("cell_bw", cell_bw)
    if not nest.is_nested(inputs):
        raise TypeError("inputs must be a sequence")
    if not inputs:
        raise ValueError("inputs must not be empty")
    with tf.variable_scope(scope or "bidirectional_rnn"):
        with tf.variable_scope("fw") as fw_scope:
            output_fw, state_fw = static_rnn(
                cell_fw, inputs, initial_state_fw, dtype, sequence_length, scope=fw_scope
            )
        with tf.variable_scope("bw") as bw_scope:
            backwards, state_bw = static_rnn(
                cell_bw,
                _reversed(inputs, sequence_length),
                initial_state_bw,
                dtype,
                sequence_length,
                scope=bw_scope,
            )
    output_bw = _reversed(backwards, sequence_length)
    joined = [
        tf.concat([fw, bw], 1) for fw, bw in zip(nest.flatten(output_fw), nest.flatten(output_bw))
    ]
    return nest.pack_sequence_as(output_fw, joined), state_fw, state_bw
