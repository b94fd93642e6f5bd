"""Several resolvers as one."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.distribute.cluster_resolver.resolver import ClusterResolver, url
from weft.framework.export import export


@export(
    "distribute.cluster_resolver.UnionResolver",
    "contrib.cluster_resolver.UnionClusterResolver",
)
class UnionResolver(ClusterResolver):
    """The clusters of several resolvers put together. All else is the first one's, unless given by keyword:
    `task_type`, `task_id`, `rpc_layer`."""

    def __init__(self, *args: ClusterResolver, **kwargs: Any):
        self._rpc_layer = kwargs.pop("rpc_layer", None)
        self._task_type = kwargs.pop("task_type", None)
        self._task_id = kwargs.pop("task_id", None)
        if kwargs:
            raise ValueError(f"Unexpected keyword arguments: {sorted(kwargs)}")
        if not args:
            raise ValueError("At least one ClusterResolver is required.")
        for resolver in args:
            if not isinstance(resolver, ClusterResolver):
                raise TypeError(f"{resolver!r} is no ClusterResolver.")
        self._resolvers = args

    def cluster_spec(self) -> Any:
        """Returns the clusters as one. Lists of a job's tasks are joined; where one resolver numbers them, all
        are taken by number, and a number that two of them have is a KeyError."""
        found: dict[str, list[Any]] = {}
        for resolver in self._resolvers:
            for job, tasks in resolver.cluster_spec().as_dict().items():
                found.setdefault(job, []).append(tasks)
        return tf.train.ClusterSpec({job: _merged(job, parts) for job, parts in found.items()})

    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        """Returns what a session connects to: at the task, if one is asked for, else the first resolver's."""
        if task_type is not None and task_id is not None:
            address = self.cluster_spec().task_address(task_type, task_id)
            return url(address, rpc_layer or self._rpc_layer)
        return self._resolvers[0].master(rpc_layer=rpc_layer)

    @property
    def task_type(self) -> str | None:
        return self._first("task_type")

    @task_type.setter
    def task_type(self, value: str | None) -> None:
        self._task_type = value

    @property
    def task_id(self) -> int | None:
        return self._first("task_id")

    @task_id.setter
    def task_id(self, value: int | None) -> None:
        self._task_id = value

    @property
    def rpc_layer(self) -> str | None:
        return self._first("rpc_layer")

    @rpc_layer.setter
    def rpc_layer(self, value: str | None) -> None:
        self._rpc_layer = value

    def _first(self, name: str) -> Any:
        own = getattr(self, f"_{name}")
        return getattr(self._resolvers[0], name) if own is None else own

    @property
    def environment(self) -> str | None:
        return self._resolvers[0].environment

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> dict[str, int]:
        """Returns the number that the first resolver gives."""
        return self._resolvers[0].num_accelerators(task_type, task_id, config_proto)


def _merged(job: str, parts: list[Any]) -> Any:
    if all(isinstance(tasks, list) for tasks in parts):
        return [address for tasks in parts for address in tasks]
    merged: dict[int, str] = {}
    for tasks in parts:
        numbered = dict(enumerate(tasks)) if isinstance(tasks, list) else tasks
        twice = sorted(set(merged) & set(numbered))
        if twice:
            raise KeyError(f"Duplicate keys detected when merging two ClusterSpecs: {job} {twice}")
        merged.update(numbered)
    return merged
