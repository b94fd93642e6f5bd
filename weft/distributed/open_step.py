"""Steps that are run in parts: a worker's part of one stays open between the calls of its master, which bring
feeds and take fetches."""

from __future__ import annotations

import threading
from typing import Any

from weft.framework import errors
from weft.runtime import executor
from weft.runtime.rendezvous import Rendezvous


class OpenStep:
    """One task's part of such a step: it runs in a thread of its own, as far as what has been fed allows."""

    def __init__(self, step: executor.Step, plan: Any, rendezvous: Rendezvous, pool: Any):
        self.step, self.rendezvous = step, rendezvous
        self._error: BaseException | None = None
        self._ended = threading.Event()
        pool.submit(self._run, plan)

    def _run(self, plan: Any) -> None:
        try:
            executor.run(self.step.extra["part"], plan, [], None, None, self.step)
        except BaseException as e:
            self._error = e
            self.rendezvous.abort(_as_error(e))
        finally:
            self._ended.set()

    def advance(self, feeds: dict[str, Any], keys: list[str]) -> dict[str, Any]:
        """Takes more feeds, and returns what is asked for, once it is there."""
        for key, value in feeds.items():
            self.rendezvous.send(key, value)
        arrivals = [self.rendezvous.receive(key) for key in keys]
        for arrival in arrivals:
            self.step.holds(arrival)
        return {key: arrival.wait() for key, arrival in zip(keys, arrivals)}

    def finish(self) -> None:
        """Waits for the end of the part; raises the error that it ended with."""
        self._ended.wait()
        if self._error is not None:
            raise self._error


def _as_error(error: BaseException) -> errors.OpError:
    if isinstance(error, errors.OpError):
        return error
    return errors.InternalError(None, None, f"{type(error).__name__}: {error}")
