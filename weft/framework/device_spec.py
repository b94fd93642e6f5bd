"""Names of devices: `/job:worker/replica:0/task:1/device:GPU:0`, each part optional."""

import functools
from typing import Any


def _name(value):
    return None if value is None else str(value)


def _number(value):
    return None if value is None else int(value)


def _device_type(value):
    if value is None:
        return None
    value = str(value)
    return value.upper() if value.lower() in ("cpu", "gpu") else value


def _part(slot, convert):
    """Makes a property kept in `slot`."""

    def read(self):
        return getattr(self, slot)

    def write(self, value):
        setattr(self, slot, convert(value))

    return property(read, write)


class DeviceSpec:
    """A device, or the part of its name that matters; what is None is left open.

    A type that is given without an index stands for any device of the type (`/device:GPU:*`).
    """

    __slots__ = ("_job", "_replica", "_task", "_device_type", "_device_index")

    def __init__(self, job=None, replica=None, task=None, device_type=None, device_index=None):
        self._set((job, replica, task, device_type, device_index))

    job = _part("_job", _name)
    replica = _part("_replica", _number)
    task = _part("_task", _number)
    device_type = _part("_device_type", _device_type)
    device_index = _part("_device_index", _number)

    def _set(self, parts):
        self.job, self.replica, self.task, self.device_type, self.device_index = parts

    def _parts(self):
        return self._job, self._replica, self._task, self._device_type, self._device_index

    @classmethod
    def from_string(cls, spec: str | None) -> "DeviceSpec":
        """Returns the spec of a name; `ValueError` if it is not well-formed."""
        return cls(*_parse(spec))

    def parse_from_string(self, spec: str | None) -> "DeviceSpec":
        """Replaces every part by those of the name `spec`; returns `self`."""
        self._set(_parse(spec))
        return self

    def to_string(self) -> str:
        """Returns the canonical name."""
        return _format(*self._parts())

    def merge_from(self, dev: "DeviceSpec") -> None:
        """Takes over each part that the spec `dev` gives."""
        self._set(_merge(self, dev))

    def make_merged_spec(self, dev: "DeviceSpec") -> "DeviceSpec":
        """Returns a new spec: that of `dev`, with what it leaves open taken from `self`."""
        return type(self)(*_merge(self, dev))

    def replace(self, **kwargs: Any) -> "DeviceSpec":
        """Returns a new spec with the given parts in place of those of `self`."""
        names = ("job", "replica", "task", "device_type", "device_index")
        return type(self)(**(dict(zip(names, self._parts(), strict=True)) | kwargs))

    def __eq__(self, other):
        return isinstance(other, DeviceSpec) and self.to_string() == other.to_string()

    def __hash__(self):
        return hash(self.to_string())

    def __str__(self):
        return self.to_string()

    def __repr__(self):
        return f"DeviceSpec({self.to_string()!r})"


def _merge(outer, inner):
    return [
        theirs if theirs is not None else ours
        for ours, theirs in zip(outer._parts(), inner._parts(), strict=True)
    ]


@functools.lru_cache(maxsize=4096)
def _parse(spec: str | None) -> tuple:
    """Returns job, replica, task, device type and device index of a name."""
    job = replica = task = device_type = device_index = None
    for part in (spec or "").split("/"):
        words = part.split(":")
        key, count = words[0], len(words)
        if count == 2 and key == "job":
            job = words[1]
        elif count == 2 and key == "replica":
            replica = int(words[1])
        elif count == 2 and key == "task":
            task = int(words[1])
        elif (count == 3 and key == "device") or (count < 3 and key.upper() in ("CPU", "GPU")):
            if device_type is not None:
                raise ValueError(f"Cannot specify multiple device types: {spec}")
            device_type, *index = words[1:] if count == 3 else words
            device_type = _device_type(device_type)
            if index and index[0] != "*":
                device_index = int(index[0])
        elif key:
            raise ValueError(
                f"Unknown attribute: '{key}' in '{spec}'. A device is named like "
                "'/job:worker/replica:0/task:0/device:GPU:0', with any part left out."
            )
    return job, replica, task, device_type, device_index


@functools.lru_cache(maxsize=4096)
def _format(job: Any, replica: Any, task: Any, device_type: Any, device_index: Any) -> str:
    parts = []
    if job is not None:
        parts.append(f"/job:{job}")
    if replica is not None:
        parts.append(f"/replica:{replica}")
    if task is not None:
        parts.append(f"/task:{task}")
    if device_type is not None:
        parts.append(f"/device:{device_type}:{'*' if device_index is None else device_index}")
    return "".join(parts)


def canonical_name(device: DeviceSpec | str | None) -> str:
    """Returns the canonical name of a `DeviceSpec` or of a name; an empty one for None."""
    if device is None:
        return ""
    return device.to_string() if isinstance(device, DeviceSpec) else _format(*_parse(device))


class MergeDevice:
    """A device function: it gives an op that device for the parts that the op's own leaves open."""

    def __init__(self, spec):
        name = spec.to_string() if isinstance(spec, DeviceSpec) else spec
        self._spec = DeviceSpec.from_string(name)  # of its own: the caller may change `spec` later

    def __call__(self, node_def):
        return self._spec.make_merged_spec(DeviceSpec.from_string(node_def.device or ""))

    def shortcut_string_merge(self, node_def):
        """Returns the name of the device that calling this with `node_def` gives."""
        return self(node_def).to_string()

    @property
    def is_null_merge(self):
        """Whether this leaves every device as it is."""
        return not self._spec.to_string()

    def __repr__(self):
        return f"MergeDevice({self._spec.to_string()!r})"


def merge_device(spec: "DeviceSpec | MergeDevice | str") -> MergeDevice:
    """Returns a device function that fills in `spec` where ops and inner scopes say nothing."""
    return spec if isinstance(spec, MergeDevice) else MergeDevice(spec)
