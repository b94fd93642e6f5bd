"""CentralStorageStrategy: replicas on several devices, and variables on one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft as tf
from weft.distribute import devices as places
from weft.distribute.cross_device import ReductionToOneDevice
from weft.distribute.mirrored import MirroredExtended
from weft.distribute.strategy import Strategy
from weft.distribute.variables import MirroredVariable, create
from weft.framework.export import export


class AggregatingVariable(MirroredVariable):
    """A variable that is there once; replicas change it together."""


class CentralExtended(MirroredExtended):
    """Variables in one place each, which `_variable_device` tells."""

    def __init__(self, container_strategy: Strategy, devices: Any, variable_device: Any):
        super().__init__(container_strategy, devices, None)
        self._variable_device = variable_device
        self._cross_device_ops = ReductionToOneDevice()

    def _create_variable(self, next_creator: Callable, **kwargs: Any) -> Any:
        colocate_with = kwargs.pop("colocate_with", None)
        device = self._variable_device

        def made(**kwargs: Any) -> Any:
            if isinstance(colocate_with, str):
                with tf.device(colocate_with):
                    return next_creator(**kwargs)
            with tf.colocate_with(None, ignore_existing=True):
                if colocate_with is not None:
                    with tf.device(colocate_with.device):
                        return next_creator(**kwargs)
                with tf.device(device):
                    return next_creator(**kwargs)

        if self._num_replicas_here == 1:
            return made(**kwargs)

        def kind(strategy: Any, devices: Any, components: list[Any], aggregation: Any) -> Any:
            where = (places.of(components[0]),)
            return AggregatingVariable(strategy, where, components, aggregation)

        # One component is always in step with itself, whenever it is read.
        return create(self._container_strategy(), (), lambda **k: [made(**k)], kind, kind, **kwargs)

    @property
    def _num_replicas_here(self) -> int:
        return len(self._devices)

    def _validate_colocate_with_variable(self, variable: Any) -> None:
        if getattr(variable, "_distribute_strategy", None) is not self._container_strategy():
            raise ValueError(
                "`colocate_vars_with` must only be passed a variable created in this "
                f"tf.distribute.Strategy.scope(), not: {variable!r}"
            )

    def non_slot_devices(self, var_list: Any) -> tuple[str, ...]:
        """Where the first of the variables is."""
        return (places.of(min(var_list, key=lambda v: v.name)),)

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The devices that variables live on."""
        return (places.canonical(self._variable_device),)


@export("distribute.experimental.CentralStorageStrategy")
class CentralStorageStrategy(Strategy):
    """Trains on several devices of one machine in step, with variables on one of them: on the CPU, or where there is
    one GPU only, on that."""

    def __init__(self, compute_devices: Any = None, parameter_device: Any = None):
        devices = tuple(compute_devices) if compute_devices else places.local()
        if parameter_device is None:
            parameter_device = devices[0] if len(devices) == 1 else "/device:CPU:0"
        super().__init__(CentralExtended(self, devices, places.canonical(parameter_device)))
