"""Bidirectional networks one upon the other, each on both outputs of the one before."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework.export import export, export_all
from weft.nn.recurrent.dynamic import bidirectional_dynamic_rnn
from weft.nn.recurrent.static import static_bidirectional_rnn
from weft.nn.recurrent.steps import batch_size_of, with_batch_and_time_swapped
from weft.nn.rnn_cell.base import LayerRNNCell

export_all(
    "contrib.rnn",
    LayerRNNCell=LayerRNNCell,
    best_effort_input_batch_size=batch_size_of,
    transpose_batch_time=with_batch_and_time_swapped,
)


def _layers(cells_fw: Any, cells_bw: Any, states_fw: Any, states_bw: Any) -> list[tuple]:
    """Both cells and both first states of each layer."""
    for cells, way in ((cells_fw, "fw"), (cells_bw, "bw")):
        if not cells:
            raise ValueError(f"Must specify at least one {way} cell for BidirectionalRNN.")
        if not isinstance(cells, list):
            raise ValueError(f"cells_{way} must be a list of RNNCells (one per layer).")
    if len(cells_fw) != len(cells_bw):
        raise ValueError("Forward and Backward cells must have the same depth.")
    for states, way in ((states_fw, "fw"), (states_bw, "bw")):
        if states is not None and (not isinstance(states, list) or len(states) != len(cells_fw)):
            raise ValueError(
                f"initial_states_{way} must be a list of state tensors (one per layer)."
            )
    nothing = [None] * len(cells_fw)
    return list(zip(cells_fw, cells_bw, states_fw or nothing, states_bw or nothing))


@export("contrib.rnn.stack_bidirectional_rnn")
def stack_bidirectional_rnn(
    cells_fw: Any,
    cells_bw: Any,
    inputs: Any,
    initial_states_fw: Any = None,
    initial_states_bw: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[Any, tuple, tuple]:
    """`static_bidirectional_rnn` several times: the outputs of the last layer, the last states of all."""
    layers = _layers(cells_fw, cells_bw, initial_states_fw, initial_states_bw)
    states = []
    with tf.variable_scope(scope or "stack_bidirectional_rnn"):
        for i, (fw, bw, first_fw, first_bw) in enumerate(layers):
            with tf.variable_scope(f"cell_{i}") as cell_scope:
                inputs, *last = static_bidirectional_rnn(
                    fw,
                    bw,
                    inputs,
                    initial_state_fw=first_fw,
                    initial_state_bw=first_bw,
                    sequence_length=sequence_length,
                    dtype=dtype,
                    scope=cell_scope,
                )
            states.append(last)
    states_fw, states_bw = zip(*states)
    return inputs, states_fw, states_bw


@export("contrib.rnn.stack_bidirectional_dynamic_rnn")
def stack_bidirectional_dynamic_rnn(
    cells_fw: Any,
    cells_bw: Any,
    inputs: Any,
    initial_states_fw: Any = None,
    initial_states_bw: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    parallel_iterations: int | None = None,
    time_major: bool = False,
    scope: Any = None,
    swap_memory: bool = False,
) -> tuple[Any, tuple, tuple]:
    """`bidirectional_dynamic_rnn` several times: the outputs of the last layer, the last states of all."""
    layers = _layers(cells_fw, cells_bw, initial_states_fw, initial_states_bw)
    states = []
    with tf.variable_scope(scope or "stack_bidirectional_rnn"):
        for i, (fw, bw, first_fw, first_bw) in enumerate(layers):
            with tf.variable_scope(f"cell_{i}"):
                outputs, last = bidirectional_dynamic_rnn(
                    fw,
                    bw,
                    inputs,
                    initial_state_fw=first_fw,
                    initial_state_bw=first_bw,
                    sequence_length=sequence_length,
                    parallel_iterations=parallel_iterations,
                    dtype=dtype,
                    swap_memory=swap_memory,
                    time_major=time_major,
                )
                inputs = tf.concat(outputs, 2)
            states.append(last)
    states_fw, states_bw = zip(*states)
    return inputs, states_fw, states_bw
