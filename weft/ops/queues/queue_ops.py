"""The queue ops, each for handles of both kinds: resources (V2), and references to strings in older graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.framework import dtypes
from weft.framework.registry import op
from weft.framework.shape_rules import scalar
from weft.ops.queues import contents
from weft.ops.queues.handles import both_handles, held, kept, shapes_of
from weft.ops.queues.queue import Queue, invalid

# -- queues -------------------------------------------------------------------------------------------------

_TYPES = "component_types: list(type) >= 1; shapes: list(shape) >= 0 = []; capacity: int = -1"
_NAMES = 'container: string = ""; shared_name: string = ""'


def _find(
    ctx: Any,
    kind: str,
    container: str,
    shared_name: str,
    capacity: int,
    types: list[dtypes.DType],
    shapes: list[Any],
    make_contents: Callable[[], Any],
    min_after_dequeue: int = 0,
    seeds: tuple[int, int] = (0, 0),
) -> Queue:
    """The queue that an op declares; made at its first use."""
    name = shared_name or ctx.op.name
    rest = capacity, types, shapes
    queue = ctx.resources.get_or_create(
        "queue",
        container,
        name,
        lambda: Queue(kind, name, *rest, make_contents(), min_after_dequeue, seeds),
    )
    queue.check_same(kind, ctx.op.name, *rest, min_after_dequeue, seeds)
    return queue


def _queue(name: str, attrs: str, kernel: Callable) -> None:
    decls = both_handles(
        name, f"{name}V2", "-> @handle", f"{attrs}; {_NAMES}", stateful=True, handle=True
    )(kernel)
    decls[0].shape(lambda: (2,))
    decls[1].shape(lambda: ())


def _fifo_queue(ctx, *, component_types, shapes, capacity, container, shared_name):
    """A queue whose elements come out in the order in which they went in."""
    return _find(
        ctx,
        "FIFOQueue",
        container,
        shared_name,
        capacity,
        component_types,
        shapes,
        contents.InOrder,
    )


def _padding_fifo_queue(ctx, *, component_types, shapes, capacity, container, shared_name):
    """A queue of elements that differ in size: taken out together, they are padded to the largest."""
    if len(component_types) != len(shapes):
        raise invalid(
            f"Shapes must be provided for all components, but received {len(component_types)} dtypes and "
            f"{len(shapes)} shapes."
        )
    return _find(
        ctx,
        "PaddingFIFOQueue",
        container,
        shared_name,
        capacity,
        component_types,
        shapes,
        contents.InOrder,
    )


def _random_shuffle_queue(
    ctx,
    *,
    component_types,
    shapes,
    capacity,
    min_after_dequeue,
    seed,
    seed2,
    container,
    shared_name,
):
    """A queue whose elements come out in random order."""
    most = capacity if capacity >= 0 else 2**31 - 1
    if min_after_dequeue < 0:
        raise invalid(f"min_after_dequeue {min_after_dequeue} must be >= 0")
    if min_after_dequeue >= most:
        raise invalid(f"min_after_dequeue {min_after_dequeue} must be < capacity {most}")
    return _find(
        ctx,
        "RandomShuffleQueue",
        container,
        shared_name,
        capacity,
        component_types,
        shapes,
        lambda: contents.Shuffled(ctx.xp, seed, seed2),
        min_after_dequeue,
        (seed, seed2),
    )


def _priority_queue(ctx, *, component_types, shapes, capacity, container, shared_name):
    """A queue whose elements come out by their first component, the smallest first."""
    return _find(
        ctx,
        "PriorityQueue",
        container,
        shared_name,
        capacity,
        [dtypes.int64, *component_types],
        [(), *shapes] if shapes else [],
        contents.Prioritized,
    )


_queue("FIFOQueue", _TYPES, _fifo_queue)
_queue("PaddingFIFOQueue", _TYPES, _padding_fifo_queue)
_queue(
    "RandomShuffleQueue",
    f"{_TYPES}; min_after_dequeue: int = 0; seed: int = 0; seed2: int = 0",
    _random_shuffle_queue,
)
_queue(
    "PriorityQueue",
    "component_types: list(type) >= 0 = []; shapes: list(shape) >= 0; capacity: int = -1",
    _priority_queue,
)


@op("FakeQueue", "resource: resource -> ref handle: string", stateful=True, host=True)
def fake_queue(ctx, resource):
    """The older form of a queue's handle."""
    return held(resource, Queue)


fake_queue.not_differentiable()


# -- putting in and taking out ------------------------------------------------------------------------------

_TIMEOUT = "timeout_ms: int = -1"
_PUT = f"Tcomponents: list(type) >= 1; {_TIMEOUT}"
_TAKE = f"component_types: list(type) >= 1; {_TIMEOUT}"


def _access(handle: Any, timeout_ms: int) -> Queue:
    if timeout_ms != -1:
        raise invalid("Timeout not supported yet.")
    return held(handle, Queue)


@both_handles(
    "QueueEnqueue", "QueueEnqueueV2", "@handle, components: Tcomponents", _PUT, blocking=True
)
def _enqueue(ctx, handle, components, *, Tcomponents, timeout_ms):
    """Puts an element into a queue; waits while that is full."""
    queue = _access(handle, timeout_ms)
    queue.check_dtypes(Tcomponents, "those expected by enqueue")
    queue.enqueue(ctx, [kept(ctx, c) for c in components])


@both_handles(
    "QueueEnqueueMany",
    "QueueEnqueueManyV2",
    "@handle, components: Tcomponents",
    _PUT,
    blocking=True,
)
def _enqueue_many(ctx, handle, components, *, Tcomponents, timeout_ms):
    """Puts the rows of its inputs into a queue; waits while that is full."""
    queue = _access(handle, timeout_ms)
    queue.check_dtypes(Tcomponents, "those expected by enqueue_many")
    queue.enqueue_many(ctx, [kept(ctx, c) for c in components])


@both_handles(
    "QueueDequeue", "QueueDequeueV2", "@handle -> components: component_types", _TAKE, blocking=True
)
def _dequeue(ctx, handle, *, component_types, timeout_ms):
    """Takes an element out of a queue; waits for one."""
    queue = _access(handle, timeout_ms)
    queue.check_dtypes(component_types, "the components")
    return queue.dequeue(ctx)


def _taking_many(name: str, up_to: bool, doc: str) -> None:
    def kernel(ctx, handle, n, *, component_types, timeout_ms):
        queue = _access(handle, timeout_ms)
        count = int(np.reshape(n, -1)[0])
        if count < 0:
            raise invalid(f"{name[5:]}Op requested {count} < 0 elements")
        queue.check_dtypes(component_types, "the components")
        return queue.dequeue_many(ctx, count, up_to)

    def shape(handle, n, *, component_types):
        scalar(n)
        return [None] * len(component_types)

    kernel.__doc__ = doc
    decls = both_handles(
        name,
        f"{name}V2",
        "@handle, n: int32 -> components: component_types",
        _TAKE,
        blocking=True,
    )(kernel)
    shapes_of(decls, shape)


_taking_many("QueueDequeueMany", False, "Takes n elements out of a queue; waits for them.")
_taking_many(
    "QueueDequeueUpTo",
    True,
    "Takes n elements out of a queue, or those that a closed one has left.",
)
shapes_of(_dequeue, lambda handle, *, component_types: [None] * len(component_types))


@both_handles(
    "QueueClose",
    "QueueCloseV2",
    "@handle",
    "cancel_pending_enqueues: bool = false",
    blocking=True,
)
def _close(ctx, handle, *, cancel_pending_enqueues):
    """Closes a queue: nothing more goes in."""
    held(handle, Queue).close(ctx, cancel_pending_enqueues)


@both_handles("QueueIsClosed", "QueueIsClosedV2", "@handle -> is_closed: bool")
def _is_closed(ctx, handle):
    """Whether a queue is closed."""
    return held(handle, Queue).closed


@both_handles("QueueSize", "QueueSizeV2", "@handle -> size: int32")
def _size(ctx, handle):
    """The number of elements in a queue."""
    return held(handle, Queue).size


shapes_of((*_is_closed, *_size), lambda handle: ())
