"""`weft launch`: starts the tasks of a cluster on this machine, and ends them together.

Each task is a process of its own that runs the same program. It learns who it is from TF_CONFIG, as
TensorFlow's cluster resolvers read it, and from its arguments: `{job}`, `{task}`, `{ps}` and `{workers}` in
them become its job, its index, and the addresses of the parameter servers and of the workers.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import IO, Any

_COLOURS = (36, 33, 35, 32, 34, 31)  # of a terminal
_PATIENCE = 5.0  # seconds that a task has to end when it is asked to


def parse(args: list[str]) -> argparse.Namespace:
    """The options of `weft launch`, and the program behind them."""
    parser = argparse.ArgumentParser(
        prog="weft launch",
        description="Starts a cluster on this machine: the same program for each task.",
    )
    parser.add_argument("--ps", type=_count, default=0, help="number of parameter servers (0)")
    parser.add_argument("--workers", type=_count, default=1, help="number of workers (1)")
    parser.add_argument("--chief", action="store_true", help="a task of job chief in addition")
    parser.add_argument("script", help="the program")
    parser.add_argument(
        "args",
        nargs=argparse.REMAINDER,
        help="its arguments; {job}, {task}, {ps} and {workers} are filled in",
    )
    return parser.parse_args(args)


def _count(text: str) -> int:
    n = int(text)
    if n < 0:
        raise argparse.ArgumentTypeError("a number of tasks cannot be negative")
    return n


@contextlib.contextmanager
def _free_ports(n: int) -> Iterator[list[int]]:
    """Ports that nobody listens at. They are held until the block ends, so that no two are the same."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(n)]
        for s in sockets:
            s.bind(("127.0.0.1", 0))
        yield [s.getsockname()[1] for s in sockets]


def cluster_of(options: argparse.Namespace) -> dict[str, list[str]]:
    """The addresses of the tasks by job."""
    sizes = {"chief": int(options.chief), "ps": options.ps, "worker": options.workers}
    with _free_ports(sum(sizes.values())) as ports:
        left = iter(ports)
        return {job: [f"localhost:{next(left)}" for _ in range(n)] for job, n in sizes.items() if n}


def command_of(
    options: argparse.Namespace, cluster: dict[str, list[str]], job: str, task: int
) -> tuple[list[str], dict[str, str]]:
    """The command of a task, and its environment."""
    known = {
        "{job}": job,
        "{task}": str(task),
        "{ps}": ",".join(cluster.get("ps", ())),
        "{workers}": ",".join(cluster.get("worker", ())),
    }
    args = []
    for arg in options.args:
        for name, value in known.items():
            arg = arg.replace(name, value)
        args.append(arg)
    config = {"cluster": cluster, "task": {"type": job, "index": task}}
    environment = dict(os.environ, TF_CONFIG=json.dumps(config), PYTHONUNBUFFERED="1")
    return [sys.executable, "-m", "weft", "run", options.script, *args], environment


class _Task:
    """A task that runs, and whose output is passed on line by line."""

    def __init__(self, name: str, colour: int, command: list[str], environment: Any, ended: Any):
        self.name = name
        self.prefix = f"[{name}] "
        if sys.stdout.isatty():
            self.prefix = f"\x1b[{colour}m{self.prefix}\x1b[0m"
        self.code: int | None = None
        # A group of its own: Ctrl-C comes to us, and we end the task with all that it has started.
        self.process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._thread = threading.Thread(target=self._follow, args=(ended,), daemon=True)
        self._thread.start()

    def _follow(self, ended: threading.Semaphore) -> None:
        output: IO[bytes] = self.process.stdout  # type: ignore[assignment]
        for line in output:
            text = self.prefix + line.decode(errors="replace").rstrip("\r\n") + "\n"
            sys.stdout.write(text)  # in one piece: tasks do not mix their lines
            sys.stdout.flush()
        self.code = self.process.wait()
        ended.release()

    def signal(self, number: int) -> None:
        """Sends a signal to the task and to what it has started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def end(self) -> None:
        """Waits a while for a task that was asked to end, then makes it end."""
        try:
            self.process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.signal(signal.SIGKILL)
        self._thread.join(_PATIENCE)
        self.signal(signal.SIGKILL)  # what it has left behind


def launch(args: list[str]) -> int:
    """Runs a cluster until its workers have ended or one of them has failed; returns the exit status."""
    options = parse(args)
    if not os.path.exists(options.script):
        print(f"weft launch: can't open file {options.script!r}", file=sys.stderr)
        return 2
    cluster = cluster_of(options)
    if not cluster:
        print("weft launch: a cluster needs a task", file=sys.stderr)
        return 2
    ended = threading.Semaphore(0)
    tasks: list[_Task] = []
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        for job, addresses in cluster.items():
            for index in range(len(addresses)):
                command, environment = command_of(options, cluster, job, index)
                colour = _COLOURS[len(tasks) % len(_COLOURS)]
                tasks.append(_Task(f"{job}:{index}", colour, command, environment, ended))
        waited_for = [t for t in tasks if not t.name.startswith("ps:")] or tasks
        while True:
            ended.acquire()
            failed = [t for t in tasks if t.code]
            if failed:
                code = failed[0].code or 1
                print(f"weft launch: {failed[0].name} has ended with {code}", file=sys.stderr)
                return code if code > 0 else 128 - code
            if all(t.code == 0 for t in waited_for):
                return 0
    except KeyboardInterrupt:
        return 130
    finally:
        for task in tasks:
            task.signal(signal.SIGTERM)
        for task in tasks:
            task.end()
        signal.signal(signal.SIGTERM, before)


def _interrupt(number: int, frame: Any) -> None:
    raise KeyboardInterrupt
