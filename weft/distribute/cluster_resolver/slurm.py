"""The cluster that Slurm has started."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from typing import Any

import weft as tf
from weft.distribute.cluster_resolver.resolver import TaskResolver
from weft.framework.export import export


@export(
    "distribute.cluster_resolver.SlurmClusterResolver",
    "contrib.cluster_resolver.SlurmClusterResolver",
)
class SlurmClusterResolver(TaskResolver):
    """The tasks that `srun` (or `mpirun` within an allocation) has started, in the order of their ranks: the
    jobs by name, each with its number of tasks, on the allocation's nodes one after the other.

    Args:
      jobs: a dict from names of jobs to numbers of tasks.
      port_base: the port of a node's first task; its others have those that follow.
      gpus_per_node, gpus_per_task: how the GPUs of a node are dealt out to its tasks.
      tasks_per_node: how many tasks a node has, if not SLURM_NTASKS_PER_NODE.
      auto_set_gpu: set CUDA_VISIBLE_DEVICES to the GPUs of this task when the cluster is resolved.
    """

    def __init__(
        self,
        jobs: Mapping[str, int],
        port_base: int = 8888,
        gpus_per_node: int = 1,
        gpus_per_task: int = 1,
        tasks_per_node: int | None = None,
        auto_set_gpu: bool = True,
        rpc_layer: str = "grpc",
    ):
        if "OMPI_COMM_WORLD_RANK" in os.environ:  # started by mpirun
            rank, size = "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"
        else:
            rank, size = "SLURM_PROCID", "SLURM_NTASKS"
        self._rank, started = int(os.environ[rank]), int(os.environ[size])
        if tasks_per_node is None:
            if "SLURM_NTASKS_PER_NODE" not in os.environ:
                raise RuntimeError("Neither `tasks_per_node` or SLURM_NTASKS_PER_NODE is set.")
            tasks_per_node = int(os.environ["SLURM_NTASKS_PER_NODE"])
        if tasks_per_node * gpus_per_task > gpus_per_node:
            raise RuntimeError(
                f"Requested more GPUs per node then available: {tasks_per_node} tasks with {gpus_per_task} each, "
                f"of {gpus_per_node}."
            )
        if sum(jobs.values()) != started:
            raise RuntimeError(
                f"Requested more tasks then assigned tasks: the jobs have {sum(jobs.values())}, Slurm has started "
                f"{started}."
            )
        self._jobs = dict(sorted(jobs.items()))
        self._port_base, self._tasks_per_node = port_base, tasks_per_node
        self._gpus_per_node, self._gpus_per_task = gpus_per_node, gpus_per_task
        self._auto_set_gpu = auto_set_gpu
        self.rpc_layer = rpc_layer

    def _resolve_hostnames(self) -> list[str]:
        """The nodes of the allocation, in Slurm's order."""
        if shutil.which("scontrol"):
            return subprocess.check_output(["scontrol", "show", "hostname"], text=True).split()
        # In a container Slurm's programs may be missing, but its variables are there.
        nodes = os.environ.get("SLURM_JOB_NODELIST") or os.environ.get("SLURM_NODELIST")
        if not nodes:
            raise RuntimeError(
                "There is neither `scontrol` nor SLURM_JOB_NODELIST to tell the nodes."
            )
        return expand_hostlist(nodes)

    def cluster_spec(self) -> Any:
        """Returns the ClusterSpec; sets `task_type` and `task_id` to what this task is in it."""
        per_node = self._tasks_per_node
        slots = [
            f"{host}:{self._port_base + i}"
            for host in self._resolve_hostnames()
            for i in range(per_node)
        ]
        wanted = sum(self._jobs.values())
        if len(slots) < wanted:
            raise RuntimeError(
                f"The {len(slots) // per_node} nodes have room for {len(slots)} tasks, {per_node} on each, of {wanted}."
            )
        cluster, first = {}, 0
        for job, n in self._jobs.items():
            cluster[job] = slots[first : first + n]
            if first <= self._rank < first + n:
                self.task_type, self.task_id = job, self._rank - first
            first += n
        if self._auto_set_gpu is True:
            n = self._gpus_per_task
            gpu = self._rank % per_node * n
            os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, range(gpu, gpu + n)))
        return tf.train.ClusterSpec(cluster)

    def get_task_info(self) -> tuple[str | None, int | None]:
        """Returns the job and the index of this task, None before the cluster was resolved."""
        return self.task_type, self.task_id

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> dict[str, int]:
        """Returns the number of GPUs of a node, as given."""
        return {"GPU": self._gpus_per_node}


def expand_hostlist(nodes: str) -> list[str]:
    """The names that Slurm's short form of a list of hosts stands for: "n[1-3,07],gpu1"."""
    out: list[str] = []
    # A comma between names is one that no bracket holds.
    for item in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", nodes):
        pieces = re.split(r"\[([^\]]*)\]", item.strip())
        choices = [_numbers(p) if i % 2 else [p] for i, p in enumerate(pieces)]
        out.extend("".join(parts) for parts in itertools.product(*choices))
    return out


def _numbers(text: str) -> list[str]:
    out: list[str] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        out.extend(str(n).zfill(len(first)) for n in range(int(first), int(last or first) + 1))
    return out
