"""Batches through queues: threads put examples in, each step takes a batch out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft as tf
from weft.framework.export import export
from weft.framework.sparse_tensor import SparseTensor
from weft.framework.tensor_shape import as_shape
from weft.ops.flow.cond import smart_cond
from weft.ops.queues.queue_base import FIFOQueue, PaddingFIFOQueue, QueueBase, RandomShuffleQueue
from weft.train import sparse_in_queues
from weft.train.input_producers import refuse_eager
from weft.train.queue_runner import QueueRunner, add_queue_runner


class _Kind:
    """How a queue for batches is made, and what is said of how full it is."""

    def __init__(
        self, make: Callable[..., QueueBase], capacity: int, min_after_dequeue: int | None = None
    ):
        self.make, self.capacity, self.min_after_dequeue = make, capacity, min_after_dequeue

    def report(self, queue: QueueBase) -> None:
        least = self.min_after_dequeue
        if least is None:
            fraction = tf.cast(queue.size(), tf.float32) * (1.0 / self.capacity)
            tf.summary.scalar(f"fraction_of_{self.capacity}_full", fraction)
        else:
            room = self.capacity - least
            fraction = tf.cast(tf.maximum(0, queue.size() - least), tf.float32) * (1.0 / room)
            tf.summary.scalar(f"fraction_over_{least}_of_{room}_full", fraction)


def _in_order(capacity: int, dynamic_pad: bool, shared_name: str | None) -> _Kind:
    kind = PaddingFIFOQueue if dynamic_pad else FIFOQueue
    return _Kind(
        lambda types, shapes: kind(
            capacity=capacity, dtypes=types, shapes=shapes, shared_name=shared_name
        ),
        capacity,
    )


def _shuffled(
    capacity: int, min_after_dequeue: int, seed: int | None, shared_name: str | None
) -> _Kind:
    if capacity <= min_after_dequeue:
        raise ValueError(
            f"capacity {capacity} must be bigger than min_after_dequeue {min_after_dequeue}."
        )
    return _Kind(
        lambda types, shapes: RandomShuffleQueue(
            capacity=capacity,
            min_after_dequeue=min_after_dequeue,
            seed=seed,
            dtypes=types,
            shapes=shapes,
            shared_name=shared_name,
        ),
        capacity,
        min_after_dequeue,
    )


def _batched(
    scope: str,
    examples: list[Any],
    kind: Callable[[], _Kind],
    batch_size: Any,
    keep_input: Any,
    threads: int,
    enqueue_many: bool,
    shapes: Any,
    allow_smaller_final_batch: bool,
    name: str | None,
) -> Any:
    """Batches of examples, each of which is a list or dictionary of tensors and has its enqueue operation."""
    refuse_eager(ValueError)
    lists = as_lists(examples)
    with tf.name_scope(
        name, scope, [t for tensors in lists for t in tensors] + [keep_input]
    ) as name:
        made = kind()
        lists = [[as_tensor(t) for t in tensors] for tensors in lists]
        if not all(lists):
            raise ValueError(f"Expected at least one tensor in {scope}().")
        keep_input = checked_keep_input(keep_input, enqueue_many)
        lists, kept = sparse_in_queues.store_all(lists, enqueue_many, keep_input)
        types = _common_types(lists)
        if shapes is None:
            shapes = [common_shape(parts, enqueue_many) for parts in zip(*lists)]
        queue = made.make(types, shapes)
        operations = [_enqueued(queue, ts, enqueue_many, keep_input) for ts in lists] * threads
        add_queue_runner(QueueRunner(queue, operations))
        made.report(queue)
        take = queue.dequeue_up_to if allow_smaller_final_batch else queue.dequeue_many
        taken = sparse_in_queues.restore(take(batch_size, name=name), kept)
        return as_given(examples[0], taken)


def as_lists(examples: list[Any]) -> list[list[Any]]:
    """The tensors of each example, those of a dictionary in the order of its keys."""
    if not examples:
        raise ValueError("Expected at least one set of tensors")
    first = examples[0]
    if not isinstance(first, dict):
        return [
            list(tensors) if isinstance(tensors, (list, tuple)) else tensors for tensors in examples
        ]
    if any(set(tensors) != set(first) for tensors in examples):
        raise ValueError("All dictionaries in tensors_list must have the same keys")
    return [[tensors[k] for k in sorted(tensors, key=str)] for tensors in examples]


def as_given(example: Any, tensors: Any) -> Any:
    """A batch in the form in which examples were given."""
    if not isinstance(example, dict):
        return tensors
    if len(example) == 1:
        tensors = [tensors]
    return dict(zip(sorted(example, key=str), tensors))


def as_tensor(value: Any) -> Any:
    if isinstance(value, SparseTensor):
        return value
    return tf.convert_to_tensor_or_indexed_slices(value)


def checked_keep_input(keep_input: Any, enqueue_many: bool) -> Any:
    keep_input = tf.convert_to_tensor(keep_input)
    rank = keep_input.shape.ndims
    if rank is None:
        raise ValueError("`keep_input` dimensions must be known at graph construction.")
    if not enqueue_many and rank == 1:
        raise ValueError("`keep_input` cannot be a vector when `enqueue_many=False`.")
    if rank > 1:
        raise ValueError("`keep_input` must be 0 or 1 dimensions.")
    return keep_input


def _common_types(lists: list[list[Any]]) -> list[Any]:
    types = [t.dtype for t in lists[0]]
    for tensors in lists[1:]:
        others = [t.dtype for t in tensors]
        if others != types:
            raise TypeError(
                f"Expected types to be consistent: {', '.join(t.name for t in types)} vs. "
                f"{', '.join(t.name for t in others)}."
            )
    return types


def common_shape(tensors: Any, enqueue_many: bool) -> list[int | None]:
    """The shape of a component, which all examples must be able to have."""
    for t in tensors:
        if t.shape.ndims is None:
            raise ValueError(f"Cannot infer Tensor's rank: {t}")
    shapes = [as_shape(t.shape) for t in tensors]
    if enqueue_many:
        shapes = [s.with_rank_at_least(1)[1:] for s in shapes]
    for other in shapes[1:]:
        shapes[0].merge_with(other)
    return shapes[0].as_list()


def _enqueued(queue: QueueBase, tensors: list[Any], enqueue_many: bool, keep_input: Any) -> Any:
    """The operation that puts tensors into the queue, or those of their rows that are to be kept."""
    enqueue = queue.enqueue_many if enqueue_many else queue.enqueue
    if keep_input.shape.ndims == 1:
        which = tf.cast(keep_input, tf.int32)
        return enqueue([tf.dynamic_partition(t, which, num_partitions=2)[1] for t in tensors])
    return smart_cond(keep_input, lambda: enqueue(tensors), tf.no_op)


@export("train.batch")
def batch(
    tensors: Any,
    batch_size: Any,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns batches of what `tensors` are in different steps; with `enqueue_many`, of their rows."""
    return maybe_batch(
        tensors,
        True,
        batch_size,
        num_threads,
        capacity,
        enqueue_many,
        shapes,
        dynamic_pad,
        allow_smaller_final_batch,
        shared_name,
        name,
    )


@export("train.maybe_batch")
def maybe_batch(
    tensors: Any,
    keep_input: Any,
    batch_size: Any,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns batches as `batch` does, of those examples for which `keep_input` is true."""
    return _batched(
        "batch",
        [tensors],
        lambda: _in_order(capacity, dynamic_pad, shared_name),
        batch_size,
        keep_input,
        num_threads,
        enqueue_many,
        shapes,
        allow_smaller_final_batch,
        name,
    )


@export("train.batch_join")
def batch_join(
    tensors_list: Any,
    batch_size: Any,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns batches of examples from several sources, each with a thread of its own."""
    return maybe_batch_join(
        tensors_list,
        True,
        batch_size,
        capacity,
        enqueue_many,
        shapes,
        dynamic_pad,
        allow_smaller_final_batch,
        shared_name,
        name,
    )


@export("train.maybe_batch_join")
def maybe_batch_join(
    tensors_list: Any,
    keep_input: Any,
    batch_size: Any,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns batches as `batch_join` does, of those examples for which `keep_input` is true."""
    return _batched(
        "batch_join",
        tensors_list,
        lambda: _in_order(capacity, dynamic_pad, shared_name),
        batch_size,
        keep_input,
        1,
        enqueue_many,
        shapes,
        allow_smaller_final_batch,
        name,
    )


@export("train.shuffle_batch")
def shuffle_batch(
    tensors: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns batches of what `tensors` are in different steps, drawn from at least `min_after_dequeue`."""
    return maybe_shuffle_batch(
        tensors,
        batch_size,
        capacity,
        min_after_dequeue,
        True,
        num_threads,
        seed,
        enqueue_many,
        shapes,
        allow_smaller_final_batch,
        shared_name,
        name,
    )


@export("train.maybe_shuffle_batch")
def maybe_shuffle_batch(
    tensors: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    keep_input: Any,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns batches as `shuffle_batch` does, of those examples for which `keep_input` is true."""
    return _batched(
        "shuffle_batch",
        [tensors],
        lambda: _shuffled(capacity, min_after_dequeue, seed, shared_name),
        batch_size,
        keep_input,
        num_threads,
        enqueue_many,
        shapes,
        allow_smaller_final_batch,
        name,
    )


@export("train.shuffle_batch_join")
def shuffle_batch_join(
    tensors_list: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns shuffled batches of examples from several sources, each with a thread of its own."""
    return maybe_shuffle_batch_join(
        tensors_list,
        batch_size,
        capacity,
        min_after_dequeue,
        True,
        seed,
        enqueue_many,
        shapes,
        allow_smaller_final_batch,
        shared_name,
        name,
    )


@export("train.maybe_shuffle_batch_join")
def maybe_shuffle_batch_join(
    tensors_list: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    keep_input: Any,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns batches as `shuffle_batch_join` does, of those examples for which `keep_input` is true."""
    return _batched(
        "shuffle_batch_join",
        tensors_list,
        lambda: _shuffled(capacity, min_after_dequeue, seed, shared_name),
        batch_size,
        keep_input,
        1,
        enqueue_many,
        shapes,
        allow_smaller_final_batch,
        name,
    )
