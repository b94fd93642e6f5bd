"""A decoder that samples with a helper."""

from __future__ import annotations

import collections
from typing import Any

import weft as tf
from weft.contrib.seq2seq.decoder import Decoder, rnn_output_size
from weft.contrib.seq2seq.helper import Helper
from weft.framework import nest
from weft.framework.export import export
from weft.layers.base import Layer
from weft.nn.rnn_cell.base import assert_like_rnncell


@export("contrib.seq2seq.BasicDecoderOutput")
class BasicDecoderOutput(collections.namedtuple("BasicDecoderOutput", ("rnn_output", "sample_id"))):
    """What a step gives: the outputs of the cell, and what was sampled from them."""


@export("contrib.seq2seq.BasicDecoder")
class BasicDecoder(Decoder):
    """A cell, and a helper that samples from its outputs and chooses the next inputs."""

    def __init__(self, cell: Any, helper: Any, initial_state: Any, output_layer: Any = None):
        assert_like_rnncell("cell", cell)
        if not isinstance(helper, Helper):
            raise TypeError(f"helper must be a Helper, received: {type(helper)}")
        if output_layer is not None and not isinstance(output_layer, Layer):
            raise TypeError(f"output_layer must be a Layer, received: {type(output_layer)}")
        self._cell, self._helper, self._initial_state = cell, helper, initial_state
        self._output_layer = output_layer

    @property
    def batch_size(self) -> Any:
        return self._helper.batch_size

    @property
    def output_size(self) -> Any:
        size = rnn_output_size(self._cell, self._output_layer)
        return BasicDecoderOutput(rnn_output=size, sample_id=self._helper.sample_ids_shape)

    @property
    def output_dtype(self) -> Any:
        # The cell's outputs have the type of its state.
        dtype = nest.flatten(self._initial_state)[0].dtype
        size = rnn_output_size(self._cell, self._output_layer)
        return BasicDecoderOutput(
            nest.map_structure(lambda _: dtype, size), self._helper.sample_ids_dtype
        )

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        return (*self._helper.initialize(), self._initial_state)

    def step(
        self, time: Any, inputs: Any, state: Any, name: str | None = None
    ) -> tuple[Any, Any, Any, Any]:
        with tf.name_scope(name, "BasicDecoderStep", (time, inputs, state)):
            outputs, cell_state = self._cell(inputs, state)
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            ids = self._helper.sample(time=time, outputs=outputs, state=cell_state)
            finished, next_inputs, next_state = self._helper.next_inputs(
                time=time, outputs=outputs, state=cell_state, sample_ids=ids
            )
        return BasicDecoderOutput(outputs, ids), next_state, next_inputs, finished
