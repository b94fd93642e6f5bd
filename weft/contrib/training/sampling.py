"""Batches with classes in wanted proportions, and examples as often as rates say: drawn by chance."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework.export import export
from weft.ops.array.repeat import repeat
from weft.train import moving_averages

_BEGIN = 10  # how often each class counts as seen before anything was


def _alone(tensors: list[Any], threads: int, capacity: int) -> list[Any]:
    """Rows one by one, through a queue."""
    batched = tf.train.batch(
        tensors, batch_size=1, num_threads=threads, capacity=capacity, enqueue_many=True
    )
    batched = batched if isinstance(batched, (list, tuple)) else [batched]
    return [tf.squeeze(x, [0]) for x in batched]


def _kept(tensors: list[Any], chance: Any, batch_size: Any, threads: int) -> list[Any]:
    batch = tf.train.maybe_batch(
        tensors,
        keep_input=tf.random_uniform([]) < chance,
        batch_size=batch_size,
        num_threads=threads,
    )
    return list(batch) if isinstance(batch, (list, tuple)) else [batch]


def _check_rows(tensors: list[Any], size: Any) -> None:
    for tensor in tensors:
        tensor.shape.with_rank_at_least(1).dims[0].assert_is_compatible_with(size)


@export("contrib.training.rejection_sample")
def rejection_sample(
    tensors: list[Any],
    accept_prob_fn: Any,
    batch_size: Any,
    queue_threads: int = 1,
    enqueue_many: bool = False,
    prebatch_capacity: int = 16,
    prebatch_threads: int = 1,
    runtime_checks: bool = False,
    name: str | None = None,
) -> list[Any]:
    """Returns batches of the examples that are kept with a chance that a function says."""
    with tf.variable_scope(name, "rejection_sample", tensors):
        parts = [tf.convert_to_tensor(t) for t in tensors]
        if enqueue_many:
            _check_rows(parts, parts[0].shape.with_rank_at_least(1).dims[0])
            parts = _alone(parts, prebatch_threads, prebatch_capacity)
        chance = accept_prob_fn(parts)
        if runtime_checks:
            checks = [tf.assert_less_equal(0.0, chance), tf.assert_less_equal(chance, 1.0)]
            with tf.control_dependencies(checks):
                chance = tf.identity(chance, name="prob_with_checks")
        return _kept(parts, chance, batch_size, queue_threads)


@export("contrib.training.stratified_sample")
def stratified_sample(
    tensors: list[Any],
    labels: Any,
    target_probs: Any,
    batch_size: Any,
    init_probs: Any = None,
    enqueue_many: bool = False,
    queue_capacity: int = 16,
    threads_per_queue: int = 1,
    name: str | None = None,
) -> tuple[list[Any], Any]:
    """Returns batches, and their labels, in which the classes have wanted proportions; other examples are dropped."""
    with tf.name_scope(name, "stratified_sample", [*tensors, labels]):
        parts = [tf.convert_to_tensor(t) for t in tensors]
        labels = tf.convert_to_tensor(labels)
        wanted = tf.convert_to_tensor(target_probs, dtype=tf.float32)
        if not enqueue_many:
            parts = [tf.expand_dims(x, 0) for x in parts]
            labels = tf.expand_dims(labels, 0)
        if init_probs is None:
            wanted.shape.assert_is_fully_defined()
            have = _seen(labels, wanted.shape.num_elements())
        else:
            have = tf.convert_to_tensor(init_probs, dtype=tf.float32)
        parts, labels, have, wanted = _checked(parts, labels, have, wanted)
        possible = tf.Assert(
            tf.reduce_all(tf.logical_or(tf.not_equal(have, 0), tf.equal(wanted, 0))),
            [
                "All classes with zero initial probability must also have zero target probability: ",
                have,
                wanted,
            ],
        )
        with tf.control_dependencies([possible]):
            have = tf.identity(have)
        chances = _chances(have, wanted)
        *parts, label = _alone([*parts, labels], threads_per_queue, queue_capacity)
        *batch, batch_labels = _kept(
            [*parts, label], tf.gather(chances, label), batch_size, threads_per_queue
        )
        return batch, batch_labels


def _seen(labels: Any, classes: int) -> Any:
    """How often each class has come until now."""
    count = tf.Variable([_BEGIN] * classes, trainable=False, name="class_count", dtype=tf.int64)
    count = count.assign_add(tf.reduce_sum(tf.one_hot(labels, classes, dtype=tf.int64), 0))
    count += 0  # a copy: other threads count on
    return tf.cast(tf.truediv(count, tf.reduce_sum(count)), tf.float32)


def _checked(parts: list[Any], labels: Any, have: Any, wanted: Any) -> tuple[Any, ...]:
    sure = []
    for chances in (have, wanted):
        chances.shape.assert_is_fully_defined()
        chances.shape.assert_has_rank(1)
        total = tf.reduce_sum(chances)
        checks = [
            tf.assert_non_negative(chances),
            tf.assert_less(total, 1.0 + 1e-6),
            tf.assert_less(1.0 - 1e-6, total),
        ]
        with tf.control_dependencies(checks):
            sure.append(tf.identity(chances))
    classes = have.shape.num_elements()
    if wanted.shape.num_elements() != classes:
        raise ValueError("Probability parameters must have the same length.")
    labels.shape.assert_has_rank(1)
    _check_rows(parts, labels.shape.dims[0])
    rows = tf.shape(labels)[0]
    some = tf.assert_positive(rows)
    whole = []
    for x in parts:
        with tf.control_dependencies([some, tf.assert_equal(tf.shape(x)[0], rows)]):
            whole.append(tf.identity(x))
    checks = [
        some,
        tf.assert_integer(labels),
        tf.assert_non_negative(labels),
        tf.assert_less(labels, tf.cast(classes, labels.dtype)),
    ]
    with tf.control_dependencies(checks):
        labels = tf.identity(labels)
    return whole, labels, *sure


def _chances(have: Any, wanted: Any) -> Any:
    """With which chance to keep an example of each class: in proportion to how much more often it is wanted."""
    ratio = wanted / have
    ratio = tf.where(tf.is_nan(ratio), tf.zeros_like(ratio), ratio)
    chances = ratio / tf.reduce_max(ratio)
    dropped = tf.reduce_sum((1 - chances) * have)
    return tf.cond(
        dropped < 0.5,
        lambda: chances,
        lambda: tf.Print(
            chances, [chances], "Proportion of examples rejected by sampler is high.", first_n=10
        ),
    )


@export("contrib.training.resample_at_rate")
def resample_at_rate(
    inputs: list[Any],
    rates: Any,
    scope: str | None = None,
    seed: int | None = None,
    back_prop: bool = False,
) -> list[Any]:
    """Returns rows of tensors, each as often as its rate says in the mean."""
    with tf.name_scope(scope, "resample_at_rate", [*inputs, rates]):
        rates = tf.convert_to_tensor(rates, name="rates")
        counts = tf.cast(tf.random_poisson(rates, (), rates.dtype, seed=seed), tf.int32)
        rows = repeat(tf.range(tf.size(counts)), counts)
        rows = rows if back_prop else tf.stop_gradient(rows)
        return [tf.gather(x, rows) for x in inputs]


@export("contrib.training.weighted_resample")
def weighted_resample(
    inputs: list[Any],
    weights: Any,
    overall_rate: float,
    scope: str | None = None,
    mean_decay: float = 0.999,
    seed: int | None = None,
) -> tuple[list[Any], Any]:
    """Returns rows of tensors, as often as their weights say, and the rate of each."""
    with tf.name_scope(scope, "weighted_resample", inputs) as name:
        with tf.variable_scope(scope, "estimate_mean", inputs):
            mean = tf.get_local_variable(
                "estimated_mean", initializer=tf.cast(0, weights.dtype), dtype=weights.dtype
            )
            now = moving_averages.assign_moving_average(mean, tf.reduce_mean(weights), mean_decay)
        rates = weights * overall_rate / now
        used, *results = resample_at_rate([rates, *inputs], rates, scope=name, seed=seed)
        return results, used
