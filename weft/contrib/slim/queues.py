"""`slim.queues`: the threads of a graph's queues, for the time of a block."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import weft as tf
from weft.framework.graph_keys import GraphKeys

_running = threading.Lock()


class NestedQueueRunnerError(Exception):
    """Queue runners were started while those of another block were running."""


@contextlib.contextmanager
def QueueRunners(session: Any) -> Iterator[None]:
    """Runs the queue runners of the graph within."""
    if not _running.acquire(blocking=False):
        raise NestedQueueRunnerError("QueueRunners cannot be nested")
    coordinator = tf.train.Coordinator()
    threads: list[Any] = []
    try:
        for runner in tf.get_collection(GraphKeys.QUEUE_RUNNERS):
            threads += runner.create_threads(session, coord=coordinator, daemon=True, start=True)
        yield
    finally:
        coordinator.request_stop()
        try:
            coordinator.join(threads, stop_grace_period_secs=120)
        except RuntimeError:  # a thread did not stop in time: its operation ends with the session
            session.close()
        _running.release()
