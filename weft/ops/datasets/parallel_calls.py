"""Calls of functions that threads make before somebody asks for what they give."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

from weft.ops.datasets.dataset import (
    Dataset,
    Element,
    End,
    Place,
    Run,
    Walk,
    invalid,
)


def workers(count: Any) -> int:
    """How many threads are meant; a negative number leaves it to us."""
    n = int(count)
    if n == 0 or n < -1:
        raise invalid("num_parallel_calls must be greater than zero.")
    return n if n > 0 else max(2, os.cpu_count() or 2)


class _Calls:
    """Calls that threads make, in the order in which they were begun."""

    def __init__(self, call: Callable[[Element], Element], count: int, sloppy: bool):
        self._call, self._count, self._sloppy = call, count, sloppy
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="weft-map")
        self._pending: deque[Future] = deque()
        self._changed = threading.Condition()  # told when a call is done

    def __len__(self) -> int:
        return len(self._pending)

    @property
    def full(self) -> bool:
        """Whether as many run as should at a time."""
        return len(self._pending) >= self._count

    def begin(self, element: Element) -> None:
        call = self._pool.submit(self._call, element)
        self._pending.append(call)
        call.add_done_callback(self._done)

    def add(self, outcome: Element | Exception) -> None:
        """What needs no call: comes in its turn."""
        done: Future = Future()
        if isinstance(outcome, Exception):
            done.set_exception(outcome)
        else:
            done.set_result(outcome)
        self._pending.append(done)

    def take(self, run: Run) -> Element:
        """The result of the first; with `sloppy` of one that is ready, if there is one."""
        with self._changed:
            while True:
                for call in self._pending if self._sloppy else (self._pending[0],):
                    if call.done():
                        self._pending.remove(call)
                        return call.result()
                run.wait(self._changed)

    def _done(self, call: Future) -> None:
        with self._changed:
            self._changed.notify_all()

    def end(self) -> None:
        """No more calls will begin."""
        self._pool.shutdown(wait=False)

    def saved(self, freeze: Callable[[Any], Any]) -> Any:
        """The results of all calls that run; waits for them."""
        wait(self._pending)
        return freeze([f.exception() or f.result() for f in self._pending])

    def restore(self, outcomes: list[Any]) -> None:
        """Has the results of calls that another process made."""
        self._pending.clear()
        for outcome in outcomes:
            self.add(outcome)


def called_ahead(
    run: Run,
    source: Dataset,
    call: Callable[[Element], Element],
    count: int,
    sloppy: bool = False,
) -> Walk:
    """Calls a function for up to `count` elements before they are asked for, by threads.

    `sloppy`: what is ready may overtake what is not.
    """

    def end(at: Place) -> None:
        at.over = True
        at.calls.end()

    def advance(at: Place) -> Element:
        while not at.over and not at.calls.full:
            try:
                at.calls.begin(at.before())
            except End:
                end(at)
            except Exception as e:  # comes in its turn
                at.calls.add(e)
                break
        if not at.calls:
            raise End
        try:
            return at.calls.take(run)
        except End:  # of the function: nothing comes behind it
            end(at)
            at.calls.restore([])
            raise

    at = Place(
        run, source.walk, over=False, calls=_Calls(call, min(count, run.threads or count), sloppy)
    )
    at.before = at.begin()
    return Walk(advance, at)
