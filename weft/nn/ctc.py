"""`tf.nn.ctc_loss` and its kin, and `tf.edit_distance`."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework.export import export
from weft.framework.sparse_tensor import SparseTensor
from weft.ops.ctc import decoders, loss
from weft.ops.ctc.edit_distance import edit_distance_op


@export("nn.ctc_loss")
def ctc_loss(
    labels: Any,
    inputs: Any = None,
    sequence_length: Any = None,
    preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True,
    ignore_longer_outputs_than_inputs: bool = False,
    time_major: bool = True,
    logits: Any = None,
) -> Any:
    """The CTC loss of each example; `labels` are a SparseTensor, the last class is the blank."""
    if not isinstance(labels, SparseTensor):
        raise TypeError("Expected labels (first argument) to be a SparseTensor")
    if inputs is not None and logits is not None:
        raise ValueError("Cannot specify both 'logits' and 'inputs'")
    inputs = tf.convert_to_tensor(logits if inputs is None else inputs)
    if not time_major:
        inputs = tf.transpose(inputs, [1, 0, 2])
    return loss.ctc_loss_op(
        inputs,
        labels.indices,
        labels.values,
        sequence_length,
        preprocess_collapse_repeated=preprocess_collapse_repeated,
        ctc_merge_repeated=ctc_merge_repeated,
        ignore_longer_outputs_than_inputs=ignore_longer_outputs_than_inputs,
    )[0]


def _blank_last(logits: Any, labels: Any, blank: Any) -> tuple[Any, Any]:
    """Logits with the blank as the last class, and labels that follow."""
    if blank < 0:
        classes = logits.shape.as_list()[2]
        blank += tf.shape(logits)[2] if classes is None else classes
    logits = tf.concat(
        [logits[:, :, :blank], logits[:, :, blank + 1 :], logits[:, :, blank : blank + 1]], axis=2
    )
    return logits, tf.where(labels < tf.cast(blank, labels.dtype), labels, labels - 1)


@export("nn.ctc_loss_v2", "compat.v2.nn.ctc_loss")
def ctc_loss_v2(
    labels: Any,
    logits: Any,
    label_length: Any,
    logit_length: Any,
    logits_time_major: bool = True,
    unique: Any = None,
    blank_index: int | None = None,
    name: str | None = None,
) -> Any:
    """The CTC loss of each example; `labels` are a SparseTensor, or rows of `label_length` labels. `unique`, which
    made TensorFlow's way to compute it faster, changes nothing."""
    sparse = isinstance(labels, SparseTensor)
    if sparse and blank_index is None:
        raise ValueError("blank_index must be given when using SparseTensor labels.")
    blank_index = blank_index or 0
    with tf.name_scope(name, "ctc_loss", [logits]):
        logits = tf.convert_to_tensor(logits, name="logits")
        if sparse:
            logits, values = _blank_last(logits, labels.values, blank_index)
            labels = SparseTensor(labels.indices, values, labels.dense_shape)
            return ctc_loss(labels, logits, logit_length, time_major=logits_time_major)
        labels = tf.convert_to_tensor(labels, name="labels")
        logits, labels = _blank_last(logits, labels, blank_index)
        there = tf.sequence_mask(label_length, maxlen=tf.shape(labels)[1])
        where = tf.where(there)
        labels = SparseTensor(
            where,
            tf.cast(tf.gather_nd(labels, where), tf.int32),
            tf.shape(labels, out_type=tf.int64),
        )
        return ctc_loss(labels, logits, logit_length, time_major=logits_time_major)


@export("nn.ctc_greedy_decoder", "compat.v2.nn.ctc_greedy_decoder")
def ctc_greedy_decoder(
    inputs: Any, sequence_length: Any, merge_repeated: bool = True
) -> tuple[list[SparseTensor], Any]:
    """The best class at each time, without blanks and repetitions; and minus the sum of the best inputs."""
    indices, values, shape, score = decoders.greedy_op(
        inputs, sequence_length, merge_repeated=merge_repeated
    )
    return [SparseTensor(indices, values, shape)], score


@export("nn.ctc_beam_search_decoder")
def ctc_beam_search_decoder(
    inputs: Any,
    sequence_length: Any,
    beam_width: int = 100,
    top_paths: int = 1,
    merge_repeated: bool = True,
) -> tuple[list[SparseTensor], Any]:
    """The most likely sequences of labels, and the logarithms of their probabilities."""
    indices, values, shapes, score = decoders.beam_search_op(
        inputs,
        sequence_length,
        beam_width=beam_width,
        top_paths=top_paths,
        merge_repeated=merge_repeated,
    )
    return [SparseTensor(*parts) for parts in zip(indices, values, shapes)], score


@export("nn.ctc_beam_search_decoder_v2", "compat.v2.nn.ctc_beam_search_decoder")
def ctc_beam_search_decoder_v2(
    inputs: Any, sequence_length: Any, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[SparseTensor], Any]:
    """The most likely sequences of labels, in which labels may repeat."""
    return ctc_beam_search_decoder(inputs, sequence_length, beam_width, top_paths, False)


@export("nn.collapse_repeated", "compat.v2.nn.collapse_repeated")
def collapse_repeated(labels: Any, seq_length: Any, name: str | None = None) -> tuple[Any, Any]:
    """Rows without repeated labels, zeros behind them, and their lengths."""
    with tf.name_scope(name, "collapse_repeated_labels", [labels, seq_length]):
        labels = tf.convert_to_tensor(labels, name="labels")
        seq_length = tf.convert_to_tensor(seq_length, name="seq_length")
        differs = tf.not_equal(labels[:, 1:], labels[:, :-1])
        kept = tf.concat([tf.ones_like(labels[:, :1], tf.bool), differs], axis=1)
        kept = tf.logical_and(kept, tf.sequence_mask(seq_length, maxlen=tf.shape(labels)[1]))
        lengths = tf.reduce_sum(tf.cast(kept, tf.int32), axis=1)
        filled = tf.sequence_mask(lengths, maxlen=tf.reduce_max(lengths))
        packed = tf.scatter_nd(
            tf.where(filled), tf.boolean_mask(labels, kept), tf.shape(filled, out_type=tf.int64)
        )
        return packed, tf.cast(lengths, seq_length.dtype)


@export("nn.ctc_unique_labels", "compat.v2.nn.ctc_unique_labels")
def ctc_unique_labels(labels: Any, name: str | None = None) -> tuple[Any, Any]:
    """For each row the labels that occur, zeros behind them, and which of these each label is."""

    def unique(row: Any) -> list[Any]:
        found, index = tf.unique(row)
        missing = tf.shape(index)[0] - tf.shape(found)[0]
        return [tf.cast(tf.pad(found, [[0, missing]]), tf.int64), index]

    with tf.name_scope(name, "ctc_unique_labels", [labels]):
        labels = tf.convert_to_tensor(labels, name="labels")
        return tf.map_fn(unique, labels, dtype=[tf.int64, tf.int32])


@export("edit_distance", "compat.v2.edit_distance")
def edit_distance(
    hypothesis: Any, truth: Any, normalize: bool = True, name: str = "edit_distance"
) -> Any:
    """The distance of sequences along the last axis of SparseTensors, over the length of the truth."""
    for given, what in ((hypothesis, "Hypothesis"), (truth, "Truth")):
        if not isinstance(given, (SparseTensor, tf.SparseTensorValue)):
            raise TypeError(f"{what} must be a SparseTensor.")
    hypothesis = SparseTensor.from_value(hypothesis)
    truth = SparseTensor.from_value(truth)
    return edit_distance_op(
        hypothesis.indices,
        hypothesis.values,
        hypothesis.dense_shape,
        truth.indices,
        truth.values,
        truth.dense_shape,
        normalize=normalize,
        name=name,
    )
