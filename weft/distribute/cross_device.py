"""How the values of replicas are brought together across devices."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.distribute import devices as places
from weft.distribute.reduce_op import ReduceOp, reduce_op_of
from weft.distribute.values import DistributedValues, Mirrored, PerReplica
from weft.framework.export import export
from weft.framework.indexed_slices import IndexedSlices


def devices_of(destinations: Any) -> tuple[str, ...]:
    """The devices that destinations name: values, or a device."""
    if isinstance(destinations, DistributedValues):
        return destinations.devices
    if isinstance(destinations, str):
        return (places.resolved(destinations),)
    container = getattr(destinations, "_distributed_container", None)
    if container is not None and container() is not None:
        return container().devices
    return (places.of(destinations),)


def copied(value: Any, devices: tuple[str, ...]) -> Mirrored:
    """A value on each of several devices."""
    values = []
    for device in devices:
        with tf.device(device):
            values.append(_identity(value))
    return Mirrored(devices, values)


def _identity(value: Any) -> Any:
    if isinstance(value, IndexedSlices):
        shape = value.dense_shape
        return IndexedSlices(
            tf.identity(value.values),
            tf.identity(value.indices),
            None if shape is None else tf.identity(shape),
        )
    return tf.identity(value)


def summed(values: Any, device: str, accumulate: Any = None) -> Any:
    """The sum of tensors, or of IndexedSlices, on a device."""
    with tf.device(device):
        if any(isinstance(v, IndexedSlices) for v in values):
            if not all(isinstance(v, IndexedSlices) for v in values):
                values = [tf.convert_to_tensor(v) for v in values]
            else:
                return IndexedSlices(
                    tf.concat([v.values for v in values], 0),
                    tf.concat([v.indices for v in values], 0),
                    values[0].dense_shape,
                )
        return (accumulate or tf.add_n)(list(values))


def divided(value: Any, count: int) -> Any:
    """A value, or IndexedSlices, divided by a number of replicas."""
    if isinstance(value, IndexedSlices):
        return IndexedSlices(divided(value.values, count), value.indices, value.dense_shape)
    return value / tf.cast(count, value.dtype)


def reduced_undistributed(reduce_op: ReduceOp, value: Any, replicas: int, destinations: Any) -> Any:
    """What comes of a value that is the same in all replicas."""
    if isinstance(value, DistributedValues):
        raise ValueError("You are passing a `DistributedValues` to a value that is no such.")
    if isinstance(value, (int, float)) and value == 0:
        return value
    if reduce_op is ReduceOp.MEAN:
        pass
    elif replicas != 1:
        raise ValueError(
            f"A non-DistributedValues value {value} cannot be reduced with the given reduce op {reduce_op}."
        )
    devices = devices_of(destinations)
    if len(devices) == 1:
        with tf.device(devices[0]):
            return tf.identity(value)
    return copied(tf.convert_to_tensor(value), devices)


@export("distribute.CrossDeviceOps", "contrib.distribute.CrossDeviceOps")
class CrossDeviceOps:
    """A way to bring values together. Subclasses say how, by `reduce_implementation` and its like."""

    def __init__(self) -> None:
        pass

    def reduce(self, reduce_op: Any, per_replica_value: Any, destinations: Any) -> Any:
        """The sum or mean of a per-replica value, on the devices of `destinations`."""
        if not isinstance(per_replica_value, DistributedValues):
            per_replica_value = PerReplica((places.of(per_replica_value),), [per_replica_value])
        _check_destinations(destinations)
        return self.reduce_implementation(reduce_op_of(reduce_op), per_replica_value, destinations)

    def batch_reduce(self, reduce_op: Any, value_destination_pairs: Any) -> list[Any]:
        """`reduce` of several values at once."""
        pairs = []
        for value, destinations in _checked_pairs(value_destination_pairs):
            if not isinstance(value, DistributedValues):
                value = PerReplica((places.of(value),), [value])
            _check_destinations(destinations)
            pairs.append((value, destinations))
        return self.batch_reduce_implementation(reduce_op_of(reduce_op), pairs)

    def broadcast(self, tensor: Any, destinations: Any) -> Any:
        """A value on all devices of `destinations`."""
        _check_destinations(destinations)
        return self.broadcast_implementation(tensor, destinations)

    def reduce_implementation(
        self, reduce_op: Any, per_replica_value: Any, destinations: Any
    ) -> Any:
        """What `reduce` does."""
        raise NotImplementedError("_reduce method must be implemented in descendants.")

    def batch_reduce_implementation(
        self, reduce_op: Any, value_destination_pairs: Any
    ) -> list[Any]:
        """What `batch_reduce` does."""
        raise NotImplementedError(
            "batch_reduce_implementation method must be implemented in descendants."
        )

    def broadcast_implementation(self, tensor: Any, destinations: Any) -> Any:
        """What `broadcast` does."""
        return copied(tensor, devices_of(destinations))


def _check_destinations(destinations: Any) -> None:
    if destinations is None or (isinstance(destinations, (str, list, tuple)) and not destinations):
        raise ValueError("destinations can not be empty")


def _checked_pairs(pairs: Any) -> list[Any]:
    if not isinstance(pairs, (list, tuple)):
        raise ValueError("`value_destination_pairs` must be a list or a tuple.")
    if any(not isinstance(p, tuple) or len(p) != 2 for p in pairs):
        raise ValueError("`value_destination_pairs` must consist of tuples of two.")
    return list(pairs)


@export("distribute.ReductionToOneDevice", "contrib.distribute.ReductionToOneDeviceCrossDeviceOps")
class ReductionToOneDevice(CrossDeviceOps):
    """Copies all values to one device, adds them up there, and copies the result to where it is wanted.

    `accumulation_fn` adds up, instead of `tf.add_n`; `reduce_to_device` is the device, instead of the first one
    that the result is wanted on.
    """

    def __init__(self, reduce_to_device: Any = None, accumulation_fn: Any = None):
        super().__init__()
        self.reduce_to_device, self.accumulation_fn = reduce_to_device, accumulation_fn

    def reduce_implementation(
        self, reduce_op: Any, per_replica_value: Any, destinations: Any
    ) -> Any:
        """What `reduce` does."""
        devices = devices_of(destinations)
        at = places.resolved(self.reduce_to_device) if self.reduce_to_device else devices[0]
        values = per_replica_value.values
        total = summed(values, at, self.accumulation_fn)
        with tf.device(at):
            if reduce_op is ReduceOp.MEAN:
                total = divided(total, len(values))
        return copied(total, devices)

    def batch_reduce_implementation(
        self, reduce_op: Any, value_destination_pairs: Any
    ) -> list[Any]:
        """What `batch_reduce` does."""
        return [
            self.reduce_implementation(reduce_op, value, to)
            for value, to in value_destination_pairs
        ]


class _AllReduce(ReductionToOneDevice):
    """Brings together many values at once: tensors of one dtype are packed into `num_packs`, each of which is
    reduced as a whole; 0 leaves each tensor alone. Values that end elsewhere than they come from, and
    IndexedSlices, are reduced one by one."""

    def __init__(self, num_packs: int = 1):
        if num_packs < 0:
            raise ValueError(
                f"{type(self).__name__} requires num_packs >= 0, but {num_packs} is specified"
            )
        super().__init__()
        self._num_packs = num_packs

    def batch_reduce_implementation(
        self, reduce_op: Any, value_destination_pairs: Any
    ) -> list[Any]:
        """What `batch_reduce` does."""
        pairs = value_destination_pairs
        by_kind: dict[Any, list[int]] = {}
        for i, (value, to) in enumerate(pairs):
            if self._num_packs and devices_of(to) == value.devices and _packable(value):
                by_kind.setdefault((value.primary.dtype, value.devices), []).append(i)
        out: list[Any] = [None] * len(pairs)
        for (_, devices), members in by_kind.items():
            size = -(-len(members) // self._num_packs)
            for start in range(0, len(members), size):
                pack = members[start : start + size]
                if len(pack) > 1:
                    found = self._reduce_pack(reduce_op, [pairs[i][0] for i in pack], devices)
                    for i, value in zip(pack, found):
                        out[i] = value
        for i, (value, to) in enumerate(pairs):
            if out[i] is None:
                out[i] = self.reduce_implementation(reduce_op, value, to)
        return out

    def _reduce_pack(self, reduce_op: Any, values: list[Any], devices: tuple[str, ...]) -> Any:
        packed = []
        for r, device in enumerate(devices):
            with tf.device(device):
                packed.append(tf.concat([tf.reshape(v.values[r], [-1]) for v in values], 0))
        together = PerReplica(devices, packed)
        whole = self.reduce_implementation(reduce_op, together, together)
        shapes = [v.primary.shape for v in values]
        sizes = [shape.num_elements() for shape in shapes]
        parts = []
        for r, device in enumerate(devices):
            with tf.device(device):
                cut = tf.split(whole.values[r], sizes)
                parts.append([tf.reshape(p, s) for p, s in zip(cut, shapes)])
        return [Mirrored(devices, each) for each in zip(*parts)]


def _packable(value: Any) -> bool:
    return all(
        not isinstance(v, IndexedSlices) and v.shape.is_fully_defined() for v in value.values
    )


@export("distribute.NcclAllReduce")
class NcclAllReduce(_AllReduce):
    """All-reduce for devices that NCCL connects; on other devices the values are added up on one of them."""


@export("distribute.HierarchicalCopyAllReduce")
class HierarchicalCopyAllReduce(_AllReduce):
    """All-reduce by copies between devices."""


@export("contrib.distribute.AllReduceCrossDeviceOps")
class AllReduceCrossDeviceOps(_AllReduce):
    """All-reduce by the algorithm that is named. The way of the values does not change what comes of them."""

    def __init__(
        self,
        all_reduce_alg: str = "nccl",
        num_packs: int = 1,
        agg_small_grads_max_bytes: int = 0,
        agg_small_grads_max_group: int = 10,
    ):
        if all_reduce_alg not in ("nccl", "hierarchical_copy"):
            raise ValueError(f"Unknown all-reduce algorithm: {all_reduce_alg!r}")
        if agg_small_grads_max_bytes < 0 or agg_small_grads_max_group < 1:
            raise ValueError("Small gradients need a size of at least 0 and groups of at least 1.")
        super().__init__(num_packs)
