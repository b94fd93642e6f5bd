"""What a dataset is at run time: something that makes walks over its elements.

An element is a list of components: arrays, and datasets where an element has some. A walk is a function that gives
the next element and raises `End` after the last. An error of one element leaves a walk where it can go on.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from weft.framework import errors
from weft.framework.registry import OpDecl, op

Element = list[Any]
Walk = Callable[[], Element]

INFINITE, UNKNOWN = -1, -2


class End(Exception):
    """There are no more elements."""


class Run:
    """What a walk needs of the session that it is for: functions, state, and to know when that is closed."""

    def __init__(self, functions: Any, resources: Any):
        self._functions, self._resources = functions, resources
        self._cancelled = False
        self._waiting: weakref.WeakSet[Any] = weakref.WeakSet()  # what has a method `cancel`
        self._lock = threading.Lock()
        self._once: dict[Any, Any] = {}

    def function(self, name: str) -> Callable[[list[Any]], list[Any]]:
        """A function of the graph, to be called with arrays."""
        return self._functions.callable(name, self._resources)

    def is_compiled(self, name: str) -> bool:
        """Whether XLA takes all of a function."""
        return self._functions.is_compilable(name)

    def shared(self, key: Any, make: Callable[[], Any]) -> Any:
        """What all walks of this run share."""
        with self._lock:
            if key not in self._once:
                self._once[key] = make()
            return self._once[key]

    def wake_when_cancelled(self, waiting: Any) -> None:
        """Something that waits, and has to know when the run is over."""
        with self._lock:
            self._waiting.add(waiting)
            if not self._cancelled:
                return
        waiting.cancel()

    def cancel(self) -> None:
        """Ends what waits; walks raise CancelledError from now on."""
        with self._lock:
            self._cancelled = True
            waiting = list(self._waiting)
        for item in waiting:
            item.cancel()

    def check(self) -> None:
        """Called in loops that may be long: raises CancelledError once the run is over."""
        if self._cancelled:
            raise errors.CancelledError(None, None, "Iterator was cancelled: its session is closed")


class Rows:
    """Rows of arrays in some order: datasets that only choose among rows hand on their numbers.

    `numbers(run)` begins a walk: a function of how many numbers are wanted, which gives fewer at the end.
    """

    def __init__(self, table: list[Any], numbers: Callable[[Run], Callable[[int], list[int]]]):
        self.table, self.numbers = table, numbers

    _AT_ONCE = 64

    def walk(self, run: Run) -> Walk:
        """The rows one by one, each as a view."""
        following, table = self.numbers(run), self.table
        ready: list[int] = []

        def advance() -> Element:
            nonlocal ready
            if not ready:
                run.check()
                ready = following(self._AT_ONCE)[::-1]
                if not ready:
                    raise End
            number = ready.pop()
            return [row_of(array, number) for array in table]

        return advance

    def batches(self, run: Run, size: int) -> Walk:
        """So many rows at once, those of the last batch fewer."""
        following, table = self.numbers(run), self.table

        def advance() -> Element:
            run.check()
            numbers = following(size)
            if not numbers:
                raise End
            return [array.take(numbers, 0) for array in table]

        return advance


def row_of(array: Any, i: int) -> Any:
    """One row of an array; of an array of variants what is in it."""
    row = array[i : i + 1].reshape(array.shape[1:])
    if array.dtype == object and not row.ndim and not isinstance(row.item(), (bytes, str)):
        return row.item()
    return row


class Dataset:
    """Elements of a kind, as often as somebody walks over them; `rows` where they are rows of arrays."""

    def __init__(
        self,
        walk: Callable[[Run], Walk],
        cardinality: int = UNKNOWN,
        kind: str = "",
        rows: Rows | None = None,
    ):
        self.walk = walk
        self.cardinality = cardinality
        self.kind = kind
        self.rows = rows

    @classmethod
    def of(cls, rows: Rows, cardinality: int, kind: str) -> Dataset:
        """A dataset of rows of arrays."""
        return cls(rows.walk, cardinality, kind, rows)

    def __repr__(self) -> str:
        return f"<{self.kind or 'dataset'}>"


def invalid(why: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, why)


def as_dataset(value: Any) -> Dataset:
    """A dataset, from the variant that holds it."""
    if type(value) is np.ndarray and value.size == 1:
        value = value.item()
    if not isinstance(value, Dataset):
        raise invalid(f"Expected a dataset, but the input is {type(value).__name__}.")
    return value


_ELEMENTS = "output_types: list(type) >= 1; output_shapes: list(shape) >= 1"


def dataset_op(
    name: str,
    args: str = "",
    attrs: str = "",
    *,
    old: bool = False,
    elements: str = _ELEMENTS,
    output: str = "handle",
    stateful: bool = False,
) -> Callable[[Callable[..., Dataset]], OpDecl]:
    """Declares an op that makes a dataset; `old` where TensorFlow has it as `Experimental...` too."""

    def declare(kernel: Callable[..., Dataset]) -> OpDecl:
        decls = []
        for full_name in [name, f"Experimental{name}"] if old else [name]:
            parts = [part for part in (attrs, elements) if part]
            decl = op(
                full_name,
                f"{args} -> {output}: variant",
                "; ".join(parts),
                host=True,
                stateful=stateful,
            )(kernel)
            decl.shape(lambda *inputs: ())
            decl.not_differentiable()
            decls.append(decl)
        return decls[0]

    return declare


def scaled(cardinality: int, factor: int) -> int:
    """The cardinality of a dataset repeated."""
    if factor == 0 or cardinality == 0:
        return 0
    if cardinality == UNKNOWN:
        return INFINITE if factor < 0 else UNKNOWN
    if cardinality == INFINITE or factor < 0:
        return INFINITE
    return cardinality * factor
