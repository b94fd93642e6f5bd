"""What `TF_CONFIG` says: the cluster, and which of its tasks this process is."""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple

import weft as tf


class Task(NamedTuple):
    """A task of a cluster; without a cluster the process is alone."""

    cluster: Any
    kind: str
    number: int

    @property
    def name(self) -> str:
        """The task's devices begin with this."""
        return f"/job:{self.kind}/replica:0/task:{self.number}"

    @property
    def workers(self) -> list[str]:
        """The tasks that compute, the chief first."""
        return [
            f"/job:{job}/replica:0/task:{i}"
            for job in ("chief", "worker")
            if job in self.cluster.jobs
            for i in self.cluster.task_indices(job)
        ]

    @property
    def is_chief(self) -> bool:
        """Whether this is the task that does what is done once."""
        return self.cluster is None or self.name == self.workers[0]


ALONE = Task(None, "", 0)


def task_of(cluster: Any, kind: str | None, index: int | None) -> Task:
    """A task of a cluster; ValueError where the cluster has none such."""
    spec = tf.train.ClusterSpec(cluster)
    if not spec:
        return ALONE
    if not kind or index is None:
        raise ValueError(
            "When `cluster_spec` is given, you must also specify `task_type` and `task_id`."
        )
    if kind not in spec.jobs:
        raise ValueError(f"`task_type` {kind!r} not found in cluster_spec.")
    if index not in spec.task_indices(kind):
        raise ValueError(f"`task_id` {index} exceeds the maximum id of {kind}.")
    return Task(spec, kind, index)


def from_environment() -> Task:
    """The task that `TF_CONFIG` tells this process to be."""
    text = os.environ.get("TF_CONFIG", "")
    if not text:
        return ALONE
    try:
        config = json.loads(text)
    except ValueError as e:
        raise ValueError(f"TF_CONFIG is no JSON: {e}: {text!r}") from None
    cluster = config.get("cluster")
    if not cluster:
        return ALONE
    task = config.get("task", {})
    index = task.get("index")
    return task_of(cluster, task.get("type"), None if index is None else int(index))
