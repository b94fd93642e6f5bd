"""`AttentionWrapper`: a cell that reads, besides its inputs, what it attends to in a memory."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import weft as tf
from weft.contrib.seq2seq.attention_mechanisms import AttentionMechanism
from weft.framework import context, nest
from weft.framework.export import export
from weft.framework.tensor import Tensor
from weft.framework.tensor_shape import TensorShape, dimension_value
from weft.layers.core import Dense
from weft.nn.rnn_cell.base import RNNCell, assert_like_rnncell, zeros
from weft.ops.flow.tensor_array import TensorArray


def _of_same_shape(old: Any, new: Any) -> Any:
    """The new tensor, which must have the shape of the old one."""
    if not (isinstance(old, Tensor) and isinstance(new, Tensor)):
        return new
    if old.shape.is_fully_defined() and new.shape.is_fully_defined():
        if old.shape.as_list() != new.shape.as_list():
            raise ValueError(
                "The shape of the AttentionWrapperState is expected to be same as the one to clone. "
                f"self.shape: {old.shape}, input.shape: {new.shape}"
            )
        return new
    if context.executing_eagerly():
        return new
    check = tf.assert_equal(tf.shape(old), tf.shape(new), message="Tensors have wrong shapes.")
    with tf.control_dependencies([check]):
        same = tf.identity(new)
    same.set_shape(old.shape.merge_with(new.shape))
    return same


@export("contrib.seq2seq.AttentionWrapperState")
class AttentionWrapperState(
    collections.namedtuple(
        "AttentionWrapperState",
        ("cell_state", "attention", "time", "alignments", "alignment_history", "attention_state"),
    )
):
    """The state of the cell, and what it attends to."""

    def clone(self, **kwargs: Any) -> Any:
        """The state with some parts changed, which must have the shapes that they had."""
        return nest.map_structure(_of_same_shape, self, self._replace(**kwargs))


def _attend(
    mechanism: Any, cell_output: Any, attention_state: Any, attention_layer: Any
) -> tuple[Any, Any, Any]:
    """Attention, alignments, and the next state of a mechanism."""
    alignments, next_state = mechanism(cell_output, state=attention_state)
    found = tf.squeeze(tf.matmul(tf.expand_dims(alignments, 1), mechanism.values), [1])
    if attention_layer is None:
        return found, alignments, next_state
    return attention_layer(tf.concat([cell_output, found], 1)), alignments, next_state


_TILED = (
    "Are you using the BeamSearchDecoder?  You may need to tile your {} via the "
    "tf.contrib.seq2seq.tile_batch function with argument multiple=beam_width."
)


@export("contrib.seq2seq.AttentionWrapper")
class AttentionWrapper(RNNCell):
    """A cell whose inputs are joined with attention of the step before."""

    def __init__(
        self,
        cell: Any,
        attention_mechanism: Any,
        attention_layer_size: Any = None,
        alignment_history: bool = False,
        cell_input_fn: Callable | None = None,
        output_attention: bool = True,
        initial_cell_state: Any = None,
        name: str | None = None,
        attention_layer: Any = None,
        attention_fn: Callable | None = None,
        dtype: Any = None,
    ):
        super().__init__(name=name, dtype=dtype)
        assert_like_rnncell("cell", cell)
        self._is_multi = isinstance(attention_mechanism, (list, tuple))
        mechanisms = attention_mechanism if self._is_multi else (attention_mechanism,)
        for mechanism in mechanisms:
            if not isinstance(mechanism, AttentionMechanism):
                raise TypeError(
                    "attention_mechanism must contain only instances of AttentionMechanism, "
                    f"saw type: {type(mechanism).__name__}"
                    if self._is_multi
                    else "attention_mechanism must be an AttentionMechanism or list of multiple "
                    f"AttentionMechanism instances, saw type: {type(mechanism).__name__}"
                )
        if cell_input_fn is None:
            cell_input_fn = lambda inputs, attention: tf.concat([inputs, attention], -1)  # noqa: E731
        elif not callable(cell_input_fn):
            raise TypeError(
                f"cell_input_fn must be callable, saw type: {type(cell_input_fn).__name__}"
            )
        self._attention_layers: tuple | None = None
        self._choose_layers(cell, mechanisms, attention_layer_size, attention_layer)
        self._attention_fn = attention_fn or _attend
        self._cell, self._attention_mechanisms = cell, mechanisms
        self._cell_input_fn = cell_input_fn
        self._output_attention, self._alignment_history = output_attention, alignment_history
        with tf.name_scope(name, "AttentionWrapperInit"):
            self._initial_cell_state = None
            if initial_cell_state is not None:
                last = nest.flatten(initial_cell_state)[-1]
                batch = dimension_value(last.shape[0])
                batch = tf.shape(last)[0] if batch is None else batch
                message = (
                    f"When constructing AttentionWrapper {self._base_name}: Non-matching batch sizes "
                    "between the memory (encoder output) and initial_cell_state.  "
                    + _TILED.format("initial state")
                )
                with tf.control_dependencies(self._batch_size_checks(batch, message)):
                    self._initial_cell_state = nest.map_structure(
                        lambda s: tf.identity(s, name="check_initial_cell_state"),
                        initial_cell_state,
                    )

    def _choose_layers(self, cell: Any, mechanisms: Any, sizes: Any, layers: Any) -> None:
        """The layers between attention and output, given by their sizes or themselves."""

        def each(given: Any, what: str, name: str) -> tuple:
            given = tuple(given) if isinstance(given, (list, tuple)) else (given,)
            if len(given) != len(mechanisms):
                raise ValueError(
                    f"If provided, {name} must contain exactly one {what} per attention_mechanism, "
                    f"saw: {len(given)} vs {len(mechanisms)}"
                )
            return given

        depths = [dimension_value(m.values.shape[-1]) for m in mechanisms]
        if sizes is not None and layers is not None:
            raise ValueError("Only one of attention_layer_size and attention_layer should be set")
        if sizes is not None:
            sizes = each(sizes, "integer", "attention_layer_size")
            self._attention_layers = tuple(
                Dense(size, name="attention_layer", use_bias=False, dtype=m.dtype)
                for size, m in zip(sizes, mechanisms)
            )
            self._attention_layer_size = sum(sizes)
        elif layers is not None:
            self._attention_layers = each(layers, "layer", "attention_layer")
            self._attention_layer_size = sum(
                dimension_value(layer.compute_output_shape([None, cell.output_size + depth])[-1])
                for layer, depth in zip(self._attention_layers, depths)
            )
        else:
            self._attention_layer_size = sum(depths)

    def _batch_size_checks(self, batch_size: Any, message: str) -> list[Any]:
        checks = [
            tf.assert_equal(batch_size, mechanism.batch_size, message=message)
            for mechanism in self._attention_mechanisms
        ]
        return [c for c in checks if c is not None]

    def _item_or_tuple(self, parts: Any) -> Any:
        """One for each mechanism; without a tuple where there's one mechanism, not a list of one."""
        parts = tuple(parts)
        return parts if self._is_multi else parts[0]

    @property
    def output_size(self) -> Any:
        return self._attention_layer_size if self._output_attention else self._cell.output_size

    @property
    def state_size(self) -> Any:
        mechanisms = self._attention_mechanisms
        alignments = [m.alignments_size for m in mechanisms]
        return AttentionWrapperState(
            cell_state=self._cell.state_size,
            time=TensorShape([]),
            attention=self._attention_layer_size,
            alignments=self._item_or_tuple(alignments),
            attention_state=self._item_or_tuple(m.state_size for m in mechanisms),
            alignment_history=self._item_or_tuple(
                size if self._alignment_history else () for size in alignments
            ),
        )

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        with tf.name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            if self._initial_cell_state is not None:
                cell_state = self._initial_cell_state
            else:
                cell_state = self._cell.zero_state(batch_size, dtype)
            message = (
                f"When calling zero_state of AttentionWrapper {self._base_name}: Non-matching batch sizes "
                "between the memory (encoder output) and the requested batch size.  Are you using the "
                "BeamSearchDecoder?  If so, make sure your encoder output has been tiled to beam_width via "
                "tf.contrib.seq2seq.tile_batch, and the batch_size= argument passed to zero_state is "
                "batch_size * beam_width."
            )
            with tf.control_dependencies(self._batch_size_checks(batch_size, message)):
                cell_state = nest.map_structure(
                    lambda s: tf.identity(s, name="checked_cell_state"), cell_state
                )
            mechanisms = self._attention_mechanisms
            alignments = [m.initial_alignments(batch_size, dtype) for m in mechanisms]
            return AttentionWrapperState(
                cell_state=cell_state,
                time=tf.zeros([], dtype=tf.int32),
                attention=zeros(batch_size, self._attention_layer_size, dtype),
                alignments=self._item_or_tuple(alignments),
                attention_state=self._item_or_tuple(
                    m.initial_state(batch_size, dtype) for m in mechanisms
                ),
                alignment_history=self._item_or_tuple(
                    TensorArray(dtype, size=0, dynamic_size=True, element_shape=a.shape)
                    if self._alignment_history
                    else ()
                    for a in alignments
                ),
            )

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:  # type: ignore[override]
        if not isinstance(state, AttentionWrapperState):
            raise TypeError(
                "Expected state to be instance of AttentionWrapperState. "
                f"Received type {type(state)} instead."
            )
        cell_inputs = self._cell_input_fn(inputs, state.attention)
        cell_output, cell_state = self._cell(cell_inputs, state.cell_state)
        batch = dimension_value(cell_output.shape[0])
        batch = tf.shape(cell_output)[0] if batch is None else batch
        message = (
            f"When applying AttentionWrapper {self.name}: Non-matching batch sizes between the memory "
            "(encoder output) and the query (decoder output).  " + _TILED.format("memory input")
        )
        with tf.control_dependencies(self._batch_size_checks(batch, message)):
            cell_output = tf.identity(cell_output, name="checked_cell_output")
        multi = self._is_multi
        before = state.attention_state if multi else [state.attention_state]
        histories = state.alignment_history if multi else [state.alignment_history]
        layers = self._attention_layers or [None] * len(self._attention_mechanisms)
        attentions, alignments, states, written = [], [], [], []
        for mechanism, previous, history, layer in zip(
            self._attention_mechanisms, before, histories, layers
        ):
            attention, aligned, next_state = self._attention_fn(
                mechanism, cell_output, previous, layer
            )
            attentions.append(attention)
            alignments.append(aligned)
            states.append(next_state)
            written.append(history.write(state.time, aligned) if self._alignment_history else ())
        attention = tf.concat(attentions, 1)
        following = AttentionWrapperState(
            time=state.time + 1,
            cell_state=cell_state,
            attention=attention,
            attention_state=self._item_or_tuple(states),
            alignments=self._item_or_tuple(alignments),
            alignment_history=self._item_or_tuple(written),
        )
        return (attention if self._output_attention else cell_output), following
