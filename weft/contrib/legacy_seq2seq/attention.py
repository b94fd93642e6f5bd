"""Unrolled decoders that attend to all states of an encoder."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import weft as tf
from weft.contrib.legacy_seq2seq.decoders import best_embedded, check_projection, fed_or_not
from weft.contrib.rnn.projections import EmbeddingWrapper, OutputProjectionWrapper, linear
from weft.framework import nest
from weft.framework.export import export
from weft.nn.recurrent.static import static_rnn


class _Heads:
    """Heads of attention on the states of an encoder, with their variables."""

    def __init__(self, states: Any, count: int, dtype: Any):
        _, length, self.size = states.get_shape().as_list()
        self.length = tf.shape(states)[1] if length is None else length
        self.dtype = dtype
        self.hidden = tf.reshape(states, [-1, self.length, 1, self.size])
        self.features, self.v = [], []
        for i in range(count):
            shape = [1, 1, self.size, self.size]
            k = tf.get_variable(f"AttnW_{i}", shape, dtype=dtype)
            self.features.append(tf.nn.conv2d(self.hidden, k, [1, 1, 1, 1], "SAME"))
            self.v.append(tf.get_variable(f"AttnV_{i}", [self.size], dtype=dtype))

    def __call__(self, query: Any) -> list[Any]:
        """What each head reads for the state of a decoder."""
        flat = nest.flatten(query)
        query = tf.concat(flat, 1) if len(flat) > 1 or nest.is_sequence(query) else query
        read = []
        for i, (features, v) in enumerate(zip(self.features, self.v)):
            with tf.variable_scope(f"Attention_{i}"):
                y = tf.reshape(linear(query, self.size, True), [-1, 1, 1, self.size])
                score = tf.reduce_sum(v * tf.tanh(features + tf.cast(y, self.dtype)), [2, 3])
                alignments = tf.cast(tf.nn.softmax(tf.cast(score, tf.float32)), self.dtype)
                alignments = tf.reshape(alignments, [-1, self.length, 1, 1])
                found = tf.reduce_sum(alignments * self.hidden, [1, 2])
                read.append(tf.reshape(found, [-1, self.size]))
        return read


@export("contrib.legacy_seq2seq.attention_decoder")
def attention_decoder(
    decoder_inputs: Any,
    initial_state: Any,
    attention_states: Any,
    cell: Any,
    output_size: int | None = None,
    num_heads: int = 1,
    loop_function: Callable | None = None,
    dtype: Any = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> tuple[list[Any], Any]:
    """A decoder that reads, with each input, what it attends to."""
    if not decoder_inputs:
        raise ValueError("Must provide at least 1 input to attention decoder.")
    if num_heads < 1:
        raise ValueError("With less than 1 heads, use a non-attention decoder.")
    if attention_states.get_shape().as_list()[2] is None:
        raise ValueError(
            f"Shape[2] of attention_states must be known: {attention_states.get_shape()}"
        )
    if output_size is None:
        output_size = cell.output_size
    with tf.variable_scope(scope or "attention_decoder", dtype=dtype) as entered:
        dtype = entered.dtype
        heads = _Heads(attention_states, num_heads, dtype)
        state, outputs, previous = initial_state, [], None
        if initial_state_attention:
            read = heads(initial_state)
        else:
            nothing = tf.stack([tf.shape(decoder_inputs[0])[0], heads.size])
            read = [tf.zeros(nothing, dtype=dtype) for _ in range(num_heads)]
            for r in read:
                r.set_shape([None, heads.size])
        for i, given in enumerate(decoder_inputs):
            if i > 0:
                tf.get_variable_scope().reuse_variables()
            if loop_function is not None and previous is not None:
                with tf.variable_scope("loop_function", reuse=True):
                    given = loop_function(previous, i)
            depth = given.get_shape().with_rank(2).as_list()[1]
            if depth is None:
                raise ValueError(f"Could not infer input size from input: {given.name}")
            joined = linear([tf.cast(x, dtype) for x in [given, *read]], depth, True)
            output, state = cell(joined, state)
            again = True if i == 0 and initial_state_attention else None
            with tf.variable_scope(tf.get_variable_scope(), reuse=again):
                read = heads(state)
            with tf.variable_scope("AttnOutputProjection"):
                output = linear([tf.cast(output, dtype), *read], output_size, True)
            previous = output
            outputs.append(output)
    return outputs, state


@export("contrib.legacy_seq2seq.embedding_attention_decoder")
def embedding_attention_decoder(
    decoder_inputs: Any,
    initial_state: Any,
    attention_states: Any,
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    num_heads: int = 1,
    output_size: int | None = None,
    output_projection: Any = None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    dtype: Any = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> tuple[list[Any], Any]:
    """A decoder with attention that reads the vectors of ids, those given or those that it finds itself."""
    if output_size is None:
        output_size = cell.output_size
    check_projection(output_projection, num_symbols, dtype)
    with tf.variable_scope(scope or "embedding_attention_decoder", dtype=dtype):
        embedding = tf.get_variable("embedding", [num_symbols, embedding_size])
        loop = None
        if feed_previous:
            loop = best_embedded(embedding, output_projection, update_embedding_for_previous)
        return attention_decoder(
            [tf.nn.embedding_lookup(embedding, i) for i in decoder_inputs],
            initial_state,
            attention_states,
            cell,
            output_size=output_size,
            num_heads=num_heads,
            loop_function=loop,
            initial_state_attention=initial_state_attention,
        )


@export("contrib.legacy_seq2seq.embedding_attention_seq2seq")
def embedding_attention_seq2seq(
    encoder_inputs: Any,
    decoder_inputs: Any,
    cell: Any,
    num_encoder_symbols: int,
    num_decoder_symbols: int,
    embedding_size: int,
    num_heads: int = 1,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> tuple[list[Any], Any]:
    """An encoder of ids, and a decoder of ids that attends to the encoder's outputs."""
    with tf.variable_scope(scope or "embedding_attention_seq2seq", dtype=dtype) as entered:
        encoder = EmbeddingWrapper(
            copy.deepcopy(cell),
            embedding_classes=num_encoder_symbols,
            embedding_size=embedding_size,
        )
        found, encoder_state = static_rnn(encoder, encoder_inputs, dtype=entered.dtype)
        states = tf.concat([tf.reshape(e, [-1, 1, cell.output_size]) for e in found], 1)
        output_size = None
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols)
            output_size = num_decoder_symbols

        def decode(fed: bool, update: bool) -> tuple[list[Any], Any]:
            return embedding_attention_decoder(
                decoder_inputs,
                encoder_state,
                states,
                cell,
                num_decoder_symbols,
                embedding_size,
                num_heads=num_heads,
                output_size=output_size,
                output_projection=output_projection,
                feed_previous=fed,
                update_embedding_for_previous=update,
                initial_state_attention=initial_state_attention,
            )

        return fed_or_not(feed_previous, decode)
