"""MultiWorkerMirroredStrategy: mirrored variables on the devices of several processes, kept the same by collectives."""

from __future__ import annotations

import copy
import enum
from typing import Any

import weft as tf
from weft.distribute import devices as places
from weft.distribute import task_config
from weft.distribute.cross_device import CrossDeviceOps, devices_of
from weft.distribute.mirrored import MirroredExtended
from weft.distribute.reduce_op import ReduceOp
from weft.distribute.strategy import Strategy
from weft.distribute.values import DistributedValues, Mirrored, PerReplica
from weft.framework import context, conversion
from weft.framework.export import export
from weft.framework.indexed_slices import IndexedSlices
from weft.ops.by_name import raw


@export(
    "distribute.experimental.CollectiveCommunication",
    "compat.v2.distribute.experimental.CollectiveCommunication",
)
class CollectiveCommunication(enum.Enum):
    """How values travel between workers: as is best (AUTO), in a RING, or by NCCL."""

    AUTO = "AUTO"
    RING = "RING"
    NCCL = "NCCL"


class CollectiveAllReduce(CrossDeviceOps):
    """Brings values together over the devices of all workers, by collective operations.

    Group and instance keys are given out in the order of use: all workers build the same graph.
    """

    def __init__(self, group_size: int, hint: str):
        super().__init__()
        self._group_size, self._hint = group_size, hint
        self._instances = 100

    def next_instance(self) -> int:
        """The key of the next instance."""
        self._instances += 1
        return self._instances

    def reduce_implementation(
        self, reduce_op: Any, per_replica_value: Any, destinations: Any
    ) -> Any:
        """What `reduce` does."""
        final = "Div" if reduce_op is ReduceOp.MEAN else "Id"
        values = [_dense(v) for v in per_replica_value.values]
        instance = self.next_instance()
        found = []
        for device, value in zip(per_replica_value.devices, values):
            with tf.device(device):
                if value.dtype in _REDUCIBLE:
                    found.append(self._reduce(value, instance, final))
                else:  # what has no collective of its own travels in one that is wider
                    wide = tf.float32 if value.dtype.is_floating else tf.int64
                    found.append(
                        tf.cast(self._reduce(tf.cast(value, wide), instance, final), value.dtype)
                    )
        devices = devices_of(destinations)
        everywhere = dict(zip(per_replica_value.devices, found))
        placed = []
        # Who wants one of the values makes all members here take part.
        with tf.control_dependencies(found if len(found) > 1 else []):
            for device in devices:
                with tf.device(device):
                    placed.append(tf.identity(everywhere.get(device, found[0])))
        return Mirrored(devices, placed)

    def _reduce(self, value: Any, instance: int, final: str) -> Any:
        return raw.CollectiveReduce(
            value,
            group_size=self._group_size,
            group_key=1,
            instance_key=instance,
            merge_op="Add",
            final_op=final,
            subdiv_offsets=[0],
            communication_hint=self._hint,
        )

    def batch_reduce_implementation(
        self, reduce_op: Any, value_destination_pairs: Any
    ) -> list[Any]:
        """What `batch_reduce` does. What is ready together travels together: nothing is packed here."""
        return [
            self.reduce_implementation(reduce_op, value, to)
            for value, to in value_destination_pairs
        ]


_REDUCIBLE = (tf.float16, tf.float32, tf.float64, tf.int32, tf.int64)


def _dense(value: Any) -> Any:
    """A tensor: rows at different places add up as a whole only."""
    return conversion.convert_to_tensor(value) if isinstance(value, IndexedSlices) else value


class MultiWorkerExtended(MirroredExtended):
    """What MultiWorkerMirroredStrategy does."""

    def __init__(
        self,
        container_strategy: Strategy,
        communication: CollectiveCommunication,
        task: task_config.Task,
        gpus: int | None = None,
    ):
        self._communication, self._gpus = communication, gpus
        self._task = task
        super().__init__(container_strategy, self._local_devices(), None)
        self._join(task)

    def _local_devices(self) -> tuple[str, ...]:
        return tuple(places.canonical(d, self._task.name) for d in places.local(self._gpus))

    def _join(self, task: task_config.Task) -> None:
        self._task = task
        self._devices = self._local_devices()
        if task.cluster is None:
            self._workers = 1
            return
        if task.kind not in ("chief", "worker"):
            raise ValueError(
                f"A task of type {task.kind!r} takes no part in MultiWorkerMirroredStrategy: its tasks are chief and "
                "worker."
            )
        self._default_device = task.name
        self._workers = len(task.workers)
        if self._workers > 1:
            self._cross_device_ops = CollectiveAllReduce(
                self._workers * len(self._devices), self._communication.value.lower()
            )
            # All devices of a task take part in its all-reduces, one of them in the broadcast of first values.
            self._broadcasts = 10000
            if context.executing_eagerly():
                self._serve()

    def _serve(self) -> None:
        """Makes eager operations of this process take part in collectives, as those of its task."""
        from weft.eager.resources import resources

        task = self._task
        config = self._update_config_proto(tf.ConfigProto())
        self._server = tf.train.Server(task.cluster, task.kind, task.number, config=config)
        resources.collectives = self._server.store.collectives

    # -- variables -------------------------------------------------------------------------------------

    def _initial_value(
        self, index: int, device: str, components: list[Any], given: Any, kwargs: Any
    ) -> Any:
        if index or self._workers == 1:
            return super()._initial_value(index, device, components, given, kwargs)
        self._broadcasts += 1
        instance = self._broadcasts

        def value() -> Any:
            value = given() if callable(given) else given
            value = conversion.convert_to_tensor(value, dtype=kwargs.get("dtype"))
            return self._of_chief(value, device, instance)

        return value

    def _of_chief(self, value: Any, device: str, instance: int) -> Any:
        """The value that the chief has, at all workers."""
        if not value.shape.is_fully_defined():
            raise ValueError(
                f"The initial value of a variable of several workers needs a known shape, not {value.shape}."
            )
        dtype = value.dtype
        if dtype not in _REDUCIBLE:
            wide = tf.float32 if dtype.is_floating else tf.int64
            return tf.cast(self._of_chief(tf.cast(value, wide), device, instance), dtype)
        group = {
            "group_size": self._workers,
            "group_key": 2,
            "instance_key": instance,
            "shape": value.shape,
            "communication_hint": self._communication.value.lower(),
        }
        with tf.device(device):
            if not self._task.is_chief:
                return raw.CollectiveBcastRecv(T=dtype, **group)
            with tf.control_dependencies([raw.CollectiveBcastSend(value, **group)]):
                return tf.identity(value)

    # -- replicas --------------------------------------------------------------------------------------

    def _reduce_to(self, reduce_op: ReduceOp, value: Any, destinations: Any) -> Any:
        is_zero = isinstance(value, (int, float)) and value == 0
        if self._workers > 1 and len(self._devices) == 1 and not is_zero:
            # What the one replica of each worker has is not grouped, and yet there are others.
            if not isinstance(value, DistributedValues):
                value = PerReplica(self._devices, [conversion.convert_to_tensor(value)])
        return super()._reduce_to(reduce_op, value, destinations)

    def _batch_reduce_to(self, reduce_op: ReduceOp, pairs: list[Any]) -> list[Any]:
        return [self._reduce_to(reduce_op, value, to) for value, to in pairs]

    @property
    def _num_replicas_in_sync(self) -> int:
        return len(self._devices) * self._workers

    def _input_pipeline(self) -> tuple[int, int]:
        if self._workers == 1:
            return 0, 1
        return self._task.workers.index(self._task.name), self._workers

    # -- configuration ---------------------------------------------------------------------------------

    def _configure(
        self, session_config: Any, cluster_spec: Any, task_type: Any, task_id: Any
    ) -> None:
        if self._task.cluster is None and cluster_spec:
            self._join(task_config.task_of(cluster_spec, task_type, task_id))
        if session_config is not None:
            session_config.CopyFrom(self._update_config_proto(session_config))

    def _update_config_proto(self, config_proto: Any) -> Any:
        config = copy.deepcopy(config_proto)
        config.isolate_session_state = True
        if self._communication is CollectiveCommunication.NCCL:
            config.experimental.collective_nccl = True
        if self._task.cluster is None:
            return config
        config.experimental.collective_group_leader = self._task.workers[0]
        # A worker's session is its own: collectives are all that there is between workers.
        del config.device_filters[:]
        config.device_filters.append(self._task.name.replace("/replica:0", ""))
        return config

    experimental_between_graph = property(lambda self: self._workers > 1)  # type: ignore[assignment]

    @property
    def should_checkpoint(self) -> bool:  # type: ignore[override]
        """Whether this task writes checkpoints."""
        return self._task.is_chief

    @property
    def should_save_summary(self) -> bool:  # type: ignore[override]
        """Whether this task writes summaries."""
        return self._task.is_chief


@export(
    "distribute.experimental.MultiWorkerMirroredStrategy",
    "compat.v2.distribute.experimental.MultiWorkerMirroredStrategy",
)
class MultiWorkerMirroredStrategy(Strategy):
    """Trains in step on the devices of several processes, each of which has every variable. `TF_CONFIG` tells the
    cluster and the task; without it the process is alone.

    Each process runs the same program with a session at its own `tf.train.Server`, and the configuration that
    `update_config_proto` gives.
    """

    def __init__(self, communication: CollectiveCommunication = CollectiveCommunication.AUTO):
        if not isinstance(communication, CollectiveCommunication):
            raise ValueError(
                f"communication must be a CollectiveCommunication, not {communication!r}"
            )
        task = task_config.from_environment()
        super().__init__(MultiWorkerExtended(self, communication, task))


@export("contrib.distribute.CollectiveAllReduceStrategy")
class CollectiveAllReduceStrategy(MultiWorkerMirroredStrategy):
    """As `tf.distribute.experimental.MultiWorkerMirroredStrategy`, with the number of GPUs of a worker."""

    def __init__(
        self,
        num_gpus_per_worker: int = 0,
        communication: CollectiveCommunication = CollectiveCommunication.AUTO,
    ):
        task = task_config.from_environment()
        Strategy.__init__(self, MultiWorkerExtended(self, communication, task, num_gpus_per_worker))
