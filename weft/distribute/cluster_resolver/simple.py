"""A resolver for a cluster that is known beforehand."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.distribute.cluster_resolver.resolver import ClusterResolver, url
from weft.framework.export import export


@export(
    "distribute.cluster_resolver.SimpleClusterResolver",
    "contrib.cluster_resolver.SimpleClusterResolver",
)
class SimpleClusterResolver(ClusterResolver):
    """Gives back the cluster that it was made with.

    Args:
      master: what a session connects to where no task is asked for.
      num_accelerators: a dict from types of devices to how many there are; nothing is asked of a server.
    """

    def __init__(
        self,
        cluster_spec: Any,
        master: str = "",
        task_type: str | None = None,
        task_id: int | None = None,
        environment: str = "",
        num_accelerators: dict[str, int] | None = None,
        rpc_layer: str | None = None,
    ):
        if not isinstance(cluster_spec, tf.train.ClusterSpec):
            raise TypeError(
                f"cluster_spec must be a ClusterSpec, not {type(cluster_spec).__name__}."
            )
        if not isinstance(master, str):
            raise TypeError(f"master must be a string, not {type(master).__name__}.")
        self._cluster_spec, self._master = cluster_spec, master
        self._environment, self._num_accelerators = environment, num_accelerators
        self.task_type, self.task_id, self.rpc_layer = task_type, task_id, rpc_layer

    def cluster_spec(self) -> Any:
        """Returns the ClusterSpec."""
        return self._cluster_spec

    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        """Returns what a session connects to: at the task, if one is asked for, else the master given."""
        address = self._master
        if task_type is not None and task_id is not None:
            address = self._cluster_spec.task_address(task_type, task_id)
        return url(address, rpc_layer or self.rpc_layer)

    @property
    def environment(self) -> str:
        return self._environment

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> dict[str, int]:
        """Returns the number given, the same for all tasks."""
        return {} if self._num_accelerators is None else self._num_accelerators
