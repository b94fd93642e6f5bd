"""`weft launch`: starts the tasks of a cluster, here or on a Ray cluster, and ends them together.

Each task is a process of its own that runs the same program. It learns who it is from TF_CONFIG, as
TensorFlow's cluster resolvers read it, or from its flags.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator

from weft.launch.cluster import cluster_of as cluster_of
from weft.launch.cluster import command_of as command_of
from weft.launch.cluster import tasks_of
from weft.launch.console import Console
from weft.launch.options import Options
from weft.launch.options import parse as parse
from weft.launch.processes import Process
from weft.launch.supervisor import supervise


def launch(args: list[str]) -> int:
    """Runs a cluster until its workers have ended or one of them has failed; returns the exit status."""
    options = parse(args)
    if not options.module and not os.path.exists(options.script):
        print(f"weft launch: can't open file {options.script!r}", file=sys.stderr)
        return 2
    tasks = tasks_of(options)
    if not tasks:
        print("weft launch: a cluster needs a task", file=sys.stderr)
        return 2
    with Console([f"{job}:{index}" for job, index in tasks]) as console:
        with _credentials(options) as folder:
            if options.ray:
                from weft.launch.ray_cluster import launch_on_ray

                return launch_on_ray(options, tasks, console, folder)
            cluster = cluster_of(options)
            started = []
            for job, index in tasks:
                command, environment = command_of(options, cluster, job, index)
                if folder:
                    environment["WEFT_CREDENTIALS"] = folder
                started.append(Process(job, index, command, environment, console))
            return supervise(started, options.restarts, console)


@contextlib.contextmanager
def _credentials(options: Options) -> Iterator[str]:
    """A folder with credentials for this cluster alone, where they are wanted; else ""."""
    if not options.secure:
        yield ""
        return
    from weft.distributed import Credentials

    with tempfile.TemporaryDirectory(prefix="weft-credentials-") as folder:
        Credentials.make().write(folder)
        print(
            f"weft launch: who talks to this cluster needs WEFT_CREDENTIALS={folder}",
            file=sys.stderr,
        )
        yield folder
