"""What all cluster resolvers have: a description of the cluster, and the address of a master in it."""

from __future__ import annotations

import abc
import collections
from typing import Any

import weft as tf
from weft.framework.device_spec import DeviceSpec
from weft.framework.export import export


@export(
    "distribute.cluster_resolver.ClusterResolver",
    "contrib.cluster_resolver.ClusterResolver",
)
class ClusterResolver(metaclass=abc.ABCMeta):
    """Finds out who is in a cluster. A resolver also has the attributes `task_type`, `task_id` (who this
    process is) and `rpc_layer` (the protocol in front of an address)."""

    @abc.abstractmethod
    def cluster_spec(self) -> Any:
        """Returns the ClusterSpec of the cluster as it is now."""
        raise NotImplementedError

    @abc.abstractmethod
    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        """Returns what a session connects to, at a task or at this one."""
        raise NotImplementedError

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> dict[str, int]:
        """Returns how many devices of each type the master knows, of one task where a task is given."""
        found: dict[str, int] = collections.defaultdict(int)
        for name, kind in _devices(self.master(task_type, task_id), config_proto):
            if task_type is not None and task_id is not None:
                spec = DeviceSpec.from_string(name)
                if (spec.job, spec.task) != (task_type, task_id):
                    continue
            found[kind] += 1
        return found

    @property
    def environment(self) -> str | None:
        """What the cluster runs in, where a resolver tells environments apart; else ""."""
        return ""


class TaskResolver(ClusterResolver):
    """A resolver whose master is a task: the one that is asked for, else this one, else none."""

    task_type: str | None = None
    task_id: int | None = None
    rpc_layer: str | None = None

    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        """Returns what a session connects to, at a task or at this one; "" where neither is known."""
        task_type = self.task_type if task_type is None else task_type
        task_id = self.task_id if task_id is None else task_id
        if task_type is None or task_id is None:
            return ""
        return url(
            self.cluster_spec().task_address(task_type, task_id), rpc_layer or self.rpc_layer
        )


def url(address: str, rpc_layer: str | None) -> str:
    """The address as a session takes it."""
    return f"{rpc_layer}://{address}" if rpc_layer else address


def _devices(master: str, config: Any) -> list[tuple[str, str]]:
    """The names and types of devices: all of a master, or the accelerators here when executing eagerly."""
    if tf.executing_eagerly():
        named = [(n, DeviceSpec.from_string(n).device_type or "GPU") for n in _eager_devices()]
        return [(name, kind) for name, kind in named if kind not in ("CPU", "XLA_CPU")]
    with tf.Graph().as_default(), tf.Session(master, config=config) as session:
        return [(d.name, d.device_type) for d in session.list_devices()]


def _eager_devices() -> list[str]:
    return tf.config.experimental_list_devices()
