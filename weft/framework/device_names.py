"""Device names as strings: canonical forms and merges, cached, since each new op needs them."""

from __future__ import annotations

import functools
from typing import Any


@functools.lru_cache(maxsize=4096)
def _canonical(device: str) -> str:
    from weft.framework.device_spec import DeviceSpec

    return DeviceSpec.from_string(device).to_string()


def canonical_device(device: Any) -> str:
    """The canonical string of a device given as a string, a DeviceSpec or None."""
    if not device:
        return ""
    return _canonical(device if isinstance(device, str) else device.to_string())


@functools.lru_cache(maxsize=4096)
def merge_device_strings(outer: str, inner: str) -> str:
    """The device that `inner` asks for, with what it leaves open taken from `outer`."""
    from weft.framework.device_spec import DeviceSpec

    if not inner:
        return _canonical(outer) if outer else ""
    merged = DeviceSpec.from_string(outer)
    merged.merge_from(DeviceSpec.from_string(inner))
    return merged.to_string()
