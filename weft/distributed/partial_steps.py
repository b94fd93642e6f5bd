"""Partial runs over the tasks of a cluster, as the master of a session leads them."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from typing import Any

from weft.distributed import wire
from weft.distributed.peers import RemoteWorker
from weft.engine.program import order
from weft.framework import errors
from weft.framework.tensor import Tensor


class PartialStep:
    """A step whose feeds come, and whose fetches are asked for, in several calls."""

    def __init__(self, kind: Any, feeds: list[Tensor], fetches: list[Tensor], pool: Any):
        self.kind, self._pool = kind, pool
        self._feeds = {t: i for i, t in enumerate(feeds)}
        self._fetches = {t: i for i, t in enumerate(fetches)}
        self._fed: dict[Tensor, Any] = {}
        self._fetched: set[Tensor] = set()
        self._id = secrets.randbits(56)
        self._begun = False
        self._calling = threading.Lock()  # one call at a time
        self._lock = threading.Lock()
        self._error: BaseException | None = None
        self._cancels: list[Callable[[], Any]] = []

    @property
    def is_over(self) -> bool:
        """Whether nothing more can be asked of it."""
        complete = len(self._fed) == len(self._feeds) and len(self._fetched) == len(self._fetches)
        return self._error is not None or complete

    def _check(self, feeds: Any, fetches: list[Tensor]) -> None:
        for t in feeds:
            if t not in self._feeds:
                raise _refused(f"The feed {t.name} was not specified in partial_run_setup.")
            if t in self._fed:
                raise _refused(f"The feed {t.name} has already been fed.")
        for t in fetches:
            if t not in self._fetches:
                raise _refused(f"The fetch {t.name} was not specified in partial_run_setup.")
            if t in self._fetched:
                raise _refused(f"The fetch {t.name} has already been fetched.")
        known = {*self._fed, *feeds}
        missing = set(self._feeds) - known
        for t in fetches:
            if t in known:
                continue
            needed = order([t._op], known)
            if any(o in missing for op in needed for o in op._outputs):
                raise _refused(
                    f"Fetch {t.name} can't be computed from the feeds that have been fed so far."
                )

    def advance(
        self, fetches: list[Tensor], feeds: dict[Tensor, Any], graph: Any, told: Any
    ) -> list[Any]:
        """Takes more feeds, and returns the values of some fetches. `told` makes the error of a part."""
        with self._calling:
            self._check(feeds, fetches)
            self._fed.update(feeds)
            self._fetched.update(fetches)
            values = {self._feeds[t]: (v, t.dtype) for t, v in feeds.items()}
            wanted = {self._fetches[t] for t in fetches}
            last = self.is_over
            calls = []
            for part, worker, handle in self.kind.parts:
                given = [(key, *values[i]) for i, key in part.feeds.items() if i in values]
                keys = [key for key, i in part.fetches.items() if i in wanted]
                if last or not self._begun or given or keys:
                    calls.append((part, worker, handle, given, keys))
            self._begun = True
            found = self._call(calls, last, graph, told)
            if last:
                self._forget()
        return [self._fed[t] if t in self._fed else found[self._fetches[t]] for t in fetches]

    def _call(self, calls: list[Any], last: bool, graph: Any, told: Any) -> dict[int, Any]:
        """Makes calls at several workers at a time, and returns fetched values by the fetch's index."""
        found: dict[int, Any] = {}
        done = [threading.Event() for _ in calls]

        def call(n: int) -> None:
            part, worker, handle, given, keys = calls[n]
            try:
                results = worker.advance(handle, self._id, given, keys, last, self._on_failure)
                for key, value in results.items():
                    found[part.fetches[key]] = value
            except errors.OpError as e:
                self.cancel(told(e.error_code, wire.text_of(e), graph, part))
            except BaseException as e:
                self.cancel(e)
            finally:
                done[n].set()

        for n in range(len(calls)):
            self._pool.submit(call, n)
        for event in done:
            event.wait()
        self._cancels.clear()
        if self._error is not None:
            self._forget()
            raise self._error
        return found

    def _on_failure(self, cancel: Callable[[], Any]) -> None:
        with self._lock:
            failed = self._error is not None
            self._cancels.append(cancel)
        if failed:
            cancel()

    def cancel(self, error: BaseException) -> None:
        """Ends the step with an error, everywhere."""
        with self._lock:
            if self._error is not None:
                return
            self._error = error
            cancels = list(self._cancels)
        for cancel in cancels:
            cancel()
        if not self._calling.locked():
            self._forget()

    def _forget(self) -> None:
        """Makes the workers forget the step, which is over."""
        if self._begun:
            for _, worker, _ in self.kind.parts:
                if self._error is not None or isinstance(worker, RemoteWorker):
                    worker.end_step(self._id)


def _refused(message: str) -> errors.OpError:
    return errors.InvalidArgumentError(None, None, message)
