"""What is seen of a cluster: the lines of its tasks, each in the task's colour, and on a terminal a line below
them that tells how far training is."""

from __future__ import annotations

import re
import sys
import threading
import time
from typing import Any

_COLOURS = (36, 33, 35, 32, 34, 31)  # of a terminal
_REFRESH = 0.5  # seconds
_RATE = re.compile(r"global_step/sec:\s*([\d.]+)")
_STEP = re.compile(r"\b(?:global[_ ]?)?step\b\s*[:=]?\s*(\d+)", re.IGNORECASE)
_WINDOW = 10.0  # seconds over which steps are counted where nobody tells their rate


class Progress:
    """How far training is, read from what the tasks say."""

    def __init__(self) -> None:
        self.step = -1
        self.rate: float | None = None
        self._told = False  # whether a task tells the rate
        self._seen: list[tuple[float, int]] = []

    def read(self, text: str, now: float) -> None:
        """Takes a line of a task."""
        rate = _RATE.search(text)
        if rate is not None:
            self.rate, self._told = float(rate.group(1)), True
            return
        found = _STEP.search(text)
        if found is None or int(found.group(1)) <= self.step:
            return
        self.step = int(found.group(1))
        self._seen = [(t, s) for t, s in self._seen if now - t <= _WINDOW] + [(now, self.step)]
        (since, first), (last, _) = self._seen[0], self._seen[-1]
        if not self._told and last - since > 0.5:
            self.rate = (self.step - first) / (last - since)


class Console:
    """Writes the lines of tasks in one piece each, so that they do not mix."""

    def __init__(self, names: list[str], out: Any = None):
        self._out = out if out is not None else sys.stdout
        self._terminal = self._out.isatty()
        self._prefixes = {}
        for i, name in enumerate(names):
            prefix = f"[{name}] "
            if self._terminal:
                prefix = f"\x1b[{_COLOURS[i % len(_COLOURS)]}m{prefix}\x1b[0m"
            self._prefixes[name] = prefix
        self._lock = threading.Lock()
        self._progress = Progress()
        self._running: set[str] = set()
        self._restarts = 0
        self._began = time.monotonic()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Console:
        if self._terminal:
            self._thread = threading.Thread(target=self._refresh, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
            with self._lock:
                self._write("")

    def line(self, name: str, text: str) -> None:
        """Writes a line of a task."""
        with self._lock:
            self._progress.read(text, time.monotonic())
            self._write(f"{self._prefixes[name]}{text}\n")

    def note(self, text: str) -> None:
        """Writes what is said of the cluster itself, on the error stream."""
        with self._lock:
            if self._terminal:
                self._write("")
            print(f"weft launch: {text}", file=sys.stderr, flush=True)

    def started(self, name: str, again: bool) -> None:
        """A task runs."""
        with self._lock:
            self._running.add(name)
            self._restarts += again

    def ended(self, name: str) -> None:
        """A task does not run any more."""
        with self._lock:
            self._running.discard(name)

    # -- the line at the bottom ------------------------------------------------------------------------

    def _refresh(self) -> None:
        while not self._ended.wait(_REFRESH):
            with self._lock:
                self._write("", self._status())

    def _write(self, text: str, below: str = "") -> None:
        # A line is wiped before anything else comes in its place.
        self._out.write(f"\r\x1b[K{text}{below}" if self._terminal else text)
        self._out.flush()

    def _status(self) -> str:
        parts = [f"{len(self._running)}/{len(self._prefixes)} tasks"]
        if self._progress.step >= 0:
            parts.append(f"step {self._progress.step:,}")
        if self._progress.rate is not None:
            parts.append(f"{self._progress.rate:,.1f} steps/s")
        if self._restarts:
            parts.append(f"{self._restarts} restarted")
        seconds = int(time.monotonic() - self._began)
        parts.append(f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}")
        return "\x1b[1m" + " · ".join(parts) + "\x1b[0m"
