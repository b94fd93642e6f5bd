"""The cluster that the environment variable TF_CONFIG describes."""

from __future__ import annotations

import json
import os
from typing import Any

import weft as tf
from weft.distribute.cluster_resolver.resolver import ClusterResolver, url
from weft.framework.export import export


@export(
    "distribute.cluster_resolver.TFConfigClusterResolver",
    "contrib.cluster_resolver.TFConfigClusterResolver",
)
class TFConfigClusterResolver(ClusterResolver):
    """Reads TF_CONFIG, each time that it is asked. The arguments take the place of what is in it."""

    def __init__(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
        environment: str | None = None,
    ):
        self._task_type, self._task_id = task_type, task_id
        self._rpc_layer, self._environment = rpc_layer, environment

    @property
    def task_type(self) -> str | None:
        found = _task().get("type") if self._task_type is None else self._task_type
        return None if found is None else str(found)

    @task_type.setter
    def task_type(self, value: str | None) -> None:
        self._task_type = value

    @property
    def task_id(self) -> int | None:
        found = _task().get("index") if self._task_id is None else self._task_id
        return None if found is None else int(found)

    @task_id.setter
    def task_id(self, value: int | None) -> None:
        self._task_id = value

    @property
    def rpc_layer(self) -> str | None:
        return _config().get("rpc_layer") if self._rpc_layer is None else self._rpc_layer

    @rpc_layer.setter
    def rpc_layer(self, value: str | None) -> None:
        self._rpc_layer = value

    @property
    def environment(self) -> str | None:
        return self._environment

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> dict[str, int]:
        """Returns how many devices of each type a task has, this one where none is given."""
        task_type = self.task_type if task_type is None else task_type
        task_id = self.task_id if task_id is None else task_id
        return super().num_accelerators(task_type, task_id, config_proto)

    def cluster_spec(self) -> Any:
        """Returns the ClusterSpec that TF_CONFIG has, an empty one where it has none."""
        return tf.train.ClusterSpec(_config().get("cluster", {}))

    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        """Returns what a session connects to: `session_master` of TF_CONFIG if it has one, "" in a cluster
        of one task or none, else the address of the task."""
        given = _config().get("session_master")
        if given is not None:
            return given
        spec = self.cluster_spec()
        if sum(spec.num_tasks(job) for job in spec.jobs) <= 1:
            return ""
        task_type = self.task_type if task_type is None else task_type
        task_id = self.task_id if task_id is None else task_id
        if task_type is None or task_id is None:
            raise RuntimeError(
                "Which task this is is not known: TF_CONFIG has a cluster, but no task with type and index."
            )
        return url(spec.task_address(task_type, task_id), rpc_layer or self.rpc_layer)


def _config() -> dict[str, Any]:
    return json.loads(os.environ.get("TF_CONFIG") or "{}")


def _task() -> dict[str, Any]:
    return _config().get("task", {})
