"""OneDeviceStrategy: one replica, on a device that is named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft as tf
from weft.distribute import devices as places
from weft.distribute.cross_device import copied, devices_of
from weft.distribute.extended import StrategyExtended
from weft.distribute.reduce_op import ReduceOp
from weft.distribute.replica_context import ReplicaContext
from weft.distribute.strategy import Strategy
from weft.framework import context, nest
from weft.framework.export import export


@export(
    "distribute.OneDeviceStrategy",
    "contrib.distribute.OneDeviceStrategy",
    "compat.v2.distribute.OneDeviceStrategy",
)
class OneDeviceStrategy(Strategy):
    """Puts variables and computation on one device: for trying out a program that is written for several."""

    def __init__(self, device: str):
        super().__init__(_Extended(self, device))


class _Extended(StrategyExtended):
    def __init__(self, container_strategy: Strategy, device: str):
        super().__init__(container_strategy)
        self._device = places.resolved(device)
        self._default_device = device

    def _create_variable(self, next_creator: Callable, **kwargs: Any) -> Any:
        colocate_with = kwargs.pop("colocate_with", None)
        if colocate_with is None:
            with tf.device(self._device):
                return next_creator(**kwargs)
        if isinstance(colocate_with, str):
            with tf.device(colocate_with):
                return next_creator(**kwargs)
        with tf.colocate_with(colocate_with):
            return next_creator(**kwargs)

    def _call_for_each_replica(self, fn: Callable, args: Any, kwargs: Any) -> Any:
        replica_id: Any = 0 if context.executing_eagerly() else tf.constant(0, tf.int32)
        with tf.device(self._device), ReplicaContext(self._container_strategy(), replica_id):
            return fn(*args, **kwargs)

    def _reduce_to(self, reduce_op: ReduceOp, value: Any, destinations: Any) -> Any:
        return value

    def _broadcast_to(self, tensor: Any, destinations: Any) -> Any:
        if destinations is None:
            return tensor
        found = copied(tensor, devices_of(destinations))
        return found if len(found.devices) > 1 else found.primary

    def _update(self, var: Any, fn: Callable, args: Any, kwargs: Any, group: bool) -> Any:
        return self._update_non_slot(var, fn, (var, *args), kwargs, group)

    def _update_non_slot(
        self, colocate_with: Any, fn: Callable, args: Any, kwargs: Any, group: bool
    ) -> Any:
        found = self._update_on(self._device, None, fn, args, kwargs)
        return found if group else nest.map_structure(self._local_results, found)

    def read_var(self, v: Any) -> Any:
        """The value of a variable."""
        return tf.identity(v)

    def value_container(self, value: Any) -> Any:
        """The value: there is one only."""
        return value

    def non_slot_devices(self, var_list: Any) -> tuple[str, ...]:
        """The device."""
        return (self._device,)

    def _host_device(self) -> str:
        return places.canonical("/cpu:0", self._device)

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The device."""
        return (self._device,)

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The device."""
        return (self._device,)

    @property
    def _num_replicas_in_sync(self) -> int:
        return 1

    @property
    def _global_batch_size(self) -> bool:
        return True
