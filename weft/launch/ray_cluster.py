"""Tasks on a Ray cluster: an actor on a node for each, which runs the task's process there.

Parameter servers and workers are on different nodes, where there is more than one. A task that fails is started
again on its node, under its address. Where the node is gone it moves to another, and since its address is new
then, the others are started again as well.
"""

from __future__ import annotations

import os
import queue
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from typing import Any

from weft.launch.cluster import addressed, by_job, command_of
from weft.launch.console import Console
from weft.launch.options import Options
from weft.launch.processes import LAUNCHER
from weft.launch.supervisor import MOVED, supervise

_LOST = 1  # the exit status of a task whose actor is gone
_SECONDS = 60.0  # that an actor may take to be there
_ATTEMPTS, _PAUSE = (
    10,
    3.0,
)  # to find a node for a task whose node is gone, and seconds between them


def launch_on_ray(
    options: Options, tasks: list[tuple[str, int]], console: Console, credentials: str
) -> int:
    """Runs a cluster on Ray; returns the exit status."""
    try:
        import ray
    except ImportError:
        print("weft launch: --ray needs Ray: pip install weft[ray]", file=sys.stderr)
        return 2
    _connect(ray, options)
    try:
        layout = _Layout(ray, options, tasks, console, _files(credentials))
        return supervise(layout.tasks, options.restarts, console)
    except ray.exceptions.RayError as e:
        console.note(f"Ray has failed: {e}")
        return 1
    finally:
        ray.shutdown()


def _connect(ray: Any, options: Options) -> None:
    """Joins the Ray cluster that RAY_ADDRESS names, or one that runs here; else starts one."""
    common: dict[str, Any] = {"log_to_driver": False, "logging_level": "error"}
    if options.working_dir:
        common["runtime_env"] = {"working_dir": options.working_dir}
    try:
        ray.init(address=os.environ.get("RAY_ADDRESS") or "auto", **common)
    except ConnectionError:
        if os.environ.get("RAY_ADDRESS"):
            raise
        ray.init(include_dashboard=False, **common)


def _files(folder: str) -> dict[str, bytes]:
    """The credentials, which the nodes do not have."""
    found = {}
    for name in os.listdir(folder) if folder else ():
        with open(os.path.join(folder, name), "rb") as f:
            found[name] = f.read()
    return found


def assign(nodes: list[str], tasks: list[tuple[str, int]]) -> list[str]:
    """The node of each task: parameter servers have nodes of their own, where there are two or more."""
    servers = [t for t in tasks if t[0] == "ps"]
    split = 0
    if servers and len(servers) < len(tasks) and len(nodes) > 1:
        split = max(1, min(len(nodes) - 1, round(len(nodes) * len(servers) / len(tasks))))
    theirs, others = nodes[:split] or nodes, nodes[split:]
    counts = {True: 0, False: 0}
    out = []
    for job, _ in tasks:
        serves = job == "ps"
        choice = theirs if serves else others
        out.append(choice[counts[serves] % len(choice)])
        counts[serves] += 1
    return out


class _Host:
    """What runs a task's process on its node."""

    def __init__(self) -> None:
        self._process: subprocess.Popen | None = None
        self._held: socket.socket | None = None

    def reserve(self) -> str:
        """An address of this node that nobody listens at; it is held until the process starts."""
        import ray

        host = ray.util.get_node_ip_address()
        self._held = socket.socket()
        self._held.bind((host, 0))
        return f"{host}:{self._held.getsockname()[1]}"

    def run(
        self, arguments: list[str], told: dict[str, str], files: dict[str, bytes]
    ) -> Iterator[Any]:
        """Runs a process; gives its lines, and its exit status in the end."""
        if self._held is not None:
            self._held.close()
            self._held = None
        environment = dict(os.environ, **told, **{LAUNCHER: str(os.getpid())})
        folder = ""
        try:
            if files:
                folder = tempfile.mkdtemp(prefix="weft-credentials-")
                for name, content in files.items():
                    with open(os.path.join(folder, name), "wb") as f:
                        f.write(content)
                environment["WEFT_CREDENTIALS"] = folder
            process = self._process = subprocess.Popen(
                [sys.executable, *arguments],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            for line in process.stdout or ():
                yield line.decode(errors="replace").rstrip("\r\n")
            code = process.wait()
            yield code if code >= 0 else 128 - code
        finally:
            self.signal(signal.SIGKILL)
            shutil.rmtree(folder, ignore_errors=True)

    def signal(self, number: int) -> None:
        """Sends a signal to the process and to what it has started."""
        if self._process is not None:
            try:
                os.killpg(self._process.pid, number)
            except (ProcessLookupError, PermissionError):
                pass


class _Layout:
    """Which task is where."""

    def __init__(
        self,
        ray: Any,
        options: Options,
        tasks: list[tuple[str, int]],
        console: Console,
        files: dict[str, bytes],
    ):
        self.ray, self.options, self.console, self.files = ray, options, console, files
        self._ids = tasks
        self.tasks = [_RayTask(self, job, index) for job, index in tasks]
        for task, node in zip(self.tasks, assign(self._nodes(), tasks)):
            task.prepare(node)
        for task in self.tasks:
            task.settle()
            console.note(f"{task.name} is on node {task.node[:8]} at {task.address}")

    def _nodes(self) -> list[str]:
        """The nodes that are there, those with accelerators last: workers are put onto the last ones."""
        alive = [n for n in self.ray.nodes() if n["Alive"]]
        alive.sort(key=lambda n: (n["Resources"].get("GPU", 0), n["NodeID"]))
        return [n["NodeID"] for n in alive]

    def node_for(self, task: _RayTask) -> str:
        """The node for a task that is started again: its own, or one in place of it."""
        nodes = self._nodes()
        if task.node in nodes:
            return task.node
        return assign(nodes, self._ids)[self.tasks.index(task)]

    def cluster(self) -> dict[str, list[str]]:
        """The addresses by job."""
        members = addressed(self._ids)
        addresses = [t.address for t in self.tasks if (t.job, t.index) in members]
        return by_job(members, addresses)

    def moved(self, task: _RayTask) -> None:
        """A task has a new address, which the others are to learn."""
        self.console.note(f"{task.name} moves to node {task.node[:8]} at {task.address}")
        for other in self.tasks:
            if other is not task:
                other.start_again()


class _RayTask:
    """A task on a node."""

    def __init__(self, layout: _Layout, job: str, index: int):
        self._layout, self.job, self.index = layout, job, index
        self.name, self.node, self.address = f"{job}:{index}", "", ""
        self._actor: Any = None
        self._reserved: Any = None
        self._thread: threading.Thread | None = None
        self._to_move = False

    def prepare(self, node: str) -> None:
        """Has an actor come about on a node."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        options = self._layout.options
        self.node = node
        self._actor = (
            self._layout.ray.remote(_Host)
            .options(
                num_cpus=options.cpus,
                num_gpus=options.gpus if self.job in ("worker", "chief") else 0,
                max_concurrency=4,  # signals come while the process runs
                scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False),
            )
            .remote()
        )
        self._reserved = self._actor.reserve.remote()

    def settle(self) -> None:
        """Waits for the actor, and has its address."""
        ray = self._layout.ray
        try:
            self.address = ray.get(self._reserved, timeout=_SECONDS)
        except ray.exceptions.GetTimeoutError:
            raise ray.exceptions.RayError(
                f"node {self.node[:8]} has no room for {self.name}, which needs {self._layout.options.cpus:g} CPUs "
                f"(--cpus) and {self._layout.options.gpus:g} GPUs (--gpus)"
            ) from None

    def start(self, ended: queue.SimpleQueue[Any]) -> None:
        """Starts the process; `ended` is told of its end, with the exit status."""
        self._to_move = False
        if self._actor is None:
            self._settle_again()
        options = self._layout.options
        command, environment = command_of(options, self._layout.cluster(), self.job, self.index)
        told = {k: environment[k] for k in ("TF_CONFIG", "PYTHONUNBUFFERED")}
        told |= {k: v for k, v in os.environ.items() if k.startswith("WEFT_MAX_")}
        self._thread = threading.Thread(
            target=self._follow, args=(command[1:], told, ended), daemon=True
        )
        self._thread.start()

    def _settle_again(self) -> None:
        """Has another actor in place of one that is lost."""
        before, address = self.node, self.address
        for left in reversed(range(_ATTEMPTS)):
            try:
                self.prepare(self._layout.node_for(self))
                self.settle()
                break
            except (
                self._layout.ray.exceptions.RayError
            ):  # it takes a while until a node counts as gone
                if not left:
                    raise
                time.sleep(_PAUSE)
        if self.node == before:
            self.address = address  # free again, as its process is gone
        else:
            self._layout.moved(self)

    def _follow(
        self, arguments: list[str], told: dict[str, str], ended: queue.SimpleQueue[Any]
    ) -> None:
        ray, code = self._layout.ray, _LOST
        run = self._actor.run.options(num_returns="streaming")
        try:
            for ref in run.remote(arguments, told, self._layout.files):
                item = ray.get(ref)
                if isinstance(item, int):
                    code = item
                else:
                    self._layout.console.line(self.name, item)
        except ray.exceptions.RayError as e:
            self._actor = None
            self._layout.console.note(f"{self.name} is lost: {str(e).splitlines()[0]}")
        ended.put((self, MOVED if self._to_move else code))

    def start_again(self) -> None:
        """Ends the process, so that it is started anew."""
        if self._thread is not None and self._thread.is_alive():
            self._to_move = True
            self.signal(signal.SIGKILL)

    def signal(self, number: int) -> None:
        """Sends a signal to the process."""
        if self._actor is not None and self._thread is not None and self._thread.is_alive():
            self._actor.signal.remote(int(number))

    def wait(self, seconds: float) -> bool:
        """Waits for the end of the process; returns whether it has come."""
        if self._thread is None:
            return True
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def close(self) -> None:
        """Ends the process and the actor."""
        if self._actor is not None:
            self.signal(signal.SIGKILL)
            self.wait(2.0)
            self._layout.ray.kill(self._actor)
