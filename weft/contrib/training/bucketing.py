"""Batches of examples that belong together, through queues: each bucket has one, and full batches go to another."""

from __future__ import annotations

from typing import Any

import numpy as np

import weft as tf
from weft.framework.export import export
from weft.framework.tensor_shape import TensorShape
from weft.ops.flow.cond import smart_cond
from weft.ops.queues.queue_base import FIFOQueue, PaddingFIFOQueue
from weft.train import batching, sparse_in_queues

_CLOSED = (tf.errors.OutOfRangeError, tf.errors.CancelledError)


@export("contrib.training.bucket")
def bucket(
    tensors: Any,
    which_bucket: Any,
    batch_size: Any,
    num_buckets: int,
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: list[int] | None = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: Any = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns the number of a bucket and a batch of examples that were put into it."""
    alike = not isinstance(batch_size, (list, tuple))
    sizes = [batch_size] * num_buckets if alike else list(batch_size)
    if len(sizes) != num_buckets:
        raise ValueError("If batch_size is a list it must have num_buckets elements")
    capacities = [capacity] * num_buckets if bucket_capacities is None else bucket_capacities
    if len(capacities) != num_buckets:
        raise ValueError(
            f"The list bucket_capacities ({capacities}) must have exactly num_buckets ({num_buckets}) elements."
        )
    (parts,) = batching.as_lists([tensors])
    with tf.name_scope(name, "bucket", parts):
        parts = [batching.as_tensor(t) for t in parts]
        if not parts:
            raise ValueError("Expected at least one tensor in bucket().")
        keep_input = batching.checked_keep_input(keep_input, False)
        (parts,), kept = sparse_in_queues.store_all([parts], False, keep_input)
        sizes = [tf.convert_to_tensor(n, dtype=tf.int32, name="batch_size") for n in sizes]
        types = [t.dtype for t in parts]
        shapes = shapes or [batching.common_shape([t], False) for t in parts]
        which_bucket = tf.convert_to_tensor(which_bucket, dtype=tf.int32, name="which_bucket")

        kind = PaddingFIFOQueue if dynamic_pad else FIFOQueue
        queues = [
            kind(
                capacity=capacities[i],
                dtypes=types,
                shapes=shapes,
                shared_name=None if shared_name is None else f"{shared_name}_{i}",
                name=f"bucket_queue_{i}",
            )
            for i in range(num_buckets)
        ]
        rows = tf.get_static_value(sizes[0]) if alike and not allow_smaller_final_batch else None
        top = PaddingFIFOQueue(
            capacity=capacity,
            dtypes=[tf.int32, *types],
            shapes=[TensorShape([])]
            + [TensorShape([rows]).concatenate(s) for s in queues[0].shapes],
            shared_name=shared_name,
            name="top_queue",
        )
        taken = _through(
            queues,
            top,
            parts,
            which_bucket,
            sizes,
            allow_smaller_final_batch,
            keep_input,
            num_threads,
        )
        for queue in queues:
            tf.summary.scalar(f"bucket/{queue.name}/size", tf.cast(queue.size(), tf.float32))
        tf.summary.scalar(
            f"bucket/{top.name}/fraction_of_{capacity}_full",
            tf.cast(top.size(), tf.float32) * (1.0 / capacity),
        )
        number, *batch = taken
        restored = sparse_in_queues.restore(batch[0] if len(batch) == 1 else batch, kept)
        return number, batching.as_given(tensors, restored)


def _through(
    queues: list[Any],
    top: Any,
    parts: list[Any],
    which_bucket: Any,
    sizes: list[Any],
    smaller: bool,
    keep_input: Any,
    threads: int,
) -> list[Any]:
    """What comes out of the queue of batches; threads bring examples to their buckets, and full batches to it."""

    def enqueue() -> Any:
        return tf.group(
            *(
                tf.cond(tf.equal(which_bucket, i), lambda q=q: q.enqueue(parts), tf.no_op)
                for i, q in enumerate(queues)
            ),
            name="group_enqueues",
        )

    def batch_of(i: int) -> Any:
        take = queues[i].dequeue_up_to if smaller else queues[i].dequeue_many
        found = take(sizes[i], name=f"read_bucket_{i}")
        found = list(found) if isinstance(found, (list, tuple)) else [found]
        return top.enqueue([tf.constant(i), *found], name=f"enqueue_from_bucket_{i}")

    examples = smart_cond(keep_input, enqueue, tf.no_op)
    tf.train.add_queue_runner(
        tf.train.QueueRunner(
            queues[0],
            [batch_of(i) for i in range(len(queues))],
            close_op=top.close(),
            cancel_op=top.close(cancel_pending_enqueues=True),
            queue_closed_exception_types=_CLOSED,
        )
    )
    tf.train.add_queue_runner(
        tf.train.QueueRunner(
            top,
            [examples] * threads,
            close_op=tf.group(*(q.close() for q in queues)),
            cancel_op=tf.group(*(q.close(cancel_pending_enqueues=True) for q in queues)),
            queue_closed_exception_types=_CLOSED,
        )
    )
    return top.dequeue(name="dequeue_top")


@export("contrib.training.bucket_by_sequence_length")
def bucket_by_sequence_length(
    input_length: Any,
    tensors: Any,
    batch_size: Any,
    bucket_boundaries: list[int],
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: list[int] | None = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: Any = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns the lengths of examples of like length, and a batch of them."""
    (parts,) = batching.as_lists([tensors])
    edges = bucket_boundaries
    if not isinstance(edges, (list, tuple)):
        raise TypeError(f"bucket_boundaries must be a list or tuple, but received: {edges}")
    if not edges:
        raise ValueError("bucket_boundaries must not be empty")
    for low, high in zip(edges, edges[1:]):
        if not isinstance(low, int) or not isinstance(high, int):
            raise TypeError(f"bucket boundaries must be integers, but saw: {low} and {high}")
        if low >= high:
            raise ValueError(
                f"Buckets must contain sequential increasing lengths, but saw: {low} before {high}"
            )
    with tf.name_scope(name, "bucket_by_sequence_length", [input_length, *parts]):
        length = tf.convert_to_tensor(input_length, dtype=tf.int32, name="input_length")
        limits = np.iinfo(np.int32)
        inside = tf.logical_and(
            tf.less_equal([limits.min, *edges], length), tf.less(length, [*edges, limits.max])
        )
        _, (lengths, *batch) = bucket(
            tensors=[length, *parts],
            which_bucket=tf.cast(tf.reduce_min(tf.where(inside)), tf.int32),
            batch_size=batch_size,
            num_buckets=len(edges) + 1,
            num_threads=num_threads,
            capacity=capacity,
            bucket_capacities=bucket_capacities,
            shapes=None if shapes is None else [TensorShape([]), *shapes],
            dynamic_pad=dynamic_pad,
            allow_smaller_final_batch=allow_smaller_final_batch,
            keep_input=keep_input,
            shared_name=shared_name,
        )
        if isinstance(tensors, dict) and len(tensors) == 1:
            (batch,) = batch
        return lengths, batching.as_given(tensors, batch)
