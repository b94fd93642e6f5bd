"""Barriers: values whose components come one by one, under a key, and that are taken once they are whole."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import dtypes, errors
from weft.framework.registry import op
from weft.framework.shape_rules import Shape, is_full, scalar, text, vector
from weft.ops.queues.contents import Prioritized, Run
from weft.ops.queues.handles import held
from weft.ops.queues.queue import Queue, invalid

_FIRST = -(2**63)


def _closed(message: str) -> errors.OpError:
    return errors.CancelledError(None, None, message)


class _Whole(Queue):
    """Values that are whole, with index and key before the components."""

    def arranged(self, batches: list[np.ndarray]) -> Any:
        indices, keys, *values = batches
        return indices, keys, values


class BarrierState:
    """What came so far, by key, and the queue of what is whole: first what was begun first."""

    def __init__(self, name: str, types: list[dtypes.DType], shapes: list[Shape]):
        self.name, self.types, self.shapes = name, types, shapes
        self.ready = _Whole(
            "PriorityQueue",
            f"{name}_queue",
            -1,
            [dtypes.int64, dtypes.string, *types],
            [(), (), *shapes],
            Prioritized(),
        )
        self.lock = self.ready.lock
        self.incomplete: dict[bytes, list[Any]] = {}  # key -> index, then the components or None
        self.index = _FIRST
        self.closed = self.cancelled = False

    def cancel_all(self) -> None:
        """Ends all waits: the session is closing."""
        self.ready.cancel_all()

    def insert(self, component: int, keys: np.ndarray, values: np.ndarray) -> None:
        """Adds one component of several keys; what is whole by that can be taken."""
        keys = keys.reshape(-1)
        if keys.size and not values.size:
            raise invalid(
                f"Tensors with no elements are not supported {self.name}: received shape {text(values.shape)}"
            )
        dims = self.shapes[component]
        if keys.size and (values.shape[:1] != keys.shape or values.shape[1:] != dims):
            raise invalid(
                f"Shape mismatch in tuple component {component}. Expected {text((keys.size, *(dims or ())))}, got "
                f"{text(values.shape)}"
            )
        with self.lock:
            if self.closed and (self.cancelled or keys.size and not self.incomplete):
                raise _closed(
                    f"Barrier {self.name} is closed.  Pending enqueues cancelled: {self.cancelled}.  Number of new "
                    f"insertions: {keys.size}.  Number of incomplete keys: {len(self.incomplete)}."
                )
            begun = self.index
            whole: list[Run] = []
            try:
                for key, value in zip(keys.tolist(), np.array(values)):
                    self._insert_one(component, key, value, whole)
            finally:
                if self.index == begun and any(v[0] == begun for v in self.incomplete.values()):
                    self.index += 1
                elif any(run.columns[0] == begun for run in whole):
                    self.index += 1
                for run in whole:
                    self.ready.contents.put(run)
                if self.closed and not self.incomplete:
                    self.ready.closed = True
                self.ready.go_round()

    def _insert_one(self, component: int, key: bytes, value: Any, whole: list[Run]) -> None:
        found = self.incomplete.get(key)
        if found is None:
            if self.closed:
                raise _closed(
                    f"Barrier {self.name} is closed, but attempted to insert a brand new key: {key!r}.  Pending "
                    f"enqueues cancelled: {self.cancelled}.  Number of incomplete keys: {len(self.incomplete)}."
                )
            found = self.incomplete[key] = [self.index, *[None] * len(self.types)]
        if found[1 + component] is not None:
            raise invalid(
                f"Key {key!r} already has a value for component {component} in barrier {self.name}"
            )
        found[1 + component] = value
        if all(v is not None for v in found):
            del self.incomplete[key]
            index, *values = found
            whole.append(Run((np.int64(index), _string(key), *values)))

    def take(self, ctx: Any, count: int, allow_small_batch: bool) -> Any:
        """The first `count` values that are whole, with their indices and keys; waits for them."""
        with self.lock:
            if self.closed:
                available = self.ready.size
                if allow_small_batch:
                    count = min(count, available)
                else:
                    available += len(self.incomplete)
                if available < max(count, 1):
                    raise errors.OutOfRangeError(
                        None,
                        None,
                        f"Barrier '{self.name}' is closed and has insufficient elements (requested {count}, total "
                        f"size {available})",
                    )
        return self.ready.dequeue_many(ctx, count, allow_small_batch)

    def close(self, cancel_pending_enqueues: bool) -> None:
        """Takes no more keys; with `cancel_pending_enqueues` forgets those that are not whole."""
        with self.lock:
            if self.closed and (self.cancelled or not cancel_pending_enqueues):
                raise _closed(f"Barrier '{self.name}' is already closed.")
            self.closed, self.cancelled = True, cancel_pending_enqueues
            if cancel_pending_enqueues:
                self.incomplete.clear()
            if not self.incomplete:
                self.ready.closed = True
                self.ready.go_round()


def _string(value: bytes) -> np.ndarray:
    out = np.empty((), object)
    out[()] = value
    return out


# -- ops ----------------------------------------------------------------------------------------------------


@op(
    "Barrier",
    "-> ref handle: string",
    "component_types: list(type) >= 1; shapes: list(shape) >= 0 = []; capacity: int = -1; "
    'container: string = ""; shared_name: string = ""',
    stateful=True,
    host=True,
    handle=True,
)
def barrier_op(ctx, *, component_types, shapes, capacity, container, shared_name):
    """A barrier of the session."""
    if len(shapes) != len(component_types) or not all(is_full(s) for s in shapes):
        raise invalid("All of the component shapes must be specified")
    if capacity != -1:
        raise invalid(
            "Barrier only accepts capacity=-1.  Feed the inputs to your Barrier through a queue to enforce a "
            "limited capacity."
        )
    name = shared_name or ctx.op.name
    found = ctx.resources.get_or_create(
        "barrier", container, name, lambda: BarrierState(name, component_types, shapes)
    )
    for what, have, want in (
        ("types", found.types, component_types),
        ("shapes", found.shapes, shapes),
    ):
        if have != want:
            raise invalid(
                f"Shared barrier '{name}' has component {what} {have} but requested component {what} were {want}"
            )
    return found


@op(
    "BarrierInsertMany",
    "ref handle: string, keys: string, values: T",
    "T: type; component_index: int",
    host=True,
)
def barrier_insert_many(ctx, handle, keys, values, *, T, component_index):
    """Adds one component of several keys."""
    state = held(handle, BarrierState)
    if not 0 <= component_index < len(state.types):
        raise invalid(
            f"The component ID is out of range {component_index} > num_components (= {len(state.types)})"
        )
    if T is not state.types[component_index]:
        raise invalid(
            f"Signature mismatch, have: {T.name} expected: {state.types[component_index].name}"
        )
    state.insert(component_index, keys, values)


@op(
    "BarrierTakeMany",
    "ref handle: string, num_elements: int32 -> indices: int64, keys: string, values: component_types",
    "component_types: list(type) >= 1; allow_small_batch: bool = false; wait_for_incomplete: bool = false; "
    "timeout_ms: int = -1",
    host=True,
    blocking=True,
)
def barrier_take_many(ctx, handle, num_elements, *, component_types, allow_small_batch, timeout_ms):
    """Takes values that are whole; waits for them."""
    if timeout_ms != -1:
        raise invalid("Timeout not supported yet.")
    if np.ndim(num_elements):
        raise invalid("num_elements must be a scalar.")
    state = held(handle, BarrierState)
    if component_types != state.types:
        raise invalid(
            f"Signature mismatch, have: {[t.name for t in component_types]} expected: "
            f"{[t.name for t in state.types]}"
        )
    return state.take(ctx, int(num_elements), allow_small_batch)


@op("BarrierClose", "ref handle: string", "cancel_pending_enqueues: bool = false", host=True)
def barrier_close(ctx, handle, *, cancel_pending_enqueues):
    """Closes a barrier: no more keys come in."""
    held(handle, BarrierState).close(cancel_pending_enqueues)


@op("BarrierReadySize", "ref handle: string -> size: int32", host=True)
def barrier_ready_size(ctx, handle):
    """How many values are whole."""
    return held(handle, BarrierState).ready.size


@op("BarrierIncompleteSize", "ref handle: string -> size: int32", host=True)
def barrier_incomplete_size(ctx, handle):
    """How many values lack components."""
    return len(held(handle, BarrierState).incomplete)


barrier_op.shape(lambda: (2,))


@barrier_insert_many.shape
def _(handle, keys, values):
    vector(keys, "keys")


@barrier_take_many.shape
def _(handle, num_elements, *, component_types):
    scalar(num_elements, "num_elements")
    return None, None, [None] * len(component_types)


barrier_ready_size.shape(lambda handle: ())
barrier_incomplete_size.shape(lambda handle: ())
for _decl in (
    barrier_op,
    barrier_insert_many,
    barrier_take_many,
    barrier_close,
    barrier_ready_size,
    barrier_incomplete_size,
):
    _decl.not_differentiable()
