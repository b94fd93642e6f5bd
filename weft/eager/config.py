"""tf.config: the devices of eager execution and of functions, and how they are used."""

from __future__ import annotations

import os
from collections import namedtuple
from typing import Any

from weft.eager import function
from weft.framework.export import export, export_all
from weft.runtime import devices as runtime_devices

PhysicalDevice = namedtuple("PhysicalDevice", ["name", "device_type"])
LogicalDevice = namedtuple("LogicalDevice", ["name", "device_type"])


@export("config.experimental.VirtualDeviceConfiguration")
class VirtualDeviceConfiguration(namedtuple("VirtualDeviceConfiguration", ["memory_limit"])):
    """A virtual device that a physical one is divided into; `memory_limit` is in megabytes."""

    __slots__ = ()

    def __new__(cls, memory_limit: int | None = None) -> VirtualDeviceConfiguration:
        return super().__new__(cls, memory_limit)


class _Options:
    """What the program asked for."""

    def __init__(self) -> None:
        self.visible: list[PhysicalDevice] | None = None
        self.virtual: dict[PhysicalDevice, list[VirtualDeviceConfiguration]] = {}
        self.memory_growth: dict[PhysicalDevice, bool] = {}
        self.inter_op = self.intra_op = 0
        self.soft_placement = True
        self.jit = False
        self.optimizer: dict[str, bool] = {}
        self.policy = "silent"


_options = _Options()


def _physical() -> list[PhysicalDevice]:
    out = []
    for device in runtime_devices.local_devices():
        out.append(PhysicalDevice(f"/physical_device:{device.kind}:{device.index}", device.kind))
    return out


def _of_kind(items: list[Any], device_type: str | None) -> list[Any]:
    return [d for d in items if device_type is None or d.device_type == device_type]


def _known(device: PhysicalDevice) -> PhysicalDevice:
    if device not in _physical():
        raise ValueError(f"Unrecognized device: {device!r}")
    return device


@export("config.experimental.list_physical_devices", "config.list_physical_devices")
def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Returns the devices of this machine."""
    return _of_kind(_physical(), device_type)


@export("config.experimental.list_logical_devices", "config.list_logical_devices")
def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """Returns the devices as operations see them, after physical ones were divided."""
    out, numbers = [], {"CPU": 0, "GPU": 0}
    for device in get_visible_devices():
        for _ in _options.virtual.get(device, [None]):
            i = numbers[device.device_type]
            numbers[device.device_type] += 1
            name = f"/job:localhost/replica:0/task:0/device:{device.device_type}:{i}"
            out.append(LogicalDevice(name, device.device_type))
    return _of_kind(out, device_type)


@export("config.experimental_list_devices")
def experimental_list_devices() -> list[str]:
    """Returns the names of the devices."""
    return [d.name for d in list_logical_devices()]


@export("config.experimental.get_visible_devices", "config.get_visible_devices")
def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Returns the devices that operations may run on."""
    visible = _options.visible
    return _of_kind(_physical() if visible is None else visible, device_type)


@export("config.experimental.set_visible_devices", "config.set_visible_devices")
def set_visible_devices(devices: Any, device_type: str | None = None) -> None:
    """Sets the devices that operations may run on."""
    devices = (
        list(devices)
        if isinstance(devices, (list, tuple)) and not hasattr(devices, "_fields")
        else [devices]
    )
    for device in devices:
        _known(device)
        if device_type is not None and device.device_type != device_type:
            raise ValueError(f"Unrecognized device: {device!r} is no {device_type}.")
    others = [
        d for d in get_visible_devices() if device_type is not None and d.device_type != device_type
    ]
    if device_type in (None, "GPU") and not any(d.device_type == "GPU" for d in devices):
        if any(d.device_type == "GPU" for d in _physical()):
            os.environ["CUDA_VISIBLE_DEVICES"] = ""
            runtime_devices.gpu_count.cache_clear()
    _options.visible = others + devices


@export("config.experimental.get_memory_growth")
def get_memory_growth(device: PhysicalDevice) -> bool:
    """Returns whether memory of a GPU is taken as it is needed."""
    return _options.memory_growth.get(_known(device), False)


@export("config.experimental.set_memory_growth")
def set_memory_growth(device: PhysicalDevice, enable: bool) -> None:
    """Sets whether memory of a GPU is taken as it is needed; before the GPU is used."""
    if _known(device).device_type != "GPU":
        raise ValueError("Cannot set memory growth on non-GPU devices")
    _options.memory_growth[device] = bool(enable)
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false" if enable else "true"


@export(
    "config.experimental.get_virtual_device_configuration",
    "config.get_virtual_device_configuration",
)
def get_virtual_device_configuration(device: PhysicalDevice) -> Any:
    """Returns what a device is divided into, or None."""
    return _options.virtual.get(_known(device))


@export(
    "config.experimental.set_virtual_device_configuration",
    "config.set_virtual_device_configuration",
)
def set_virtual_device_configuration(device: PhysicalDevice, virtual_devices: Any) -> None:
    """Divides a device into virtual ones."""
    if _known(device).device_type == "CPU":
        for virtual in virtual_devices:
            if virtual.memory_limit is not None:
                raise ValueError(
                    "Setting memory limit on CPU virtual devices is currently not supported"
                )
    _options.virtual[device] = list(virtual_devices)


@export("config.experimental.get_synchronous_execution")
def get_synchronous_execution() -> bool:
    """Returns whether an operation is done when its call returns; it always is."""
    return True


@export("config.experimental.set_synchronous_execution")
def set_synchronous_execution(enable: bool) -> None:
    """Asks for synchronous execution, which there is; ValueError for the other."""
    if not enable:
        raise ValueError(
            "Asynchronous eager execution is not there: operations are done when they return."
        )


@export("config.experimental.get_device_policy")
def get_device_policy() -> str:
    """Returns what happens to inputs that are on another device."""
    return _options.policy


@export("config.experimental.set_device_policy")
def set_device_policy(device_policy: str | None) -> None:
    """Sets what happens to inputs that are on another device: tensors are copied silently, whatever is asked."""
    if device_policy not in (None, "silent", "silent_for_int32", "warn", "explicit"):
        raise ValueError(f"Not a valid device policy: {device_policy!r}")
    _options.policy = device_policy or "silent"


@export("config.get_soft_device_placement")
def get_soft_device_placement() -> bool:
    """Returns whether an operation may run on another device than it asks for."""
    return _options.soft_placement


@export("config.set_soft_device_placement")
def set_soft_device_placement(enabled: bool) -> None:
    """Sets whether an operation may run on another device than it asks for."""
    _options.soft_placement = bool(enabled)


@export("config.threading.get_inter_op_parallelism_threads")
def get_inter_op_parallelism_threads() -> int:
    """Returns how many operations may run at once; 0 leaves it to the system."""
    return _options.inter_op


@export("config.threading.set_inter_op_parallelism_threads")
def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Sets how many operations may run at once."""
    _options.inter_op = int(num_threads)


@export("config.threading.get_intra_op_parallelism_threads")
def get_intra_op_parallelism_threads() -> int:
    """Returns how many threads one operation may use; 0 leaves it to the system."""
    return _options.intra_op


@export("config.threading.set_intra_op_parallelism_threads")
def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Sets how many threads one operation may use."""
    _options.intra_op = int(num_threads)


@export("config.optimizer.get_jit")
def get_jit() -> bool:
    """Returns whether functions are compiled at their first call."""
    return function.compiles_at_once()


@export("config.optimizer.set_jit")
def set_jit(enabled: bool) -> None:
    """Sets whether functions are compiled at their first call, rather than once they are hot."""
    function.compile_at_once(bool(enabled))


@export("config.optimizer.get_experimental_options")
def get_experimental_options() -> dict[str, bool]:
    """Returns the options of the graph optimizer that were set."""
    return dict(_options.optimizer)


@export("config.optimizer.set_experimental_options")
def set_experimental_options(options: dict[str, bool]) -> None:
    """Sets options of TensorFlow's graph optimizer. XLA does these things by itself; they are kept only."""
    _options.optimizer.update(options)


export_all("config", PhysicalDevice=PhysicalDevice, LogicalDevice=LogicalDevice)
