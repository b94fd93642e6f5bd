"""Cells between layers of weights: embedded inputs, and projected inputs and outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft as tf
from weft.framework import nest
from weft.framework.export import export
from weft.nn.rnn_cell.base import RNNCell, assert_like_rnncell


def linear(
    args: Any,
    output_size: int,
    bias: bool,
    bias_initializer: Any = None,
    kernel_initializer: Any = None,
) -> Any:
    """Tensors side by side, times weights (`kernel`, `bias`) of the current variable scope."""
    args = nest.flatten(args)
    if not args:
        raise ValueError("`args` must be specified")
    shapes = [a.get_shape() for a in args]
    for shape in shapes:
        if shape.ndims != 2:
            raise ValueError(f"linear is expecting 2D arguments: {shapes}")
        if shape.as_list()[1] is None:
            raise ValueError(
                f"linear expects shape[1] to be provided for shape {shape}, but saw {shape[1]}"
            )
    depth = sum(shape.as_list()[1] for shape in shapes)
    with tf.variable_scope(tf.get_variable_scope()) as outer:
        kernel = tf.get_variable(
            "kernel", [depth, output_size], args[0].dtype, initializer=kernel_initializer
        )
        out = tf.matmul(args[0] if len(args) == 1 else tf.concat(args, 1), kernel)
        if not bias:
            return out
        with tf.variable_scope(outer) as inner:
            inner.set_partitioner(None)
            if bias_initializer is None:
                bias_initializer = tf.constant_initializer(0.0, dtype=args[0].dtype)
            biases = tf.get_variable(
                "bias", [output_size], args[0].dtype, initializer=bias_initializer
            )
        return tf.nn.bias_add(out, biases)


class _Wrapper(RNNCell):
    """A cell around another, whose state is that one's."""

    def __init__(self, cell: Any, reuse: Any = None):
        super().__init__(_reuse=reuse)
        assert_like_rnncell("cell", cell)
        self._cell = cell

    @property
    def state_size(self) -> Any:
        return self._cell.state_size

    @property
    def output_size(self) -> Any:
        return self._cell.output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        with tf.name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            return self._cell.zero_state(batch_size, dtype)


@export("contrib.rnn.EmbeddingWrapper")
class EmbeddingWrapper(_Wrapper):
    """A cell that reads the vectors of ids."""

    def __init__(
        self,
        cell: Any,
        embedding_classes: int,
        embedding_size: int,
        initializer: Any = None,
        reuse: Any = None,
    ):
        super().__init__(cell, reuse)
        if embedding_classes <= 0 or embedding_size <= 0:
            raise ValueError(
                "Both embedding_classes and embedding_size must be > 0: "
                f"{embedding_classes}, {embedding_size}."
            )
        self._embedding_classes, self._embedding_size = embedding_classes, embedding_size
        self._initializer = initializer

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:  # type: ignore[override]
        with tf.device("/cpu:0"):
            initializer = self._initializer or tf.get_variable_scope().initializer
            if not initializer:
                side = 3**0.5  # a variance of one, as for inputs that are not embedded
                initializer = tf.random_uniform_initializer(-side, side)
            first = nest.flatten(state)[0]
            embedding = tf.get_variable(
                "embedding",
                [self._embedding_classes, self._embedding_size],
                initializer=initializer,
                dtype=first.dtype,
            )
            embedded = tf.nn.embedding_lookup(embedding, tf.reshape(inputs, [-1]))
        return self._cell(embedded, state)


@export("contrib.rnn.InputProjectionWrapper")
class InputProjectionWrapper(_Wrapper):
    """A cell that reads its inputs through a layer of weights."""

    def __init__(
        self,
        cell: Any,
        num_proj: int,
        activation: Callable | None = None,
        input_size: Any = None,
        reuse: Any = None,
    ):
        super().__init__(cell, reuse)
        if input_size is not None:
            tf.logging.warning(f"{self}: The input_size parameter is deprecated.")
        self._num_proj, self._activation = num_proj, activation

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:  # type: ignore[override]
        projected = linear(inputs, self._num_proj, True)
        if self._activation:
            projected = self._activation(projected)
        return self._cell(projected, state)


@export("contrib.rnn.OutputProjectionWrapper")
class OutputProjectionWrapper(_Wrapper):
    """A cell whose outputs go through a layer of weights."""

    def __init__(
        self, cell: Any, output_size: int, activation: Callable | None = None, reuse: Any = None
    ):
        super().__init__(cell, reuse)
        if output_size < 1:
            raise ValueError(f"Parameter output_size must be > 0: {output_size}.")
        self._output_size, self._activation = output_size, activation

    @property
    def output_size(self) -> int:
        return self._output_size

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:  # type: ignore[override]
        output, state = self._cell(inputs, state)
        projected = linear(output, self._output_size, True)
        if self._activation:
            projected = self._activation(projected)
        return projected, state
