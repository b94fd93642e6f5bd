"""Watches over the tasks of a cluster: starts again what fails, and ends all when the work is done or one has
failed for good."""

from __future__ import annotations

import queue
import signal
import time
from collections.abc import Sequence
from typing import Any, Protocol

from weft.launch.console import Console

_PATIENCE = 5.0  # seconds that a task has to end when it is asked to
_MORE_PATIENCE = 2.0  # when it is told to
_PAUSE = 1.0  # before a task that has failed is started again


MOVED = None  # in place of an exit status: the task was ended because another has a new address


class Task(Protocol):
    """What is watched over."""

    job: str
    name: str

    def start(self, ended: queue.SimpleQueue[Any]) -> None: ...
    def signal(self, number: int) -> None: ...
    def wait(self, seconds: float) -> bool: ...
    def close(self) -> None: ...


class Interrupted(BaseException):
    """A signal has come that ends everything."""

    def __init__(self, number: int):
        self.number = number


def _interrupt(number: int, frame: Any) -> None:
    raise Interrupted(number)


def supervise(tasks: Sequence[Task], restarts: int, console: Console) -> int:
    """Runs tasks until all that work have ended; returns the exit status. Parameter servers do not end by
    themselves: they are waited for where there is nothing else."""
    before = {n: signal.signal(n, _interrupt) for n in (signal.SIGINT, signal.SIGTERM)}
    first = signal.SIGTERM
    try:
        return _run(tasks, restarts, console)
    except Interrupted as e:
        first = signal.Signals(e.number)
        return 128 + e.number
    finally:
        _end(tasks, first)
        for number, handler in before.items():
            signal.signal(number, handler)


def _run(tasks: Sequence[Task], restarts: int, console: Console) -> int:
    ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
    working = {t.name for t in tasks if t.job != "ps"} or {t.name for t in tasks}
    for task in tasks:
        task.start(ended)
        console.started(task.name, False)
    while working:
        task, code = _next(ended)
        console.ended(task.name)
        if code == 0:
            working.discard(task.name)
            continue
        if code is not MOVED:
            if restarts <= 0:
                console.note(f"{task.name} has ended with {code}")
                return code
            restarts -= 1
            console.note(
                f"{task.name} has ended with {code} and is started again ({restarts} left)"
            )
            time.sleep(_PAUSE)
        task.start(ended)
        console.started(task.name, True)
    return 0


def _next(ended: queue.SimpleQueue[Any]) -> Any:
    while True:
        try:
            # With a limit: a wait without one cannot be interrupted everywhere.
            return ended.get(timeout=1.0)
        except queue.Empty:
            pass


def _end(tasks: Sequence[Task], first: signal.Signals) -> None:
    """Ends tasks: they are asked, then told, then made to. Another Ctrl-C makes them at once."""
    try:
        for number, seconds in ((first, _PATIENCE), (signal.SIGTERM, _MORE_PATIENCE)):
            for task in tasks:
                # Who serves has nothing to save, and would only show where it was.
                task.signal(signal.SIGTERM if task.job == "ps" else number)
            deadline = time.monotonic() + seconds
            if all(t.wait(max(0.0, deadline - time.monotonic())) for t in tasks):
                break
    except Interrupted:
        pass
    finally:
        for task in tasks:
            task.close()
