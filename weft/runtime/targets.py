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
    master: Any = None  # what runs the session's steps in its place; None where the session does

    def __init__(self, config: Any):
        self.config = config
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


# What finds and resets targets, by how their names begin; it is loaded when the first such target is used.
_schemes: dict[str, Callable[[], Any]] = {}


def register_targets(scheme: str, load: Callable[[], Any]) -> None:
    """Registers who knows targets whose names begin with `scheme`: `load()` has `find` and `reset`."""
    _schemes[scheme] = load


def _known(name: str) -> Any:
    for scheme, load in _schemes.items():
        if name.startswith(scheme):
            return load()
    return None


def find_target(name: str, config: Any) -> Any:
    """The target behind a name; NotFoundError where there is none."""
    if not name:
        return LocalTarget(config)
    known = _known(name)
    if known is not None:
        return known.find(name, config)
    raise errors.NotFoundError(
        None,
        None,
        f"No session factory registered for the given session options: {{target: {name!r}}} Registered factories "
        "are {DIRECT_SESSION, GRPC_SESSION}.",
    )


def reset_target(name: str, containers: Any, config: Any = None) -> None:
    """Forgets the state that a target keeps."""
    known = _known(name)
    if known is None:
        raise errors.NotFoundError(
            None, None, f"There is no server at {name!r} whose state could be reset."
        )
    known.reset(name, containers, config)
