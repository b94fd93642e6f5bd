"""What the ways of going over a sequence share: initial states, types, and steps beyond the end of a sequence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft as tf
from weft.framework import context, nest
from weft.keras.engine.base_layer import Layer
from weft.nn.rnn_cell.base import RNNCell
from weft.ops.flow.structure import is_tensor_array


def state_dtype(explicit: Any, state: Any) -> Any:
    """The type of outputs: as given, or that of the state."""
    if explicit is not None:
        return explicit
    found = [x.dtype for x in nest.flatten(state)]
    if not found:
        raise ValueError("Unable to infer dtype from empty state.")
    if any(x != found[0] for x in found):
        raise ValueError(
            "State has tensors of different inferred_dtypes. Unable to infer a single representative dtype."
        )
    return found[0]


def first_state(cell: Any, given: Any, batch_size: Any, dtype: Any, message: str) -> Any:
    """The given state, or zeros."""
    if given is not None:
        return given
    if not dtype:
        raise ValueError(message)
    if getattr(cell, "get_initial_state", None) is not None:
        return cell.get_initial_state(inputs=None, batch_size=batch_size, dtype=dtype)
    return cell.zero_state(batch_size, dtype)


def is_keras_cell(cell: Any) -> bool:
    """Whether a cell is one of Keras, whose states are lists."""
    return (
        not isinstance(cell, RNNCell)
        and isinstance(cell, Layer)
        and getattr(cell, "zero_state", None) is None
    )


def called(cell: Any, inputs: Any, state: Any) -> tuple[Any, Any]:
    """One step of a cell of any kind."""
    if not is_keras_cell(cell):
        return cell(inputs, state)
    output, new_state = cell(inputs, state if nest.is_nested(state) else [state])
    return output, new_state[0] if len(new_state) == 1 else new_state


def cache_variables(scope: Any) -> None:
    """Variables that a loop reads many times are read where the operations run."""
    if not context.executing_eagerly() and scope.caching_device is None:
        if not context.get_default_graph().building_function:
            scope.set_caching_device(lambda op: op.device)


def kept(finished: Any, old: Any, new: Any) -> Any:
    """For each of the batch the old values where it is finished, else the new ones."""

    def choose(before: Any, after: Any) -> Any:
        if is_tensor_array(before) or before.shape.ndims == 0:
            return after
        with tf.colocate_with(after):
            chosen = tf.where(finished, before, after)
        chosen.set_shape(before.get_shape())
        return chosen

    flat = [choose(a, b) for a, b in zip(nest.flatten(old), nest.flatten(new))]
    return nest.pack_sequence_as(old, flat)


def step(
    time: Any, sequence_length: Any, zero_output: Any, state: Any, call: Callable
) -> tuple[Any, Any]:
    """A step in which sequences that have ended give zeros and keep their states."""
    output, new_state = call()
    nest.assert_same_structure(zero_output, output)
    nest.assert_same_structure(state, new_state)
    finished = time >= sequence_length
    return kept(finished, zero_output, output), kept(finished, state, new_state)


def with_batch_and_time_swapped(x: Any) -> Any:
    """The tensor with its first two axes exchanged; what has fewer stays."""
    rank = x.get_shape().ndims
    if rank is not None and rank < 2:
        return x
    if rank is not None:
        return tf.transpose(x, [1, 0, *range(2, rank)])
    return tf.transpose(x, tf.concat([[1, 0], tf.range(2, tf.rank(x))], axis=0))


def batch_size_of(flat_inputs: Any) -> Any:
    """The batch size of inputs by time, as a number if it is known."""
    for x in flat_inputs:
        if x.shape.ndims is None:
            continue
        if x.shape.ndims < 2:
            raise ValueError(f"Expected input tensor {x} to have rank at least 2")
        if x.shape.as_list()[1] is not None:
            return x.shape.as_list()[1]
    return tf.shape(flat_inputs[0])[1]
