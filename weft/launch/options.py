"""The options of `weft launch`, and the program behind them."""

from __future__ import annotations

import argparse
import dataclasses


@dataclasses.dataclass
class Options:
    """What is to be launched."""

    script: str = ""
    args: list[str] = dataclasses.field(default_factory=list)
    module: bool = False
    ps: int = 0
    workers: int = 1
    chief: bool = False
    evaluator: bool = False
    flags: str = "auto"
    restarts: int = 0
    secure: bool = False
    ray: bool = False
    working_dir: str = ""
    cpus: float = 1.0
    gpus: float = 0.0


_RAY_RESTARTS = 10


def parse(args: list[str]) -> Options:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        prog="weft launch",
        description="Starts a cluster: the same program for each task, on this machine or with Ray on several.",
        epilog="In the program's arguments {job}, {task}, {ps} and {workers} are filled in.",
    )
    add = parser.add_argument
    add("--ps", type=_count, default=0, help="number of parameter servers (0)")
    add("--workers", type=_count, default=1, help="number of workers (1)")
    add("--chief", action="store_true", help="a task of job chief in addition")
    add("--evaluator", action="store_true", help="a task beside the cluster that evaluates")
    add(
        "--flags",
        choices=("auto", "yes", "no"),
        default="auto",
        help="whether tasks get --job_name, --task_index, --ps_hosts and --worker_hosts; auto: those that the "
        "program's text has",
    )
    add(
        "--restarts",
        type=_count,
        help="how many tasks that fail are started again (0; 10 with --ray)",
    )
    add(
        "--secure", action="store_true", help="make certificates and a token for this cluster alone"
    )
    add(
        "--ray",
        action="store_true",
        help="start the tasks on a Ray cluster (RAY_ADDRESS, or one here)",
    )
    add(
        "--working-dir",
        default="",
        help="folder that Ray copies to its nodes, with the program in it",
    )
    add("--cpus", type=float, default=1.0, help="CPUs of a task, for Ray (1)")
    add("--gpus", type=float, default=0.0, help="GPUs of a worker, for Ray (0)")
    add("-m", dest="module", action="store_true", help="the program is a module's name")
    add("script", help="the program")
    add("args", nargs=argparse.REMAINDER, help="its arguments")
    given = Options(**vars(parser.parse_args(args)))
    if given.restarts is None:
        given.restarts = _RAY_RESTARTS if given.ray else 0
    return given


def _count(text: str) -> int:
    n = int(text)
    if n < 0:
        raise argparse.ArgumentTypeError("a number of tasks cannot be negative")
    return n
