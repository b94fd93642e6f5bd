"""A queue that is filled while what was taken from it is used."""

from __future__ import annotations

from typing import Any

import weft as tf


def prefetch_queue(
    tensors: Any,
    capacity: int = 8,
    num_threads: int = 1,
    dynamic_pad: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """A queue of the tensors, given as a list or by name, with a queue runner that fills it."""
    names = sorted(tensors) if isinstance(tensors, dict) else None
    flat = tensors if names is None else [tensors[n] for n in names]
    with tf.name_scope(name, "prefetch_queue", flat) as name:
        make = tf.PaddingFIFOQueue if dynamic_pad else tf.FIFOQueue
        queue = make(
            capacity=capacity,
            dtypes=[t.dtype for t in flat],
            shapes=[t.get_shape() for t in flat],
            names=names,
            shared_name=shared_name,
        )
        enqueue = queue.enqueue(tensors)
        tf.train.add_queue_runner(tf.train.QueueRunner(queue, [enqueue] * num_threads))
        filled = tf.cast(queue.size(), tf.float32) * (1.0 / capacity)
        tf.summary.scalar(f"fraction_of_{capacity}_full", filled)
        return queue
