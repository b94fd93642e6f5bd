"""Losses over samples of very many classes: `tf.nn.nce_loss`, `tf.nn.sampled_softmax_loss`, and the samplers."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework import dtypes
from weft.framework.conversion import convert_to_tensor
from weft.framework.export import export
from weft.ops.random import candidates
from weft.ops.random.counters import seeds


def _sampler(op: Any, true_classes: Any, seed: Any, name: Any, **arguments: Any) -> Any:
    return op(convert_to_tensor(true_classes, dtypes.int64), name=name, **arguments, **seeds(seed))


@export("nn.uniform_candidate_sampler", "random.uniform_candidate_sampler")
def uniform_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Draws classes, all alike: the samples, and how often the true ones and the samples are expected."""
    return _sampler(
        candidates.uniform_op,
        true_classes,
        seed,
        name,
        num_true=num_true,
        num_sampled=num_sampled,
        unique=unique,
        range_max=range_max,
    )


@export("nn.log_uniform_candidate_sampler", "random.log_uniform_candidate_sampler")
def log_uniform_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Draws classes, small numbers more often: for words in the order of their frequency."""
    return _sampler(
        candidates.log_uniform_op,
        true_classes,
        seed,
        name,
        num_true=num_true,
        num_sampled=num_sampled,
        unique=unique,
        range_max=range_max,
    )


@export("nn.learned_unigram_candidate_sampler", "random.learned_unigram_candidate_sampler")
def learned_unigram_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Draws classes as often as they have been true in former runs."""
    return _sampler(
        candidates.learned_op,
        true_classes,
        seed,
        name,
        num_true=num_true,
        num_sampled=num_sampled,
        unique=unique,
        range_max=range_max,
    )


@export("nn.fixed_unigram_candidate_sampler", "random.fixed_unigram_candidate_sampler")
def fixed_unigram_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    vocab_file: str = "",
    distortion: float = 1.0,
    num_reserved_ids: int = 0,
    num_shards: int = 1,
    shard: int = 0,
    unigrams: Any = (),
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Draws classes as often as weights say, which are given or in the last column of a file."""
    return _sampler(
        candidates.fixed_op,
        true_classes,
        seed,
        name,
        num_true=num_true,
        num_sampled=num_sampled,
        unique=unique,
        range_max=range_max,
        vocab_file=vocab_file,
        distortion=distortion,
        num_reserved_ids=num_reserved_ids,
        num_shards=num_shards,
        shard=shard,
        unigrams=list(unigrams),
    )


@export("nn.all_candidate_sampler", "random.all_candidate_sampler")
def all_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """All classes, each once: what samples can be compared with."""
    return _sampler(
        candidates.all_op,
        true_classes,
        seed,
        name,
        num_true=num_true,
        num_sampled=num_sampled,
        unique=unique,
    )


@export("nn.compute_accidental_hits")
def compute_accidental_hits(
    true_classes: Any,
    sampled_candidates: Any,
    num_true: int,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Where samples are true classes: row, place among the samples, and a weight to add to their logits."""
    return candidates.accidental_hits_op(
        convert_to_tensor(true_classes, dtypes.int64),
        sampled_candidates,
        num_true=num_true,
        name=name,
        **seeds(seed),
    )


# -- losses --------------------------------------------------------------------------------------------


def _sampled_logits(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    subtract_log_q: bool = True,
    remove_accidental_hits: bool = False,
    partition_strategy: str = "mod",
    name: str | None = None,
    seed: int | None = None,
) -> tuple[Any, Any]:
    """Logits of the true classes and of the samples side by side, and what they should be."""
    weights = list(weights) if isinstance(weights, (list, tuple)) else weights
    parts = weights if isinstance(weights, list) else [weights]
    with tf.name_scope(name, "compute_sampled_logits", [*parts, biases, inputs, labels]):
        labels = tf.cast(convert_to_tensor(labels), dtypes.int64)
        inputs = convert_to_tensor(inputs)
        flat = tf.reshape(labels, [-1])
        if sampled_values is None:
            sampled_values = log_uniform_candidate_sampler(
                labels, num_true, num_sampled, True, num_classes, seed=seed
            )
        sampled, true_expected, sampled_expected = (tf.stop_gradient(v) for v in sampled_values)
        sampled = tf.cast(sampled, dtypes.int64)
        ids = tf.concat([flat, sampled], 0)
        count = tf.shape(flat)[0]
        rows = tf.cast(tf.nn.embedding_lookup(weights, ids, partition_strategy), inputs.dtype)
        bias = tf.cast(tf.nn.embedding_lookup(biases, ids, partition_strategy), inputs.dtype)
        sampled_logits = tf.matmul(inputs, rows[count:], transpose_b=True) + bias[count:]
        true_rows = tf.reshape(rows[:count], tf.concat([[-1, num_true], tf.shape(rows)[1:2]], 0))
        true_logits = tf.reduce_sum(tf.expand_dims(inputs, 1) * true_rows, 2)
        true_logits += tf.reshape(bias[:count], [-1, num_true])
        if remove_accidental_hits:
            hits, places, lowest = compute_accidental_hits(labels, sampled, num_true)
            where = tf.stack([hits, tf.cast(places, dtypes.int32)], 1)
            sampled_logits += tf.scatter_nd(
                where, tf.cast(lowest, inputs.dtype), tf.shape(sampled_logits)
            )
        if subtract_log_q:
            true_logits -= tf.log(tf.cast(true_expected, inputs.dtype))
            sampled_logits -= tf.log(tf.cast(sampled_expected, inputs.dtype))
        logits = tf.concat([true_logits, sampled_logits], 1)
        wanted = tf.concat([tf.ones_like(true_logits) / num_true, tf.zeros_like(sampled_logits)], 1)
        return logits, wanted


@export("nn.nce_loss")
def nce_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    remove_accidental_hits: bool = False,
    partition_strategy: str = "mod",
    name: str = "nce_loss",
) -> Any:
    """Noise-contrastive estimation: tells the true classes of each example from samples."""
    logits, wanted = _sampled_logits(
        weights,
        biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        remove_accidental_hits=remove_accidental_hits,
        partition_strategy=partition_strategy,
        name=name,
    )
    losses = tf.nn.sigmoid_cross_entropy_with_logits(
        labels=wanted, logits=logits, name="sampled_losses"
    )
    return tf.reduce_sum(losses, 1)


@export("nn.sampled_softmax_loss")
def sampled_softmax_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    remove_accidental_hits: bool = True,
    partition_strategy: str = "mod",
    name: str = "sampled_softmax_loss",
    seed: int | None = None,
) -> Any:
    """The cross entropy of the true classes of each example, among samples only: for training."""
    logits, wanted = _sampled_logits(
        weights,
        biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        remove_accidental_hits=remove_accidental_hits,
        partition_strategy=partition_strategy,
        name=name,
        seed=seed,
    )
    return tf.nn.softmax_cross_entropy_with_logits_v2(
        labels=tf.stop_gradient(wanted, name="labels_stop_gradient"), logits=logits
    )


@export("compat.v2.nn.nce_loss")
def nce_loss_v2(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    remove_accidental_hits: bool = False,
    name: str = "nce_loss",
) -> Any:
    """`nce_loss` with the parts of the weights one after the other."""
    arguments = dict(locals())
    return nce_loss(partition_strategy="div", **arguments)


@export("compat.v2.nn.sampled_softmax_loss")
def sampled_softmax_loss_v2(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    remove_accidental_hits: bool = True,
    seed: int | None = None,
    name: str = "sampled_softmax_loss",
) -> Any:
    """`sampled_softmax_loss` with the parts of the weights one after the other."""
    arguments = dict(locals())
    return sampled_softmax_loss(partition_strategy="div", **arguments)
