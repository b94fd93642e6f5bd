"""ParameterServerStrategy: workers that train on their own, with variables on parameter servers."""

from __future__ import annotations

import copy
from typing import Any

import weft as tf
from weft.distribute import devices as places
from weft.distribute import task_config
from weft.distribute.central_storage import CentralExtended
from weft.distribute.strategy import Strategy
from weft.framework.export import export


class _Extended(CentralExtended):
    experimental_between_graph = True

    def __init__(self, container_strategy: Strategy, task: task_config.Task, gpus: int | None):
        self._gpus = gpus
        self._join(task)
        super().__init__(container_strategy, self._compute_devices(), self._variable_device)
        if task.cluster is not None:
            self._default_device = task.name

    def _join(self, task: task_config.Task) -> None:
        self._task = task
        if task.cluster is None:
            self._variable_device = "/device:CPU:0"
            return
        servers = task.cluster.num_tasks("ps") if "ps" in task.cluster.jobs else 0
        if not servers:
            raise ValueError("The cluster spec needs to have `ps` jobs.")
        self._variable_device = tf.train.replica_device_setter(
            ps_tasks=servers, worker_device=task.name, merge_devices=True, cluster=task.cluster
        )

    def _compute_devices(self) -> tuple[str, ...]:
        return tuple(places.canonical(d, self._task.name) for d in places.local(self._gpus))

    def _host_device(self) -> str:
        return places.canonical("/cpu:0", self._task.name)

    def _configure(
        self, session_config: Any, cluster_spec: Any, task_type: Any, task_id: Any
    ) -> None:
        if self._task.cluster is None and cluster_spec:
            self._join(task_config.task_of(cluster_spec, task_type, task_id))
            self._devices = self._compute_devices()
            self._default_device = self._task.name
        if session_config is not None:
            session_config.CopyFrom(self._update_config_proto(session_config))

    def _update_config_proto(self, config_proto: Any) -> Any:
        config = copy.deepcopy(config_proto)
        if self._task.cluster is None:
            return config
        config.isolate_session_state = False
        del config.device_filters[:]
        # Workers do not see each other, so that one may go without the others.
        if self._task.kind in ("chief", "worker"):
            config.device_filters.extend([self._task.name.replace("/replica:0", ""), "/job:ps"])
        return config

    def _input_pipeline(self) -> tuple[int, int]:
        return 0, 1  # each worker goes its own way, through its own input

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The devices that variables live on."""
        if self._task.cluster is None:
            return (places.HOST,)
        servers = self._task.cluster.task_indices("ps")
        return tuple(places.canonical(f"/job:ps/task:{i}") for i in servers)

    @property
    def experimental_should_init(self) -> bool:  # type: ignore[override]
        """Whether this task initialises variables."""
        return self._task.is_chief

    @property
    def should_checkpoint(self) -> bool:  # type: ignore[override]
        """Whether this task writes checkpoints."""
        return self._task.is_chief

    @property
    def should_save_summary(self) -> bool:  # type: ignore[override]
        """Whether this task writes summaries."""
        return self._task.is_chief


@export("distribute.experimental.ParameterServerStrategy")
class ParameterServerStrategy(Strategy):
    """Asynchronous training: each worker computes on its own devices, variables are on parameter servers. The
    cluster is that of `cluster_resolver`, or of `TF_CONFIG`."""

    def __init__(self, cluster_resolver: Any = None):
        task = (
            task_config.from_environment()
            if cluster_resolver is None
            else task_config.of_resolver(cluster_resolver)
        )
        super().__init__(_Extended(self, task, None))


@export("contrib.distribute.ParameterServerStrategy")
class ContribParameterServerStrategy(ParameterServerStrategy):
    """As `tf.distribute.experimental.ParameterServerStrategy`, with the number of GPUs of a worker; the cluster is
    told by `configure`."""

    def __init__(self, num_gpus_per_worker: int = 0):
        Strategy.__init__(self, _Extended(self, task_config.ALONE, num_gpus_per_worker))
