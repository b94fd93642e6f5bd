"""Datasets that keep elements of others: for a while, ahead of time, or for the next walk."""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from typing import Any

import numpy as np

from weft.framework import dtypes, errors, file_system
from weft.framework.checkpoint_files.tensor_bundle import BundleReader, BundleWriter, index_file
from weft.framework.registry import op
from weft.ops.datasets.dataset import (
    Dataset,
    Element,
    End,
    Run,
    Walk,
    as_dataset,
    dataset_op,
    invalid,
)

_BUFFER_WHEN_OURS = 8  # elements, where the program leaves the number to us


# -- ahead of time --------------------------------------------------------------------------------------


class _Ahead:
    """A buffer that a thread fills. The thread knows the buffer only, so that it ends with whoever reads it."""

    def __init__(self, before: Walk, size: int):
        self._before, self._size = before, size
        self._changed = threading.Condition()
        self._items: deque[tuple[Element | None, Exception | None]] = deque()
        self._closed = self._cancelled = False

    def start(self) -> None:
        threading.Thread(target=self._fill, daemon=True, name="weft-prefetch").start()

    def _fill(self) -> None:
        over = False
        while not over:
            with self._changed:
                while len(self._items) >= self._size and not self._closed:
                    self._changed.wait()
                if self._closed:
                    return
            item: tuple[Element | None, Exception | None]
            try:
                item = self._before(), None
            except Exception as e:
                item, over = (None, e), isinstance(e, (End, errors.CancelledError))
            with self._changed:
                self._items.append(item)
                self._changed.notify_all()

    def take(self) -> Element:
        with self._changed:
            while not self._items and not self._cancelled:
                self._changed.wait()
            if not self._items:
                raise errors.CancelledError(
                    None, None, "Iterator was cancelled: its session is closed"
                )
            element, error = self._items[0]
            if not isinstance(error, End):  # the end stays where it is
                self._items.popleft()
                self._changed.notify_all()
        if error is not None:
            raise error
        assert element is not None
        return element

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def cancel(self) -> None:
        with self._changed:
            self._closed = self._cancelled = True
            self._changed.notify_all()


class _Reader:
    """The consumer's side: when it goes, the thread ends."""

    def __init__(self, run: Run, before: Walk, size: int):
        self._run, self._arguments = run, (before, size)
        self._ahead: _Ahead | None = None

    def __call__(self) -> Element:
        if self._ahead is None:
            self._ahead = _Ahead(*self._arguments)
            weakref.finalize(self, self._ahead.close)
            self._run.wake_when_cancelled(self._ahead)
            self._ahead.start()
        return self._ahead.take()


def prefetched(run: Run, before: Walk, size: int) -> Walk:
    """A walk that a thread goes ahead on, by so many elements."""
    return _Reader(run, before, size)


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

    def walk(run: Run) -> Walk:
        before = source.walk(run)
        return prefetched(run, before, size) if size else before

    return Dataset(walk, source.cardinality, "PrefetchDataset")


# -- for the next walk ----------------------------------------------------------------------------------


class MemoryCache:
    """Elements that a first walk has left for the next ones."""

    def __init__(self) -> None:
        self.elements: list[Element] | None = None


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
    def walk(run: Run) -> Walk:
        before: Walk | None = None
        written: list[Element] = []
        at = 0

        def advance() -> Element:
            nonlocal before, at
            if before is None and cache.elements is None:
                before = source.walk(run)
            if before is not None:
                try:
                    element = before()
                except End:
                    cache.elements = written
                    before = _ended
                    raise
                written.append(element)
                return list(element)
            assert cache.elements is not None
            if at >= len(cache.elements):
                raise End
            at += 1
            return list(cache.elements[at - 1])

        return advance

    return Dataset(walk, source.cardinality, "CacheDataset")


def _ended() -> Element:
    raise End


def _cached_in_files(source: Dataset, prefix: str) -> Dataset:
    """A bundle of tensors named by element and component, as TensorFlow's; a lock file marks one in the making."""
    lock = f"{prefix}.lockfile"

    def reading() -> Walk:
        reader = BundleReader(prefix)
        parts: dict[int, list[tuple[int, str]]] = {}
        for name in reader.names():
            row, component = name.strip().split("_")
            parts.setdefault(int(row), []).append((int(component), name))
        rows = iter(sorted(parts.items()))

        def advance() -> Element:
            for _, names in rows:
                return [reader.read(name) for _, name in sorted(names)]
            reader.close()
            raise End

        return advance

    def writing(run: Run) -> Walk:
        if file_system.exists(lock):
            raise errors.AlreadyExistsError(
                None,
                None,
                "There appears to be a concurrent caching iterator running - cache lockfile already exists "
                f"('{lock}'). If you are sure no other running TF computations are using this cache prefix, delete the "
                "lockfile and re-initialize the iterator.",
            )
        file_system.make_directories(os.path.dirname(prefix))
        file_system.write_file(lock, b"weft")
        before = source.walk(run)
        writer = BundleWriter(prefix)
        at = 0

        def advance() -> Element:
            nonlocal at
            try:
                element = before()
            except End:
                writer.finish()
                file_system.remove(lock)
                raise
            for i, value in enumerate(element):
                array = np.asarray(value)
                dtype = dtypes.string if array.dtype == object else dtypes.as_dtype(array.dtype)
                writer.add(f"{at:12d}_{i:08d}", array, dtype)
            at += 1
            return element

        return advance

    def walk(run: Run) -> Walk:
        current: Walk | None = None

        def advance() -> Element:
            nonlocal current
            if current is None:
                current = reading() if file_system.exists(index_file(prefix)) else writing(run)
            return current()

        return advance

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
    return _cached(as_dataset(input_dataset), filename, cache)
