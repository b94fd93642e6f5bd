"""A reader: takes work items, mostly names of files, from a queue, and gives their records one after the other."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from weft.framework import dtypes, errors
from weft.ops.queues.queue import TAKE, Queue, invalid, taking
from weft.ops.queues.waiting import NOT_YET


class Reader:
    """The state that reading ops share.

    The lock of a queue may be held where this one's is taken, never the other way round.
    """

    def __init__(self, name: str, start: Callable[[bytes], Any], one_record: bool = False):
        self.name, self._start, self._one_record = name, start, one_record
        self.lock = threading.RLock()
        self.reset()

    def reset(self) -> None:
        """Forgets the work in progress, and all counts."""
        with self.lock:
            self._set(0, 0, 0, b"")

    def _set(self, started: int, finished: int, produced: int, work: bytes) -> None:
        self.work_started, self.work_finished, self.records_produced = started, finished, produced
        self._work = work
        self._records: Any = None
        self._failed: Exception | None = None

    # -- reading

    def read_up_to(self, ctx: Any, queue: Queue, count: int, made: Callable[..., Any]) -> Any:
        """`made` of the keys and values of some records: of one work item, one at least."""
        _check(queue)
        if self.work_started > self.work_finished:
            with self.lock:
                found = self._rest(count)
            if found:
                return made(*zip(*found))
        attempt = _Reading(self, queue, count, made)
        return queue.run(ctx, TAKE, attempt, "Dequeue operation was cancelled")

    def _rest(self, count: int) -> list[tuple[bytes, bytes]]:
        """The next records of the work in progress; none at its end. The caller holds the lock."""
        if self.work_started <= self.work_finished:
            return []
        if (
            self._failed is not None
        ):  # what cannot be read stays so until somebody resets the reader
            raise self._failed
        found: list[tuple[bytes, bytes]] = []
        try:
            if self._records is None:  # after a state was restored
                self._records = self._start(self._work)
            while len(found) < count:
                record = next(self._records, None)
                if record is not None:
                    found.append(record)
                if record is None or self._one_record:
                    self.work_finished = self.work_started
                    self._records = None
                    break
        except Exception as e:
            self._failed = e
            if not found:
                raise
        self.records_produced += len(found)
        return found

    def begin(self, work: bytes) -> None:
        """Starts on a work item. The caller holds the lock."""
        self._records = self._start(work)
        self._work, self._failed = work, None
        self.work_started += 1

    # -- state as a string

    def serialize(self) -> bytes:
        from weft import proto

        if not self._one_record:
            raise errors.UnimplementedError(None, None, "Reader SerializeState")
        with self.lock:
            return proto.ReaderBaseState(
                work_started=self.work_started,
                work_finished=self.work_finished,
                num_records_produced=self.records_produced,
                current_work=self._work,
            ).SerializeToString()

    def restore(self, state: bytes) -> None:
        from google.protobuf.message import DecodeError

        from weft import proto

        if not self._one_record:
            self.reset()
            raise errors.UnimplementedError(None, None, "Reader RestoreState")
        self.reset()
        try:
            message = proto.ReaderBaseState.FromString(state)
        except DecodeError:
            raise invalid(f"Could not parse state for {self.name}: {state!r}") from None
        counts = message.work_started, message.work_finished, message.num_records_produced
        if min(counts) < 0:
            raise invalid(f"Unexpected negative value when restoring in {self.name}: {message}")
        if message.work_started > message.work_finished:
            raise invalid(
                f"Inconsistent work started vs. finished when restoring in {self.name}: {message}"
            )
        with self.lock:
            self._set(*counts, message.current_work)


def _check(queue: Queue) -> None:
    if len(queue.dtypes) != 1:
        raise invalid("Expected single component queue")
    if queue.dtypes[0] is not dtypes.string:
        raise invalid("Expected queue with single string component")


class _Reading:
    """Reads as soon as there is a work item in the queue."""

    __slots__ = ("reader", "take", "count", "made")

    def __init__(self, reader: Reader, queue: Queue, count: int, made: Callable[..., Any]):
        self.reader, self.take, self.count, self.made = reader, taking(queue), count, made

    def __call__(self) -> Any:
        reader = self.reader
        with reader.lock:
            while not (found := reader._rest(self.count)):
                taken = self.take()
                if taken is NOT_YET:
                    return NOT_YET
                (work,) = taken
                if isinstance(work, np.ndarray):
                    if work.size != 1:
                        raise invalid("Expected to dequeue a one-element string tensor")
                    work = work.item()
                reader.begin(work)
        return self.made(*zip(*found))
