"""Cells one upon the other."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework import nest
from weft.framework.export import export
from weft.framework.trackable import Trackable
from weft.keras.engine.base_layer import Layer
from weft.nn.rnn_cell.base import RNNCell
from weft.platform import tf_logging


@export("nn.rnn_cell.MultiRNNCell", "contrib.rnn.MultiRNNCell")
class MultiRNNCell(RNNCell):
    """Cells of which each takes the outputs of the one before."""

    def __init__(self, cells: Any, state_is_tuple: bool = True):
        super().__init__()
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        if not nest.is_nested(cells):
            raise TypeError(f"cells must be a list or tuple, but saw: {cells}.")
        if len({id(cell) for cell in cells}) < len(cells):
            tf_logging.log_first_n(
                tf_logging.WARN,
                "At least two cells provided to MultiRNNCell are the same object and will share weights.",
                1,
            )
        self._cells = cells
        for i, cell in enumerate(cells):
            if isinstance(cell, Trackable):
                self._track_trackable(cell, f"cell-{i}")
        self._state_is_tuple = state_is_tuple
        sizes = [cell.state_size for cell in cells]
        if not state_is_tuple and any(nest.is_nested(size) for size in sizes):
            raise ValueError(
                "Some cells return tuples of states, but the flag state_is_tuple is not set.  State sizes are: "
                f"{sizes}"
            )

    @property
    def state_size(self) -> Any:
        sizes = tuple(cell.state_size for cell in self._cells)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        return self._cells[-1].output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        if not self._state_is_tuple:
            return super().zero_state(batch_size, dtype)
        with tf.name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)

    def _weights_of_cells(self, attribute: str) -> list[Any]:
        layers = (cell for cell in self._cells if isinstance(cell, Layer))
        return [v for cell in layers for v in getattr(cell, attribute)]

    @property
    def trainable_weights(self) -> list[Any]:
        return self._weights_of_cells("trainable_weights") if self.trainable else []

    @property
    def non_trainable_weights(self) -> list[Any]:
        weights = self._weights_of_cells("non_trainable_weights")
        return weights if self.trainable else self._weights_of_cells("trainable_weights") + weights

    def call(self, inputs: Any, state: Any) -> Any:
        if self._state_is_tuple:
            if not nest.is_nested(state):
                raise ValueError(
                    f"Expected state to be a tuple of length {len(self.state_size)}, but received: {state}"
                )
            states = list(state)
        else:
            states = tf.split(state, [cell.state_size for cell in self._cells], axis=1)
        after = []
        for i, (cell, before) in enumerate(zip(self._cells, states)):
            with tf.variable_scope(f"cell_{i}"):
                inputs, new_state = cell(inputs, before)
                after.append(new_state)
        return inputs, tuple(after) if self._state_is_tuple else tf.concat(after, 1)
