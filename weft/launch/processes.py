"""A task that is a process of this machine."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import threading
from typing import IO, Any

from weft.launch.console import Console

LAUNCHER = "WEFT_LAUNCHER"  # in the environment of a task: the process that it ends with


class Process:
    """A task that runs, and whose output is passed on line by line. It may be started again."""

    def __init__(
        self,
        job: str,
        index: int,
        command: list[str],
        environment: dict[str, str],
        console: Console,
    ):
        self.job, self.name = job, f"{job}:{index}"
        self._command = command
        self._environment = dict(environment, **{LAUNCHER: str(os.getpid())})
        self._console = console
        self._process: subprocess.Popen | None = None
        self._thread: threading.Thread | None = None

    def start(self, ended: queue.SimpleQueue[Any]) -> None:
        """Starts it; `ended` is told of its end, with the exit status."""
        # A group of its own: Ctrl-C comes to us, and we end the task with all that it has started.
        process = self._process = subprocess.Popen(
            self._command,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        reader = threading.Thread(target=self._read, args=(process,), daemon=True)
        reader.start()
        self._thread = threading.Thread(
            target=self._follow, args=(process, reader, ended), daemon=True
        )
        self._thread.start()

    def _read(self, process: subprocess.Popen) -> None:
        output: IO[bytes] = process.stdout  # type: ignore[assignment]
        for line in output:
            self._console.line(self.name, line.decode(errors="replace").rstrip("\r\n"))

    def _follow(
        self,
        process: subprocess.Popen,
        reader: threading.Thread,
        ended: queue.SimpleQueue[Any],
    ) -> None:
        code = process.wait()
        self._signal_all(signal.SIGKILL)  # what it has left behind, which may hold its output open
        reader.join()
        ended.put((self, code if code >= 0 else 128 - code))

    def _signal_all(self, number: int) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    def signal(self, number: int) -> None:
        """Sends a signal to the task and to what it has started."""
        if self._process is not None and self._process.poll() is None:
            self._signal_all(number)

    def wait(self, seconds: float) -> bool:
        """Waits for its end; returns whether it has come."""
        if self._process is None:
            return True
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def close(self) -> None:
        """Ends it at once, with all that it has started and left behind."""
        self._signal_all(signal.SIGKILL)
        if self._process is not None:
            self._process.wait()
        if self._thread is not None:
            self._thread.join(1.0)
