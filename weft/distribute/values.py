"""Values that have a component on each of several devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.distribute import devices as places
from weft.framework import conversion, nest, replication
from weft.framework.composite_tensor import CompositeTensor
from weft.framework.type_spec import TypeSpec, type_spec_from_value
from weft.variables.base import is_tensor


class DistributedValues:
    """Components by replica, each with its device."""

    _values: tuple[Any, ...]
    _devices: tuple[str, ...]

    def __init__(self, devices: Any, values: Any):
        self._values, self._devices = tuple(values), tuple(devices)
        if len(self._values) != len(self._devices):
            raise ValueError(
                f"There are {len(self._values)} values for {len(self._devices)} devices."
            )

    @property
    def values(self) -> tuple[Any, ...]:
        """The components."""
        return self._values

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices of the components."""
        return self._devices

    @property
    def primary(self) -> Any:
        """The first component."""
        return self._values[0]

    def get(self, device: str | None = None) -> Any:
        """The component of the replica that is being built, or on a device; ValueError if there is none."""
        if device is None:
            role = replication.role()
            if role is None:  # a program without a strategy is one replica
                return self._values[0]
            if role.replica is not None:
                return self._of_replica(role.replica)
            device = replication.update_device()
            if device is None:
                return self._across_replicas()
        found = self._on(places.canonical(device))
        if found is None:
            raise ValueError(
                f"Device {device} not found in {self._devices} (current device {places.current()})"
            )
        return found

    def _of_replica(self, replica: Any) -> Any:
        return self._values[replica._index if len(self._values) > 1 else 0]

    def _on(self, device: str) -> Any:
        for value, where in zip(self._values, self._devices):
            if where == device:
                return value
        return None

    def _across_replicas(self) -> Any:
        raise ValueError(
            f"{type(self).__name__} has a value for each replica: it can be used in a replica (the function that "
            "`experimental_run_v2` runs), or reduced (`strategy.reduce`), or taken apart "
            "(`strategy.experimental_local_results`)."
        )

    def _nearest(self) -> Any:
        """The component of this replica or device; else the first."""
        replica = replication.replica()
        if replica is not None:
            return self._of_replica(replica)
        device = replication.update_device() or places.current()
        if not device:
            return self._values[0]
        found = self._on(places.canonical(device))
        return self._values[0] if found is None else found

    @property
    def is_tensor_like(self) -> bool:
        """Whether all components are tensors."""
        return all(is_tensor(v) for v in self._values)

    def _text(self, how: Callable[[Any], str]) -> str:
        lines = (
            f"  {i} {d}: {how(v)}" for i, (d, v) in enumerate(zip(self._devices, self._values))
        )
        return "%s:{\n%s\n}" % (type(self).__name__, ",\n".join(lines))

    def __str__(self) -> str:
        return self._text(str)

    def __repr__(self) -> str:
        return self._text(repr)


class PerReplica(DistributedValues, CompositeTensor):
    """A value that differs between replicas: their inputs, and what they return."""

    def _nest_components(self) -> list[Any]:
        return list(self._values)

    def _nest_from_components(self, parts: list[Any]) -> PerReplica:
        return PerReplica(self._devices, parts)

    def _fetched(self, arrays: list[Any]) -> Any:
        return tuple(arrays)

    @property
    def _type_spec(self) -> TypeSpec:
        return PerReplicaSpec([type_spec_from_value(v) for v in self._values], self._devices)


class PerReplicaSpec(TypeSpec):
    """The type of a PerReplica value."""

    value_type = PerReplica  # type: ignore[assignment]

    def __init__(self, specs: Any, devices: Any):
        self._specs, self._devices = tuple(specs), tuple(devices)

    def _serialize(self) -> tuple:
        return self._specs, self._devices

    @property
    def _component_specs(self) -> list[Any]:
        return list(self._specs)

    def _from_components(self, components: list[Any]) -> PerReplica:
        return PerReplica(self._devices, components)

    def _to_components(self, value: PerReplica) -> Any:
        replica = replication.replica()
        if replica is not None and replica.num_replicas_in_sync > 1:
            raise ValueError(
                "Flattening a PerReplica to components is not supported in replica context."
            )
        return list(value._values)


class Mirrored(DistributedValues):
    """A value that is the same in all replicas; it behaves as its component here does."""

    def _across_replicas(self) -> Any:
        return self._nearest()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("_values", "_devices", "_nest_components"):
            raise AttributeError(name)
        return getattr(self.get(), name)

    def _as_graph_element(self) -> Any:
        value = self.get()
        convert = getattr(value, "_as_graph_element", None)
        return convert() if callable(convert) else value


def _delegate(name: str) -> Callable:
    def operator(self: Any, *args: Any) -> Any:
        return getattr(self.get(), name)(*args)

    operator.__name__ = name
    return operator


for _name in (
    "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod div rdiv lt le gt ge and rand or ror "
    "xor rxor pow rpow invert neg abs matmul rmatmul getitem float int bool"
).split():
    setattr(Mirrored, f"__{_name}__", _delegate(f"__{_name}__"))


def _to_tensor(value: Any, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Any:
    return conversion.convert_to_tensor(value.get(), dtype=dtype, name=name)


conversion.register_tensor_conversion_function(Mirrored, _to_tensor)


# -- structures of such values ----------------------------------------------------------------------------


def container_of(value: Any) -> Any:
    """The distributed variable that a variable is a component of; other values as they are."""
    found = getattr(value, "_distributed_container", None)
    return value if found is None else found()


def _like(structure: Any, parts: list[Any]) -> Any:
    if hasattr(structure, "_fields"):
        return type(structure)(*parts)
    if isinstance(structure, dict):
        return type(structure)(zip(structure, parts))
    return type(structure)(parts)


def _of_same_form(values: Any, kind: Any) -> None:
    if any(not isinstance(v, kind) or len(v) != len(values[0]) for v in values):
        raise ValueError(f"The replicas give values of different structure: {values}")


def regrouped(devices: Any, values: Any, wrap: Any = PerReplica) -> Any:
    """One structure of distributed values, of a structure for each replica."""
    first = values[0]
    if isinstance(first, (list, tuple)) and not isinstance(first, DistributedValues):
        _of_same_form(values, type(first))
        return _like(first, [regrouped(devices, v, wrap) for v in zip(*values)])
    if isinstance(first, dict):
        _of_same_form(values, dict)
        if any(set(v) != set(first) for v in values):
            raise ValueError(f"The replicas give dictionaries with different keys: {values}")
        return _like(first, [regrouped(devices, [v[k] for v in values], wrap) for k in first])
    is_component = getattr(first, "_distributed_container", None) is not None
    same = all(v is first for v in values)
    if same and not is_component:
        return first
    if is_component:
        container = container_of(first)
        if all(container_of(v) is container for v in values):
            return container
    return wrap(devices, values)


def selected(index: int, structure: Any) -> Any:
    """What a replica sees of a structure of distributed values."""
    return _mapped(lambda v: v._values[index] if isinstance(v, DistributedValues) else v, structure)


def selected_on(device: str, structure: Any) -> Any:
    """The components on a device of a structure of mirrored values."""

    def select(value: Any) -> Any:
        if not isinstance(value, DistributedValues):
            return value
        if isinstance(value, PerReplica):
            raise TypeError(
                f"Expected value to be mirrored across replicas: {value} in {structure}."
            )
        return value.get(device)

    return _mapped(select, structure)


def _mapped(function: Callable[[Any], Any], structure: Any) -> Any:
    if isinstance(structure, DistributedValues):
        return function(structure)
    if isinstance(structure, (list, tuple)):
        return _like(structure, [_mapped(function, v) for v in structure])
    if isinstance(structure, dict):
        return _like(structure, [_mapped(function, v) for v in structure.values()])
    return function(structure)


def of_updates(extended: Any, devices: Any, updates: list[Any], group: bool) -> Any:
    """What an update of each component gives: distributed values, or with `group` such as run all of them."""
    together = regrouped(devices, updates, Mirrored)
    if not group:
        return nest.map_structure(extended._local_results, together)
    return nest.map_structure(lambda u: _running_all(extended, u), together)


def _running_all(extended: Any, update: Any) -> Any:
    import weft as tf

    if not isinstance(update, DistributedValues):
        return update
    everything = extended._container_strategy().group(update)
    if not update.is_tensor_like:
        return everything
    values = []
    for device, value in zip(update.devices, update.values):
        with tf.device(device), tf.control_dependencies([everything] if everything else []):
            values.append(tf.identity(value))
    return Mirrored(update.devices, values)
