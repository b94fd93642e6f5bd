"""The parameters of a network in one vector, and as the kernels and biases of cells.

The vector has the weights of all layers, then their biases. A layer has a part for each direction, a part a matrix for
the inputs and then one for the state of each gate; biases likewise.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import weft as tf

LINEAR_INPUT, SKIP_INPUT, AUTO_SELECT = INPUT_MODES = ("linear_input", "skip_input", "auto_select")
UNIDIRECTIONAL, BIDIRECTIONAL = DIRECTIONS = ("unidirectional", "bidirectional")


def check_mode(input_mode: str, direction: str, input_size: int | None, num_units: int) -> None:
    """Raises for modes that there are not, or that weft has not."""
    if direction not in DIRECTIONS:
        raise ValueError(f"Invalid direction: {direction}, expecting {' or '.join(DIRECTIONS)}")
    if input_mode not in INPUT_MODES:
        raise ValueError(f"Invalid input_mode: {input_mode}, expecting one of {INPUT_MODES}")
    if input_mode == SKIP_INPUT or (input_mode == AUTO_SELECT and input_size == num_units):
        raise tf.errors.UnimplementedError(
            None,
            None,
            f"input_mode={input_mode!r} leaves out the weights of the first layer's inputs, which weft does not do: "
            f"use {LINEAR_INPUT!r}.",
        )


class Part:
    """One direction of one layer, by gates: weights of inputs and of the state, and their biases."""

    def __init__(self, weights: Sequence[Any], biases: Sequence[Any]):
        half = len(weights) // 2
        self.of_inputs, self.of_state = list(weights[:half]), list(weights[half:])
        self.input_biases, self.state_biases = list(biases[:half]), list(biases[half:])


class CudnnParamsFormatConverter:
    """Turns the vector of a network's parameters into kernels and biases of cells, and back."""

    gates = 1
    # Where each gate of a cell stands among cuDNN's.
    order: Sequence[int] = (0,)

    def __init__(
        self,
        num_layers: int,
        num_units: int,
        input_size: int,
        num_proj: int | None = None,
        input_mode: str = LINEAR_INPUT,
        direction: str = UNIDIRECTIONAL,
    ):
        check_mode(input_mode, direction, input_size, num_units)
        if num_proj:
            raise tf.errors.UnimplementedError(
                None, None, "weft has no projections in networks of cuDNN's kind."
            )
        self._num_layers, self._num_units, self._input_size = num_layers, num_units, input_size
        self.directions = DIRECTIONS.index(direction) + 1

    @property
    def weight_shapes(self) -> list[tuple[int, int]]:
        """The shapes of all matrices, in the order of the vector."""
        n, shapes = self._num_units, []
        for layer in range(self._num_layers):
            width = self._input_size if layer == 0 else self.directions * n
            shapes += ([(n, width)] * self.gates + [(n, n)] * self.gates) * self.directions
        return shapes

    @property
    def bias_shapes(self) -> list[tuple[int]]:
        return [(self._num_units,)] * len(self.weight_shapes)

    def join(self, weights: Sequence[Any], biases: Sequence[Any]) -> Any:
        """The vector."""
        return tf.concat([tf.reshape(t, [-1]) for t in (*weights, *biases)], 0)

    def parts(self, params: Any) -> list[Part]:
        """The directions of the first layer, then of the others."""
        shapes = [*self.weight_shapes, *self.bias_shapes]
        pieces = tf.split(params, [prod(s) for s in shapes])
        tensors = [tf.reshape(p, s) for p, s in zip(pieces, shapes)]
        half, size = len(tensors) // 2, 2 * self.gates
        return [
            Part(tensors[i : i + size], tensors[half + i : half + i + size])
            for i in range(0, half, size)
        ]

    # -- as cells have them ----------------------------------------------------------------------------

    def opaque_to_tf_canonical(self, opaque_param: Any) -> tuple[list[Any], list[Any]]:
        """The kernels and the biases of cells, layer by layer."""
        kernels: list[Any] = []
        biases: list[Any] = []
        for part in self.parts(opaque_param):
            more_kernels, more_biases = self.of_cell(part)
            kernels += more_kernels
            biases += more_biases
        return kernels, biases

    def tf_canonical_to_opaque(self, tf_canonicals: Sequence[Any], weights_proj: Any = None) -> Any:
        """The vector of kernels, then biases, of cells."""
        half = len(tf_canonicals) // 2
        count = half // (self._num_layers * self.directions)
        weights: list[Any] = []
        biases: list[Any] = []
        for i in range(0, half, count):
            part = self.of_network(
                tf_canonicals[i : i + count], tf_canonicals[half + i : half + i + count]
            )
            weights += [*part.of_inputs, *part.of_state]
            biases += [*part.input_biases, *part.state_biases]
        return self.join(weights, biases)

    def of_cell(self, part: Part) -> tuple[list[Any], list[Any]]:
        """One kernel and one bias: those of inputs and state together, which is all that matters."""
        kernel = tf.concat(
            [
                tf.transpose(tf.concat([ws[g] for g in self.order], 0))
                for ws in (part.of_inputs, part.of_state)
            ],
            0,
        )
        biases = zip(part.input_biases, part.state_biases)
        sums = [a + b for a, b in biases]
        return [kernel], [tf.concat([sums[g] for g in self.order], 0)]

    def of_network(self, kernels: Sequence[Any], biases: Sequence[Any]) -> Part:
        """The reverse: half of each bias goes to the inputs."""
        of_inputs, of_state = self._by_gates(kernels[0], self.order)
        halves = self._in_order(tf.split(biases[0] * 0.5, self.gates), self.order)
        return Part([*of_inputs, *of_state], [*halves, *halves])

    def _by_gates(self, kernel: Any, order: Sequence[int]) -> tuple[list[Any], list[Any]]:
        n = self._num_units
        gates = len(order)
        of_inputs = tf.transpose(kernel[:-n])
        of_state = tf.transpose(kernel[-n:])
        both = (tf.split(of_inputs, gates), tf.split(of_state, gates))
        return tuple(self._in_order(ws, order) for ws in both)  # type: ignore[return-value]

    @staticmethod
    def _in_order(items: Sequence[Any], order: Sequence[int]) -> list[Any]:
        return [items[list(order).index(g)] for g in range(len(order))]


class CudnnParamsFormatConverterLSTM(CudnnParamsFormatConverter):
    gates = 4
    order = (0, 2, 1, 3)  # cells have the new memory before the forget gate


class CudnnParamsFormatConverterTanh(CudnnParamsFormatConverter):
    pass


class CudnnParamsFormatConverterRelu(CudnnParamsFormatConverter):
    pass


class CudnnParamsFormatConverterGRU(CudnnParamsFormatConverter):
    """Reset and update gates have a kernel together; the candidate has two, as the reset gate comes between."""

    gates = 3

    def of_cell(self, part: Part) -> tuple[list[Any], list[Any]]:
        kernel = tf.concat(
            [tf.transpose(tf.concat(ws[:2], 0)) for ws in (part.of_inputs, part.of_state)], 0
        )
        bias = tf.concat(part.input_biases[:2], 0) + tf.concat(part.state_biases[:2], 0)
        return (
            [kernel, tf.transpose(part.of_inputs[2]), tf.transpose(part.of_state[2])],
            [bias, part.input_biases[2], part.state_biases[2]],
        )

    def of_network(self, kernels: Sequence[Any], biases: Sequence[Any]) -> Part:
        of_inputs, of_state = self._by_gates(kernels[0], (0, 1))
        halves = tf.split(biases[0] * 0.5, 2)
        return Part(
            [*of_inputs, tf.transpose(kernels[1]), *of_state, tf.transpose(kernels[2])],
            [*halves, biases[1], *halves, biases[2]],
        )
