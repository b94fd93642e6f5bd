"""Queues that threads fill with rows of arrays."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import weft as tf
from weft.framework import errors
from weft.train.queue_runner import QueueRunner, add_queue_runner


class FeedingQueueRunner(QueueRunner):
    """Runs enqueue operations with rows of arrays, which each session has from the beginning."""

    def __init__(
        self,
        queue: Any,
        enqueue_ops: list[Any],
        sources: Sequence[Callable[[], Callable[[], dict]]],
    ):
        # A queue that somebody closed, or whose enqueueing was cancelled, is the end of the input too.
        ends = (errors.OutOfRangeError, errors.CancelledError)
        super().__init__(queue, enqueue_ops, queue_closed_exception_types=ends)
        self._sources = dict(zip(enqueue_ops, sources, strict=True))

    def _step(self, sess: Any, enqueue_op: Any) -> Callable[[], Any]:
        feed_fn = self._sources[enqueue_op]()
        return lambda: sess.run(enqueue_op, feed_dict=feed_fn())

    def to_proto(self, export_scope: str | None = None) -> Any:
        raise NotImplementedError(
            f"{type(self).__name__} cannot be written as a message: what it feeds are arrays of this process"
        )


class RowBatches:
    """Gives batches of rows, over and over or for a number of epochs; an epoch may begin at any row."""

    def __init__(
        self,
        placeholders: list[Any],
        columns: list[np.ndarray],
        batch_size: int,
        num_epochs: int | None,
        random_start: bool,
    ):
        self._placeholders, self._columns = placeholders, columns
        self._length, self._batch_size = len(columns[0]), batch_size
        self._next = random.randrange(self._length) if random_start else 0
        self._left = None if num_epochs is None else num_epochs * self._length  # rows to come

    def __call__(self) -> dict[Any, np.ndarray]:
        size = self._batch_size
        if self._left is not None:
            size = min(size, self._left)
            if size == 0:
                raise errors.OutOfRangeError(None, None, "All epochs of the input are used up.")
            self._left -= size
        rows = (self._next + np.arange(size)) % self._length
        self._next = int(rows[-1] + 1) % self._length
        return {p: c[rows] for p, c in zip(self._placeholders, self._columns, strict=True)}


def enqueue_columns(
    columns: list[np.ndarray],
    *,
    capacity: int,
    shuffle: bool,
    min_after_dequeue: int | None,
    num_threads: int,
    batch_size: int,
    num_epochs: int | None,
    index: np.ndarray | None = None,
) -> Any:
    """A queue of the rows of columns, each with its index first, that a queue runner of the graph fills."""
    if num_threads > 1 and num_epochs is not None:
        tf.logging.warning("num_epochs is applied per thread, so this will produce more epochs.")
    if num_threads > 1 and not shuffle:
        tf.logging.warning("Several threads read in no certain order: shuffle, or use one thread.")
    with tf.name_scope("enqueue_input"):
        if index is None:
            index = np.arange(len(columns[0]), dtype=np.int64)
        columns = [index, *columns]
        types = [tf.as_dtype(c.dtype) for c in columns]
        shapes = [c.shape[1:] for c in columns]
        least = 0
        if shuffle:
            least = int(capacity / 4) if min_after_dequeue is None else min_after_dequeue
            queue: Any = tf.RandomShuffleQueue(capacity, least, dtypes=types, shapes=shapes)
        else:
            queue = tf.FIFOQueue(capacity, dtypes=types, shapes=shapes)
        enqueue_ops, feeds = [], []
        for _ in range(num_threads):
            placeholders = [tf.placeholder(t) for t in types]
            enqueue_ops.append(queue.enqueue_many(placeholders))
            feeds.append(
                functools.partial(
                    RowBatches, placeholders, columns, batch_size, num_epochs, shuffle
                )
            )
        add_queue_runner(FeedingQueueRunner(queue, enqueue_ops, feeds))
        room = capacity - least
        full = tf.cast(tf.maximum(0, queue.size() - least), tf.float32) * (1.0 / room)
        tf.summary.scalar(f"queue/{queue.name}fraction_over_{least}_of_{room}_full", full)
    return queue
