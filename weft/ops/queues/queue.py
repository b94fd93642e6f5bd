"""A queue: elements of several components that steps put in and take out, waiting for each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.framework import dtypes, errors
from weft.framework.shape_rules import Shape, compatible, text
from weft.ops.queues.contents import Run, batch, empty_batch, padded_batch
from weft.ops.queues.waiting import NOT_YET, PROGRESS, WaitingRoom

UNBOUNDED = 2**31 - 1

PUT, TAKE = "put", "take"


def invalid(message: str) -> errors.OpError:
    return errors.InvalidArgumentError(None, None, message)


class Queue(WaitingRoom):
    """What all kinds of queues share; `contents` says in which order elements come out."""

    def __init__(
        self,
        kind: str,
        name: str,
        capacity: int,
        component_dtypes: list[dtypes.DType],
        shapes: list[Shape],
        contents: Any,
        min_after_dequeue: int = 0,
        seeds: tuple[int, int] = (0, 0),
    ):
        super().__init__(PUT, TAKE)
        self.kind, self.name = kind, name
        self.capacity = UNBOUNDED if capacity < 0 else capacity
        self.dtypes = component_dtypes
        self.shapes = shapes or [None] * len(component_dtypes)
        self.has_shapes = bool(shapes)
        self.contents = contents
        self.min_after_dequeue, self.seeds = min_after_dequeue, seeds
        self.closed = False

    @property
    def size(self) -> int:
        return self.contents.size

    def check_same(
        self,
        kind: str,
        node: str,
        capacity: int,
        component_dtypes: list[dtypes.DType],
        shapes: list[Shape],
        min_after_dequeue: int,
        seeds: tuple[int, int],
    ) -> None:
        """Refuses an operation that shares this queue, but declares another one."""
        capacity = UNBOUNDED if capacity < 0 else capacity
        if kind != self.kind:
            raise invalid(
                f"Shared queue '{self.name}' has type '{self.kind}' that does not match type of Node '{node}': {kind}"
            )
        mine = self.shapes if self.has_shapes else []
        for what, have, want in (
            ("capacity", self.capacity, capacity),
            ("min_after_dequeue", self.min_after_dequeue, min_after_dequeue),
            ("component types", _dtype_list(self.dtypes), _dtype_list(component_dtypes)),
            ("component shapes", _shape_list(mine), _shape_list(shapes)),
        ):
            if have != want:
                verb = "were" if what.startswith("component") else "was"
                raise invalid(
                    f"Shared queue '{self.name}' has {what} {have} but requested {what} {verb} {want}."
                )
        if any(seeds) and seeds != self.seeds:
            raise invalid(
                f"Shared queue '{self.name}' has random seeds {self.seeds} but requested seeds are {seeds}."
            )

    def check_dtypes(self, found: list[dtypes.DType], expected: str) -> None:
        if found != self.dtypes:
            raise invalid(
                f"Signature mismatch, have: {_dtype_list(found)} but {expected} of {self.kind} '{self.name}' "
                f"are {_dtype_list(self.dtypes)}"
            )

    # -- putting in

    def enqueue(self, ctx: Any, values: list[Any]) -> None:
        """Puts in one element."""
        for i, (value, dims) in enumerate(zip(values, self.shapes)):
            shape = np.shape(value)
            if dims is not None and shape != dims and not compatible(dims, shape):
                raise invalid(
                    f"Shape mismatch in tuple component {i}. Expected {text(dims)}, got {text(shape)}"
                )
        self._put(ctx, Run(tuple(values)))

    def enqueue_many(self, ctx: Any, values: list[Any]) -> None:
        """Puts in the rows of some arrays, as room comes."""
        count = values[0].shape[0] if values[0].ndim else None
        for i, (value, dims) in enumerate(zip(values, self.shapes)):
            if not value.ndim:
                raise invalid(
                    f"Shape mismatch in tuple component {i}. Expected a batch of elements, got a scalar"
                )
            if dims is not None and not compatible((count, *dims), value.shape):
                raise invalid(
                    f"Shape mismatch in tuple component {i}. Expected {text((count, *dims))}, got "
                    f"{text(value.shape)}"
                )
            if value.shape[0] != count:
                raise invalid(
                    "All input tensors must have the same size in the 0th dimension. Component "
                    f"{i} has {value.shape[0]}, and should have {count}"
                )
        if count:
            self._put(ctx, Run(tuple(values), 0, count))

    def _put(self, ctx: Any, run: Run) -> None:
        self.run(ctx, PUT, _Putting(self, run), "Enqueue operation was cancelled")

    def close(self, ctx: Any, cancel_pending_enqueues: bool) -> None:
        """Ends putting in, at once or after those who already wait for it."""
        if cancel_pending_enqueues:
            with self.lock:
                self.closed = True
                self.cancel(PUT)
                self.go_round()
        else:
            self.run(ctx, PUT, self._close, "Close operation was cancelled")

    def _close(self) -> None:
        if self.closed:
            raise errors.CancelledError(None, None, f"Queue '{self.name}' is already closed.")
        self.closed = True

    # -- taking out

    def dequeue(self, ctx: Any) -> tuple[Any, ...]:
        """Takes out one element."""
        return self.run(ctx, TAKE, _Taking(self), "Dequeue operation was cancelled")

    def dequeue_many(self, ctx: Any, n: int, up_to: bool) -> Any:
        """Takes out n elements, or with `up_to` what is left once the queue is closed."""
        if not self.has_shapes:
            raise invalid(
                f"{self.kind}'s DequeueMany and DequeueUpTo require the components to have specified shapes."
            )
        if n == 0:
            return self.arranged(
                [
                    empty_batch(0, tuple(d or 0 for d in dims or ()), dtype)
                    for dims, dtype in zip(self.shapes, self.dtypes)
                ]
            )
        kind = _TakingSorted if self.kind == "PriorityQueue" else _TakingMany
        return self.run(ctx, TAKE, kind(self, n, up_to), "Dequeue operation was cancelled")

    def batches(self, runs: list[Run]) -> Any:
        """The components of some elements, each as one array."""
        return self.arranged(
            [
                batch(runs, i)
                if dims is None or None not in dims
                else padded_batch(runs, i, dims, t)
                for i, (dims, t) in enumerate(zip(self.shapes, self.dtypes))
            ]
        )

    def arranged(self, batches: list[np.ndarray]) -> Any:
        """Batches as the op that takes them gives them."""
        return batches

    def out_of_range(self, requested: int, size: int) -> errors.OpError:
        return errors.OutOfRangeError(
            None,
            None,
            f"{self.kind} '{self.name}' is closed and has insufficient elements (requested {requested}, current "
            f"size {size})",
        )


def _dtype_list(component_dtypes: list[dtypes.DType]) -> str:
    return "[" + ", ".join(t.name for t in component_dtypes) + "]"


def _shape_list(shapes: list[Shape]) -> str:
    return "[" + ", ".join(text(s) for s in shapes) + "]"


class _Putting:
    """The elements that one operation still has to put in."""

    __slots__ = ("queue", "run")

    def __init__(self, queue: Queue, run: Run):
        self.queue, self.run = queue, run

    def __call__(self) -> Any:
        queue, run = self.queue, self.run
        if queue.closed:
            raise errors.CancelledError(None, None, f"{queue.kind} '{queue.name}' is closed.")
        room = queue.capacity - queue.contents.size
        if room <= 0:
            return NOT_YET
        if run.length <= room:
            queue.contents.put(run)
            return None
        first, self.run = run.split(room)
        queue.contents.put(first)
        return PROGRESS


class _Taking:
    """One element to take out."""

    __slots__ = ("queue",)

    def __init__(self, queue: Queue):
        self.queue = queue

    def __call__(self) -> Any:
        queue = self.queue
        size = queue.contents.size
        if size <= (0 if queue.closed else queue.min_after_dequeue):
            if queue.closed:
                raise queue.out_of_range(1, size)
            return NOT_YET
        return queue.contents.take(1)[0].values()


def taking(queue: Queue) -> Callable[[], Any]:
    """An attempt to take out one element, for those who do more with it while they have the queue's lock."""
    return _Taking(queue)


class _TakingMany:
    """The elements that one operation has taken out so far, until it has all that it wants."""

    __slots__ = ("queue", "missing", "up_to", "taken")

    def __init__(self, queue: Queue, n: int, up_to: bool):
        self.queue, self.missing, self.up_to = queue, n, up_to
        self.taken: list[Run] = []

    def __call__(self) -> Any:
        queue = self.queue
        contents = queue.contents
        size = contents.size
        if queue.closed and size < self.missing:
            requested = self.missing
            self.undo()
            if self.up_to and contents.size:
                self.missing = contents.size
            elif self.up_to and queue.lanes[PUT]:
                return PROGRESS  # those who wait to put something in are tried first
            else:
                raise queue.out_of_range(requested, size)
            size = contents.size
        available = size if queue.closed else size - queue.min_after_dequeue
        n = min(available, self.missing)
        if n <= 0:
            return NOT_YET
        self.taken += contents.take(n)
        self.missing -= n
        return PROGRESS if self.missing else queue.batches(self.taken)

    def undo(self) -> None:
        """Puts back what was taken: the wait has ended without all of it."""
        if self.taken:
            self.queue.contents.put_back(self.taken)
            self.missing += sum(run.length for run in self.taken)
            self.taken = []


class _TakingSorted(_TakingMany):
    """Takes nothing before all is there: the elements of one operation come out sorted."""

    __slots__ = ()

    def __call__(self) -> Any:
        queue = self.queue
        size = queue.contents.size
        if size < self.missing:
            if not queue.closed:
                return NOT_YET
            if not (self.up_to and size):
                raise queue.out_of_range(self.missing, size)
        return queue.batches(queue.contents.take(min(size, self.missing)))
