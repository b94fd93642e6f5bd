"""MultiDeviceIterator: one walk over a dataset whose elements go to several devices in turn."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

import numpy as np

from weft.framework import errors
from weft.framework.registry import op
from weft.ops.datasets.dataset import Element, End, Run, as_dataset, current_step, invalid
from weft.ops.datasets.iterators import DatasetIterator
from weft.ops.queues.handles import held

_TYPES = "output_types: list(type) >= 1; output_shapes: list(shape) >= 1"


class _Shards:
    """The elements of one walk, each for one of several; who comes first reads also for those before him.

    As TensorFlow's, nobody is read for farther ahead than the largest size of a buffer.
    """

    def __init__(self, elements: DatasetIterator, count: int, most: int):
        self._elements, self._most = elements, most
        self._waiting: list[deque[Element]] = [deque() for _ in range(count)]
        self._turn = 0
        self._over = False
        self._changed = threading.Condition()
        self._reading = False

    def next(self, shard: int, run: Run, step: Any) -> Element:
        """The next element for a shard; `End` after the last."""
        with self._changed:
            while True:
                if self._waiting[shard]:
                    element = self._waiting[shard].popleft()
                    self._changed.notify_all()
                    return element
                if self._over:
                    raise End
                full = len(self._waiting[self._turn]) >= self._most and self._turn != shard
                if self._reading or full:
                    run.wait(self._changed)
                else:
                    self._read(step)

    def _read(self, step: Any) -> None:
        """Reads one element for the shard whose turn it is; others may take theirs meanwhile."""
        self._reading = True
        self._changed.release()
        try:
            element = self._elements.next(step)
        except End:
            element = None
        finally:
            self._changed.acquire()
            self._reading = False
            self._changed.notify_all()
        if element is None:
            self._over = True
            return
        self._waiting[self._turn].append(element)
        self._turn = (self._turn + 1) % len(self._waiting)


class MultiDeviceIterator:
    """A place in a dataset for several devices; each beginning has a number, which shards have to know."""

    def __init__(self, devices: list[str], types: list[Any], shapes: list[Any]):
        self.devices, self._types, self._shapes = devices, types, shapes
        self._lock = threading.Lock()
        self._incarnation = 0
        self._shards: _Shards | None = None
        self._run: Run | None = None

    def start(self, dataset: Any, run: Run, most: int) -> int:
        """Begins at the beginning; gives the number of the beginning."""
        elements = DatasetIterator(self._types, self._shapes)
        elements.start(dataset, run)
        with self._lock:
            old, self._run = self._run, run
            self._shards = _Shards(elements, len(self.devices), max(most, 1))
            self._incarnation += 1
            number = self._incarnation
        if old is not None:
            old.cancel()
        return number

    def next(self, shard: int, incarnation: int, step: Any) -> Element:
        """The next element of a device."""
        with self._lock:
            shards, run, now = self._shards, self._run, self._incarnation
        if shards is None or run is None:
            raise errors.FailedPreconditionError(
                None, None, "The multi-device iterator has not been initialized."
            )
        if incarnation != now:
            raise invalid(f"Invalid incarnation id. Provided: {incarnation}; Expected: {now}")
        if not 0 <= shard < len(self.devices):
            raise invalid(f"There is no shard {shard} of {len(self.devices)}.")
        token = current_step.set(step)
        try:
            return shards.next(shard, run, step)
        finally:
            current_step.reset(token)

    def cancel_all(self) -> None:
        """The session is closing."""
        if self._run is not None:
            self._run.cancel()


def _named(ctx, *, devices, shared_name, container, output_types, output_shapes):
    """A place in a dataset for several devices."""
    name = shared_name or ctx.op.name
    return ctx.resources.get_or_create(
        "multi-device iterator",
        container,
        name,
        lambda: MultiDeviceIterator(devices, output_types, output_shapes),
    )


def _anonymous(ctx, *, devices, output_types, output_shapes):
    """A place in a dataset for several devices that nobody else can find, and what deletes it."""
    made = MultiDeviceIterator(devices, output_types, output_shapes)
    return made, made


def _init(ctx, dataset, multi_device_iterator, max_buffer_size):
    """Begins at the beginning of a dataset; gives the number of the beginning."""
    run = Run(ctx.functions, ctx.resources)
    number = held(multi_device_iterator, MultiDeviceIterator).start(
        as_dataset(dataset), run, int(max_buffer_size)
    )
    return np.asarray(number, np.int64)


def _next(ctx, multi_device_iterator, shard_num, incarnation_id):
    """The next element of a device."""
    try:
        return held(multi_device_iterator, MultiDeviceIterator).next(
            int(shard_num), int(incarnation_id), ctx.step
        )
    except End:
        raise errors.OutOfRangeError(None, None, "End of sequence") from None


def _to_string_handle(ctx, multi_device_iterator):
    """The name by which the iterator is found."""
    iterator = held(multi_device_iterator, MultiDeviceIterator)
    name = f"weft-multi-device-iterator-{id(iterator)}"
    ctx.resources.put("multi-device iterator by handle", "", name, iterator)
    out = np.empty((), object)
    out[()] = name.encode()
    return out


def _from_string_handle(ctx, string_handle, *, output_types, output_shapes):
    """The iterator of a name."""
    name = np.asarray(string_handle, object).item().decode(errors="replace")
    found = ctx.resources.find("multi-device iterator by handle", "", name)
    if found is None:
        raise invalid(f"Could not find a multi-device iterator of the handle {name!r}.")
    return found


def _delete(ctx, multi_device_iterator, iterators, deleter):
    """Forgets an iterator, and those that depend on it."""
    held(multi_device_iterator, MultiDeviceIterator).cancel_all()


for _name, _args, _attrs, _kernel, _shape in (
    (
        "MultiDeviceIterator",
        "-> handle: resource",
        f"devices: list(string) >= 1; shared_name: string; container: string; {_TYPES}",
        _named,
        lambda: (),
    ),
    (
        "AnonymousMultiDeviceIterator",
        "-> handle: resource, deleter: variant",
        f"devices: list(string) >= 1; {_TYPES}",
        _anonymous,
        lambda: [(), ()],
    ),
    (
        "MultiDeviceIteratorInit",
        "dataset: variant, multi_device_iterator: resource, max_buffer_size: int64 -> incarnation_id: int64",
        "",
        _init,
        lambda *inputs: (),
    ),
    (
        "MultiDeviceIteratorGetNextFromShard",
        "multi_device_iterator: resource, shard_num: int32, incarnation_id: int64 -> components: output_types",
        _TYPES,
        _next,
        lambda *inputs, output_shapes: list(output_shapes),
    ),
    (
        "MultiDeviceIteratorToStringHandle",
        "multi_device_iterator: resource -> string_handle: string",
        "",
        _to_string_handle,
        lambda *inputs: (),
    ),
    (
        "MultiDeviceIteratorFromStringHandle",
        "string_handle: string -> multi_device_iterator: resource",
        "output_types: list(type) >= 0 = []; output_shapes: list(shape) >= 0 = []",
        _from_string_handle,
        lambda *inputs: (),
    ),
    (
        "DeleteMultiDeviceIterator",
        "multi_device_iterator: resource, iterators: N*resource, deleter: variant",
        "N: int >= 0",
        _delete,
        lambda *inputs: [],
    ),
):
    _decl = op(_name, _args, _attrs, host=True, stateful=True)(_kernel)
    _decl.shape(_shape)
    _decl.not_differentiable()
