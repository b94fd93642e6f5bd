"""Names of devices in full, and where the program stands."""

from __future__ import annotations

from typing import Any

from weft.framework import context
from weft.framework.device_names import merge_device_strings
from weft.framework.device_spec import DeviceSpec
from weft.runtime.devices import gpu_count

HOST = "/replica:0/task:0/device:CPU:0"


def canonical(device: str | None, default: str | None = None) -> str:
    """A device's full name; what is not said comes from `default`, or is the host of this process."""
    spec = DeviceSpec.from_string(device or "")
    base = DeviceSpec.from_string(default or HOST)
    kind = spec.device_type or base.device_type or "CPU"
    index = spec.device_index
    if index is None:
        same = spec.device_type is None or spec.device_type == base.device_type
        index = base.device_index if same and base.device_index is not None else 0
    return DeviceSpec(
        job=spec.job or base.job,
        replica=spec.replica if spec.replica is not None else base.replica or 0,
        task=spec.task if spec.task is not None else base.task or 0,
        device_type=kind,
        device_index=index,
    ).to_string()


def current() -> str:
    """What the enclosing `tf.device` blocks say; "" where they say nothing."""
    if context.executing_eagerly():
        return ""
    device = ""
    for outer in reversed(context.get_default_graph()._devices):
        if outer is None:
            break
        if isinstance(outer, str):
            device = merge_device_strings(outer, device)
    return device


def resolved(device: str) -> str:
    """A device's full name; what is not said comes from where the program stands."""
    return canonical(device, canonical(current()))


def of(value: Any) -> str:
    """The device of a tensor or variable."""
    return canonical(getattr(value, "device", "") or "")


def local(gpus: int | None = None) -> tuple[str, ...]:
    """The GPUs of this process, else its first CPU."""
    if gpus is None:
        gpus = gpu_count()
    return tuple(f"/device:GPU:{i}" for i in range(gpus)) or ("/device:CPU:0",)
