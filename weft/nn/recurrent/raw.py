"""`tf.nn.raw_rnn`: a recurrent network whose inputs, outputs and ends a function of the program decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft as tf
from weft.framework import nest
from weft.framework.export import export
from weft.framework.tensor_shape import dimension_at_index
from weft.nn.recurrent.steps import cache_variables, kept
from weft.nn.rnn_cell.base import assert_like_rnncell, full_shape, known_shape


@export("nn.raw_rnn")
def raw_rnn(
    cell: Any,
    loop_fn: Callable,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    scope: Any = None,
) -> tuple[Any, Any, Any]:
    """Calls a cell until all sequences are finished: TensorArrays of what was emitted, last state, loop state."""
    assert_like_rnncell("cell", cell)
    if not callable(loop_fn):
        raise TypeError("loop_fn must be a callable")
    with tf.variable_scope(scope or "rnn") as varscope:
        cache_variables(varscope)
        time = tf.constant(0, dtype=tf.int32)
        finished, next_input, state, emit_structure, init_loop_state = loop_fn(
            time, None, None, None
        )
        loop_state = tf.constant(0, tf.int32) if init_loop_state is None else init_loop_state
        batch_size, known_batch = _batch_size(nest.flatten(next_input))
        nest.assert_same_structure(state, cell.state_size)
        state = nest.map_structure(tf.convert_to_tensor, state)
        if emit_structure is None:
            emit_structure = cell.output_size
            sizes = nest.flatten(emit_structure)
            types = [nest.flatten(state)[0].dtype] * len(sizes)
        else:
            emitted = [tf.convert_to_tensor(x) for x in nest.flatten(emit_structure)]
            sizes = [x.shape if x.shape.is_fully_defined() else tf.shape(x) for x in emitted]
            types = [x.dtype for x in emitted]
        emit_ta = nest.pack_sequence_as(
            emit_structure,
            [
                tf.TensorArray(
                    dtype=dtype,
                    dynamic_size=True,
                    element_shape=known_shape(known_batch, size),
                    size=0,
                    name=f"rnn_output_{i}",
                )
                for i, (dtype, size) in enumerate(zip(types, sizes))
            ],
        )
        zero_emit = nest.pack_sequence_as(
            emit_structure,
            [tf.zeros(full_shape(batch_size, s), dtype) for s, dtype in zip(sizes, types)],
        )

        def body(
            time: Any, finished: Any, now: Any, emit_ta: Any, state: Any, loop_state: Any
        ) -> Any:
            output, cell_state = cell(now, state)
            nest.assert_same_structure(state, cell_state)
            nest.assert_same_structure(cell.output_size, output)
            next_finished, next_input, next_state, emit, next_loop_state = loop_fn(
                time + 1, output, cell_state, loop_state
            )
            nest.assert_same_structure(state, next_state)
            nest.assert_same_structure(now, next_input)
            nest.assert_same_structure(emit_ta, emit)
            emit = kept(finished, zero_emit, emit)
            next_state = kept(finished, state, next_state)
            emit_ta = nest.map_structure(lambda a, x: a.write(time, x), emit_ta, emit)
            return (
                time + 1,
                tf.logical_or(finished, next_finished),
                next_input,
                emit_ta,
                next_state,
                loop_state if next_loop_state is None else next_loop_state,
            )

        *_, emit_ta, final_state, final_loop_state = tf.while_loop(
            lambda time, finished, *_: tf.logical_not(tf.reduce_all(finished)),
            body,
            loop_vars=[time, finished, next_input, emit_ta, state, loop_state],
            parallel_iterations=parallel_iterations or 32,
            swap_memory=swap_memory,
        )
        return emit_ta, final_state, None if init_loop_state is None else final_loop_state


def _batch_size(flat: list[Any]) -> tuple[Any, int | None]:
    """The batch size of inputs, and what is known of it."""
    known = dimension_at_index(flat[0].get_shape(), 0)
    for x in flat:
        known = known.merge_with(dimension_at_index(x.get_shape(), 0))
    return (tf.shape(flat[0])[0] if known.value is None else known.value), known.value
