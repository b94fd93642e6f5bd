"""Trackable: an object whose values go into checkpoints by the way that leads to it from the object that is saved.

The ways are named dependencies on other such objects. A checkpoint that is restored before a dependency is there
waits for it: what is restored then are positions, which `weft.train.object_restore` makes.
"""

from __future__ import annotations

import copy
import functools
import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

# Counts restores: what was restored later wins.
uids = itertools.count(1)


class TrackableReference(NamedTuple):
    """A dependency: the object and what it is called by the one that has it."""

    name: str
    ref: Any


class Tracking:
    """What a trackable object keeps about its dependencies."""

    __slots__ = ("dependencies", "deferred", "update_uid", "name_based")

    def __init__(self) -> None:
        self.dependencies: dict[str, Any] = {}
        self.deferred: dict[str, list[Any]] = {}  # positions of objects that are not there yet
        self.update_uid = -1  # the last restore that gave values
        self.name_based: set[Any] = set()  # checkpoints by names, for what comes later

    def __deepcopy__(self, memo: dict[int, Any]) -> Tracking:
        # A copy has the same parts, but no checkpoint waits for it.
        result = memo[id(self)] = Tracking()
        result.dependencies = copy.deepcopy(self.dependencies, memo)
        return result

    def __reduce__(self) -> Any:
        return Tracking, ()


class Trackable:
    """An object whose dependencies are declared by `_track_trackable`."""

    _self_setattr_tracking = True  # of those objects whose attributes become dependencies

    @property
    def _tracking(self) -> Tracking:
        state = self.__dict__.get("_self_tracking")
        if state is None:
            state = self.__dict__["_self_tracking"] = Tracking()
        return state

    def _maybe_initialize_trackable(self) -> None:
        """Prepares the object for dependencies, which needs nothing."""

    @property
    def _update_uid(self) -> int:
        return self._tracking.update_uid

    @_update_uid.setter
    def _update_uid(self, uid: int) -> None:
        self._tracking.update_uid = uid

    # -- what subclasses may do in their own way -----------------------------------------------------

    @property
    def _checkpoint_dependencies(self) -> list[TrackableReference]:
        """All dependencies of the object."""
        return [TrackableReference(*pair) for pair in self._tracking.dependencies.items()]

    @property
    def _deferred_dependencies(self) -> dict[str, list[Any]]:
        """Positions in checkpoints of dependencies that are not there yet."""
        return self._tracking.deferred

    def _lookup_dependency(self, name: str) -> Any:
        """The dependency of a name, or None."""
        return self._tracking.dependencies.get(name)

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        """What is saved of the object itself: saveables, or functions that make one for a name, by attribute."""
        return {}

    def _no_dependency(self, value: Any) -> Any:
        """A value as it is to be assigned where it is no dependency."""
        return value

    # -- dependencies --------------------------------------------------------------------------------

    def _track_trackable(self, trackable: Any, name: str, overwrite: bool = False) -> Any:
        """Declares a dependency, and restores it where a checkpoint waits for it; gives the object."""
        if not isinstance(trackable, Trackable):
            raise TypeError(
                f"Trackable._track_trackable() passed type {type(trackable)}, not a Trackable."
            )
        current = self._lookup_dependency(name)
        if current is not None and current is not trackable and not overwrite:
            raise ValueError(
                f"Called Trackable._track_trackable() with name='{name}', but a Trackable with this name is already "
                "declared as a dependency. Names must be unique (or overwrite=True)."
            )
        self._tracking.dependencies[name] = trackable
        if current is None:
            self._handle_deferred_dependencies(name, trackable)
        return trackable

    def _handle_deferred_dependencies(self, name: str, trackable: Any) -> None:
        """Restores a dependency that has come from the checkpoints that wait for it, from the newest on."""
        positions = self._deferred_dependencies.pop(name, ())
        for position in sorted(positions, key=lambda p: p.restore_uid, reverse=True):
            position.restore(trackable)
        for checkpoint in sorted(
            self._tracking.name_based, key=lambda c: c.restore_uid, reverse=True
        ):
            trackable._name_based_attribute_restore(checkpoint)

    def _preload_simple_restoration(self, name: str, shape: Any = None) -> Any:
        """The value that a checkpoint has for a variable which does not exist yet, or None."""
        positions = self._deferred_dependencies.get(name, ())
        if not positions or not all(p.is_simple_variable() for p in positions):
            return None
        return max(positions, key=lambda p: p.restore_uid).value()

    def _name_based_attribute_restore(self, checkpoint: Any) -> None:
        """Restores the object from a checkpoint that holds values by global names."""
        self._tracking.name_based.add(checkpoint)
        if self._update_uid < checkpoint.restore_uid:
            checkpoint.eager_restore(self)
            self._update_uid = checkpoint.restore_uid

    def _add_variable_with_custom_getter(
        self,
        name: str,
        shape: Any = None,
        dtype: Any = None,
        initializer: Any = None,
        getter: Callable | None = None,
        overwrite: bool = False,
        **kwargs_for_getter: Any,
    ) -> Any:
        """A variable that a getter makes, as a dependency; it is restored where a checkpoint waits for it."""
        assert getter is not None
        variable = getter(
            name=name, shape=shape, dtype=dtype, initializer=initializer, **kwargs_for_getter
        )
        if not overwrite or isinstance(variable, Trackable):
            return self._track_trackable(variable, name, overwrite)
        return variable


@contextmanager
def no_tracking(trackable: Any) -> Iterator[None]:
    """Lets attributes be assigned that are no dependencies."""
    state = trackable.__dict__
    before = state.pop("_self_setattr_tracking", None)
    state["_self_setattr_tracking"] = False
    try:
        yield
    finally:
        del state["_self_setattr_tracking"]
        if before is not None:
            state["_self_setattr_tracking"] = before


def untracked(method: Callable) -> Callable:
    """A method in which assigned attributes are no dependencies."""

    @functools.wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        with no_tracking(self):
            return method(self, *args, **kwargs)

    return call
