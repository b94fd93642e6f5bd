"""Signs of life: a link ends with the process at its other end, but a process that is frozen ends nothing.

gRPC asks a silent host for a sign of life, and gives it up when none comes. What uses a link for as long as that asks
the task at the other end through gRPC.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from weft.distributed import rpc
from weft.framework import errors
from weft.runtime import alarm

_lock = threading.Lock()
_in_use: dict[Any, float] = {}  # what uses links, and since when
_armed = False


def begin(user: Any) -> None:
    """Something begins to wait for others. Its `asked()` gives who they are, and what asks each of them; its
    `gone(error)` is called when one of these has failed."""
    global _armed
    with _lock:
        _in_use[user] = time.monotonic()
        if not _armed:
            seconds = rpc.silence_seconds()
            if seconds > 0:
                _armed = True
                alarm.after(seconds, _round)


def end(user: Any) -> None:
    """It waits no more."""
    with _lock:
        _in_use.pop(user, None)


def _round() -> None:
    global _armed
    seconds = rpc.silence_seconds()
    before = time.monotonic() - seconds
    with _lock:
        late = [user for user, since in _in_use.items() if since < before]
        for user in late:
            _in_use[user] = float("inf")  # it is being asked
    for user in late:
        rpc.pool.submit(_ask, user)
    with _lock:
        _armed = bool(_in_use)
        if _armed:
            alarm.after(seconds, _round)


def _ask(user: Any) -> None:
    for task, greet in user.asked():
        try:
            greet(0)
        except errors.OpError as e:
            text = f"{task} does not answer: {e.message}"
            user.gone(errors.UnavailableError(None, None, text))
            return
    with _lock:
        if user in _in_use:
            _in_use[user] = time.monotonic()
