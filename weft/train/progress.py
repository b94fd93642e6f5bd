"""How far a training has come: a bar on the terminal, with steps per second and the time that is left.

Only where standard error is a terminal; in a log the lines of `StepCounterHook` tell. The bar makes way for whatever
the program prints, and leaves nothing behind.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from weft.train.hooks import StopAtStepHook
from weft.train.session_run_hook import SessionRunHook
from weft.train.steps import get_global_step

_FIRST_AFTER = 1.0  # seconds: what is over sooner shows nothing
_EVERY = 0.2
_ERASE = "\r\x1b[K"


def shows_progress() -> bool:
    """Whether there is a terminal to show a bar on."""
    return _is_terminal(sys.stderr) and os.environ.get("TERM", "dumb") != "dumb"


def _is_terminal(stream: Any) -> bool:
    try:
        return stream.isatty()
    except (AttributeError, ValueError):  # no stream at all, or a closed one
        return False


class StatusLine:
    """The line of a terminal that the cursor is on, drawn again and again.

    What the program writes to standard output and error meanwhile takes its place, and it comes back below: only at the
    beginning of a line, so that a program with a bar of its own keeps that.
    """

    _shown = threading.Lock()  # a terminal has one

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._writes: dict[Any, Callable] = {}
        self._give_back: list[Callable[[], None]] = []
        self._drawn, self._at_start, self._shown_here = False, True, True

    @classmethod
    def begin(cls) -> StatusLine | None:
        """The line, unless somebody has it already."""
        if not cls._shown.acquire(blocking=False):
            return None
        line = cls()
        try:
            for stream in {sys.stderr, sys.stdout}:
                if _is_terminal(stream):
                    line._watch(stream)
        except (AttributeError, TypeError):  # what cannot be watched would be written over
            line.end()
            return None
        atexit.register(line.end)
        return line

    def _watch(self, stream: Any) -> None:
        write, own = stream.write, vars(stream).get("write")
        stream.write = instead = self._making_way(write)
        self._writes[stream] = write

        def give_back() -> None:
            if vars(stream).get("write") is not instead:
                return  # somebody else watches too: what they call passes everything on
            if own is None:
                del stream.write
            else:
                stream.write = own

        self._give_back.append(give_back)

    def _making_way(self, write: Callable) -> Callable:
        def write_instead(text: str) -> Any:
            with self._lock:
                if text:
                    self._erase()
                    self._at_start = text.endswith("\n")
                return write(text)

        return write_instead

    def draw(self, text: Callable[[int], str]) -> None:
        """Shows a text, made for so many columns."""
        with self._lock:
            if self._at_start and sys.stderr in self._writes and _in_foreground():
                width = os.get_terminal_size(sys.stderr.fileno()).columns - 1
                self._put(_ERASE + text(width))
                self._drawn = True

    def _erase(self) -> None:
        if self._drawn:
            self._put(_ERASE)
            self._drawn = False

    def _put(self, text: str) -> None:
        self._writes[sys.stderr](text)
        sys.stderr.flush()

    def end(self) -> None:
        """Takes the line away."""
        with self._lock:
            if self._shown_here:
                with contextlib.suppress(OSError, ValueError, KeyError):  # the terminal has gone
                    self._erase()
                while self._give_back:
                    self._give_back.pop()()
                self._shown_here = False
                self._shown.release()
        atexit.unregister(self.end)


def _in_foreground() -> bool:
    try:
        return os.tcgetpgrp(sys.stderr.fileno()) == os.getpgrp()
    except OSError:  # not the terminal that this process is controlled by
        return True


class TrainingProgress:
    """Counts steps, and shows them now and then; `current` reads the global step when it is needed."""

    def __init__(self, current: Callable[[], int], last: int | None):
        self._current, self._last = current, last
        self._first: int | None = None
        self._due = time.monotonic() + _FIRST_AFTER
        self._line: StatusLine | None = None
        self._bar: Any = None

    def step(self) -> None:
        """Says that a step was taken; nearly always that is all."""
        if time.monotonic() >= self._due:
            self._show()

    def _show(self) -> None:
        step = int(self._current())
        if self._bar is None:
            self._line = StatusLine.begin()
            if self._line is None:
                self._due = float("inf")
                return
            self._bar, self._render = _bar(step, self._last)
        self._bar.update(self._bar.task_ids[0], completed=step)
        if self._line is not None:
            with contextlib.suppress(OSError, ValueError):
                self._line.draw(self._render)
        self._due = time.monotonic() + _EVERY

    def end(self) -> None:
        """Takes the bar away."""
        self._due = float("inf")
        if self._line is not None:
            self._line.end()
            self._line = None


def _bar(step: int, last: int | None) -> tuple[Any, Callable[[int], str]]:
    from rich import progress
    from rich.console import Console
    from rich.text import Text

    class Rate(progress.ProgressColumn):
        def render(self, task: Any) -> Any:
            rate = task.speed
            if not rate:  # known from the second time on
                return Text("")
            return Text(f"{rate:,.0f} steps/s" if rate >= 10 else f"{rate:.2f} steps/s")

    columns: list[Any] = [progress.TextColumn("step {task.completed:,.0f}")]
    if last is not None:
        columns += [progress.TextColumn("of {task.total:,.0f}"), progress.BarColumn(30), Rate()]
        columns += [progress.TimeRemainingColumn(), progress.TextColumn("left")]
    else:
        columns += [Rate(), progress.TimeElapsedColumn()]
    bar = progress.Progress(*columns, auto_refresh=False)
    bar.add_task("", total=last, completed=step)

    def render(width: int) -> str:
        console = Console(stderr=True, width=width)
        with console.capture() as captured:
            console.print(bar.get_renderable(), end="", soft_wrap=False, crop=True)
        return captured.get().replace("\n", "")

    return bar, render


class ProgressHook(SessionRunHook):
    """Shows the progress of a monitored session."""

    def __init__(self, hooks: list[SessionRunHook]):
        self._stops = [h for h in hooks if isinstance(h, StopAtStepHook)]
        self._progress: TrainingProgress | None = None

    def after_create_session(self, session: Any, coord: Any) -> None:
        self.close()
        step = get_global_step()
        if step is not None:
            last = min((h._last_step for h in self._stops if h._last_step), default=None)
            self._progress = TrainingProgress(lambda: session.run(step), last)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        if self._progress is not None:
            self._progress.step()

    def close(self) -> None:
        """Takes the bar away; called however the session ends."""
        if self._progress is not None:
            self._progress.end()
            self._progress = None


def with_progress(hooks: list[SessionRunHook]) -> list[SessionRunHook]:
    """The hooks of a training, and one that shows its progress where there is a terminal."""
    if not shows_progress() or any(isinstance(h, ProgressHook) for h in hooks):
        return hooks
    return [*hooks, ProgressHook(hooks)]


def close_progress(hooks: list[SessionRunHook]) -> None:
    """Takes the bar away, however the session ends."""
    for hook in hooks:
        if isinstance(hook, ProgressHook):
            hook.close()


@contextlib.contextmanager
def progress_of_loop(current: Callable[[], int], last: int | None) -> Iterator[Callable[[], None]]:
    """Gives what is to be called after each step of a loop."""
    if not shows_progress():
        yield lambda: None
        return
    progress = TrainingProgress(current, last)
    try:
        yield progress.step
    finally:
        progress.end()
