"""Which tasks a cluster has, where they are, and what each of them is told."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import socket
import sys
from collections.abc import Iterator, Mapping

from weft.launch.options import Options

Cluster = Mapping[str, list[str]]


def tasks_of(options: Options) -> list[tuple[str, int]]:
    """The tasks, parameter servers first: the others wait for them."""
    sizes = {
        "ps": options.ps,
        "chief": int(options.chief),
        "worker": options.workers,
        "evaluator": int(options.evaluator),
    }
    return [(job, i) for job, n in sizes.items() for i in range(n)]


def addressed(tasks: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Those of the tasks that are in the cluster: an evaluator looks on."""
    return [(job, i) for job, i in tasks if job != "evaluator"]


@contextlib.contextmanager
def free_ports(n: int, host: str = "127.0.0.1") -> Iterator[list[int]]:
    """Ports that nobody listens at. They are held until the block ends, so that no two are the same."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(n)]
        for s in sockets:
            s.bind((host, 0))
        yield [s.getsockname()[1] for s in sockets]


def cluster_of(options: Options) -> dict[str, list[str]]:
    """The addresses of the tasks on this machine, by job."""
    tasks = addressed(tasks_of(options))
    with free_ports(len(tasks)) as ports:
        return by_job(tasks, [f"localhost:{port}" for port in ports])


def by_job(tasks: list[tuple[str, int]], addresses: list[str]) -> dict[str, list[str]]:
    """The addresses of tasks by job, in the order of the tasks."""
    out: dict[str, list[str]] = {}
    for (job, _), address in zip(tasks, addresses):
        out.setdefault(job, []).append(address)
    return out


def command_of(
    options: Options, cluster: Cluster, job: str, task: int
) -> tuple[list[str], dict[str, str]]:
    """The command of a task, and its environment."""
    ps, workers = ",".join(cluster.get("ps", ())), ",".join(cluster.get("worker", ()))
    known = {"{job}": job, "{task}": str(task), "{ps}": ps, "{workers}": workers}
    args = []
    for arg in options.args:
        for name, value in known.items():
            arg = arg.replace(name, value)
        args.append(arg)
    told = {"job_name": job, "task_index": str(task), "ps_hosts": ps, "worker_hosts": workers}
    args += [f"--{flag}={told[flag]}" for flag in flags_of(options)]
    config = {"cluster": cluster, "task": {"type": job, "index": task}}
    environment = dict(os.environ, TF_CONFIG=json.dumps(config), PYTHONUNBUFFERED="1")
    program = ["-m", options.script] if options.module else [options.script]
    return [sys.executable, "-m", "weft", "run", *program, *args], environment


def flags_of(options: Options) -> list[str]:
    """Those of TensorFlow's usual flags that tasks are to get beside the arguments given."""
    flags = ["job_name", "task_index", "ps_hosts", "worker_hosts"]
    given = {arg.lstrip("-").partition("=")[0] for arg in options.args if arg.startswith("-")}
    wanted = [flag for flag in flags if flag not in given]
    if options.flags == "auto":
        source = _source(options)
        wanted = [f for f in wanted if re.search(rf"""["'](--)?{f}["']""", source)]
    return [] if options.flags == "no" else wanted


def _source(options: Options) -> str:
    path = options.script
    if options.module:
        try:
            found = importlib.util.find_spec(options.script)
        except ImportError:
            found = None
        path = found.origin if found is not None and found.origin else ""
    elif os.path.isdir(path):
        path = os.path.join(path, "__main__.py")
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read()
    except OSError:
        return ""
