"""Calls at a later time: one thread for all limits of time, so that a step with a limit costs no thread."""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections.abc import Callable
from typing import Any

from weft.framework import errors


class Alarm:
    """A call that is to be made at a time, unless it is cancelled before."""

    __slots__ = ("_function", "_args")

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...]):
        self._function: Callable[..., Any] | None = function
        self._args = args

    def cancel(self) -> None:
        """Lets go of what was to be called."""
        self._function, self._args = None, ()

    def ring(self) -> None:
        function, args = self._function, self._args
        if function is not None:
            function(*args)


_MANY = 1000  # entries among which cancelled ones are looked for, at the least
_many = _MANY

_changed = threading.Condition()
_waiting: list[tuple[float, int, Alarm]] = []
_numbers = itertools.count()
_thread: threading.Thread | None = None


def after(seconds: float, function: Callable[..., Any], *args: Any) -> Alarm:
    """Calls a function, which must be quick, in some seconds."""
    global _thread, _waiting, _many
    alarm = Alarm(function, args)
    entry = (time.monotonic() + min(seconds, threading.TIMEOUT_MAX), next(_numbers), alarm)
    with _changed:
        if len(_waiting) >= _many:
            _waiting = [e for e in _waiting if e[2]._function is not None]
            heapq.heapify(_waiting)
            _many = max(_MANY, 2 * len(_waiting))
        heapq.heappush(_waiting, entry)
        if _thread is None or not _thread.is_alive():  # a fork has no threads
            _thread = threading.Thread(target=_watch, daemon=True, name="weft-alarm")
            _thread.start()
        elif _waiting[0] is entry:
            _changed.notify()
    return alarm


def _watch() -> None:
    while True:
        with _changed:
            while not _waiting or (left := _waiting[0][0] - time.monotonic()) > 0:
                _changed.wait(left if _waiting else None)
            alarm = heapq.heappop(_waiting)[2]
        alarm.ring()


class Limit:
    """How long something may take, which is counted from now; 0 means as long as it wants."""

    def __init__(self, ms: int):
        self.ms = ms
        # A client may say any number; what waits takes none beyond this.
        seconds = min(ms / 1000, threading.TIMEOUT_MAX)
        self._end = time.monotonic() + seconds if ms > 0 else None

    def left(self) -> float | None:
        """The seconds that are left, or None where there is no limit; raises when there are none."""
        if self._end is None:
            return None
        left = self._end - time.monotonic()
        if left <= 0:
            raise self.error()
        return left

    def left_ms(self) -> int:
        """As `left`, in milliseconds, where 0 stands for no limit."""
        left = self.left()
        return 0 if left is None else max(1, round(left * 1000))

    def error(self, waiting_for: str = "") -> errors.DeadlineExceededError:
        """The error of what has taken longer."""
        text = f"Timed out waiting for notification: the step took more than {self.ms} ms."
        return errors.DeadlineExceededError(None, None, text + waiting_for)

    def alarm(self, cancel: Callable[[Exception], Any]) -> Alarm | None:
        """Has something cancelled with the error once the time is up."""
        left = self.left()
        return None if left is None else after(left, cancel, self.error())
