"""Locks of the graph: what runs between taking one and giving it back runs alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import errors
from weft.framework.registry import op
from weft.ops.queues.handles import held
from weft.ops.queues.waiting import NOT_YET, WaitingRoom


class Mutex(WaitingRoom):
    """A lock that one operation at a time holds."""

    def __init__(self, name: str):
        super().__init__("lock")
        self.name = name
        self.locked = False

    def acquire(self, ctx: Any) -> Any:
        """The lock, once nobody else has it."""

        def attempt() -> Any:
            if self.locked:
                return NOT_YET
            self.locked = True
            lock = Lock(self)
            ctx.step.at_end(lock.release)
            out = np.empty((), object)
            out[()] = lock
            return out

        return self.run(ctx, "lock", attempt, "Lock acquisition cancelled.")

    def release(self) -> None:
        def unlock() -> None:
            self.locked = False

        self.change(unlock)


class Lock:
    """Holding a mutex: until it is given back, or the step has ended without that."""

    def __init__(self, mutex: Mutex):
        self._mutex: Mutex | None = mutex

    def release(self) -> bool:
        """Gives the mutex back; False if that was done before."""
        mutex, self._mutex = self._mutex, None
        if mutex is not None:
            mutex.release()
        return mutex is not None

    def __del__(self) -> None:
        self.release()


@op(
    "MutexV2",
    "-> resource: resource",
    'container: string = ""; shared_name: string = ""',
    stateful=True,
    host=True,
    handle=True,
)
def mutex_v2(ctx, *, container, shared_name):
    """A lock of the session."""
    name = shared_name or ctx.op.name
    return ctx.resources.get_or_create("mutex", container, name, lambda: Mutex(name))


@op("MutexLock", "mutex: resource -> mutex_lock: variant", stateful=True, host=True, blocking=True)
def mutex_lock(ctx, mutex):
    """Takes a lock; waits until nobody else has it."""
    return held(mutex, Mutex).acquire(ctx)


@op("ConsumeMutexLock", "mutex_lock: variant", stateful=True, host=True)
def consume_mutex_lock(ctx, mutex_lock):
    """Gives a lock back."""
    if type(mutex_lock) is np.ndarray and mutex_lock.ndim == 0:
        mutex_lock = mutex_lock.item()
    if not isinstance(mutex_lock, Lock):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Expected input to contain a lock, but saw {type(mutex_lock).__name__}",
        )
    if not mutex_lock.release():
        raise errors.InvalidArgumentError(None, None, "The lock was given back already.")


mutex_v2.shape(lambda: ())
mutex_lock.shape(lambda mutex: ())
for _decl in (mutex_v2, mutex_lock, consume_mutex_lock):
    _decl.not_differentiable()
