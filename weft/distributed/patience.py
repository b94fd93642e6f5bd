"""Waiting for a server that does not answer yet: for how long, what is said meanwhile, and when it is in vain."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable

from weft.framework import errors

_log = logging.getLogger("tensorflow")

_SAY_AFTER = 10.0  # seconds, and again each time they have passed
_UNRESOLVED = 30.0  # that a name may remain unknown: the server's machine may not be there yet
_REFUSED = 2.0  # that connections may end as soon as they begin: the server may be starting
_FEW = 3
PAUSE = 0.05
_LEAST = 0.001  # so that time passes

_UNREACHED = ("failed to connect to all addresses", "DNS resolution failed", "empty address list")
_REFUSALS = ("Socket closed", "andshake", "Verification", "verification", "Connection reset")


def never_sent(details: str) -> bool:
    """Whether a call that is "unavailable" has not reached anybody, so that it may be made again."""
    return details.startswith(_UNREACHED)


class Patience:
    """What a caller has with one server."""

    def __init__(
        self,
        who: str,
        shown: str,
        seconds: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ):
        self._who, self._shown = who, shown
        self._clock, self._sleep = clock, sleep
        self._began = self._said = clock()
        self._seconds = seconds
        self._since: dict[str, float] = {}  # when it was for a reason first
        self._refusals = 0

    @property
    def left(self) -> float | None:
        """The seconds that are left; None where there is no limit."""
        if self._seconds is None:
            return None
        return self._began + self._seconds - self._clock()

    def outcome(self, error: errors.OpError) -> errors.OpError:
        """The error of a call, which says who did not answer when the time is up."""
        left = self.left
        if error.error_code != errors.DEADLINE_EXCEEDED or left is None or left > 0:
            return error
        return errors.DeadlineExceededError(
            None, None, f"{self._who} has not answered in {self._seconds:g} seconds."
        )

    def judge(self, details: str) -> str:
        """Why an attempt has failed; raises UnavailableError where another would be in vain."""
        now, most = self._clock(), None
        if "DNS" in details:
            reason, most, why = "unresolved", _UNRESOLVED, "its name cannot be resolved"
        elif any(r in details for r in _REFUSALS):
            self._refusals += 1
            # One address of several may refuse and the other be silent; one refusal may be a server's end.
            reason, most = "refused", _REFUSED if self._refusals >= _FEW else None
            why = f"it ends the connection; it may want other credentials than those shown, {self._shown}"
        else:
            reason, why = "silent", "nothing listens there"
        if now - self._since.setdefault(reason, now) >= (most or math.inf):
            raise errors.UnavailableError(
                None, None, f"{self._who} cannot be reached: {why} ({details})."
            )
        return why

    def wait(self, details: str) -> None:
        """Waits a little after an attempt that has failed; raises what ends the waiting."""
        why, now, left = self.judge(details), self._clock(), self.left
        if left is not None and left <= 0:
            raise errors.DeadlineExceededError(
                None,
                None,
                f"{self._who} could not be reached in {self._seconds:g} seconds: {why} ({details}).",
            )
        if now - self._said >= _SAY_AFTER:
            self._said = now
            _log.warning("Still waiting for %s: %s.", self._who, why)
        self._sleep(PAUSE if left is None else min(PAUSE, left + _LEAST))
