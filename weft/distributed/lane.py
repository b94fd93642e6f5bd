"""Lane: what the tasks of a group compute together, one thing after the other and everywhere in the same order.

Tasks may come to their collectives in different orders. So each round begins with everyone telling what is ready;
what is ready everywhere is run, in the order of instance keys. What they tell says also what they ask for: those
who ask for different things get an error that says so, and nobody waits.
"""

from __future__ import annotations

import atexit
import math
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from weft.framework import errors
from weft.runtime.collectives import Members, differ, divided, no_source, two_sources

_SLOTS = 16  # how many instances a task may tell of in a round
_DIMS = 10
_WIDTH = 7 + _DIMS
_KINDS = ("Reduce", "Gather", "Broadcast")
_MERGES = ("Add", "Mul", "Min", "Max")
_FINALS = ("Id", "Div")
_TYPES = tuple(np.dtype(t) for t in ("float32", "float16", "float64", "int32", "int64"))
_HERE = np.zeros(1, np.int32)
_SMALL = 1 << 16  # bytes; what is smaller travels together
_WATCH = (
    2.0  # seconds: how long the others are waited for before they are asked whether they are there
)
_PATIENCE = 0.02  # seconds: the longest pause between rounds that have found nothing in common


class _Said:
    """What a task has told of an instance."""

    def __init__(self, row: np.ndarray, device: str):
        kind, dtype, merge, final, source, rank = (int(n) for n in row[1:7])
        self.device, self.is_source = device, bool(source)
        self.kind, self.merge, self.final = _KINDS[kind], _MERGES[merge], _FINALS[final]
        self.dtype = _TYPES[dtype]
        self.shape = tuple(int(n) for n in row[7 : 7 + min(rank, _DIMS)])

    @property
    def asked(self) -> tuple[Any, ...]:
        return self.kind, self.dtype, self.shape, self.merge, self.final


def _row(request: Any) -> list[int]:
    dims = list(request.shape)
    if len(dims) > _DIMS:  # the rest as one
        dims[_DIMS - 1 :] = [math.prod(dims[_DIMS - 1 :])]
    row = [
        request.instance_key + 1,  # 0 is no instance
        _KINDS.index(request.kind),
        _TYPES.index(request.dtype),
        _MERGES.index(request.merge),
        _FINALS.index(request.final),
        request.is_source,
        len(dims),
        *dims,
    ]
    return row + [0] * (_WIDTH - len(row))


class _Entry:
    """What this task gives to an instance."""

    __slots__ = ("request", "value", "done")

    def __init__(self, request: Any, value: Any, done: Callable[[Any, Exception | None], None]):
        self.request, self.value, self.done = request, value, done


_open: weakref.WeakSet[Lane] = weakref.WeakSet()


@atexit.register
def _end_all() -> None:
    for lane in list(_open):
        lane.end(1.0)


class Lane:
    """This task's end of the way between the tasks of a group. `connect()` gives the `Clique`; `greet(task)` fails
    if a task is not there."""

    def __init__(
        self,
        members: Members,
        task: str,
        connect: Callable[[], Any],
        greet: Callable[[str], Any],
    ):
        self._members, self._task, self._greet = members, task, greet
        self._processes = members.processes
        # Who speaks for a task where one is named.
        self._speakers = [
            next(d for d, t in zip(members.devices, members.tasks) if t == p)
            for p in self._processes
        ]
        self._changed = threading.Condition()
        self._waiting: list[_Entry] = []
        self._running: list[_Entry] = []
        self._ran: dict[int, int] = {}  # how often an instance has run
        self._error: Exception | None = None
        self._busy_since = 0.0  # when the others began to be waited for
        self._closed = threading.Event()
        self._threads: list[threading.Thread] = []
        self._start(self._work, connect)
        _open.add(self)

    def _start(self, function: Callable, *args: Any) -> None:
        thread = threading.Thread(target=function, args=args, daemon=True, name="weft-collectives")
        self._threads.append(thread)
        thread.start()

    def end(self, seconds: float) -> None:
        """Ends the lane, and waits so long for its threads: one that is caught in XLA by the end of Python would
        take the process with it."""
        self.close()
        for thread in self._threads:
            thread.join(seconds)

    def submit(
        self, request: Any, value: Any, done: Callable[[Any, Exception | None], None]
    ) -> Callable[[], None]:
        """Adds what this task gives to an instance; `done(value, error)` is called when it has run. Returns a
        function that takes it back, if it has not begun."""
        entry = _Entry(request, value, done)
        with self._changed:
            error = self._error
            if error is None:
                self._waiting.append(entry)
                self._changed.notify()
        if error is not None:
            done(None, error)
        return lambda: self._withdraw(entry)

    def _withdraw(self, entry: _Entry) -> None:
        with self._changed:
            self._waiting = [e for e in self._waiting if e is not entry]

    def close(self) -> None:
        """Ends the lane."""
        self._fail(errors.CancelledError(None, None, "The task has left its group."))

    def _lost(self, why: str) -> None:
        self._fail(self._unavailable(why))

    def _unavailable(self, why: str) -> errors.OpError:
        others = ", ".join(p for p in self._processes if p != self._task)
        return errors.UnavailableError(
            None,
            None,
            f"{self._task} has lost a member of its group of {len(self._members.devices)} (the others are at "
            f"{others}): {why}",
        )

    def _fail(self, error: Exception) -> None:
        with self._changed:
            if self._error is not None:
                return
            self._error = error
            self._closed.set()
            waiting, self._waiting = self._waiting, []
            self._running, running = [], self._running
            self._changed.notify()
        for entry in [*running, *waiting]:
            entry.done(None, error)

    # -- the thread that goes round --------------------------------------------------------------------

    def _work(self, connect: Callable[[], Any]) -> None:
        self._busy_since = time.monotonic()
        self._start(self._watch)
        try:
            self._clique = connect()
            self._busy_since = 0.0
            pause = 0.0
            while True:
                if not self._wait(pause):
                    return
                self._busy_since = time.monotonic()
                # Here the others are waited for, however long it takes: what is told comes after that.
                self._clique.run("Each", _HERE)
                pause = 0.0 if self._round() else min(_PATIENCE, 2 * pause + 0.0005)
                self._busy_since = 0.0
        except Exception as e:
            self._lost(_first_lines(e))
        finally:
            self._clique = None

    def _watch(self) -> None:
        """Sees to it that nobody is waited for who is gone: a connection may outlive who was at its other end."""
        while self._error is None:
            self._closed.wait(_WATCH)
            since = self._busy_since
            if not since or time.monotonic() - since < _WATCH:
                continue
            for task in self._processes:
                if task != self._task and self._error is None:
                    try:
                        self._greet(task)
                    except errors.OpError as e:
                        self._lost(f"{task} does not answer: {e.message}")

    def _wait(self, pause: float) -> bool:
        """Returns once something is ready; False when the lane is closed."""
        with self._changed:
            if pause and self._error is None:
                self._changed.wait(pause)
            while self._error is None and not self._ready():
                self._changed.wait()
            return self._error is None

    def _ready(self) -> list[_Entry]:
        """What may run, at most a round's worth; the caller holds the lock."""
        ready: dict[int, _Entry] = {}
        for entry in self._waiting:
            if self._may_run(entry.request):
                ready.setdefault(entry.request.instance_key, entry)
        return [ready[key] for key in sorted(ready)[:_SLOTS]]

    def _may_run(self, request: Any) -> bool:
        """Whether those that must run before have run as often as this one is to have run."""
        ran = self._ran.get(request.instance_key, 0)
        return all(self._ran.get(before, 0) > ran for before in request.wait_for)

    def _round(self) -> bool:
        """Tells what is ready, and runs what is ready everywhere; returns whether anything was."""
        with self._changed:
            ready = self._ready()
        table = np.zeros((_SLOTS, _WIDTH), np.int64)
        for row, entry in zip(table, ready):
            row[:] = _row(entry.request)
        told = self._clique.run("Each", table)
        said: list[dict[int, _Said]] = [
            {int(row[0]) - 1: _Said(row, who) for row in rows if row[0]}
            for rows, who in zip(told, self._speakers)
        ]
        common = [e for e in ready if all(e.request.instance_key in s for s in said)]
        if not common:
            return False
        with self._changed:
            if self._error is not None:
                return False
            self._waiting = [e for e in self._waiting if all(e is not c for c in common)]
            self._running = list(common)
        agreed = []
        for entry in common:
            instance = entry.request.instance_key
            self._ran[instance] = self._ran.get(instance, 0) + 1
            error = self._disagreement(instance, [s[instance] for s in said])
            if error is None:
                agreed.append(entry)
            else:
                self._end(entry, None, error)
        self._run_all(agreed)
        return True

    @staticmethod
    def _disagreement(instance: int, said: list[_Said]) -> errors.OpError | None:
        for other in said[1:]:
            if other.asked != said[0].asked:
                return differ(instance, said[0], other)
        if said[0].kind == "Broadcast":
            sources = [s.device for s in said if s.is_source]
            if not sources:
                return no_source(instance, len(said))
            if len(sources) > 1:
                return two_sources(instance, sources[0], sources[1])
        return None

    def _run_all(self, entries: list[_Entry]) -> None:
        small: dict[Any, list[_Entry]] = {}
        for entry in entries:
            value, how = _prepared(entry)
            entry.value = value
            if value.nbytes <= _SMALL:
                small.setdefault((how, value.dtype), []).append(entry)
            else:
                self._end(entry, self._clique.run(how, value), None)
        for (how, dtype), group in small.items():
            # Sizes are rounded up, so that few programs are compiled whatever comes together.
            total = sum(e.value.size for e in group)
            buffer = np.zeros(max(16, 1 << (total - 1).bit_length()) if total else 16, dtype)
            np.concatenate([e.value.ravel() for e in group], out=buffer[:total])
            result = self._clique.run(how, buffer)
            at = 0
            for entry in group:
                end = at + entry.value.size
                self._end(entry, result[at:end].reshape(entry.value.shape), None)
                at = end

    def _end(self, entry: _Entry, value: Any, error: Exception | None) -> None:
        with self._changed:
            if entry not in self._running:  # it has failed in the meantime
                return
            self._running.remove(entry)
        if error is None:
            value = _finished(entry.request, value)
        entry.done(value, error)


_BITS = {2: np.int16, 4: np.int32, 8: np.int64}


def _prepared(entry: _Entry) -> tuple[np.ndarray, str]:
    """The array that a task gives, and how arrays are combined. Where all but one have nothing to give, bits are
    added up: that changes none of them."""
    request, value = entry.request, entry.value
    if request.kind == "Reduce":
        return np.asarray(value), request.merge
    if value is None:
        value = np.zeros(request.shape, request.dtype)
    return np.ascontiguousarray(value).view(_BITS[request.dtype.itemsize]).reshape(
        value.shape
    ), "Add"


def _finished(request: Any, value: np.ndarray) -> np.ndarray:
    return divided(value, request) if request.kind == "Reduce" else value.view(request.dtype)


def _first_lines(error: Exception) -> str:
    return str(error).split("\n")[0][:500]
