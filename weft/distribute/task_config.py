"""What `TF_CONFIG` says: the cluster, and which of its tasks this process is."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import weft as tf


class Task(NamedTuple):
    """A task of a cluster; without a cluster the process is alone."""

    cluster: Any
    kind: str
    number: int

    @property
    def name(self) -> str:
        """The task's devices begin with this; "" where the process is alone."""
        if self.cluster is None:
            return ""
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


def of_resolver(resolver: Any) -> Task:
    """The task that a cluster resolver tells this process to be."""
    spec = resolver.cluster_spec()
    return task_of(spec, resolver.task_type, resolver.task_id) if spec else ALONE


def from_environment() -> Task:
    """The task that `TF_CONFIG` tells this process to be."""
    try:
        return of_resolver(tf.distribute.cluster_resolver.TFConfigClusterResolver())
    except json.JSONDecodeError as e:
        raise ValueError(f"TF_CONFIG is no JSON: {e}: {e.doc!r}") from None
