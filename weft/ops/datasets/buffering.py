"""Datasets that keep elements of others: for a while, ahead of time, or for the next walk."""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from weft.framework import dtypes, errors, file_system
from weft.framework.checkpoint_files.tensor_bundle import (
    BundleReader,
    BundleWriter,
    index_file,
    merge,
)
from weft.framework.registry import op
from weft.ops.datasets.block import Block, Element
from weft.ops.datasets.dataset import (
    Dataset,
    End,
    Place,
    Run,
    Walk,
    as_dataset,
    dataset_op,
    invalid,
)

_MOST_AT_ONCE = 64  # elements
_BUFFER_WHEN_OURS = 8  # elements, where the program leaves the number to us


# -- ahead of time --------------------------------------------------------------------------------------


_Item = tuple[Element | None, Exception | None]


class _Ahead:
    """A buffer that a thread fills. The thread knows the buffer only, so that it ends with whoever reads it."""

    def __init__(self, before: Walk, size: int, items: list[_Item]):
        self._before, self._size = before, size
        self._reading = threading.Lock()  # held while the walk goes on
        self._changed = threading.Condition()
        self._items: deque[_Item] = deque(items)
        self._closed = False

    def start(self) -> None:
        threading.Thread(target=self._fill, daemon=True, name="weft-prefetch").start()

    def _fill(self) -> None:
        over = bool(self._items) and isinstance(self._items[-1][1], End)
        at_once = (
            1  # more and more, so that the first elements are not held up by those behind them
        )
        while not over:
            with self._changed:
                while len(self._items) >= self._size and not self._closed:
                    self._changed.wait()
                if self._closed:
                    return
                room = self._size - len(self._items)
            with self._reading:
                items: list[_Item]
                try:
                    items = [(row, None) for row in self._before.some(min(room, at_once)).rows]
                except Exception as e:
                    items, over = [(None, e)], isinstance(e, (End, errors.CancelledError))
                with self._changed:
                    self._items += items
                    self._changed.notify_all()
            at_once = min(2 * at_once, _MOST_AT_ONCE)

    def some(self, most: int, run: Run) -> list[Element]:
        """The next elements: one, for which it waits, and up to so many that are there."""
        with self._changed:
            while not self._items:
                run.wait(self._changed)
            found: list[Element] = []
            while self._items and len(found) < most:
                element, error = self._items[0]
                if error is not None and found:
                    break
                if not isinstance(error, End):  # the end stays where it is
                    self._items.popleft()
                if error is not None:
                    self._changed.notify_all()
                    raise error
                assert element is not None
                found.append(element)
            self._changed.notify_all()
        return found

    def saved(self, freeze: Callable[[Any], Any]) -> Any:
        """What is in the buffer, and where the thread is; waits until that is between two elements."""
        with self._reading, self._changed:
            return freeze([self._before, list(self._items)])

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()


class _Reader:
    """The consumer's side: when it goes, the thread ends."""

    def __init__(self, run: Run, before: Walk, size: int):
        self._run, self._size = run, size
        self._begin: tuple[Walk, list[_Item]] = before, []
        self._ahead: _Ahead | None = None

    def some(self, most: int) -> list[Element]:
        if self._ahead is None:
            before, items = self._begin
            self._ahead = _Ahead(before, self._size, items)
            weakref.finalize(self, self._ahead.close)
            self._ahead.start()
        return self._ahead.some(most, self._run)

    def saved(self, freeze: Callable[[Any], Any]) -> Any:
        """What was read and not yet taken, and where the reading is."""
        return freeze(list(self._begin)) if self._ahead is None else self._ahead.saved(freeze)

    def restore(self, saved: Any) -> None:
        """Goes on from where another was."""
        if self._ahead is not None:
            self._ahead.close()
        self._begin, self._ahead = tuple(saved), None  # type: ignore[assignment]


def prefetched(source: Dataset, size: int) -> Dataset:
    """A dataset on which a thread goes ahead, by so many elements."""

    def walk(run: Run) -> Walk:
        at = Place(run, source.walk)
        at.reader = _Reader(run, at.begin(), size)
        return Walk.of_blocks(lambda at, most: Block.of(at.reader.some(most)), at)

    return Dataset(walk, source.cardinality, "PrefetchDataset")


@dataset_op(
    "PrefetchDataset",
    "input_dataset: variant, buffer_size: int64",
    "slack_period: int = 0; legacy_autotune: bool = true",
)
def prefetch_dataset(ctx, input_dataset, buffer_size):
    """The elements, so many of them got before they are asked for."""
    source, size = as_dataset(input_dataset), int(buffer_size)
    if size < -1:
        raise invalid("buffer_size must be >= 0 or set buffer_size to be -1 for auto-tuning")
    size = _BUFFER_WHEN_OURS if size == -1 else size
    return prefetched(source, size) if size else source


# -- for the next walk ----------------------------------------------------------------------------------


class MemoryCache:
    """Elements that a first walk has left for the next ones."""

    def __init__(self) -> None:
        self.elements: list[Element] | None = None

    def saved(self, freeze: Callable[[Any], Any]) -> Any:
        """The elements."""
        return freeze(self.elements)

    def restore(self, elements: list[Element] | None) -> None:
        """Has the elements that were saved."""
        self.elements = elements


@op("AnonymousMemoryCache", "-> handle: resource, deleter: variant", host=True, stateful=True)
def anonymous_memory_cache(ctx):
    """A cache that goes when nobody has it any more."""
    cache = MemoryCache()
    return cache, cache


@anonymous_memory_cache.shape
def _():
    return [(), ()]


anonymous_memory_cache.not_differentiable()


@op("DeleteMemoryCache", "handle: resource, deleter: variant", host=True, stateful=True)
def delete_memory_cache(ctx, handle, deleter):
    """Empties a cache."""
    handle.elements = None


@delete_memory_cache.shape
def _(handle, deleter):
    return []


delete_memory_cache.not_differentiable()


def _cached_in_memory(source: Dataset, cache: MemoryCache) -> Dataset:
    def several(at: Place, most: int) -> Block:
        if at.over:
            raise End
        if at.before is None and cache.elements is None:
            at.before = at.begin()
        if at.before is not None:
            try:
                block = at.before.some(most)
            except End:
                cache.elements, at.over = at.written, True
                raise
            at.written += block.own_rows()
            return Block.of([list(row) for row in block.rows]) if block.count == 1 else block
        assert cache.elements is not None
        rows = cache.elements[at.row : at.row + most]
        if not rows:
            raise End
        at.row += len(rows)
        return Block.of([list(row) for row in rows])

    def walk(run: Run) -> Walk:
        at = Place(run, source.walk, before=None, written=[], row=0, over=False, cache=cache)
        return Walk.of_blocks(several, at)

    return Dataset(walk, source.cardinality, "CacheDataset")


def _remove(path: str) -> None:
    if file_system.exists(path):
        file_system.remove(path)


class _CacheFiles:
    """A bundle of tensors named by element and component, as TensorFlow's; a lock file marks one in the making.

    Whenever the walk is saved, what is there until then becomes a bundle of its own; all are merged at the end.
    """

    def __init__(self, prefix: str):
        self._prefix = prefix
        self._lock = f"{prefix}.lockfile"
        self._parts = 0
        self._unlock: weakref.finalize | None = None
        self.complete = False
        self._writer: BundleWriter | None = None
        self._rows: list[tuple[BundleReader, list[str]]] | None = None

    def look(self) -> bool:
        """Whether all elements are there: some walk has got to the end."""
        self.complete = file_system.exists(index_file(self._prefix))
        return self.complete

    def lock(self) -> None:
        """Says to others that the files are being made."""
        if file_system.exists(self._lock):
            raise errors.AlreadyExistsError(
                None,
                None,
                "There appears to be a concurrent caching iterator running - cache lockfile already exists "
                f"('{self._lock}'). If you are sure no other running TF computations are using this cache prefix, "
                "delete the lockfile and re-initialize the iterator.",
            )
        file_system.make_directories(os.path.dirname(self._prefix))
        file_system.write_file(self._lock, b"weft")
        # A walk that is given up holds up no other, unless it was saved: then its files are still wanted.
        self._unlock = weakref.finalize(self, _remove, self._lock)

    def _part(self, number: int) -> str:
        return f"{self._prefix}_{number}"

    def add(self, row: int, element: Element) -> None:
        """Writes an element."""
        if self._writer is None:
            self._writer = BundleWriter(self._part(self._parts))
            weakref.finalize(self, self._writer.abandon)  # nothing is left where it did not finish
        for i, value in enumerate(element):
            array = np.asarray(value)
            dtype = dtypes.string if array.dtype == object else dtypes.as_dtype(array.dtype)
            self._writer.add(f"{row:12d}_{i:08d}", array, dtype)

    def _finish_part(self) -> None:
        if self._writer is not None:
            self._writer.finish()
            self._writer = None
            self._parts += 1

    def finish(self) -> None:
        """All elements are there."""
        self._finish_part()
        if not self._parts:  # no elements at all
            self._writer = BundleWriter(self._part(0))
            self._finish_part()
        merge([self._part(i) for i in range(self._parts)], self._prefix)
        self.complete = True
        _remove(self._lock)

    def row(self, number: int) -> Element:
        """Reads an element; `End` after the last."""
        if self._rows is None:
            reader = BundleReader(self._prefix)
            weakref.finalize(self, reader.close).atexit = False
            parts: dict[int, list[tuple[int, str]]] = {}
            for name in reader.names():
                row, component = name.strip().split("_")
                parts.setdefault(int(row), []).append((int(component), name))
            self._rows = [
                (reader, [name for _, name in sorted(named)]) for _, named in sorted(parts.items())
            ]
        if number >= len(self._rows):
            for reader, _ in self._rows[:1]:
                reader.close()
            raise End
        reader, names = self._rows[number]
        return [reader.read(name) for name in names]

    def saved(self, freeze: Callable[[Any], Any]) -> Any:
        """How many bundles there are."""
        self._finish_part()
        if self._unlock is not None:
            self._unlock.detach()
        return freeze(self._parts)

    def restore(self, parts: int) -> None:
        """Goes on behind so many bundles."""
        if self._writer is not None:
            self._writer.abandon()
            self._writer = None
        self._parts = parts
        self.look()  # a walk may have gone to the end since


def _cached_in_files(source: Dataset, prefix: str) -> Dataset:
    def advance(at: Place) -> Element:
        if not at.begun:
            at.begun = True
            if not at.files.look():
                at.files.lock()
                at.before = at.begin()
        if at.files.complete:
            at.before = None
            element = at.files.row(at.row)
        else:
            try:
                element = at.before()
            except End:
                at.files.finish()
                raise
            at.files.add(at.row, element)
        at.row += 1
        return element

    def walk(run: Run) -> Walk:
        at = Place(run, source.walk, begun=False, before=None, row=0, files=_CacheFiles(prefix))
        return Walk(advance, at)

    return Dataset(walk, source.cardinality, "CacheDataset")


def _cached(source: Dataset, filename: Any, cache: MemoryCache) -> Dataset:
    path = file_system.path_text(np.asarray(filename, object).item())
    return _cached_in_files(source, path) if path else _cached_in_memory(source, cache)


@dataset_op("CacheDataset", "input_dataset: variant, filename: string")
def cache_dataset(ctx, input_dataset, filename):
    """The elements, of which the first whole walk leaves a copy in memory or in a file for the next."""
    return _cached(as_dataset(input_dataset), filename, MemoryCache())


@dataset_op(
    "CacheDatasetV2", "input_dataset: variant, filename: string, cache: resource", stateful=True
)
def cache_dataset_v2(ctx, input_dataset, filename, cache):
    """The elements, of which the first whole walk leaves a copy in memory or in a file for the next."""
    dataset = _cached(as_dataset(input_dataset), filename, cache)
    dataset.shares = "its memory cache"
    return dataset
