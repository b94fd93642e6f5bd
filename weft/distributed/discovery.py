"""Finding the devices of a cluster: each task is asked, and waited for until it answers."""

from __future__ import annotations

import contextlib
import functools
import logging
import threading
import time
from collections.abc import Iterator
from typing import Any

from weft.framework import errors
from weft.runtime.alarm import Limit
from weft.runtime.devices import Device

_SAID_EVERY = 10.0  # seconds, while a task does not answer

_log = logging.getLogger("tensorflow")


class Discovery:
    """Asks the workers of some tasks at the same time."""

    def __init__(self, workers: list[Any], tasks: list[str], agreed: bool):
        self._asked = list(zip(workers, tasks))  # tasks by the names that the session has for them
        self._agreed = agreed  # whether the tasks are to know themselves by these names
        self._found: dict[int, Any] = {}  # devices by place, or the error that has come instead
        self._changed = threading.Condition()
        self._cancels: list[Any] = []
        self._error: Exception | None = None

    def cancel(self, error: Exception) -> None:
        """Ends the wait with an error."""
        with self._changed:
            self._error = self._error or error
            self._changed.notify_all()

    def devices(self, limit: Limit) -> list[Device]:
        """The devices of all, in order."""
        try:
            for i, (worker, _) in enumerate(self._asked):
                cancel = worker.ask_devices(functools.partial(self._answer, i))
                if cancel is not None:
                    self._cancels.append(cancel)
            self._wait(limit)
        finally:
            for cancel in self._cancels:
                cancel()
        out: list[Device] = []
        for i, (worker, task) in enumerate(self._asked):
            found = self._found[i]
            if isinstance(found, Exception):
                raise found
            if self._agreed:
                self._check_agreed(worker.address, task, found)
            out.extend(d.renamed(task) for d in found)
        return out

    @staticmethod
    def _check_agreed(address: str, task: str, devices: list[Device]) -> None:
        for d in devices:
            own = d.name.partition("/device:")[0]
            if own != task:
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    f"The members of the cluster disagree: the cluster of this session has {task} at {address}, but "
                    f"the task that answers there is {own}. Give all tasks the same cluster.",
                )

    def _answer(self, place: int, devices: Any) -> None:
        with self._changed:
            self._found[place] = devices
            self._changed.notify_all()

    def _wait(self, limit: Limit) -> None:
        say_at = time.monotonic() + _SAID_EVERY
        with self._changed:
            while self._error is None:
                left = [asked for i, asked in enumerate(self._asked) if i not in self._found]
                if not left:
                    return
                try:
                    rest = limit.left()
                except errors.DeadlineExceededError:
                    silent = ", ".join(f"{task} at {worker.address}" for worker, task in left)
                    raise limit.error(f" No answer from {silent}.") from None
                now = time.monotonic()
                if now >= say_at:
                    say_at = now + _SAID_EVERY
                    for worker, task in left:
                        _log.warning(
                            "CreateSession still waiting for response from worker: %s (%s)",
                            task,
                            worker.address,
                        )
                pause = say_at - now
                self._changed.wait(pause if rest is None else min(pause, rest))
            raise self._error


@contextlib.contextmanager
def held(lock: Any, limit: Limit) -> Iterator[None]:
    """Holds a lock, if it can be had in time."""
    left = limit.left()
    if not lock.acquire(timeout=-1 if left is None else left):
        raise limit.error()
    try:
        yield
    finally:
        lock.release()
