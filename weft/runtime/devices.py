"""The devices of this process, as sessions see them."""

from __future__ import annotations

import functools
import os
import secrets
from dataclasses import dataclass, replace
from typing import Any

LOCAL = "/job:localhost/replica:0/task:0"


@dataclass(frozen=True)
class Device:
    """One device: its name and kind, and the JAX device that computes for it (None: the host's first)."""

    name: str
    kind: str  # "CPU" or "GPU"
    index: int
    jax_index: int | None = None
    memory_limit: int = 256 << 20
    incarnation: int = 0  # which life of its server the device belongs to

    def renamed(self, task: str) -> Device:
        """The same device, under the name that it has at a task of a cluster."""
        return replace(self, name=f"{task}/device:{self.kind}:{self.index}")


@functools.lru_cache(maxsize=1)
def gpu_count() -> int:
    """How many GPUs JAX reaches. Where nothing speaks for a GPU, JAX is not imported to find out."""
    from weft.engine.namespace import NVIDIA_DRIVER, load_jax

    if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1") or not os.path.exists(NVIDIA_DRIVER):
        return 0

    try:
        return len(load_jax().devices("gpu"))
    except RuntimeError:
        return 0


def local_devices(config: Any = None) -> list[Device]:
    """The devices that a session with this configuration has."""
    counts = dict(config.device_count) if config is not None else {}
    cpus = counts.get("CPU", 1) or 1
    found = gpu_count() if counts.get("GPU", 1) != 0 else 0
    gpus = min(counts.get("GPU", found), found)
    devices = [Device(f"{LOCAL}/device:CPU:{i}", "CPU", i) for i in range(cpus)]
    devices += [Device(f"{LOCAL}/device:GPU:{i}", "GPU", i, i, 16 << 30) for i in range(gpus)]
    return [replace(d, incarnation=_life() + n) for n, d in enumerate(devices)]


@functools.cache
def _life() -> int:
    """Tells this process from those before and after it."""
    return secrets.randbits(62)


def jax_device(device: Device) -> Any:
    """The JAX device that computes for a device; None where the host is all there is."""
    if not gpu_count():
        return None
    from weft.engine.namespace import load_jax

    jax = load_jax()
    return jax.devices("gpu")[device.jax_index] if device.kind == "GPU" else jax.devices("cpu")[0]
