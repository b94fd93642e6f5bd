"""Targets: what stands behind `Session(target)`: the devices that a session has, and who owns their state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.framework import errors
from weft.runtime.devices import Device, local_devices
from weft.runtime.resources import ResourceStore


class LocalTarget:
    """The devices of this process, with state that ends with the session."""

    default_task = ""

    def __init__(self, config: Any):
        self.devices: list[Device] = local_devices(config)
        self._store = ResourceStore()

    def store_of(self, device: Device) -> ResourceStore:
        return self._store

    @property
    def main_store(self) -> ResourceStore:
        return self._store

    def close(self) -> None:
        """Forgets the session's state."""
        self._store.close()


# Finds the target of a name and a configuration, or None; clusters register theirs.
_finders: list[Callable[[str, Any], Any]] = []
_resetters: list[Callable[[str, Any], bool]] = []


def register_targets(find: Callable[[str, Any], Any], reset: Callable[[str, Any], bool]) -> None:
    """Registers where targets other than "" are looked for, and how their state is forgotten."""
    _finders.append(find)
    _resetters.append(reset)


def find_target(name: str, config: Any) -> Any:
    """The target behind a name; NotFoundError where there is none."""
    if not name:
        return LocalTarget(config)
    for find in _finders:
        target = find(name, config)
        if target is not None:
            return target
    raise errors.NotFoundError(
        None,
        None,
        f"No session factory registered for the given session options: {{target: {name!r}}} Registered factories "
        "are {DIRECT_SESSION}, and servers of this process.",
    )


def reset_target(name: str, containers: Any) -> None:
    """Forgets the state that a target keeps."""
    if not any(reset(name, containers) for reset in _resetters):
        raise errors.NotFoundError(
            None, None, f"There is no server at {name!r} whose state could be reset."
        )
