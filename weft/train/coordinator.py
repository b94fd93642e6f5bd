"""Threads that stop together: the coordinator, and threads that do something again and again."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn

from weft.framework import errors
from weft.framework.export import export
from weft.platform import tf_logging as logging


def _raise_again(info: Any) -> NoReturn:
    raise info[1].with_traceback(info[2])


@export("train.Coordinator")
class Coordinator:
    """Tells threads to stop, waits for them, and keeps the first error that one of them reported.

    Errors of the `clean_stop_exception_types` end the work as planned; by default that is OutOfRangeError, with
    which queues tell that their input is used up.
    """

    def __init__(self, clean_stop_exception_types: Iterable[type] | None = None):
        if clean_stop_exception_types is None:
            clean_stop_exception_types = (errors.OutOfRangeError,)
        self._clean_stop_exception_types = tuple(clean_stop_exception_types)
        self._lock = threading.Lock()
        self._stop_event = threading.Event()
        self._exc_info_to_raise: Any = None
        self._joined = False
        self._registered_threads: set[Any] = set()

    def _filter_exception(self, ex: Any) -> Any:
        error = ex[1] if isinstance(ex, tuple) else ex
        return None if isinstance(error, self._clean_stop_exception_types) else ex

    def request_stop(self, ex: Any = None) -> None:
        """Tells the threads to stop; `join` will raise `ex`, an exception or a tuple of `sys.exc_info()`.

        An exception has to be the one that is being handled. After `join` it is raised here.
        """
        with self._lock:
            ex = self._filter_exception(ex)
            info = ex if isinstance(ex, tuple) else sys.exc_info()
            if self._joined and ex is not None:
                _raise_again(info)
            if self._stop_event.is_set():
                return
            if ex is not None and self._exc_info_to_raise is None:
                if len(info) != 3 or not info[0] or not info[1]:
                    try:
                        raise ValueError(
                            "ex must be a tuple or sys.exc_info must return the current exception: "
                            f"{info}"
                        )
                    except ValueError:
                        info = sys.exc_info()
                logging.info("Error reported to Coordinator: %s, %s", info[0], info[1])
                self._exc_info_to_raise = info
            self._stop_event.set()

    def clear_stop(self) -> None:
        """Forgets that a stop was asked for, and the error."""
        with self._lock:
            self._joined = False
            self._exc_info_to_raise = None
            self._stop_event.clear()

    def should_stop(self) -> bool:
        """Whether a stop was asked for."""
        return self._stop_event.is_set()

    @contextlib.contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """A context in which an exception asks for a stop, and is kept for `join`."""
        try:
            yield
        except BaseException:
            self.request_stop(ex=sys.exc_info())

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Waits until a stop is asked for, or for `timeout` seconds; tells whether it was."""
        return self._stop_event.wait(timeout)

    def register_thread(self, thread: Any) -> None:
        """Adds a thread to those that `join` waits for."""
        with self._lock:
            self._registered_threads.add(thread)

    def join(
        self,
        threads: Iterable[Any] | None = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Waits for threads, and raises the error that one of them has reported.

        Once a stop is asked for they have `stop_grace_period_secs` seconds; RuntimeError tells of those that are
        alive after that, unless `ignore_live_threads` is set.
        """
        with self._lock:
            waited_for = list(self._registered_threads.union(threads or ()))
        while any(t.is_alive() for t in waited_for) and not self.wait_for_stop(0.1):
            pass
        deadline = time.monotonic() + stop_grace_period_secs
        for thread in waited_for:
            while thread.is_alive() and time.monotonic() < deadline:
                _join(thread, min(0.1, deadline - time.monotonic()))
        alive = [t.name for t in waited_for if t.is_alive()]
        with self._lock:
            self._joined = True
            self._registered_threads = set()
            if self._exc_info_to_raise:
                _raise_again(self._exc_info_to_raise)
            if alive:
                message = f"Coordinator stopped with threads still running: {' '.join(alive)}"
                if not ignore_live_threads:
                    raise RuntimeError(message)
                logging.info(message)

    @property
    def joined(self) -> bool:
        """Whether `join` has ended."""
        return self._joined

    def raise_requested_exception(self) -> None:
        """Raises the error that was reported, if there is one."""
        with self._lock:
            if self._exc_info_to_raise:
                _raise_again(self._exc_info_to_raise)


def _join(thread: Any, timeout: float) -> None:
    try:
        thread.join(max(timeout, 0.0))
    except RuntimeError:  # not to be joined: it is the one that calls
        time.sleep(0.001)


@export("train.LooperThread")
class LooperThread(threading.Thread):
    """A thread that calls `target`, or its method `run_loop`, until its coordinator tells it to stop.

    With `timer_interval_secs` it does so once in each interval, else again and again. An exception ends it and
    is reported to the coordinator.
    """

    def __init__(
        self,
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable | None = None,
        args: Any = None,
        kwargs: Any = None,
    ):
        if not isinstance(coord, Coordinator):
            raise ValueError(f"'coord' argument must be a Coordinator: {coord}")
        super().__init__()
        self.daemon = True
        self._coord = coord
        self._timer_interval_secs = timer_interval_secs
        if target is None and (args or kwargs):
            raise ValueError("'args' and 'kwargs' argument require that you also pass 'target'")
        self._call = target
        self._call_args, self._call_kwargs = args or (), kwargs or {}
        self._coord.register_thread(self)

    @staticmethod
    def loop(
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable,
        args: Any = None,
        kwargs: Any = None,
    ) -> LooperThread:
        """Starts a thread that calls a function again and again."""
        looper = LooperThread(coord, timer_interval_secs, target=target, args=args, kwargs=kwargs)
        looper.start()
        return looper

    def isAlive(self) -> bool:
        """Whether the thread runs."""
        return self.is_alive()

    def run(self) -> None:
        with self._coord.stop_on_exception():
            self.start_loop()
            if self._timer_interval_secs is None:
                while not self._coord.should_stop():
                    self.run_loop()
            else:
                # Times are counted from the start, so that what a call takes does not add up.
                next_time = time.time()
                while not self._coord.wait_for_stop(next_time - time.time()):
                    next_time += self._timer_interval_secs
                    self.run_loop()
            self.stop_loop()

    def start_loop(self) -> None:
        """Called when the thread starts."""

    def stop_loop(self) -> None:
        """Called when the thread was told to stop."""

    def run_loop(self) -> None:
        """Called again and again."""
        if self._call is not None:
            self._call(*self._call_args, **self._call_kwargs)
