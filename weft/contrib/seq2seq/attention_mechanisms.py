"""How much of a memory a query attends to: the scores of Bahdanau and Luong, monotonic and not."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import weft as tf
from weft.framework import dtypes, nest
from weft.framework.export import export
from weft.framework.tensor_shape import dimension_value
from weft.layers.base import Layer
from weft.layers.core import Dense
from weft.nn.rnn_cell.base import zeros


@export("contrib.seq2seq.AttentionMechanism")
class AttentionMechanism:
    """What `AttentionWrapper` asks how to attend."""

    @property
    def alignments_size(self) -> Any:
        """How many places of the memory there are."""
        raise NotImplementedError

    @property
    def state_size(self) -> Any:
        """The size of the state between steps."""
        raise NotImplementedError


def _prepared(memory: Any, lengths: Any, check_inner_dims_defined: bool) -> Any:
    """The memory, with zeros after the end of each sequence."""
    memory = nest.map_structure(lambda m: tf.convert_to_tensor(m, name="memory"), memory)
    if check_inner_dims_defined:
        for m in nest.flatten(memory):
            if not m.get_shape()[2:].is_fully_defined():
                raise ValueError(
                    f"Expected memory {m.name} to have fully defined inner dims, but saw shape: {m.get_shape()}"
                )
    if lengths is None:
        return memory
    first = nest.flatten(memory)[0]
    lengths = tf.convert_to_tensor(lengths, name="memory_sequence_length")
    mask = tf.sequence_mask(lengths, maxlen=tf.shape(first)[1], dtype=first.dtype)

    def masked(m: Any) -> Any:
        rank = tf.rank(m) if m.get_shape().ndims is None else m.get_shape().ndims
        ones = tf.ones(rank - 2, dtype=tf.int32)
        return m * tf.reshape(mask, tf.concat((tf.shape(mask), ones), 0))

    return nest.map_structure(masked, memory)


def _masked_score(score: Any, lengths: Any, value: Any) -> Any:
    if lengths is None:
        return score
    message = "All values in memory_sequence_length must be greater than zero."
    with tf.control_dependencies([tf.assert_positive(lengths, message=message)]):
        mask = tf.sequence_mask(lengths, maxlen=tf.shape(score)[1])
    return tf.where(mask, score, value * tf.ones_like(score))


class BaseAttentionMechanism(AttentionMechanism):
    """A memory with keys; alignments are also the state between steps."""

    def __init__(
        self,
        query_layer: Any,
        memory: Any,
        probability_fn: Callable,
        memory_sequence_length: Any = None,
        memory_layer: Any = None,
        check_inner_dims_defined: bool = True,
        score_mask_value: Any = None,
        custom_key_value_fn: Callable | None = None,
        name: str | None = None,
    ):
        for what, layer in (("query_layer", query_layer), ("memory_layer", memory_layer)):
            if layer is not None and not isinstance(layer, Layer):
                raise TypeError(f"{what} is not a Layer: {type(layer).__name__}")
        self._query_layer, self._memory_layer = query_layer, memory_layer
        self.dtype = memory_layer.dtype
        if not callable(probability_fn):
            raise TypeError(
                f"probability_fn must be callable, saw type: {type(probability_fn).__name__}"
            )
        if score_mask_value is None:
            score_mask_value = dtypes.as_dtype(self.dtype).as_numpy_dtype(-np.inf)
        self._probability_fn = lambda score, previous: probability_fn(
            _masked_score(score, memory_sequence_length, score_mask_value), previous
        )
        with tf.name_scope(name, "BaseAttentionMechanismInit", nest.flatten(memory)):
            values = _prepared(memory, memory_sequence_length, check_inner_dims_defined)
            keys = self.memory_layer(values) if self.memory_layer else values
            if custom_key_value_fn is not None:
                keys, values = custom_key_value_fn(keys, values)
            self._keys, self._values = keys, values
            sizes = keys.get_shape().as_list()
            self._batch_size = tf.shape(keys)[0] if sizes[0] is None else sizes[0]
            self._alignments_size = tf.shape(keys)[1] if sizes[1] is None else sizes[1]

    @property
    def memory_layer(self) -> Any:
        return self._memory_layer

    @property
    def query_layer(self) -> Any:
        return self._query_layer

    @property
    def values(self) -> Any:
        return self._values

    @property
    def keys(self) -> Any:
        return self._keys

    @property
    def batch_size(self) -> Any:
        return self._batch_size

    @property
    def alignments_size(self) -> Any:
        return self._alignments_size

    @property
    def state_size(self) -> Any:
        return self._alignments_size

    def initial_alignments(self, batch_size: Any, dtype: Any) -> Any:
        """Alignments before the first step: to nothing."""
        return zeros(batch_size, self._alignments_size, dtype)

    def initial_state(self, batch_size: Any, dtype: Any) -> Any:
        """The state before the first step."""
        return self.initial_alignments(batch_size, dtype)


class Monotonic(BaseAttentionMechanism):
    """Attention that only moves forward, and begins at the first place."""

    def initial_alignments(self, batch_size: Any, dtype: Any) -> Any:
        first = tf.zeros((batch_size,), dtype=tf.int32)
        return tf.one_hot(first, self._alignments_size, dtype=dtype)


def _bias(init: Any, dtype: Any) -> Any:
    return tf.get_variable("attention_score_bias", dtype=dtype, initializer=init)


def _luong_score(query: Any, keys: Any, scale: bool) -> Any:
    depth = dimension_value(query.get_shape()[-1])
    units = dimension_value(keys.get_shape()[-1])
    if depth != units:
        raise ValueError(
            "Incompatible or unknown inner dimensions between query and keys.  "
            f"Query ({query}) has units: {depth}.  Keys ({keys}) have units: {units}.  "
            f"Perhaps you need to set num_units to the keys' dimension ({units})?"
        )
    factor = None
    if scale:
        factor = tf.get_variable(
            "attention_g", dtype=query.dtype, initializer=tf.ones_initializer, shape=()
        )
    score = tf.squeeze(tf.matmul(tf.expand_dims(query, 1), keys, transpose_b=True), [1])
    return score if factor is None else factor * score


def _bahdanau_score(query: Any, keys: Any, num_units: int, normalize: bool, dtype: Any) -> Any:
    query = tf.expand_dims(query, 1)
    v = tf.get_variable("attention_v", [num_units], dtype=dtype)
    if not normalize:
        return tf.reduce_sum(v * tf.tanh(keys + query), [2])
    length = tf.constant_initializer(math.sqrt(1.0 / num_units))
    g = tf.get_variable("attention_g", dtype=dtype, initializer=length, shape=())
    b = tf.get_variable("attention_b", [num_units], dtype=dtype, initializer=tf.zeros_initializer())
    normed = g * v * tf.rsqrt(tf.reduce_sum(tf.square(v)))
    return tf.reduce_sum(normed * tf.tanh(keys + query + b), [2])


def _layer(units: int, name: str, dtype: Any) -> Dense:
    return Dense(units, name=name, use_bias=False, dtype=dtype)


@export("contrib.seq2seq.LuongAttention")
class LuongAttention(BaseAttentionMechanism):
    """The score is the product of query and keys."""

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        scale: bool = False,
        probability_fn: Callable | None = None,
        score_mask_value: Any = None,
        dtype: Any = None,
        custom_key_value_fn: Callable | None = None,
        name: str = "LuongAttention",
    ):
        probability = probability_fn or tf.nn.softmax
        super().__init__(
            query_layer=None,
            memory_layer=_layer(num_units, "memory_layer", dtype or tf.float32),
            memory=memory,
            probability_fn=lambda score, _: probability(score),
            memory_sequence_length=memory_sequence_length,
            score_mask_value=score_mask_value,
            custom_key_value_fn=custom_key_value_fn,
            name=name,
        )
        self._num_units, self._scale, self._name = num_units, scale, name

    def __call__(self, query: Any, state: Any) -> tuple[Any, Any]:
        with tf.variable_scope(None, "luong_attention", [query]):
            score = _luong_score(query, self._keys, self._scale)
        alignments = self._probability_fn(score, state)
        return alignments, alignments


@export("contrib.seq2seq.BahdanauAttention")
class BahdanauAttention(BaseAttentionMechanism):
    """The score is learned from query and keys by a small network."""

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        normalize: bool = False,
        probability_fn: Callable | None = None,
        score_mask_value: Any = None,
        dtype: Any = None,
        custom_key_value_fn: Callable | None = None,
        name: str = "BahdanauAttention",
    ):
        probability = probability_fn or tf.nn.softmax
        super().__init__(
            query_layer=_layer(num_units, "query_layer", dtype or tf.float32),
            memory_layer=_layer(num_units, "memory_layer", dtype or tf.float32),
            memory=memory,
            probability_fn=lambda score, _: probability(score),
            memory_sequence_length=memory_sequence_length,
            score_mask_value=score_mask_value,
            custom_key_value_fn=custom_key_value_fn,
            name=name,
        )
        self._num_units, self._normalize, self._name = num_units, normalize, name

    def __call__(self, query: Any, state: Any) -> tuple[Any, Any]:
        with tf.variable_scope(None, "bahdanau_attention", [query]):
            made = self.query_layer(query) if self.query_layer else query
            score = _bahdanau_score(made, self._keys, self._num_units, self._normalize, query.dtype)
        alignments = self._probability_fn(score, state)
        return alignments, alignments


@export("contrib.seq2seq.safe_cumprod")
def safe_cumprod(x: Any, *args: Any, **kwargs: Any) -> Any:
    """Products along an axis, computed with logarithms, so that their gradient is stable."""
    with tf.name_scope(None, "SafeCumprod", [x]):
        x = tf.convert_to_tensor(x, name="x")
        tiny = np.finfo(x.dtype.as_numpy_dtype).tiny
        return tf.exp(tf.cumsum(tf.log(tf.clip_by_value(x, tiny, 1)), *args, **kwargs))


@export("contrib.seq2seq.monotonic_attention")
def monotonic_attention(p_choose_i: Any, previous_attention: Any, mode: str) -> Any:
    """Where attention goes from where it was, when each place is chosen with some probability."""
    p = tf.convert_to_tensor(p_choose_i, name="p_choose_i")
    previous = tf.convert_to_tensor(previous_attention, name="previous_attention")
    if mode == "recursive":
        batch = p.shape.as_list()[0]
        batch = tf.shape(p)[0] if batch is None else batch
        passed = tf.concat([tf.ones((batch, 1)), 1 - p[:, :-1]], 1)
        reached = tf.scan(
            lambda x, yz: tf.reshape(yz[0] * x + yz[1], (batch,)),
            [tf.transpose(passed), tf.transpose(previous)],
            tf.zeros((batch,)),
        )
        return p * tf.transpose(reached)
    if mode == "parallel":
        passed = safe_cumprod(1 - p, axis=1, exclusive=True)
        return p * passed * tf.cumsum(previous / tf.clip_by_value(passed, 1e-10, 1.0), axis=1)
    if mode == "hard":
        p *= tf.cumsum(previous, axis=1)
        return p * tf.cumprod(1 - p, axis=1, exclusive=True)
    raise ValueError("mode must be 'recursive', 'parallel', or 'hard'.")


def _monotonic_probability(
    score: Any, previous: Any, sigmoid_noise: float, mode: str, seed: Any = None
) -> Any:
    if sigmoid_noise > 0:
        score += sigmoid_noise * tf.random_normal(tf.shape(score), dtype=score.dtype, seed=seed)
    p = tf.cast(score > 0, score.dtype) if mode == "hard" else tf.sigmoid(score)
    return monotonic_attention(p, previous, mode)


@export("contrib.seq2seq.BahdanauMonotonicAttention")
class BahdanauMonotonicAttention(Monotonic):
    """Bahdanau's score, with attention that only moves forward."""

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        normalize: bool = False,
        score_mask_value: Any = None,
        sigmoid_noise: float = 0.0,
        sigmoid_noise_seed: Any = None,
        score_bias_init: float = 0.0,
        mode: str = "parallel",
        dtype: Any = None,
        name: str = "BahdanauMonotonicAttention",
    ):
        super().__init__(
            query_layer=_layer(num_units, "query_layer", dtype or tf.float32),
            memory_layer=_layer(num_units, "memory_layer", dtype or tf.float32),
            memory=memory,
            probability_fn=functools.partial(
                _monotonic_probability,
                sigmoid_noise=sigmoid_noise,
                mode=mode,
                seed=sigmoid_noise_seed,
            ),
            memory_sequence_length=memory_sequence_length,
            score_mask_value=score_mask_value,
            name=name,
        )
        self._num_units, self._normalize, self._name = num_units, normalize, name
        self._score_bias_init = score_bias_init

    def __call__(self, query: Any, state: Any) -> tuple[Any, Any]:
        with tf.variable_scope(None, "bahdanau_monotonic_attention", [query]):
            made = self.query_layer(query) if self.query_layer else query
            score = _bahdanau_score(made, self._keys, self._num_units, self._normalize, query.dtype)
            score += _bias(self._score_bias_init, made.dtype)
        alignments = self._probability_fn(score, state)
        return alignments, alignments


@export("contrib.seq2seq.LuongMonotonicAttention")
class LuongMonotonicAttention(Monotonic):
    """Luong's score, with attention that only moves forward."""

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        scale: bool = False,
        score_mask_value: Any = None,
        sigmoid_noise: float = 0.0,
        sigmoid_noise_seed: Any = None,
        score_bias_init: float = 0.0,
        mode: str = "parallel",
        dtype: Any = None,
        name: str = "LuongMonotonicAttention",
    ):
        super().__init__(
            query_layer=None,
            memory_layer=_layer(num_units, "memory_layer", dtype or tf.float32),
            memory=memory,
            probability_fn=functools.partial(
                _monotonic_probability,
                sigmoid_noise=sigmoid_noise,
                mode=mode,
                seed=sigmoid_noise_seed,
            ),
            memory_sequence_length=memory_sequence_length,
            score_mask_value=score_mask_value,
            name=name,
        )
        self._num_units, self._scale, self._name = num_units, scale, name
        self._score_bias_init = score_bias_init

    def __call__(self, query: Any, state: Any) -> tuple[Any, Any]:
        with tf.variable_scope(None, "luong_monotonic_attention", [query]):
            score = _luong_score(query, self._keys, self._scale)
            score += _bias(self._score_bias_init, query.dtype)
        alignments = self._probability_fn(score, state)
        return alignments, alignments


@export("contrib.seq2seq.hardmax")
def hardmax(logits: Any, name: str | None = None) -> Any:
    """One for the largest, zero for the others."""
    with tf.name_scope(name, "Hardmax", [logits]):
        logits = tf.convert_to_tensor(logits, name="logits")
        depth = dimension_value(logits.get_shape()[-1])
        depth = tf.shape(logits)[-1] if depth is None else depth
        return tf.one_hot(tf.argmax(logits, -1), depth, dtype=logits.dtype)
