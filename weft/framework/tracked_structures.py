"""Attributes that are dependencies, and lists and dicts of dependencies."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

from weft.framework.export import export
from weft.framework.trackable import Trackable, TrackableReference

_MISSING = object()


@export("contrib.checkpoint.NoDependency")
class NoDependency:
    """Wraps a value that is assigned to an attribute of a trackable object and is to be no dependency."""

    def __init__(self, value: Any):
        self.value = value


def wrapped(value: Any) -> Any:
    """A value as an attribute has it: lists and dicts know what they hold."""
    if isinstance(value, NoDependency):
        return value.value
    if type(value) is list:
        return ListWrapper(value)
    if type(value) is dict:
        return DictWrapper(value)
    if type(value) is OrderedDict:
        return OrderedDictWrapper(value)
    return value


def track_attribute(owner: Any, name: str, value: Any) -> Any:
    """Makes a value that is assigned to an attribute a dependency; gives what the attribute is to be."""
    if isinstance(value, NoDependency):
        return value.value
    value = wrapped(value)
    if isinstance(value, Trackable):
        owner._track_trackable(value, name, overwrite=True)
    return value


@export("contrib.checkpoint.Checkpointable")
class AutoTrackable(Trackable):
    """An object whose trackable attributes are its dependencies."""

    def __setattr__(self, name: str, value: Any) -> None:
        state = self.__dict__
        if state.get(name, _MISSING) is value:
            return
        if self._self_setattr_tracking:
            value = track_attribute(self, name, value)
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        self._tracking.dependencies.pop(name, None)
        super().__delattr__(name)

    def _no_dependency(self, value: Any) -> Any:
        return NoDependency(value)


class TrackedStructure(Trackable):
    """A list or dict whose elements are dependencies by their places."""

    # Why it can be saved no more, if so: a checkpoint could not be restored into what is made anew.
    _unsaveable: str | None = None

    def _elements(self) -> Iterable[tuple[Any, Any]]:
        raise NotImplementedError(f"{type(self).__name__}._elements")

    @property
    def _checkpoint_dependencies(self) -> list[TrackableReference]:
        self._check_saveable()
        return super()._checkpoint_dependencies

    def _check_saveable(self) -> None:
        if self._unsaveable is not None:
            raise ValueError(f"Unable to save the object {self!r}: {self._unsaveable}")

    def _tracked(self, value: Any, name: Any) -> Any:
        """An element as the structure has it, a dependency if it can be one."""
        value = wrapped(value)
        if isinstance(value, Trackable):
            self._track_trackable(value, str(name), overwrite=True)
        return value

    def _forget(self, name: Any) -> None:
        self._tracking.dependencies.pop(str(name), None)

    # -- what the elements have in common with layers ------------------------------------------------

    def _layers_and_variables(self) -> tuple[list[Any], list[Any]]:
        layers, variables = [], []
        for _, value in self._elements():
            if hasattr(value, "trainable_weights"):
                layers.append(value)
            elif hasattr(value, "trainable"):
                variables.append(value)
        return layers, variables

    @property
    def layers(self) -> list[Any]:
        """The layers among the elements, and in the structures among them."""
        found: list[Any] = []
        for layer in self._layers_and_variables()[0]:
            found.extend(layer.layers if isinstance(layer, TrackedStructure) else [layer])
        return found

    @property
    def trainable_weights(self) -> list[Any]:
        layers, variables = self._layers_and_variables()
        own = [v for v in variables if v.trainable]
        return own + [w for layer in layers for w in layer.trainable_weights]

    @property
    def non_trainable_weights(self) -> list[Any]:
        layers, variables = self._layers_and_variables()
        own = [v for v in variables if not v.trainable]
        return own + [w for layer in layers for w in layer.non_trainable_weights]

    @property
    def weights(self) -> list[Any]:
        return self.trainable_weights + self.non_trainable_weights

    @property
    def variables(self) -> list[Any]:
        return self.weights

    @property
    def trainable_variables(self) -> list[Any]:
        return self.trainable_weights

    @property
    def non_trainable_variables(self) -> list[Any]:
        return self.non_trainable_weights


_CHANGED = (
    "elements that are dependencies were replaced, removed or put in other places. Restoring finds elements by "
    "their places when they are added, so that it would give them other values. If it need not be saved, assign "
    "it within tf.contrib.checkpoint.NoDependency."
)


class ListWrapper(TrackedStructure, list):  # type: ignore[misc]
    """A list that was assigned to an attribute of a trackable object. What is put at its end is a dependency."""

    def __init__(self, elements: Iterable[Any] = ()):
        super().__init__()
        self.extend(elements)

    def _elements(self) -> Iterable[tuple[Any, Any]]:
        return enumerate(self)

    def append(self, value: Any) -> None:
        list.append(self, self._tracked(value, len(self)))

    def extend(self, values: Iterable[Any]) -> None:
        for value in values:
            self.append(value)

    def __iadd__(self, values: Iterable[Any]) -> Any:  # type: ignore[misc]
        self.extend(values)
        return self

    def __imul__(self, times: Any) -> Any:  # type: ignore[misc]
        if times <= 0:
            self.clear()
        else:
            self.extend(list(self) * (times - 1))
        return self

    def _rearranged(self) -> None:
        """Marks the list as changed, where elements are dependencies."""
        if self._tracking.dependencies:
            self._unsaveable = _CHANGED

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, slice):
            self._rearranged()
            list.__setitem__(self, key, [wrapped(v) for v in value])
            return
        place = range(len(self))[key]
        if isinstance(self[place], Trackable):
            self._unsaveable = _CHANGED
        list.__setitem__(self, key, self._tracked(value, place))

    def __delitem__(self, key: Any) -> None:
        self._rearranged()
        list.__delitem__(self, key)

    def insert(self, index: Any, value: Any) -> None:
        value = wrapped(value)
        if isinstance(value, Trackable):
            self._unsaveable = _CHANGED
        self._rearranged()
        list.insert(self, index, value)

    def pop(self, index: Any = -1) -> Any:
        self._rearranged()
        return list.pop(self, index)

    def remove(self, value: Any) -> None:
        self._rearranged()
        list.remove(self, value)

    def clear(self) -> None:
        self._rearranged()
        list.clear(self)

    def sort(self, **how: Any) -> None:
        self._rearranged()
        list.sort(self, **how)

    def reverse(self) -> None:
        self._rearranged()
        list.reverse(self)

    def copy(self) -> Any:
        return type(self)(self)

    def __copy__(self) -> Any:
        return type(self)(self)

    def __reduce__(self) -> Any:
        return type(self), (list(self),)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        import copy

        return type(self)(copy.deepcopy(list(self), memo))

    def __repr__(self) -> str:
        return f"ListWrapper({list.__repr__(self)})"

    def __hash__(self) -> int:  # type: ignore[override]
        raise TypeError("unhashable type: 'ListWrapper'")


class _TrackedDict(TrackedStructure):
    """What dicts share that were assigned to attributes of trackable objects. Values under strings are dependencies."""

    # What the dict has, of whichever kind it is.
    get: Any
    items: Any
    __getitem__: Any
    __iter__: Any
    __len__: Any
    __contains__: Any
    __reversed__: Any

    def __init__(self, elements: Any = ()):
        super().__init__()
        self.update(elements)

    def _elements(self) -> Iterable[tuple[Any, Any]]:
        return sorted(self.items(), key=lambda pair: str(pair[0]))

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(self.get(key), Trackable) and self[key] is not value:
            self._forget(key)
            if not isinstance(wrapped(value), Trackable):
                self._unsaveable = _CHANGED
        if isinstance(key, str):
            value = self._tracked(value, key)
        else:
            value = wrapped(value)
            if isinstance(value, Trackable):
                self._unsaveable = f"it has a dependency under {key!r}, which is no string."
        super().__setitem__(key, value)  # type: ignore[misc]

    def update(self, *args: Any, **kwargs: Any) -> None:
        for key, value in dict(*args, **kwargs).items():
            self[key] = value

    def setdefault(self, key: Any, default: Any = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]

    def __delitem__(self, key: Any) -> None:
        if isinstance(self.get(key), Trackable):
            self._unsaveable = _CHANGED
        super().__delitem__(key)  # type: ignore[misc]

    def pop(self, key: Any, *default: Any) -> Any:
        if isinstance(self.get(key), Trackable):
            self._unsaveable = _CHANGED
        return super().pop(key, *default)  # type: ignore[misc]

    def popitem(self, last: bool = True) -> Any:
        key = next(reversed(self) if last else iter(self))
        return key, self.pop(key)

    def clear(self) -> None:
        for key in list(self):
            del self[key]

    def copy(self) -> Any:
        return type(self)(self)

    __copy__ = copy

    def __reduce__(self) -> Any:
        return type(self), (dict(self),)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        import copy

        return type(self)(copy.deepcopy(dict(self), memo))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({dict(self)})"

    def __hash__(self) -> int:  # type: ignore[override]
        raise TypeError(f"unhashable type: '{type(self).__name__}'")


class DictWrapper(_TrackedDict, dict):  # type: ignore[misc]
    """A dict."""


class OrderedDictWrapper(_TrackedDict, OrderedDict):  # type: ignore[misc]
    """A dict that knows more of its order."""
