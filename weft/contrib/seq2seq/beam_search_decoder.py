"""Beam search: the likeliest sequences, found by keeping the best few at each step."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import numpy as np

import weft as tf
from weft.contrib.seq2seq.attention_wrapper import AttentionWrapperState
from weft.contrib.seq2seq.decoder import Decoder, rnn_output_size
from weft.contrib.seq2seq.helper import embedding_function
from weft.framework import nest
from weft.framework.constant_value import constant_value
from weft.framework.export import export
from weft.framework.tensor import Tensor
from weft.framework.tensor_shape import TensorShape, as_shape
from weft.layers.base import Layer
from weft.nn.rnn_cell.base import assert_like_rnncell
from weft.ops.flow.tensor_array import TensorArray
from weft.ops.nn.gather_tree import gather_tree


@export("contrib.seq2seq.BeamSearchDecoderState")
class BeamSearchDecoderState(
    collections.namedtuple(
        "BeamSearchDecoderState",
        ("cell_state", "log_probs", "finished", "lengths", "accumulated_attention_probs"),
    )
):
    """The beams of each sequence: state of the cell, likelihood, whether finished, and length."""


@export("contrib.seq2seq.BeamSearchDecoderOutput")
class BeamSearchDecoderOutput(
    collections.namedtuple("BeamSearchDecoderOutput", ("scores", "predicted_ids", "parent_ids"))
):
    """What a step gives: scores and ids of the beams, and which beams they continue."""


@export("contrib.seq2seq.FinalBeamSearchDecoderOutput")
class FinalBeamSearchDecoderOutput(
    collections.namedtuple(
        "FinalBeamDecoderOutput", ["predicted_ids", "beam_search_decoder_output"]
    )
):
    """The sequences, best first, and what each step gave."""


def _static(batch_size: Any) -> int | None:
    value = constant_value(batch_size) if isinstance(batch_size, Tensor) else batch_size
    return None if value is None else int(value)


@export("contrib.seq2seq.tile_batch")
def tile_batch(t: Any, multiplier: int, name: str | None = None) -> Any:
    """Each element of a batch several times over, next to one another."""

    def tiled(t: Any) -> Any:
        t = tf.convert_to_tensor(t, name="t")
        rank = t.shape.ndims
        if rank is None or rank < 1:
            raise ValueError("t must have statically known rank")
        shape, batch = tf.shape(t), t.shape.as_list()[0]
        out = tf.tile(tf.expand_dims(t, 1), [1, multiplier] + [1] * (rank - 1))
        out = tf.reshape(out, tf.concat(([shape[0] * multiplier], shape[1:]), 0))
        known = batch * multiplier if batch is not None and isinstance(multiplier, int) else None
        out.set_shape(TensorShape([known]).concatenate(t.shape[1:]))
        return out

    with tf.name_scope(name, "tile_batch", [*nest.flatten(t), multiplier]):
        return nest.map_structure(tiled, t)


def gather_tree_from_array(t: Any, parent_ids: Any, sequence_length: Any) -> Any:
    """What the beams of each step had, put in the order of the beams in the end."""
    sizes = zip(parent_ids.shape.as_list(), tf.unstack(tf.shape(parent_ids)))
    time, batch, width = (dynamic if known is None else known for known, dynamic in sizes)
    beams = tf.tile(tf.reshape(tf.range(width), [1, 1, -1]), [time, batch, 1])
    lengths = tf.cast(tf.reduce_max(sequence_length, axis=1), tf.int32)
    ordered = gather_tree(beams, parent_ids, lengths, width + 1)
    within = tf.transpose(tf.sequence_mask(sequence_length, maxlen=time), perm=[2, 0, 1])
    ordered = tf.where(within, x=ordered, y=beams)
    times = tf.tile(tf.reshape(tf.range(time), [-1, 1, 1]), [1, batch, width])
    rows = tf.tile(tf.reshape(tf.range(batch), [1, -1, 1]), [time, 1, width])
    found = tf.gather_nd(
        tf.reshape(t, [time, batch, width, -1]), tf.stack([times, rows, ordered], -1)
    )
    return tf.reshape(found, tf.shape(t))


def _known_rank(t: Any) -> int:
    if t.shape.ndims is None:
        raise ValueError(f"Expected tensor ({t}) to have known rank, but ndims == None.")
    return t.shape.ndims


def _can_reorder(shape: Any, batch_size: int | None, beam_width: int) -> bool:
    """Whether elements of an array are taken to be those of beams. As in TensorFlow, with sizes that are all
    known only those of shape [batch, beam, ...] are, and others stay an array."""
    sizes = shape.as_list()
    if batch_size is None or sizes[0] is None:
        return True
    known = len(sizes) >= 2 and sizes[1] is not None
    if known and sizes[:2] == [batch_size, beam_width]:
        return sizes[0] == batch_size * beam_width
    if not known and sizes[0] == batch_size * beam_width:
        return True
    wanted = TensorShape([batch_size, beam_width, None])
    tf.logging.warning(
        f"TensorArray reordering expects elements to be reshapable to {wanted} which is incompatible "
        f"with the current shape {shape}. Consider setting reorder_tensor_arrays to False to disable "
        "TensorArray reordering during the beam search."
    )
    return False


def _check_batch_beam(t: Any, batch_size: Any, beam_width: int) -> Any:
    shape, rank = tf.shape(t), t.shape.ndims
    fits = tf.equal(shape[1], batch_size * beam_width)
    if rank != 2:
        split = tf.logical_and(tf.equal(shape[1], batch_size), tf.equal(shape[2], beam_width))
        fits = tf.logical_or(fits, split)
    message = (
        "TensorArray reordering expects elements to be reshapable to [batch_size, beam_size, -1] which is "
        f"incompatible with the dynamic shape of {t.name} elements. Consider setting "
        "reorder_tensor_arrays to False to disable TensorArray reordering during the beam search."
    )
    return tf.Assert(fits, [message])


@export("contrib.seq2seq.BeamSearchDecoder")
class BeamSearchDecoder(Decoder):
    """Keeps the best `beam_width` sequences of each batch entry, whose state is tiled with `tile_batch`."""

    def __init__(
        self,
        cell: Any,
        embedding: Any,
        start_tokens: Any,
        end_token: Any,
        initial_state: Any,
        beam_width: int,
        output_layer: Any = None,
        length_penalty_weight: Any = 0.0,
        coverage_penalty_weight: Any = 0.0,
        reorder_tensor_arrays: bool = True,
    ):
        assert_like_rnncell("cell", cell)
        if output_layer is not None and not isinstance(output_layer, Layer):
            raise TypeError(f"output_layer must be a Layer, received: {type(output_layer)}")
        self._cell, self._output_layer = cell, output_layer
        self._reorder_tensor_arrays, self._beam_width = reorder_tensor_arrays, beam_width
        self._length_penalty_weight = length_penalty_weight
        self._coverage_penalty_weight = coverage_penalty_weight
        self._embedding_fn: Callable = embedding_function(embedding)
        start_tokens = tf.convert_to_tensor(start_tokens, dtype=tf.int32, name="start_tokens")
        if start_tokens.get_shape().ndims != 1:
            raise ValueError("start_tokens must be a vector")
        self._end_token = tf.convert_to_tensor(end_token, dtype=tf.int32, name="end_token")
        if self._end_token.get_shape().ndims != 0:
            raise ValueError("end_token must be a scalar")
        self._batch_size = tf.size(start_tokens)
        self._initial_cell_state = nest.map_structure(
            self._maybe_split_batch_beams, initial_state, cell.state_size
        )
        self._start_tokens = tf.tile(tf.expand_dims(start_tokens, 1), [1, beam_width])
        self._start_inputs = self._embedding_fn(self._start_tokens)
        # All beams but the first begin as finished: they are the same.
        self._finished = self._first_beam(False, True, tf.bool)

    def _first_beam(self, first: Any, others: Any, dtype: Any) -> Any:
        return tf.one_hot(
            tf.zeros([self._batch_size], dtype=tf.int32),
            depth=self._beam_width,
            on_value=first,
            off_value=others,
            dtype=dtype,
        )

    @property
    def batch_size(self) -> Any:
        return self._batch_size

    @property
    def tracks_own_finished(self) -> bool:
        return True

    @property
    def output_size(self) -> Any:
        return BeamSearchDecoderOutput(*[TensorShape([self._beam_width])] * 3)

    @property
    def output_dtype(self) -> Any:
        dtype = nest.flatten(self._initial_cell_state)[0].dtype
        size = rnn_output_size(self._cell, self._output_layer)
        return BeamSearchDecoderOutput(
            scores=nest.map_structure(lambda _: dtype, size),
            predicted_ids=tf.int32,
            parent_ids=tf.int32,
        )

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        dtype = nest.flatten(self._initial_cell_state)[0].dtype
        zero = tf.convert_to_tensor(0.0, dtype=dtype)
        never = tf.convert_to_tensor(-np.inf, dtype=dtype)
        attended = get_attention_probs(self._initial_cell_state, self._coverage_penalty_weight)
        state = BeamSearchDecoderState(
            cell_state=self._initial_cell_state,
            log_probs=self._first_beam(zero, never, dtype),
            finished=self._finished,
            lengths=tf.zeros([self._batch_size, self._beam_width], dtype=tf.int64),
            accumulated_attention_probs=() if attended is None else attended,
        )
        return self._finished, self._start_inputs, state

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> tuple[Any, Any]:
        lengths = tf.cast(tf.reduce_max(final_state.lengths, axis=1), tf.int32)
        ids = gather_tree(outputs.predicted_ids, outputs.parent_ids, lengths, self._end_token)
        if self._reorder_tensor_arrays:
            sorted_state = nest.map_structure(
                lambda t: self._maybe_sort_array_beams(t, outputs.parent_ids, final_state.lengths),
                final_state.cell_state,
            )
            final_state = final_state._replace(cell_state=sorted_state)
        return FinalBeamSearchDecoderOutput(ids, outputs), final_state

    def _merge_batch_beams(self, t: Any, s: Any = None) -> Any:
        """[batch, beam, ...] as [batch * beam, ...]."""
        batch = _static(self._batch_size)
        merged = None if batch is None else batch * self._beam_width
        out = tf.reshape(t, tf.concat(([self._batch_size * self._beam_width], tf.shape(t)[2:]), 0))
        out.set_shape(TensorShape([merged]).concatenate(_event_shape(s)))
        return out

    def _split_batch_beams(self, t: Any, s: Any = None) -> Any:
        """[batch * beam, ...] as [batch, beam, ...]."""
        out = tf.reshape(t, tf.concat(([self._batch_size, self._beam_width], tf.shape(t)[1:]), 0))
        wanted = TensorShape([_static(self._batch_size), self._beam_width])
        wanted = wanted.concatenate(_event_shape(s))
        if not out.shape.is_compatible_with(wanted):
            raise ValueError(
                "Unexpected behavior when reshaping between beam width and batch size.  The reshaped "
                f"tensor has shape: {out.shape}.  We expected it to have shape (batch_size, beam_width, "
                f"depth) == {wanted}.  Perhaps you forgot to create a zero_state with "
                "batch_size=encoder_batch_size * beam_width?"
            )
        out.set_shape(wanted)
        return out

    def _maybe_split_batch_beams(self, t: Any, s: Any) -> Any:
        if isinstance(t, TensorArray) or _known_rank(t) < 1:
            return t
        return self._split_batch_beams(t, s)

    def _maybe_merge_batch_beams(self, t: Any, s: Any) -> Any:
        if isinstance(t, TensorArray) or _known_rank(t) < 2:
            return t
        return self._merge_batch_beams(t, s)

    def _maybe_sort_array_beams(self, t: Any, parent_ids: Any, sequence_length: Any) -> Any:
        if not isinstance(t, TensorArray):
            return t
        shape = t.element_shape
        if shape.ndims is None or shape.ndims < 1:
            tf.logging.warning(
                f"The TensorArray {t} in the cell state is not amenable to sorting based on the beam search "
                "result. For a TensorArray to be sorted, its elements shape must be defined and have at "
                f"least a rank of 1, but saw shape: {shape}"
            )
            return t
        if not _can_reorder(shape, _static(self._batch_size), self._beam_width):
            return t
        stacked = t.stack()
        check = _check_batch_beam(stacked, self._batch_size, self._beam_width)
        with tf.control_dependencies([check]):
            return gather_tree_from_array(stacked, parent_ids, sequence_length)

    def step(
        self, time: Any, inputs: Any, state: Any, name: str | None = None
    ) -> tuple[Any, Any, Any, Any]:
        with tf.name_scope(name, "BeamSearchDecoderStep", (time, inputs, state)):
            inputs = nest.map_structure(lambda x: self._merge_batch_beams(x, s=x.shape[2:]), inputs)
            cell_state = nest.map_structure(
                self._maybe_merge_batch_beams, state.cell_state, self._cell.state_size
            )
            outputs, next_state = self._cell(inputs, cell_state)
            outputs = nest.map_structure(
                lambda out: self._split_batch_beams(out, out.shape[1:]), outputs
            )
            next_state = nest.map_structure(
                self._maybe_split_batch_beams, next_state, self._cell.state_size
            )
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            output, state = _beam_search_step(
                time=time,
                logits=outputs,
                next_cell_state=next_state,
                beam_state=state,
                batch_size=self._batch_size,
                beam_width=self._beam_width,
                end_token=self._end_token,
                length_penalty_weight=self._length_penalty_weight,
                coverage_penalty_weight=self._coverage_penalty_weight,
            )
            next_inputs = tf.cond(
                tf.reduce_all(state.finished),
                lambda: self._start_inputs,  # nobody reads them
                lambda: self._embedding_fn(output.predicted_ids),
            )
        return output, state, next_inputs, state.finished


def _event_shape(s: Any) -> TensorShape:
    return as_shape(constant_value(s)) if isinstance(s, Tensor) else as_shape(s)


def _beam_search_step(
    time: Any,
    logits: Any,
    next_cell_state: Any,
    beam_state: Any,
    batch_size: Any,
    beam_width: int,
    end_token: Any,
    length_penalty_weight: Any,
    coverage_penalty_weight: Any,
) -> tuple[Any, Any]:
    """The best beams among all continuations of the beams so far."""
    finished = beam_state.finished
    unfinished = tf.logical_not(finished)
    log_probs = _mask_probs(tf.nn.log_softmax(logits), end_token, finished)
    total = tf.expand_dims(beam_state.log_probs, 2) + log_probs
    vocab_size = logits.shape.as_list()[-1]
    vocab_size = tf.shape(logits)[-1] if vocab_size is None else vocab_size
    # A beam becomes longer by all but the end token, and not at all once it's finished.
    longer = tf.one_hot(
        tf.fill([batch_size, beam_width], end_token),
        depth=vocab_size,
        on_value=tf.constant(0, tf.int64),
        off_value=tf.constant(1, tf.int64),
        dtype=tf.int64,
    ) * tf.expand_dims(tf.cast(unfinished, tf.int64), 2)
    attended = get_attention_probs(next_cell_state, coverage_penalty_weight)
    accumulated = None
    if attended is not None:
        attended *= tf.expand_dims(tf.cast(unfinished, tf.float32), 2)
        accumulated = beam_state.accumulated_attention_probs + attended
    scores = _get_scores(
        log_probs=total,
        sequence_lengths=longer + tf.expand_dims(beam_state.lengths, 2),
        length_penalty_weight=length_penalty_weight,
        coverage_penalty_weight=coverage_penalty_weight,
        finished=finished,
        accumulated_attention_probs=accumulated,
    )
    best, where = tf.nn.top_k(tf.reshape(scores, [batch_size, -1]), k=beam_width)
    best.set_shape([_static(batch_size), beam_width])
    where.set_shape([_static(batch_size), beam_width])

    def gathered(indices: Any, tensor: Any, size: Any, shape: list[Any]) -> Any:
        return _tensor_gather(indices, tensor, batch_size, size, shape)

    probs = gathered(where, total, beam_width * vocab_size, [-1])
    word_ids = tf.cast(tf.mod(where, vocab_size, name="next_beam_word_ids"), tf.int32)
    parents = tf.cast(where / vocab_size, tf.int32, name="next_beam_parent_ids")
    was_finished = gathered(parents, finished, beam_width, [-1])
    lengths = gathered(parents, beam_state.lengths, beam_width, [-1])
    beams = [batch_size * beam_width, -1]
    state = BeamSearchDecoderState(
        cell_state=nest.map_structure(
            lambda t: _maybe_tensor_gather(parents, t, batch_size, beam_width, beams),
            next_cell_state,
        ),
        log_probs=probs,
        lengths=lengths + tf.cast(tf.logical_not(was_finished), tf.int64),
        finished=tf.logical_or(
            was_finished, tf.equal(word_ids, end_token), name="next_beam_finished"
        ),
        accumulated_attention_probs=()
        if accumulated is None
        else gathered(parents, accumulated, beam_width, beams),
    )
    return BeamSearchDecoderOutput(best, word_ids, parents), state


def get_attention_probs(next_cell_state: Any, coverage_penalty_weight: Any) -> Any:
    """What the cells attend to, on average, or None where coverage doesn't count."""
    if isinstance(coverage_penalty_weight, float) and coverage_penalty_weight == 0.0:
        return None
    states = [next_cell_state]
    if not isinstance(next_cell_state, AttentionWrapperState):
        states = list(next_cell_state) if isinstance(next_cell_state, tuple) else []
    found = [_aligned(s) for s in states if isinstance(s, AttentionWrapperState)]
    if not found:
        raise ValueError("coverage_penalty_weight must be 0.0 if no cell is attentional.")
    return found[0] if len(found) == 1 else tf.reduce_mean(tf.stack(found, -1), -1)


def _aligned(state: Any) -> Any:
    aligned = state.alignments
    return tf.reduce_mean(tf.stack(aligned, -1), -1) if isinstance(aligned, tuple) else aligned


def _get_scores(
    log_probs: Any,
    sequence_lengths: Any,
    length_penalty_weight: Any,
    coverage_penalty_weight: Any,
    finished: Any,
    accumulated_attention_probs: Any,
) -> Any:
    penalty = _length_penalty(sequence_lengths, length_penalty_weight)
    scores = log_probs / tf.cast(penalty, dtype=log_probs.dtype)
    weight = tf.convert_to_tensor(coverage_penalty_weight, name="coverage_penalty_weight")
    if weight.shape.ndims != 0:
        raise ValueError(
            f"coverage_penalty_weight should be a scalar, but saw shape: {weight.shape}"
        )
    if constant_value(weight) == 0.0:
        return scores
    if accumulated_attention_probs is None:
        raise ValueError(
            "accumulated_attention_probs can be None only if coverage penalty is disabled."
        )
    probs = accumulated_attention_probs
    # Places that nothing has attended to yet do not count: their logarithm has no limit.
    probs = tf.where(tf.equal(probs, 0.0), tf.ones_like(probs), probs)
    coverage = tf.reduce_sum(tf.log(tf.minimum(probs, 1.0)), 2) * tf.cast(finished, tf.float32)
    return scores + tf.expand_dims(coverage * weight, 2)


def _length_penalty(sequence_lengths: Any, penalty_factor: Any) -> Any:
    """((5 + length) / 6) ** factor (Wu et al. 2016)."""
    factor = tf.convert_to_tensor(penalty_factor, name="penalty_factor")
    factor.set_shape(())
    if constant_value(factor) == 0:
        return 1.0
    return tf.div((5.0 + tf.cast(sequence_lengths, tf.float32)) ** factor, (5.0 + 1.0) ** factor)


def _mask_probs(probs: Any, eos_token: Any, finished: Any) -> Any:
    """Finished beams go on with the end token, at no cost."""
    vocab_size = tf.shape(probs)[2]
    row = tf.one_hot(
        eos_token,
        vocab_size,
        dtype=probs.dtype,
        on_value=tf.convert_to_tensor(0.0, dtype=probs.dtype),
        off_value=probs.dtype.min,
    )
    rows = tf.tile(tf.reshape(row, [1, 1, -1]), tf.concat([tf.shape(finished), [1]], 0))
    mask = tf.tile(tf.expand_dims(finished, 2), [1, 1, vocab_size])
    return tf.where(mask, rows, probs)


def _maybe_tensor_gather(
    gather_indices: Any, gather_from: Any, batch_size: Any, range_size: Any, gather_shape: list[Any]
) -> Any:
    if isinstance(gather_from, TensorArray) or _known_rank(gather_from) < len(gather_shape):
        return gather_from
    return _tensor_gather(gather_indices, gather_from, batch_size, range_size, gather_shape)


def _tensor_gather(
    gather_indices: Any, gather_from: Any, batch_size: Any, range_size: Any, gather_shape: list[Any]
) -> Any:
    """What beams had, for each of a batch by its own indices."""
    with tf.name_scope("tensor_gather_helper"):
        offsets = tf.expand_dims(tf.range(batch_size) * range_size, 1)
        indices = tf.reshape(gather_indices + offsets, [-1])
        out = tf.gather(tf.reshape(gather_from, gather_shape), indices)
        kept = 1 + len(gather_shape)
        out = tf.reshape(out, tf.shape(gather_from)[:kept], name="output")
        out.set_shape(TensorShape([_static(batch_size)]).concatenate(gather_from.shape[1:kept]))
        return out
