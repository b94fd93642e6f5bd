"""Waiting: an operation that cannot go on yet leaves an attempt with the resource, which makes it once it can.

Whoever changes a resource makes the attempts that have become possible, in the order in which they came, and
wakes their owners. So nothing polls, nobody is overtaken, and a step that has other work may do it meanwhile.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from weft.framework import errors

NOT_YET = object()  # an attempt's answer: nothing was possible
PROGRESS = object()  # something was done, but not all of it


class Waiting:
    """An operation that waits for a resource. An attempt with a method `undo` gives back what it had taken."""

    __slots__ = ("room", "lane", "attempt", "cancelled", "done", "value", "error", "_wake")

    def __init__(self, room: WaitingRoom, lane: Any, attempt: Callable[[], Any], cancelled: str):
        self.room, self.lane, self.attempt, self.cancelled = room, lane, attempt, cancelled
        self.done = False
        self.value: Any = None
        self.error: Exception | None = None
        self._wake: Callable[[], None] | None = None

    def finish(self, value: Any = None, error: Exception | None = None) -> None:
        """Ends the wait; the caller holds the lock of the room."""
        self.value, self.error, self.done = value, error, True
        if self._wake is not None:
            self._wake()

    def notify(self, wake: Callable[[], None]) -> None:
        """Calls `wake` once the wait is over."""
        with self.room.lock:
            self._wake = wake
            if self.done:
                wake()

    def cancel(self, error: Exception | None = None) -> None:
        """Ends the wait with an error: with CancelledError if nothing else is given."""
        with self.room.lock:
            if self.done:
                return
            self.room.leave(self)
            undo = getattr(self.attempt, "undo", None)
            if undo is not None:
                undo()
            if error is None or isinstance(error, errors.CancelledError):
                error = errors.CancelledError(None, None, self.cancelled)
            self.finish(error=error)
            self.room.go_round()

    def result(self) -> Any:
        """What the attempt gave, once it is done."""
        if self.error is not None:
            raise self.error
        return self.value


class WaitingRoom:
    """A resource that operations wait for. In each lane only the first in line is tried."""

    def __init__(self, *lanes: str):
        self.lock = threading.RLock()
        self.lanes: dict[Any, deque[Waiting]] = {lane: deque() for lane in lanes}
        self._lasting = frozenset(lanes)  # other lanes come and go with those who wait in them

    def run(self, ctx: Any, lane: Any, attempt: Callable[[], Any], cancelled: str) -> Any:
        """The result of an attempt: at once where that is possible, else when others have made it so."""
        with self.lock:
            answer = NOT_YET
            if not self.lanes.get(lane):
                try:
                    answer = attempt()
                finally:
                    if (
                        answer is not NOT_YET
                        and answer is not PROGRESS
                        and any(self.lanes.values())
                    ):
                        self.go_round()
                if answer is not NOT_YET and answer is not PROGRESS:
                    return answer
            waiting = Waiting(self, lane, attempt, cancelled)
            self.lanes.setdefault(lane, deque()).append(waiting)
            if answer is PROGRESS:
                self.go_round()
        return ctx.wait(waiting)

    def change(self, change: Callable[[], Any]) -> Any:
        """Makes a change that nothing stands in the way of, then what it has made possible."""
        with self.lock:
            result = change()
            self.go_round()
            return result

    def go_round(self) -> None:
        """Makes every attempt that has become possible; the caller holds the lock."""
        changed = True
        while changed:
            changed = False
            for lane in list(self.lanes.values()):
                while lane:
                    first = lane[0]
                    try:
                        answer = first.attempt()
                    except Exception as e:
                        lane.popleft()
                        first.finish(error=e)
                        changed = True
                        continue
                    if answer is NOT_YET:
                        break
                    changed = True
                    if answer is PROGRESS:
                        break
                    lane.popleft()
                    first.finish(answer)
        self._tidy()

    def _tidy(self) -> None:
        if len(self.lanes) > len(self._lasting):
            for name in [n for n, lane in self.lanes.items() if not lane]:
                if name not in self._lasting:
                    del self.lanes[name]

    def leave(self, waiting: Waiting) -> None:
        """Takes somebody out of line; the caller holds the lock."""
        self.lanes[waiting.lane].remove(waiting)

    def cancel(self, *lanes: Any) -> None:
        """Ends all waits of some lanes."""
        with self.lock:
            for lane in lanes:
                for waiting in list(self.lanes.get(lane, ())):
                    waiting.cancel()

    def cancel_all(self) -> None:
        """Ends all waits: the session is closing."""
        self.cancel(*list(self.lanes))


def wait_for_one(waitings: Iterable[Waiting]) -> None:
    """Returns once one of several waits is over."""
    waitings = list(waitings)
    woken = threading.Event()
    try:
        for waiting in waitings:
            waiting.notify(woken.set)
        while not any(waiting.done for waiting in waitings):
            woken.wait()
            woken.clear()
    except BaseException:  # Ctrl-C
        for waiting in waitings:
            waiting.cancel()
        raise
