"""Helpers: what a decoder samples from the outputs of its cell, and what the cell reads next."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any

import weft as tf
from weft.framework import nest
from weft.framework.export import export
from weft.framework.tensor import Tensor
from weft.framework.tensor_shape import TensorShape
from weft.nn.recurrent.steps import with_batch_and_time_swapped
from weft.ops.flow.tensor_array import TensorArray


def categorical_sample(
    logits: Any, dtype: Any = tf.int32, sample_shape: Any = (), seed: Any = None
) -> Any:
    """A class for each row of logits, of a shape before that of the rows."""
    logits = tf.convert_to_tensor(logits, name="logits")
    rows = logits if logits.shape.ndims == 2 else tf.reshape(logits, [-1, tf.shape(logits)[-1]])
    wide = tf.int64 if logits.dtype.size > 4 else tf.int32
    before = tf.reshape(tf.convert_to_tensor(sample_shape, dtype=tf.int32), [-1])
    drawn = tf.multinomial(rows, tf.reduce_prod(before), seed=seed, output_dtype=wide)
    shape = tf.concat([before, tf.shape(logits)[:-1]], 0)
    return tf.cast(tf.reshape(tf.transpose(drawn), shape), dtype)


def bernoulli_sample(
    probs: Any = None,
    logits: Any = None,
    dtype: Any = tf.int32,
    sample_shape: Any = (),
    seed: Any = None,
) -> Any:
    """Ones (or True) with the given probabilities, of a shape before theirs."""
    if probs is None:
        probs = tf.sigmoid(logits, name="probs")
    probs = tf.convert_to_tensor(probs, name="probs")
    before = tf.reshape(tf.convert_to_tensor(sample_shape, dtype=tf.int32), [-1])
    shape = tf.concat([before, tf.shape(probs)], 0)
    return tf.cast(tf.random_uniform(shape, seed=seed, dtype=probs.dtype) < probs, dtype)


def time_array(x: Any) -> TensorArray:
    """The time steps of a tensor as an array."""
    array = TensorArray(dtype=x.dtype, size=tf.shape(x)[0], element_shape=x.get_shape()[1:])
    return array.unstack(x)


def embedding_function(embedding: Any) -> Callable:
    """A function from ids to their vectors."""
    return embedding if callable(embedding) else lambda i: tf.nn.embedding_lookup(embedding, i)


def _single(outputs: Any) -> Any:
    if not isinstance(outputs, Tensor):
        raise TypeError(f"Expected outputs to be a single Tensor, got: {type(outputs)}")
    return outputs


@export("contrib.seq2seq.Helper")
class Helper(abc.ABC):
    """Samples, and chooses the next inputs."""

    @property
    @abc.abstractmethod
    def batch_size(self) -> Any:
        """How many sequences there are."""
        raise NotImplementedError("batch_size has not been implemented")

    @property
    @abc.abstractmethod
    def sample_ids_shape(self) -> Any:
        """The shape of one sequence's sample."""
        raise NotImplementedError("sample_ids_shape has not been implemented")

    @property
    @abc.abstractmethod
    def sample_ids_dtype(self) -> Any:
        """The dtype of samples."""
        raise NotImplementedError("sample_ids_dtype has not been implemented")

    @abc.abstractmethod
    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """Which sequences are finished before the first step, and the first inputs."""

    @abc.abstractmethod
    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """What is sampled from a step's outputs."""

    @abc.abstractmethod
    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """Which sequences are finished, the next inputs, and the next state."""


class IdHelper(Helper):
    """A helper whose samples are ids."""

    _batch_size: Any = None

    @property
    def batch_size(self) -> Any:
        return self._batch_size

    @property
    def sample_ids_shape(self) -> Any:
        return TensorShape([])

    @property
    def sample_ids_dtype(self) -> Any:
        return tf.int32


@export("contrib.seq2seq.CustomHelper")
class CustomHelper(Helper):
    """A helper made of functions."""

    def __init__(
        self,
        initialize_fn: Callable,
        sample_fn: Callable,
        next_inputs_fn: Callable,
        sample_ids_shape: Any = None,
        sample_ids_dtype: Any = None,
    ):
        self._initialize_fn, self._sample_fn = initialize_fn, sample_fn
        self._next_inputs_fn = next_inputs_fn
        self._batch_size: Any = None
        self._sample_ids_shape = TensorShape(sample_ids_shape or [])
        self._sample_ids_dtype = sample_ids_dtype or tf.int32

    @property
    def batch_size(self) -> Any:
        if self._batch_size is None:
            raise ValueError("batch_size accessed before initialize was called")
        return self._batch_size

    @property
    def sample_ids_shape(self) -> Any:
        return self._sample_ids_shape

    @property
    def sample_ids_dtype(self) -> Any:
        return self._sample_ids_dtype

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        with tf.name_scope(name, f"{type(self).__name__}Initialize"):
            finished, inputs = self._initialize_fn()
            if self._batch_size is None:
                self._batch_size = tf.size(finished)
        return finished, inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        with tf.name_scope(name, f"{type(self).__name__}Sample", (time, outputs, state)):
            return self._sample_fn(time=time, outputs=outputs, state=state)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        with tf.name_scope(name, f"{type(self).__name__}NextInputs", (time, outputs, state)):
            return self._next_inputs_fn(
                time=time, outputs=outputs, state=state, sample_ids=sample_ids
            )


@export("contrib.seq2seq.TrainingHelper")
class TrainingHelper(IdHelper):
    """Reads given inputs, whatever is sampled."""

    def __init__(
        self,
        inputs: Any,
        sequence_length: Any,
        time_major: bool = False,
        name: str | None = None,
    ):
        with tf.name_scope(name, "TrainingHelper", [inputs, sequence_length]):
            inputs = nest.map_structure(lambda x: tf.convert_to_tensor(x, name="inputs"), inputs)
            self._inputs = inputs
            if not time_major:
                inputs = nest.map_structure(with_batch_and_time_swapped, inputs)
            self._input_arrays = nest.map_structure(time_array, inputs)
            self._sequence_length = tf.convert_to_tensor(sequence_length, name="sequence_length")
            if self._sequence_length.get_shape().ndims != 1:
                raise ValueError(
                    "Expected sequence_length to be a vector, but received shape: "
                    f"{self._sequence_length.get_shape()}"
                )
            self._zero_inputs = nest.map_structure(lambda x: tf.zeros_like(x[0, :]), inputs)
            self._batch_size = tf.size(self._sequence_length)

    @property
    def inputs(self) -> Any:
        return self._inputs

    @property
    def sequence_length(self) -> Any:
        return self._sequence_length

    def _at(self, time: Any, finished: Any) -> Any:
        """The inputs of a time step, or zeros where all sequences are finished."""
        return tf.cond(
            tf.reduce_all(finished),
            lambda: self._zero_inputs,
            lambda: nest.map_structure(lambda array: array.read(time), self._input_arrays),
        )

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        with tf.name_scope(name, "TrainingHelperInitialize"):
            finished = tf.equal(0, self._sequence_length)
            return finished, self._at(0, finished)

    def sample(self, time: Any, outputs: Any, state: Any = None, name: str | None = None) -> Any:
        with tf.name_scope(name, "TrainingHelperSample", [time, outputs]):
            return tf.cast(tf.argmax(outputs, axis=-1), tf.int32)

    def next_inputs(
        self,
        time: Any,
        outputs: Any,
        state: Any,
        sample_ids: Any = None,
        name: str | None = None,
    ) -> tuple[Any, Any, Any]:
        with tf.name_scope(name, "TrainingHelperNextInputs", [time, outputs, state]):
            finished = time + 1 >= self._sequence_length
            return finished, self._at(time + 1, finished), state


@export("contrib.seq2seq.GreedyEmbeddingHelper")
class GreedyEmbeddingHelper(IdHelper):
    """Reads the vector of the likeliest id, until that is the end."""

    def __init__(self, embedding: Any, start_tokens: Any, end_token: Any):
        self._embedding_fn = embedding_function(embedding)
        self._start_tokens = tf.convert_to_tensor(start_tokens, dtype=tf.int32, name="start_tokens")
        self._end_token = tf.convert_to_tensor(end_token, dtype=tf.int32, name="end_token")
        if self._start_tokens.get_shape().ndims != 1:
            raise ValueError("start_tokens must be a vector")
        self._batch_size = tf.size(self._start_tokens)
        if self._end_token.get_shape().ndims != 0:
            raise ValueError("end_token must be a scalar")
        self._start_inputs = self._embedding_fn(self._start_tokens)

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        return tf.tile([False], [self._batch_size]), self._start_inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        return tf.argmax(_single(outputs), axis=-1, output_type=tf.int32)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        finished = tf.equal(sample_ids, self._end_token)
        inputs = tf.cond(
            tf.reduce_all(finished),
            lambda: self._start_inputs,  # nobody reads them
            lambda: self._embedding_fn(sample_ids),
        )
        return finished, inputs, state


@export("contrib.seq2seq.SampleEmbeddingHelper")
class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """Reads the vector of an id that is drawn from the logits."""

    def __init__(
        self,
        embedding: Any,
        start_tokens: Any,
        end_token: Any,
        softmax_temperature: Any = None,
        seed: Any = None,
    ):
        super().__init__(embedding, start_tokens, end_token)
        self._softmax_temperature, self._seed = softmax_temperature, seed

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        logits = _single(outputs)
        if self._softmax_temperature is not None:
            logits = logits / self._softmax_temperature
        return categorical_sample(logits, seed=self._seed)


@export("contrib.seq2seq.InferenceHelper")
class InferenceHelper(Helper):
    """Samples with a function; the sample, or what another function makes of it, is read next."""

    def __init__(
        self,
        sample_fn: Callable,
        sample_shape: Any,
        sample_dtype: Any,
        start_inputs: Any,
        end_fn: Callable,
        next_inputs_fn: Callable | None = None,
    ):
        self._sample_fn, self._end_fn, self._next_inputs_fn = sample_fn, end_fn, next_inputs_fn
        self._sample_shape, self._sample_dtype = TensorShape(sample_shape), sample_dtype
        self._batch_size = tf.shape(start_inputs)[0]
        self._start_inputs = tf.convert_to_tensor(start_inputs, name="start_inputs")

    @property
    def batch_size(self) -> Any:
        return self._batch_size

    @property
    def sample_ids_shape(self) -> Any:
        return self._sample_shape

    @property
    def sample_ids_dtype(self) -> Any:
        return self._sample_dtype

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        return tf.tile([False], [self._batch_size]), self._start_inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        return self._sample_fn(outputs)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        make = self._next_inputs_fn
        inputs = sample_ids if make is None else make(sample_ids)
        return self._end_fn(sample_ids), inputs, state
