"""Shows how training goes: a bar on a terminal, a line now and then in a log."""

import sys
import time

try:
    from rich import progress as rich
except ImportError:
    rich = None


class Progress:
    """`with Progress(steps) as progress:` and then `progress.update(step, loss=loss)`."""

    def __init__(self, steps, lines=10):
        self.steps = steps
        self.every = max(1, steps // lines)
        self.bar = None
        if rich and sys.stdout.isatty():
            self.bar = rich.Progress(
                rich.TextColumn("training"),
                rich.BarColumn(),
                rich.MofNCompleteColumn(),
                rich.TextColumn("{task.fields[values]}"),
                rich.TimeElapsedColumn(),
            )
            self.task = self.bar.add_task("", total=steps, values="")

    def __enter__(self):
        self.start = time.time()
        if self.bar:
            self.bar.start()
        return self

    def __exit__(self, kind, error, trace):
        if self.bar:
            self.bar.stop()
        if kind is None:
            print("trained %d steps in %.1f s" % (self.steps, time.time() - self.start))

    def update(self, step, **values):
        text = "  ".join("%s %.3f" % item for item in values.items())
        if self.bar:
            self.bar.update(self.task, completed=step, values=text)
        elif step % self.every == 0 or step in (1, self.steps):
            print("step %5d  %s" % (step, text))
            sys.stdout.flush()
