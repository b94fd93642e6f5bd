"""What a dataset is at run time: something that makes walks over its elements.

An element is a list of components: arrays, and datasets where an element has some. A walk is a function that gives
the next element and raises `End` after the last. An error of one element leaves a walk where it can go on.

For whoever writes a walk: all that changes on the way belongs into its `Place`, nothing into variables around the
function (no `nonlocal`), and walks over other datasets begin by `place.begin`. That is all that saving and restoring
needs; see `saving.py`.

A walk whose elements can be had together also gives blocks of them (`Walk.some`), to whoever needs many.
"""

from __future__ import annotations

import contextvars
import functools
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.framework import errors
from weft.framework.attributes import Func
from weft.framework.registry import OpDecl, op
from weft.ops.datasets.block import Block, Element, row_of

INFINITE, UNKNOWN = -1, -2

# The kinds of the datasets that a walk is begun for, that of the iterator first.
path: contextvars.ContextVar[tuple[str, ...]] = contextvars.ContextVar("path", default=())


# The step that waits for the elements, in its own thread.
current_step: contextvars.ContextVar[Any] = contextvars.ContextVar("current_step", default=None)


class End(Exception):
    """There are no more elements."""


class Run:
    """What a walk needs of the session that it is for: functions, state, and to know when that is closed."""

    def __init__(self, functions: Any, resources: Any):
        self._functions, self._resources = functions, resources
        self.measure: Callable[[str, float], None] | None = None  # takes statistics
        self.around: Callable[..., Walk] | None = None  # begins each walk in place of itself
        self.threads = 0  # that functions are called by at most, where it is said
        self.sloppy = False  # whether elements may overtake each other
        self._cancelled = False
        self._waiting: list[threading.Condition] = []
        self._lock = threading.Lock()
        self._once: dict[Any, Any] = {}

    def function(self, name: str) -> Callable[[list[Any]], list[Any]]:
        """A function of the graph, to be called with arrays."""
        return self._functions.callable(name, self._resources)

    def on_rows(self, name: str, shared: int) -> Any:
        """A function of the graph, to be called with columns of its arguments, all but the last ones, which are shared
        by all rows; None where that cannot be."""
        rows = self._functions.on_rows(name, self._resources, shared)
        return None if rows.refused else rows

    def is_compiled(self, name: str) -> bool:
        """Whether XLA takes all of a function."""
        return self._functions.is_compilable(name)

    def stateful_op(self, name: str) -> str:
        """The type of an operation of a function with state outside of it; "" where there is none."""
        return self._functions.stateful_op(name)

    def begin(self, dataset: Dataset) -> Walk:
        """The walk of an iterator: random numbers in functions come from the beginning."""
        names = [name for part in dataset.all_inputs() for name in part.functions]
        self._functions.restart_random(names, self._resources)
        return dataset.walk(self)

    def has_state(self, dataset: Dataset) -> bool:
        """Whether somebody might notice how far a dataset was read."""
        return any(self.stateful_op(name) for d in dataset.all_inputs() for name in d.functions)

    def shared(self, key: Any, make: Callable[[], Any]) -> Any:
        """What all walks of this run share."""
        with self._lock:
            if key not in self._once:
                self._once[key] = make()
            return self._once[key]

    def wait(self, condition: threading.Condition) -> None:
        """Waits on a condition, which the caller holds; raises an error once the run, or the step that waits for an
        element, is over."""
        self._waiting.append(condition)
        try:
            self.check()
            step = current_step.get()
            if step is None:
                condition.wait()
            else:
                step.wait(condition)
            self.check()
        finally:
            self._waiting.remove(condition)

    def cancel(self) -> None:
        """Ends what waits; walks raise CancelledError from now on."""
        self._cancelled = True
        for condition in list(self._waiting):
            with condition:
                condition.notify_all()

    def check(self) -> None:
        """Called in loops that may be long: raises CancelledError once the run is over."""
        if self._cancelled:
            raise errors.CancelledError(None, None, "Iterator was cancelled: its session is closed")


class Place:
    """Where a walk is: its attributes are all that changes on the way, and with them the walk is saved and restored.

    They are made with the place, and may be numbers, text, arrays, elements, errors, walks that the place has begun,
    what has the methods of `Kept`, and lists, tuples, dicts, sets and deques of these.
    """

    __slots__ = ("__dict__", "_made", "_path", "_sources", "run")

    def __init__(
        self,
        run: Run,
        *sources: Callable[[Run], Walk],
        made: Callable[[list[Any]], Callable[[Run], Walk]] | None = None,
        **attributes: Any,
    ):
        self.run, self._sources, self._made = run, sources, made
        self._path = path.get()
        self.__dict__.update(attributes)

    def begin(self, recipe: int | list[Any] = 0) -> Walk:
        """Begins a walk: over the source of a number, or over what `made` makes of a list."""
        if isinstance(recipe, list):
            assert self._made is not None
            begin = self._made(recipe)
        else:
            begin = self._sources[recipe]
        token = path.set(self._path)
        try:
            walk = begin(self.run)
        finally:
            path.reset(token)
        walk.recipe = recipe
        return walk

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

        def __setattr__(self, name: str, value: Any) -> None: ...


class Walk(functools.partial):
    """A function and the place that it works on: called, it gives the next element, and raises `End` after the last."""

    kind = ""  # of the dataset
    recipe: Any = None  # what the walk that has begun this one did it with
    several: Callable[[Place, int], Block] | None = None
    may_go_ahead = (
        False  # whether nobody would notice if some of its elements were read and never used
    )

    @property
    def place(self) -> Place:
        """All that changes on the way."""
        return self.args[0]

    def in_blocks(self, several: Callable[[Place, int], Block]) -> Walk:
        """This walk, which can give several elements at once: `several` does what `some` promises."""
        self.several = several
        return self

    @classmethod
    def of_blocks(cls, several: Callable[[Place, int], Block], place: Place) -> Walk:
        """A walk that does the same for one element as for several."""
        return cls(lambda at: several(at, 1).rows[0], place).in_blocks(several)

    def some(self, most: int) -> Block:
        """The next elements, for somebody who will use all of them: at least one, `most` at most.

        There is more than one only where the others are no longer to wait for than the first: never is waited for a
        Python function, or for somebody who writes into a pipe, while there is an element to go on with. An error, or
        `End`, is raised where it comes first; else it waits for the next call.
        """
        if self.several is None or most <= 1:
            return Block.of([self()])
        return self.several(self.place, most)


class Rows:
    """Rows of arrays in some order: datasets that only choose among rows hand on their numbers.

    `numbers(run)` begins a walk: a function of how many numbers are wanted, which gives fewer at the end.
    """

    def __init__(self, table: list[Any], numbers: Callable[[Run], Walk]):
        self.table, self.numbers = table, numbers

    _AT_ONCE = 64

    def walk(self, run: Run) -> Walk:
        """The rows one by one, each as a view, or several together."""
        table = self.table

        def advance(at: Place) -> Element:
            if not at.ready:
                at.ready = following(at, self._AT_ONCE)[::-1]
            number = at.ready.pop()
            return [row_of(array, number) for array in table]

        def several(at: Place, most: int) -> Block:
            if at.ready:
                numbers, at.ready = at.ready[-most:][::-1], at.ready[:-most]
            else:
                numbers = following(at, most)
            return Block(len(numbers), [array.take(numbers, 0) for array in table])

        def following(at: Place, most: int) -> list[int]:
            run.check()
            numbers = at.following(most)
            if not numbers:
                raise End
            return numbers

        at = Place(run, self.numbers, ready=[])
        at.following = at.begin()
        return Walk(advance, at).in_blocks(several)


class Dataset:
    """Elements of a kind, as often as somebody walks over them; `rows` where they are rows of arrays."""

    def __init__(
        self,
        walk: Callable[[Run], Walk],
        cardinality: int = UNKNOWN,
        kind: str = "",
        rows: Rows | None = None,
    ):
        self._walk = walk
        self.cardinality = cardinality
        self.kind = kind
        self.rows = rows
        self.elements: list[Element] | None = None  # where it is nothing but these
        self.inputs: list[Dataset] = []
        self.functions: list[str] = []  # of the graph, which walks call
        self.shares = (
            ""  # what it has in common with others, so that no single iterator can save it
        )

    def walk(self, run: Run) -> Walk:
        """Begins at the first element."""
        token = path.set((*path.get(), self.kind))
        try:
            walk = (
                self._walk(run)
                if not (run.around and self.kind)
                else run.around(self.kind, self._walk, run)
            )
        finally:
            path.reset(token)
        walk.kind = walk.kind or self.kind
        return walk

    def all_inputs(self) -> Iterator[Dataset]:
        """This dataset and all that it is made of."""
        seen, rest = set(), [self]
        while rest:
            dataset = rest.pop()
            if id(dataset) not in seen:
                seen.add(id(dataset))
                yield dataset
                rest += dataset.inputs

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

    def declare(plain: Callable[..., Dataset]) -> OpDecl:
        kernel = _remembering(plain)
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


def _remembering(kernel: Callable[..., Dataset]) -> Callable[..., Dataset]:
    """A kernel whose datasets know what they are made of."""

    @functools.wraps(kernel)
    def make(ctx: Any, *inputs: Any, **attributes: Any) -> Dataset:
        found: list[Any] = [
            value.item() if type(value) is np.ndarray else value
            for given in inputs
            for value in (given if isinstance(given, list) else [given])
            if isinstance(value, Dataset)
            or (type(value) is np.ndarray and value.dtype == object and value.size == 1)
        ]
        sources = [s for s in found if isinstance(s, Dataset)]
        dataset = kernel(ctx, *inputs, **attributes)
        if not any(dataset is source for source in sources):
            dataset.inputs = sources
            dataset.functions = [
                value.name for value in attributes.values() if isinstance(value, Func)
            ]
        return dataset

    return make


def scaled(cardinality: int, factor: int) -> int:
    """The cardinality of a dataset repeated."""
    if factor == 0 or cardinality == 0:
        return 0
    if cardinality == UNKNOWN:
        return INFINITE if factor < 0 else UNKNOWN
    if cardinality == INFINITE or factor < 0:
        return INFINITE
    return cardinality * factor
