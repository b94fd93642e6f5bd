"""Helpers that train a decoder on what it sampled itself, now and then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft as tf
from weft.contrib.seq2seq.helper import (
    TrainingHelper,
    bernoulli_sample,
    categorical_sample,
    embedding_function,
    time_array,
)
from weft.framework import nest
from weft.framework.export import export
from weft.nn.recurrent.steps import with_batch_and_time_swapped


def _probability(given: Any) -> Any:
    probability = tf.convert_to_tensor(given, name="sampling_probability")
    if probability.get_shape().ndims not in (0, 1):
        raise ValueError(
            f"sampling_probability must be either a scalar or a vector. saw shape: {probability.get_shape()}"
        )
    return probability


def _positions(mask: Any) -> Any:
    return tf.cast(tf.where(mask), tf.int32)


def _mixed(chosen: Any, made: Callable, otherwise: Any) -> Any:
    """Rows that a function makes of the positions that are chosen, and given ones elsewhere."""
    here, elsewhere = _positions(chosen), _positions(tf.logical_not(chosen))
    shape = tf.shape(otherwise)
    kept = tf.gather_nd(otherwise, elsewhere)
    return tf.scatter_nd(here, made(here), shape) + tf.scatter_nd(elsewhere, kept, shape)


@export("contrib.seq2seq.ScheduledEmbeddingTrainingHelper")
class ScheduledEmbeddingTrainingHelper(TrainingHelper):
    """Reads the vector of a sampled id with some probability, and else the given input."""

    def __init__(
        self,
        inputs: Any,
        sequence_length: Any,
        embedding: Any,
        sampling_probability: Any,
        time_major: bool = False,
        seed: Any = None,
        scheduling_seed: Any = None,
        name: str | None = None,
    ):
        with tf.name_scope(
            name, "ScheduledEmbeddingSamplingWrapper", [embedding, sampling_probability]
        ):
            self._embedding_fn = embedding_function(embedding)
            self._sampling_probability = _probability(sampling_probability)
            self._seed, self._scheduling_seed = seed, scheduling_seed
            super().__init__(inputs, sequence_length, time_major=time_major, name=name)

    def sample(self, time: Any, outputs: Any, state: Any = None, name: str | None = None) -> Any:
        """The sampled ids, and -1 where the given input is to be read."""
        with tf.name_scope(name, "ScheduledEmbeddingTrainingHelperSample", [time, outputs, state]):
            chosen = bernoulli_sample(
                self._sampling_probability,
                dtype=tf.bool,
                sample_shape=self._batch_size,
                seed=self._scheduling_seed,
            )
            drawn = categorical_sample(outputs, seed=self._seed)
            return tf.where(chosen, drawn, tf.fill([self._batch_size], -1))

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any = None, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        with tf.name_scope(
            name,
            "ScheduledEmbeddingTrainingHelperNextInputs",
            [time, outputs, state, sample_ids],
        ):
            finished, given, state = super().next_inputs(time, outputs, state, sample_ids, name)

            def embedded(where: Any) -> Any:
                return self._embedding_fn(tf.gather_nd(sample_ids, where))

            inputs = tf.cond(
                tf.reduce_all(finished),
                lambda: given,
                lambda: _mixed(sample_ids > -1, embedded, given),
            )
            return finished, inputs, state


@export("contrib.seq2seq.ScheduledOutputTrainingHelper")
class ScheduledOutputTrainingHelper(TrainingHelper):
    """Reads the outputs of the step before with some probability, and else the given input."""

    def __init__(
        self,
        inputs: Any,
        sequence_length: Any,
        sampling_probability: Any,
        time_major: bool = False,
        seed: Any = None,
        next_inputs_fn: Callable | None = None,
        auxiliary_inputs: Any = None,
        name: str | None = None,
    ):
        with tf.name_scope(
            name, "ScheduledOutputTrainingHelper", [inputs, auxiliary_inputs, sampling_probability]
        ):
            self._sampling_probability = _probability(sampling_probability)
            self._auxiliary_arrays = None
            if auxiliary_inputs is not None:
                inputs = tf.convert_to_tensor(inputs, name="inputs")
                auxiliary_inputs = tf.convert_to_tensor(auxiliary_inputs, name="auxiliary_inputs")
                inputs = tf.concat((inputs, auxiliary_inputs), -1)
                if not time_major:
                    auxiliary_inputs = with_batch_and_time_swapped(auxiliary_inputs)
                self._auxiliary_arrays = time_array(auxiliary_inputs)
            self._seed, self._next_inputs_fn = seed, next_inputs_fn
            super().__init__(inputs, sequence_length, time_major=time_major, name=name)

    def sample(self, time: Any, outputs: Any, state: Any = None, name: str | None = None) -> Any:
        """One where the outputs are to be read."""
        with tf.name_scope(name, "ScheduledOutputTrainingHelperSample", [time, outputs, state]):
            return bernoulli_sample(
                self._sampling_probability, sample_shape=self._batch_size, seed=self._seed
            )

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any = None, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        with tf.name_scope(
            name, "ScheduledOutputTrainingHelperNextInputs", [time, outputs, state, sample_ids]
        ):
            finished, given, state = super().next_inputs(time, outputs, state, sample_ids, name)
            chosen = tf.cast(sample_ids, tf.bool)

            def with_auxiliary(made: Any, where: Any = None) -> Any:
                if self._auxiliary_arrays is None:
                    return made
                more = self._auxiliary_arrays.read(time + 1)
                if where is not None:
                    more = tf.gather_nd(more, where)
                return nest.map_structure(lambda x: tf.concat((x, more), -1), made)

            def sampled() -> Any:
                make = self._next_inputs_fn
                if make is None:
                    return tf.where(chosen, with_auxiliary(outputs), given)
                return _mixed(
                    chosen,
                    lambda where: with_auxiliary(make(tf.gather_nd(outputs, where)), where),
                    given,
                )

            none = tf.logical_not(tf.reduce_any(chosen))
            inputs = tf.cond(tf.logical_or(tf.reduce_all(finished), none), lambda: given, sampled)
            return finished, inputs, state
