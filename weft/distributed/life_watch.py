"""Watching whether tasks live, while a step waits for them that would not notice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.runtime.alarm import Alarm, after


class LifeWatch:
    """Asks some workers for signs of life, again and again until it is cancelled.

    Most steps are over before the first time: then an alarm was set and taken back, and nothing was asked.
    """

    def __init__(
        self, seconds: float, parts: list[tuple[Any, Any]], gone: Callable[[Any, Any], Any]
    ):
        self._seconds = seconds
        self._parts = parts  # with the worker of each
        self._gone = gone  # is called with a part whose worker is gone, and the error that shows it
        self._cancels: dict[Any, Callable[[], Any]] = {}
        self._over = False
        self._alarm: Alarm | None = after(seconds, self._ask_all)

    def cancel(self) -> None:
        """Ends the watch."""
        self._over = True
        alarm, self._alarm = self._alarm, None
        if alarm is not None:
            alarm.cancel()
        for cancel in list(self._cancels.values()):
            cancel()

    def _ask_all(self) -> None:
        for part, worker in self._parts:
            self._ask(part, worker)

    def _ask(self, part: Any, worker: Any) -> None:
        if not self._over:
            self._cancels[part] = worker.ask_for_life(
                lambda: after(self._seconds, self._ask, part, worker),
                lambda e: self._over or self._gone(part, e),
            )
            if self._over:
                self._cancels[part]()
