"""Rendezvous: where the tensors of a step that cross from one task to another wait for whoever takes them.

A tensor is known by its key: who sends it, from which life of its device, who receives it, and its name.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from weft.framework import errors


def key_of(
    send_device: str, incarnation: int, recv_device: str, name: str, where: str = "0:0"
) -> str:
    """The key of a tensor, as TensorFlow writes it. `where` in loops it is: the frame's number, and the iteration."""
    return f"{send_device};{incarnation & 0xFFFFFFFFFFFFFFFF:016x};{recv_device};{name};{where}"


class Arrival:
    """A tensor that has come or is to come; an operation waits for it as for a queue."""

    __slots__ = ("done", "value", "error", "on_cancel", "carrier", "_lock", "_wake")

    def __init__(self) -> None:
        self.done = False
        self.value: Any = None
        self.error: Exception | None = None
        self.on_cancel: Callable[[], Any] | None = None
        self.carrier: Any = None  # of the step, where that is what brings it
        self._lock = threading.Lock()
        self._wake: Callable[[], None] | None = None

    def finish(self, value: Any = None, error: Exception | None = None) -> None:
        """The tensor is here, or will not come."""
        with self._lock:
            if self.done:
                return
            self.value, self.error, self.done = value, error, True
            wake = self._wake
        if wake is not None:
            wake()

    def notify(self, wake: Callable[[], None]) -> None:
        """Calls `wake` once the wait is over."""
        with self._lock:
            self._wake = wake
            if not self.done:
                return
        wake()

    def cancel(self, error: Exception | None = None) -> None:
        """Ends the wait with an error: with CancelledError if nothing else is given."""
        if not self.done:
            self.finish(error=error or errors.CancelledError(None, None, "The step was cancelled."))
            if self.on_cancel is not None:
                self.on_cancel()

    def result(self) -> Any:
        """The tensor, once it is here."""
        if self.error is not None:
            raise self.error
        return self.value

    def wait(self) -> Any:
        """Waits for the tensor and returns it."""
        if not self.done:
            here = threading.Event()
            self.notify(here.set)
            here.wait()
        return self.result()


class Rendezvous:
    """The tensors of one step at one task."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._table: dict[str, Arrival] = {}
        self._error: Exception | None = None
        self.has_step = False  # whether the step runs at this task, or has run
        self._ended = False

    def send(self, key: str, value: Any) -> None:
        """Leaves a tensor for its receiver, who may be waiting already."""
        with self._lock:
            waiting = self._table.get(key)
            if waiting is None:
                waiting = self._table[key] = Arrival()
            elif waiting.done and waiting.error is None:
                raise errors.AbortedError(None, None, f"Duplicate send to rendezvous key: {key}")
            else:
                del self._table[key]
        waiting.finish(value)

    def receive(self, key: str) -> Arrival:
        """Takes a tensor, which may be sent later."""
        with self._lock:
            found = self._table.pop(key, None)
            if found is None:
                found = Arrival()
                if self._error is not None:
                    found.finish(error=self._error)
                else:
                    self._table[key] = found
            return found

    def give_up(self, key: str, arrival: Arrival) -> bool:
        """Forgets who waits for a tensor; returns whether nothing is left and no step has come."""
        with self._lock:
            if self._table.get(key) is arrival:
                del self._table[key]
            return not self._table and not self.has_step

    def end(self) -> bool:
        """The step has sent all that it will; returns whether all of it has been taken."""
        self._ended = True
        return self.is_over()

    def is_over(self) -> bool:
        """Whether the step has ended and nothing is left."""
        return self._ended and not self._table

    def abort(self, error: Exception) -> None:
        """Ends all waits, those that begin later too."""
        with self._lock:
            self._error = self._error or error
            waiting = list(self._table.values())
        for arrival in waiting:
            arrival.finish(error=error)
