"""What is in a queue, and in which order it comes out.

Elements travel as runs: rows `start` to `stop` of some columns, one array for each component. So many elements
go in and out by slices of arrays; a single element is a run of its bare values, with `start` -1.
"""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from typing import Any, NamedTuple

import numpy as np

from weft.framework import dtypes
from weft.ops.random.word_stream import RandomWords


class Run(NamedTuple):
    """Some elements that came together."""

    columns: tuple[Any, ...]
    start: int = -1
    stop: int = 0

    @property
    def length(self) -> int:
        return 1 if self.start < 0 else self.stop - self.start

    def values(self) -> tuple[Any, ...]:
        """The components of the first element."""
        if self.start < 0:
            return self.columns
        return tuple(c[self.start] for c in self.columns)

    def elements(self) -> list[Run]:
        """Each element for itself, in arrays of its own: rows must not keep their whole batch alive."""
        if self.start < 0:
            return [self]
        rows = [
            [row.copy() if type(row) is np.ndarray else row for row in c[self.start : self.stop]]
            for c in self.columns
        ]
        return [Run(values) for values in zip(*rows)]

    def split(self, n: int) -> tuple[Run, Run]:
        """The first n elements, and the rest."""
        middle = self.start + n
        return Run(self.columns, self.start, middle), Run(self.columns, middle, self.stop)

    def column(self, i: int) -> Any:
        """The values of a component: an array with a row for each element."""
        if self.start >= 0:
            return self.columns[i][self.start : self.stop]
        value = self.columns[i]
        if isinstance(value, (np.ndarray, np.generic)):
            return np.asarray(value)[None]
        out = np.empty(1, object)
        out[0] = value
        return out


class InOrder:
    """First in, first out."""

    def __init__(self) -> None:
        self.size = 0
        self._runs: deque[Run] = deque()

    def put(self, run: Run) -> None:
        self._runs.append(run)
        self.size += run.length

    def take(self, n: int) -> list[Run]:
        """The next n elements."""
        out = []
        self.size -= n
        while n:
            run = self._runs.popleft()
            if run.length > n:
                run, rest = run.split(n)
                self._runs.appendleft(rest)
            out.append(run)
            n -= run.length
        return out

    def put_back(self, runs: list[Run]) -> None:
        """Undoes `take`."""
        self._runs.extendleft(reversed(runs))
        self.size += sum(run.length for run in runs)


class Shuffled:
    """Each element is drawn from all that are there, with the numbers that TensorFlow draws."""

    def __init__(self, xp: Any, seed: int, seed2: int) -> None:
        self._words = RandomWords(xp, seed, seed2)
        self._rows: list[Run] = []

    @property
    def size(self) -> int:
        return len(self._rows)

    def put(self, run: Run) -> None:
        self._rows.extend(run.elements())

    def take(self, n: int) -> list[Run]:
        rows = self._rows
        out = []
        for _ in range(n):
            i = self._words.next() % len(rows)
            out.append(rows[i])
            last = rows.pop()
            if i < len(rows):
                rows[i] = last
        return out

    def put_back(self, runs: list[Run]) -> None:
        self._rows.extend(runs)


class Prioritized:
    """The element with the smallest first component comes first; equal ones in order."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Run]] = []
        self._numbers = itertools.count()

    @property
    def size(self) -> int:
        return len(self._heap)

    def put(self, run: Run) -> None:
        for row in run.elements():
            heapq.heappush(self._heap, (int(row.columns[0]), next(self._numbers), row))

    def take(self, n: int) -> list[Run]:
        return [heapq.heappop(self._heap)[2] for _ in range(n)]

    def put_back(self, runs: list[Run]) -> None:
        for run in runs:
            self.put(run)


def batch(runs: list[Run], i: int) -> np.ndarray:
    """A component of some elements, as one array."""
    parts = [run.column(i) for run in runs]
    return np.array(parts[0]) if len(parts) == 1 else np.concatenate(parts)


def padded_batch(runs: list[Run], i: int, dims: tuple, dtype: dtypes.DType) -> np.ndarray:
    """A component of some elements as one array; where a dimension of `dims` is open, up to the longest."""
    parts = [run.column(i) for run in runs]
    sizes = [
        max(part.shape[1 + axis] for part in parts) if size is None else size
        for axis, size in enumerate(dims)
    ]
    out = empty_batch(sum(len(part) for part in parts), tuple(sizes), dtype)
    at = 0
    for part in parts:
        out[(slice(at, at + len(part)), *[slice(n) for n in part.shape[1:]])] = part
        at += len(part)
    return out


def empty_batch(count: int, dims: tuple, dtype: dtypes.DType) -> np.ndarray:
    """A component of elements that hold nothing yet: zeros, or empty strings."""
    if dtype is dtypes.string:
        return np.full((count, *dims), b"", object)
    return np.zeros((count, *dims), dtype.np)
