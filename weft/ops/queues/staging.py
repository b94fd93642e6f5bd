"""Staging areas: tuples of tensors that one step leaves for a later one, in order or by key."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from weft.framework import dtypes, errors
from weft.framework.registry import op
from weft.framework.shape_rules import scalar
from weft.ops.queues.handles import kept
from weft.ops.queues.waiting import NOT_YET, WaitingRoom

_CANCELLED = "{} operation was cancelled"


def _invalid(message: str) -> errors.OpError:
    return errors.InvalidArgumentError(None, None, message)


def size_in_bytes(values: Any) -> int:
    """What tensors take up; of a string, its characters too."""
    total = 0
    for value in values:
        total += getattr(value, "nbytes", 0)
        if getattr(value, "dtype", None) == np.object_:
            total += sum(len(s) for s in value.ravel() if isinstance(s, bytes))
    return total


class Staging(WaitingRoom):
    """What both kinds of staging areas share: their limits."""

    def __init__(self, capacity: int, memory_limit: int):
        super().__init__("put")
        self.capacity, self.memory_limit = capacity, memory_limit
        self.bytes = 0

    def __len__(self) -> int:
        raise NotImplementedError

    def check_fits(self, size: int) -> None:
        """Refuses what will never fit."""
        if self.memory_limit and size > self.memory_limit:
            raise errors.ResourceExhaustedError(
                None,
                None,
                f"Attempted to insert tensors with combined size of '{size}' bytes into Staging Area with a memory "
                f"limit of '{self.memory_limit}'.",
            )

    def has_room(self, size: int, one_more: bool = True) -> bool:
        if self.memory_limit and self.bytes + size > self.memory_limit:
            return False
        return not (one_more and self.capacity and len(self) >= self.capacity)


class StagingInOrder(Staging):
    """Tuples that come out in the order in which they went in."""

    def __init__(self, capacity: int, memory_limit: int):
        super().__init__(capacity, memory_limit)
        self._tuples: deque[list[Any]] = deque()

    def __len__(self) -> int:
        return len(self._tuples)

    def put(self, ctx: Any, values: list[Any]) -> None:
        size = size_in_bytes(values)
        self.check_fits(size)

        def attempt() -> Any:
            if not self.has_room(size):
                return NOT_YET
            self.bytes += size
            self._tuples.append(values)
            return None

        self.run(ctx, "put", attempt, _CANCELLED.format("Stage"))

    def get(self, ctx: Any, count: int) -> Any:
        def attempt() -> Any:
            if not self._tuples:
                return NOT_YET
            values = self._tuples.popleft()
            self.bytes -= size_in_bytes(values)
            return _matching(values, count)

        return self.run(ctx, "get", attempt, _CANCELLED.format("Unstage"))

    def peek(self, ctx: Any, index: int, count: int) -> Any:
        if index < 0:
            raise _invalid(f"index must not be negative, got {index}")

        def attempt() -> Any:
            if index >= len(self._tuples):
                return NOT_YET
            return _matching(self._tuples[index], count)

        # Nobody who looks stands in the way of others: each has a lane.
        return self.run(ctx, ("peek", index), attempt, _CANCELLED.format("StagePeek"))

    def clear(self) -> None:
        def forget() -> None:
            self._tuples.clear()
            self.bytes = 0

        self.change(forget)


def _matching(values: list[Any], count: int) -> list[Any]:
    if len(values) != count:
        raise _invalid(f"Mismatch stage/unstage: {len(values)} vs. {count}")
    return values


class StagingByKey(Staging):
    """Tuples by key; a tuple may come in parts, and goes out once it is whole."""

    def __init__(
        self, component_dtypes: list[dtypes.DType], capacity: int, memory_limit: int, ordered: bool
    ):
        super().__init__(capacity, memory_limit)
        self.dtypes, self._ordered = component_dtypes, ordered
        self._whole: dict[int, dict[int, Any]] = {}
        self._parts: dict[int, dict[int, Any]] = {}

    def __len__(self) -> int:
        return len(self._whole)

    @property
    def incomplete(self) -> int:
        """How many tuples have come in part only."""
        return len(self._parts)

    def put(self, ctx: Any, key: int, indices: np.ndarray, values: list[Any]) -> None:
        """Adds parts of a tuple."""
        _check_order(indices)
        if len(indices) != len(values):
            raise _invalid(f"indices/values size mismatch: {len(indices)} vs. {len(values)}")
        size = size_in_bytes(values)
        self.check_fits(size)
        for i in indices.tolist():
            self._check_index(key, i)
        parts = dict(zip(indices.tolist(), values))
        is_whole = len(parts) == len(self.dtypes)

        def attempt() -> Any:
            if not self.has_room(size, one_more=is_whole):
                return NOT_YET
            present = {} if is_whole else self._parts.setdefault(key, {})
            for i in parts:
                if i in present:
                    raise _invalid(
                        f"The tensor for index '{i}' for key '{key}' was already initialized "
                        f"'{len(self.dtypes)}'."
                    )
            if is_whole and key in self._whole:
                return None  # as TensorFlow has it: what is there stays
            present.update(parts)
            self.bytes += size
            if len(present) == len(self.dtypes):
                self._parts.pop(key, None)
                self._whole.setdefault(key, present)
            return None

        self.run(ctx, "put", attempt, _CANCELLED.format("MapStage"))

    def _check_index(self, key: int, i: int) -> None:
        if not 0 <= i < len(self.dtypes):
            raise _invalid(f"Index '{i}' for key '{key}' was out of bounds '{len(self.dtypes)}'.")

    def _take(self, key: int, indices: np.ndarray, remove: bool) -> list[Any]:
        found = self._whole[key]
        for i in indices.tolist():
            self._check_index(key, i)
            if i not in found:
                raise _invalid(f"Tensor at index '{i}' for key '{key}' has already been removed.")
        values = [found[i] for i in indices.tolist()]
        if remove:
            for i in indices.tolist():
                del found[i]
            if not found:
                del self._whole[key]
            self.bytes -= size_in_bytes(values)
        return values

    def get(self, ctx: Any, key: int, indices: np.ndarray, remove: bool = True) -> Any:
        """Parts of the tuple of a key; waits until that is whole."""
        _check_order(indices)

        def attempt() -> Any:
            return self._take(key, indices, remove) if key in self._whole else NOT_YET

        return self.run(ctx, ("get", key), attempt, _CANCELLED.format("MapUnstage"))

    def get_any(self, ctx: Any, indices: np.ndarray) -> Any:
        """A key, the smallest where they are ordered, and parts of its tuple; waits for one."""
        _check_order(indices)

        def attempt() -> Any:
            if not self._whole:
                return NOT_YET
            key = min(self._whole) if self._ordered else next(iter(self._whole))
            return np.int64(key), self._take(key, indices, True)

        return self.run(ctx, "get any", attempt, _CANCELLED.format("MapUnstage"))

    def clear(self) -> None:
        def forget() -> None:
            self._whole.clear()
            self._parts.clear()
            self.bytes = 0

        self.change(forget)


def _check_order(indices: np.ndarray) -> None:
    if not indices.size:
        raise _invalid("Indices are empty")
    if (np.diff(indices.ravel()) <= 0).any():
        raise _invalid("Indices are not strictly ordered")


# -- ops ----------------------------------------------------------------------------------------------------

_LIMITS = "capacity: int >= 0 = 0; memory_limit: int >= 0 = 0"
_NAMES = 'container: string = ""; shared_name: string = ""'
_SOME = f"{_LIMITS}; dtypes: list(type) >= 1; {_NAMES}"
_ANY = f"{_LIMITS}; dtypes: list(type); {_NAMES}"


def _area(
    ctx: Any, kind: str, container: str, shared_name: str, make: Callable[[], Staging]
) -> Any:
    return ctx.resources.get_or_create(kind, container, shared_name or ctx.op.name, make)


def _in_order(
    ctx: Any, capacity: int, memory_limit: int, container: str, shared_name: str
) -> StagingInOrder:
    return _area(
        ctx,
        "staging",
        container,
        shared_name,
        lambda: StagingInOrder(capacity, memory_limit),
    )


@op("Stage", "values: dtypes", _SOME, stateful=True, host=True, blocking=True)
def stage(ctx, values, *, capacity, memory_limit, container, shared_name):
    """Leaves tensors for a later step; waits while the area is full."""
    area = _in_order(ctx, capacity, memory_limit, container, shared_name)
    return area.put(ctx, [kept(ctx, v) for v in values])


@op("Unstage", "-> values: dtypes", _SOME, stateful=True, host=True, blocking=True)
def unstage(ctx, *, capacity, memory_limit, dtypes, container, shared_name):
    """Takes the tensors that were left first; waits for some."""
    area = _in_order(ctx, capacity, memory_limit, container, shared_name)
    return area.get(ctx, len(dtypes))


@op("StagePeek", "index: int32 -> values: dtypes", _SOME, stateful=True, host=True, blocking=True)
def stage_peek(ctx, index, *, capacity, memory_limit, dtypes, container, shared_name):
    """Tensors that were left, which stay; waits until there are as many."""
    area = _in_order(ctx, capacity, memory_limit, container, shared_name)
    return area.peek(ctx, int(index), len(dtypes))


@op("StageSize", "-> size: int32", _ANY, stateful=True, host=True)
def stage_size(ctx, *, capacity, memory_limit, container, shared_name):
    """How many tuples of tensors were left."""
    return len(_in_order(ctx, capacity, memory_limit, container, shared_name))


@op("StageClear", "", _ANY, stateful=True, host=True)
def stage_clear(ctx, *, capacity, memory_limit, container, shared_name):
    """Forgets what was left."""
    _in_order(ctx, capacity, memory_limit, container, shared_name).clear()


unstage.shape(lambda *, dtypes: [None] * len(dtypes))
stage_peek.shape(lambda index, *, dtypes: scalar(index) and None or [None] * len(dtypes))
stage_size.shape(lambda: ())
for _decl in (stage, unstage, stage_peek, stage_size, stage_clear):
    _decl.not_differentiable()


def _key(key: np.ndarray) -> int:
    if key.size != 1:
        raise _invalid(f"key must be an int64 scalar, got tensor with shape: {list(key.shape)}")
    return int(key.reshape(()))


def _by_key(prefix: str, ordered: bool) -> None:
    """Declares the ops of areas with keys, whose order matters or not."""

    def area(ctx: Any, component_dtypes: Any, rest: tuple) -> StagingByKey:
        capacity, memory_limit, container, shared_name = rest
        return _area(
            ctx,
            f"{prefix} staging",
            container,
            shared_name,
            lambda: StagingByKey(component_dtypes, capacity, memory_limit, ordered),
        )

    flags: dict[str, Any] = {"stateful": True, "host": True}

    @op(
        f"{prefix}Stage",
        "key: int64, indices: int32, values: fake_dtypes",
        f"{_LIMITS}; dtypes: list(type); fake_dtypes: list(type) >= 1; {_NAMES}",
        blocking=True,
        **flags,
    )
    def put(ctx, key, indices, values, *, dtypes, capacity, memory_limit, container, shared_name):
        """Leaves tensors under a key; waits while the area is full."""
        found = area(ctx, dtypes, (capacity, memory_limit, container, shared_name))
        return found.put(ctx, _key(key), indices.reshape(-1), [kept(ctx, v) for v in values])

    def taking(name: str, remove: bool) -> Any:
        @op(name, "key: int64, indices: int32 -> values: dtypes", _SOME, blocking=True, **flags)
        def take(ctx, key, indices, *, dtypes, capacity, memory_limit, container, shared_name):
            """Tensors of a key; waits until all of the key are there."""
            found = area(ctx, dtypes, (capacity, memory_limit, container, shared_name))
            return found.get(ctx, _key(key), indices.reshape(-1), remove)

        take.shape(lambda key, indices, *, dtypes: [None] * len(dtypes))
        return take

    @op(
        f"{prefix}UnstageNoKey",
        "indices: int32 -> key: int64, values: dtypes",
        _SOME,
        blocking=True,
        **flags,
    )
    def take_any(ctx, indices, *, dtypes, capacity, memory_limit, container, shared_name):
        """A key and its tensors; waits for one."""
        found = area(ctx, dtypes, (capacity, memory_limit, container, shared_name))
        return found.get_any(ctx, indices.reshape(-1))

    take_any.shape(lambda indices, *, dtypes: ((), [None] * len(dtypes)))

    def telling(name: str, tell: Callable[[StagingByKey], int], doc: str) -> Any:
        @op(name, "-> size: int32", _ANY, **flags)
        def size(ctx, *, dtypes, capacity, memory_limit, container, shared_name):
            return tell(area(ctx, dtypes, (capacity, memory_limit, container, shared_name)))

        size.__doc__ = doc
        size.shape(lambda: ())
        return size

    @op(f"{prefix}Clear", "", _ANY, **flags)
    def clear(ctx, *, dtypes, capacity, memory_limit, container, shared_name):
        """Forgets what was left."""
        area(ctx, dtypes, (capacity, memory_limit, container, shared_name)).clear()

    for decl in (
        put,
        taking(f"{prefix}Unstage", True),
        taking(f"{prefix}Peek", False),
        take_any,
        telling(f"{prefix}Size", len, "How many keys have all of their tensors."),
        telling(
            f"{prefix}IncompleteSize",
            lambda area: area.incomplete,
            "How many keys have some of their tensors.",
        ),
        clear,
    ):
        decl.not_differentiable()


_by_key("Map", ordered=False)
_by_key("OrderedMap", ordered=True)
