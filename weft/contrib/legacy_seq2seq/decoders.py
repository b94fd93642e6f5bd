"""Unrolled decoders, and networks of an encoder and a decoder."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import weft as tf
from weft.contrib.rnn.projections import EmbeddingWrapper, OutputProjectionWrapper
from weft.framework import nest
from weft.framework.export import export
from weft.nn.recurrent.static import static_rnn
from weft.nn.rnn_cell.base import RNNCell


def best_embedded(
    embedding: Any, projection: Any = None, update_embedding: bool = True
) -> Callable:
    """A function that gives the vector of the likeliest symbol of the step before."""

    def loop_function(prev: Any, _: Any) -> Any:
        if projection is not None:
            prev = tf.nn.xw_plus_b(prev, projection[0], projection[1])
        found = tf.nn.embedding_lookup(embedding, tf.argmax(prev, 1))
        return found if update_embedding else tf.stop_gradient(found)

    return loop_function


def check_projection(projection: Any, num_symbols: int, dtype: Any) -> None:
    """ValueError where a projection isn't one to so many symbols."""
    if projection is not None:
        weights = tf.convert_to_tensor(projection[0], dtype=dtype)
        weights.get_shape().assert_is_compatible_with([None, num_symbols])
        biases = tf.convert_to_tensor(projection[1], dtype=dtype)
        biases.get_shape().assert_is_compatible_with([num_symbols])


def fed_or_not(
    feed_previous: Any, decode: Callable[[bool, bool], tuple[list[Any], Any]]
) -> tuple[list[Any], Any]:
    """What a decoder gives that reads its own outputs, or not; which of both may be a tensor.

    `decode` is told whether, and whether the embedding learns from its own outputs.
    """
    if isinstance(feed_previous, bool):
        return decode(feed_previous, True)
    kept: dict[str, Any] = {}

    def decoded(fed: bool) -> list[Any]:
        with tf.variable_scope(tf.get_variable_scope(), reuse=None if fed else True):
            outputs, state = decode(fed, False)
        kept["steps"], kept["state"] = len(outputs), state
        return outputs + nest.flatten(state)

    found = tf.cond(feed_previous, lambda: decoded(True), lambda: decoded(False))
    steps = kept["steps"]
    return list(found[:steps]), nest.pack_sequence_as(kept["state"], list(found[steps:]))


@export("contrib.legacy_seq2seq.rnn_decoder")
def rnn_decoder(
    decoder_inputs: Any,
    initial_state: Any,
    cell: Any,
    loop_function: Callable | None = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """A cell on each input, or on what a function makes of the output before: outputs and state."""
    with tf.variable_scope(scope or "rnn_decoder"):
        state, outputs, previous = initial_state, [], None
        for i, given in enumerate(decoder_inputs):
            if loop_function is not None and previous is not None:
                with tf.variable_scope("loop_function", reuse=True):
                    given = loop_function(previous, i)
            if i > 0:
                tf.get_variable_scope().reuse_variables()
            output, state = cell(given, state)
            outputs.append(output)
            previous = output
    return outputs, state


@export("contrib.legacy_seq2seq.basic_rnn_seq2seq")
def basic_rnn_seq2seq(
    encoder_inputs: Any,
    decoder_inputs: Any,
    cell: Any,
    dtype: Any = tf.float32,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """An encoder, and a decoder that begins with its state."""
    with tf.variable_scope(scope or "basic_rnn_seq2seq"):
        _, state = static_rnn(copy.deepcopy(cell), encoder_inputs, dtype=dtype)
        return rnn_decoder(decoder_inputs, state, cell)


@export("contrib.legacy_seq2seq.tied_rnn_seq2seq")
def tied_rnn_seq2seq(
    encoder_inputs: Any,
    decoder_inputs: Any,
    cell: Any,
    loop_function: Callable | None = None,
    dtype: Any = tf.float32,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """An encoder and a decoder with the same variables."""
    with tf.variable_scope("combined_tied_rnn_seq2seq"):
        scope = scope or "tied_rnn_seq2seq"
        _, state = static_rnn(cell, encoder_inputs, dtype=dtype, scope=scope)
        tf.get_variable_scope().reuse_variables()
        return rnn_decoder(decoder_inputs, state, cell, loop_function=loop_function, scope=scope)


@export("contrib.legacy_seq2seq.embedding_rnn_decoder")
def embedding_rnn_decoder(
    decoder_inputs: Any,
    initial_state: Any,
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    output_projection: Any = None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """A decoder that reads the vectors of ids, those given or those that it finds itself."""
    with tf.variable_scope(scope or "embedding_rnn_decoder") as entered:
        check_projection(output_projection, num_symbols, entered.dtype)
        embedding = tf.get_variable("embedding", [num_symbols, embedding_size])
        loop = None
        if feed_previous:
            loop = best_embedded(embedding, output_projection, update_embedding_for_previous)
        embedded = (tf.nn.embedding_lookup(embedding, i) for i in decoder_inputs)
        return rnn_decoder(embedded, initial_state, cell, loop_function=loop)


@export("contrib.legacy_seq2seq.embedding_rnn_seq2seq")
def embedding_rnn_seq2seq(
    encoder_inputs: Any,
    decoder_inputs: Any,
    cell: Any,
    num_encoder_symbols: int,
    num_decoder_symbols: int,
    embedding_size: int,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """An encoder of ids and a decoder of ids, each with vectors of its own."""
    with tf.variable_scope(scope or "embedding_rnn_seq2seq") as entered:
        if dtype is None:
            dtype = entered.dtype
        else:
            entered.set_dtype(dtype)
        encoder = EmbeddingWrapper(
            copy.deepcopy(cell),
            embedding_classes=num_encoder_symbols,
            embedding_size=embedding_size,
        )
        _, state = static_rnn(encoder, encoder_inputs, dtype=dtype)
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols)

        def decode(fed: bool, update: bool) -> tuple[list[Any], Any]:
            return embedding_rnn_decoder(
                decoder_inputs,
                state,
                cell,
                num_decoder_symbols,
                embedding_size,
                output_projection=output_projection,
                feed_previous=fed,
                update_embedding_for_previous=update,
            )

        return fed_or_not(feed_previous, decode)


@export("contrib.legacy_seq2seq.embedding_tied_rnn_seq2seq")
def embedding_tied_rnn_seq2seq(
    encoder_inputs: Any,
    decoder_inputs: Any,
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    num_decoder_symbols: int | None = None,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """An encoder and a decoder with the same variables and the same vectors."""
    with tf.variable_scope(scope or "embedding_tied_rnn_seq2seq", dtype=dtype) as entered:
        dtype = entered.dtype
        check_projection(output_projection, num_symbols, dtype)
        embedding = tf.get_variable("embedding", [num_symbols, embedding_size], dtype=dtype)
        sources = [tf.nn.embedding_lookup(embedding, x) for x in encoder_inputs]
        targets = [tf.nn.embedding_lookup(embedding, x) for x in decoder_inputs]
        if output_projection is None:
            symbols = num_symbols if num_decoder_symbols is None else num_decoder_symbols
            cell = OutputProjectionWrapper(cell, symbols)

        def decode(fed: bool, update: bool) -> tuple[list[Any], Any]:
            loop = best_embedded(embedding, output_projection, update) if fed else None
            return tied_rnn_seq2seq(sources, targets, cell, loop_function=loop, dtype=dtype)

        return fed_or_not(feed_previous, decode)


@export("contrib.legacy_seq2seq.one2many_rnn_seq2seq")
def one2many_rnn_seq2seq(
    encoder_inputs: Any,
    decoder_inputs_dict: dict[Any, Any],
    enc_cell: Any,
    dec_cells_dict: dict[Any, Any],
    num_encoder_symbols: int,
    num_decoder_symbols_dict: dict[Any, int],
    embedding_size: int,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """One encoder, and several decoders by name."""
    if not isinstance(enc_cell, RNNCell):
        raise TypeError(f"enc_cell is not an RNNCell: {type(enc_cell)}")
    if set(dec_cells_dict) != set(decoder_inputs_dict):
        raise ValueError("keys of dec_cells_dict != keys of decodre_inputs_dict")
    for cell in dec_cells_dict.values():
        if not isinstance(cell, RNNCell):
            raise TypeError(f"dec_cell is not an RNNCell: {type(cell)}")
    outputs, states = {}, {}
    with tf.variable_scope(scope or "one2many_rnn_seq2seq", dtype=dtype) as entered:
        enc_cell = EmbeddingWrapper(
            enc_cell, embedding_classes=num_encoder_symbols, embedding_size=embedding_size
        )
        _, state = static_rnn(enc_cell, encoder_inputs, dtype=entered.dtype)
        for name, inputs in decoder_inputs_dict.items():
            symbols = num_decoder_symbols_dict[name]
            with tf.variable_scope(f"one2many_decoder_{name}"):
                cell = OutputProjectionWrapper(dec_cells_dict[name], symbols)

                def decode(
                    fed: bool, _: bool, inputs: Any = inputs, cell: Any = cell, n: int = symbols
                ) -> tuple[list[Any], Any]:
                    return embedding_rnn_decoder(
                        inputs, state, cell, n, embedding_size, feed_previous=fed
                    )

                outputs[name], states[name] = fed_or_not(feed_previous, decode)
    return outputs, states
