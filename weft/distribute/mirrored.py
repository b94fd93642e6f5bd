"""MirroredStrategy: a replica on each of several devices, which all have every variable and keep it the same."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import weft as tf
from weft.distribute import devices as places
from weft.distribute.cross_device import (
    CrossDeviceOps,
    ReductionToOneDevice,
    reduced_undistributed,
)
from weft.distribute.extended import StrategyExtended
from weft.distribute.reduce_op import ReduceOp
from weft.distribute.replicas import call_for_each
from weft.distribute.strategy import Strategy
from weft.distribute.values import DistributedValues, Mirrored, container_of, of_updates
from weft.distribute.variables import (
    DistributedVariable,
    MirroredVariable,
    SyncOnReadVariable,
    create,
)
from weft.framework import context
from weft.framework.export import export


@export("distribute.MirroredStrategy", "compat.v2.distribute.MirroredStrategy")
class MirroredStrategy(Strategy):
    """Trains on several devices of one machine in step: each replica takes its part of a batch, and gradients are
    added up before variables, which every device has, are changed.

    `devices` are all GPUs, or the CPU, unless given; `cross_device_ops` brings values together.
    """

    def __init__(self, devices: Any = None, cross_device_ops: CrossDeviceOps | None = None):
        super().__init__(MirroredExtended(self, devices, cross_device_ops))


class MirroredExtended(StrategyExtended):
    """What MirroredStrategy does."""

    def __init__(self, container_strategy: Strategy, devices: Any, cross_device_ops: Any):
        super().__init__(container_strategy)
        if devices is None:
            devices = places.local()
        elif isinstance(devices, str):
            devices = (devices,)
        if not devices:
            raise ValueError("Got an empty `devices` list.")
        full = tuple(places.canonical(d) for d in devices)
        if len(set(full)) != len(full):
            raise ValueError(f"Duplicate devices in {devices}, after canonicalization: {full}")
        if cross_device_ops is not None and not isinstance(cross_device_ops, CrossDeviceOps):
            raise ValueError(
                f"cross_device_ops must be a tf.distribute.CrossDeviceOps, not {cross_device_ops!r}"
            )
        self._devices = full
        self._cross_device_ops = cross_device_ops or ReductionToOneDevice()

    # -- variables -------------------------------------------------------------------------------------

    def _create_variable(self, next_creator: Callable, **kwargs: Any) -> Any:
        colocate_with = kwargs.pop("colocate_with", None)
        if isinstance(colocate_with, str):
            with tf.device(colocate_with):
                return next_creator(**kwargs)
        devices = self._devices
        if isinstance(colocate_with, DistributedValues):
            devices = colocate_with.devices

        def make(**kwargs: Any) -> list[Any]:
            initial_value = kwargs.pop("initial_value")
            components: list[Any] = []
            for i, device in enumerate(devices):
                with tf.device(device), tf.colocate_with(None, ignore_existing=True):
                    with tf.device(device):
                        value = self._initial_value(i, device, components, initial_value, kwargs)
                        if i:
                            name = components[0].name.partition(":")[0]
                            kwargs["name"] = f"{name}/replica_{i}/"
                        components.append(next_creator(initial_value=value, **kwargs))
            return components

        return create(
            self._container_strategy(),
            devices,
            make,
            MirroredVariable,
            SyncOnReadVariable,
            **kwargs,
        )

    def _initial_value(
        self, index: int, device: str, components: list[Any], given: Any, kwargs: Any
    ) -> Any:
        """What a component starts with: the first with what is given, the others with what the first has."""
        if not index:
            return given
        first = components[0]

        def value() -> Any:
            if context.executing_eagerly() or not first._in_graph_mode:
                return tf.identity(first.value())
            with tf.device(device):
                return tf.identity(first._initial_value)

        return value

    def _validate_colocate_with_variable(self, variable: Any) -> None:
        if isinstance(variable, str):
            return
        if (
            not isinstance(variable, DistributedVariable)
            or variable._distribute_strategy is not self._container_strategy()
        ):
            raise ValueError(
                "`colocate_vars_with` must only be passed a variable created in this "
                f"tf.distribute.Strategy.scope(), not: {variable!r}"
            )

    def read_var(self, v: Any) -> Any:
        """The value of a variable, across replicas."""
        if isinstance(v, SyncOnReadVariable):
            return v._across_replicas()
        return tf.identity(v.get())

    def value_container(self, value: Any) -> Any:
        """The distributed variable that a variable is a component of."""
        return container_of(value)

    # -- replicas --------------------------------------------------------------------------------------

    def _call_for_each_replica(self, fn: Callable, args: Any, kwargs: Any) -> Any:
        first = self._input_pipeline()[0] * len(self._devices)
        return call_for_each(self._container_strategy(), self._devices, fn, args, kwargs, first)

    def _reduce_to(self, reduce_op: ReduceOp, value: Any, destinations: Any) -> Any:
        if isinstance(value, Mirrored) and reduce_op is ReduceOp.MEAN:
            return value
        if isinstance(value, Mirrored):
            raise ValueError(
                f"{value} is the same in all replicas: it has a mean, but no sum over them."
            )
        if not isinstance(value, DistributedValues):
            return reduced_undistributed(reduce_op, value, self._num_replicas_in_sync, destinations)
        return self._cross_device_ops.reduce(reduce_op, value, destinations)

    def _batch_reduce_to(self, reduce_op: ReduceOp, pairs: list[Any]) -> list[Any]:
        return self._cross_device_ops.batch_reduce(reduce_op, pairs)

    def _broadcast_to(self, tensor: Any, destinations: Any) -> Any:
        if destinations is None:
            destinations = Mirrored(self._devices, self._devices)
        return self._cross_device_ops.broadcast(tensor, destinations)

    def _update(self, var: Any, fn: Callable, args: Any, kwargs: Any, group: bool) -> Any:
        if not isinstance(var, DistributedVariable):  # it was made outside of the scope, and is one
            device = places.of(var)
            return of_updates(
                self, (device,), [self._update_on(device, None, fn, (var, *args), kwargs)], group
            )
        updates = [
            self._update_on(device, f"update_{i}", fn, (component, *args), kwargs)
            for i, (device, component) in enumerate(zip(var.devices, var.values))
        ]
        return of_updates(self, var.devices, updates, group)

    def _update_non_slot(
        self, colocate_with: Any, fn: Callable, args: Any, kwargs: Any, group: bool
    ) -> Any:
        updates = [
            self._update_on(device, f"update_{i}", fn, args, kwargs)
            for i, device in enumerate(colocate_with)
        ]
        return of_updates(self, tuple(colocate_with), updates, group)

    def non_slot_devices(self, var_list: Any) -> tuple[str, ...]:
        """All devices: they all have every variable."""
        return self._devices

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The devices that replicas run on."""
        return self._devices

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The same devices."""
        return self._devices

    @property
    def _num_replicas_in_sync(self) -> int:
        return len(self._devices)

    def _host_device(self) -> str:
        return places.canonical("/cpu:0", self._devices[0])

    @property
    def _global_batch_size(self) -> bool:
        """`make_dataset_iterator` takes batches for all replicas together."""
        return True

    def _configure(
        self, session_config: Any, cluster_spec: Any, task_type: Any, task_id: Any
    ) -> None:
        super()._configure(session_config, cluster_spec, task_type, task_id)
        if cluster_spec:
            raise ValueError(
                "In-graph multi-worker training with `MirroredStrategy` is not supported."
            )

    def _update_config_proto(self, config_proto: Any) -> Any:
        config = copy.deepcopy(config_proto)
        config.isolate_session_state = True
        return config


@export("contrib.distribute.MirroredStrategy")
class ContribMirroredStrategy(MirroredStrategy):
    """As `tf.distribute.MirroredStrategy`; batches of a dataset are those of one replica each, and the devices may be
    told by their number of GPUs."""

    def __init__(
        self,
        devices: Any = None,
        num_gpus: int | None = None,
        num_gpus_per_worker: int | None = None,
        cross_device_ops: Any = None,
        auto_shard_dataset: bool = False,
        cross_tower_ops: Any = None,
    ):
        if cross_device_ops is not None and cross_tower_ops is not None:
            raise ValueError("`cross_device_ops` and `cross_tower_ops` are the same: give one.")
        if num_gpus is not None and num_gpus_per_worker is not None:
            raise ValueError("`num_gpus` and `num_gpus_per_worker` are the same: give one.")
        gpus = num_gpus if num_gpus is not None else num_gpus_per_worker
        if devices is None and gpus is not None:
            devices = places.local(gpus)
        Strategy.__init__(
            self, _PerReplicaBatches(self, devices, cross_device_ops or cross_tower_ops)
        )
        self._auto_shard_dataset = auto_shard_dataset  # one process reads all of its input


class _PerReplicaBatches(MirroredExtended):
    def _make_dataset_iterator(self, dataset: Any) -> Any:
        from weft.distribute.input import DatasetIterator

        return DatasetIterator(self._container_strategy(), dataset, in_turns=True)

    @property
    def _global_batch_size(self) -> bool:
        return False
