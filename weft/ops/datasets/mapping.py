"""Datasets that call functions of the graph on elements of others."""

from __future__ import annotations

import functools
import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import numpy as np

from weft.framework import errors
from weft.ops.datasets.batching import batches, of_rows, stacked
from weft.ops.datasets.block import Block, OneByOne, Waiting
from weft.ops.datasets.dataset import (
    UNKNOWN,
    Dataset,
    Element,
    End,
    Place,
    Run,
    Walk,
    as_dataset,
    dataset_op,
    invalid,
)

_FUNCTION = "f: func; Targuments: list(type) >= 0"
_MAP = "use_inter_op_parallelism: bool = true; preserve_cardinality: bool = false"
_ARGS = "input_dataset: variant, other_arguments: Targuments"


class Function:
    """A function of the graph on elements; `ends`: whether its OutOfRangeError is the end of the dataset."""

    _MOST = 128  # elements at once, and the bytes of what they are made of
    _MOST_BYTES = 1 << 23

    def __init__(self, run: Run, f: Any, captured: list[Any], ends: bool = False):
        self._call = run.function(f.name)
        self._on_rows = functools.partial(run.on_rows, f.name, len(captured))
        self._captured, self._ends = captured, ends
        self._most = self._MOST

    def __call__(self, element: Element) -> Element:
        try:
            return self._call([*element, *self._captured])
        except errors.OutOfRangeError as e:
            if self._ends:
                raise End from None
            raise errors.InvalidArgumentError(
                e.node_def, e.op, f"Function invocation produced OutOfRangeError: {e.message}"
            ) from e

    @functools.cached_property
    def _rows(self) -> Any:
        return self._on_rows()

    @property
    def takes_blocks(self) -> bool:
        """Whether elements may be read before the function is called on those in front of them."""
        return self._rows is not None

    @property
    def is_best_on_blocks(self) -> bool:
        """Whether nothing in the function is run for one element after the other, so that threads have no use."""
        return self._rows is not None and self._rows.every_operation_has_rows

    def place(self, run: Run, source: Dataset) -> Place:
        """The place of a walk that calls the function on the elements of a dataset."""
        at = Place(run, source.walk, waiting=Waiting())
        at.before = at.begin()
        return at

    def walk(
        self,
        at: Place,
        advance: Callable[[Place], Element],
        several: Callable[[Place, int], Block],
    ) -> Walk:
        """A walk, in blocks if the function takes them."""
        walk = Walk(advance, at)
        return walk.in_blocks(several) if self.takes_blocks else walk

    def following(self, at: Place) -> Element:
        """The next element to call the function on."""
        return at.waiting.take(1).rows[0] if at.waiting else at.before()

    def some(self, at: Place, most: int) -> tuple[Block, Block]:
        """The next elements and what the function makes of them, several if the function takes these at once."""
        if not at.waiting:
            block = at.before.some(min(most, self._most))
            if block.count > 1:
                try:
                    columns = self._rows(block.columns, self._captured, block.count)
                except OneByOne:
                    pass
                else:
                    results = Block(block.count, columns)
                    self._limit(block, results)
                    return block, results
            at.waiting.add(block)
        block = at.waiting.take(1)
        return block, Block.of([self(block.rows[0])])

    def _limit(self, *blocks: Block) -> None:
        """Asks for fewer elements where they are large."""
        size = sum(getattr(c, "nbytes", 0) for b in blocks for c in b.columns)
        self._most = max(1, min(self._MOST, self._MOST_BYTES * blocks[0].count // max(size, 1)))


def workers(count: Any) -> int:
    """How many threads are meant; a negative number leaves it to us."""
    n = int(count)
    if n == 0 or n < -1:
        raise invalid("num_parallel_calls must be greater than zero.")
    return n if n > 0 else max(2, os.cpu_count() or 2)


# -- one element, one call ------------------------------------------------------------------------------


@dataset_op("MapDataset", _ARGS, f"{_FUNCTION}; {_MAP}")
def map_dataset(ctx, input_dataset, other_arguments, *, f, preserve_cardinality):
    """What a function makes of each element."""
    source = as_dataset(input_dataset)

    def walk(run: Run) -> Walk:
        return _mapped(run, source, Function(run, f, other_arguments, not preserve_cardinality))

    return Dataset(walk, source.cardinality, "MapDataset")


def _mapped(run: Run, source: Dataset, function: Function) -> Walk:
    return function.walk(
        function.place(run, source),
        lambda at: function(function.following(at)),
        lambda at, most: function.some(at, most)[1],
    )


@dataset_op(
    "ParallelMapDataset",
    f"{_ARGS}, num_parallel_calls: int32",
    f"{_FUNCTION}; use_inter_op_parallelism: bool = true; sloppy: bool = false; preserve_cardinality: bool = false",
)
def parallel_map_dataset(
    ctx, input_dataset, other_arguments, num_parallel_calls, *, f, sloppy, preserve_cardinality
):
    """What a function makes of each element, called for several at a time; the order stays."""
    source, count = as_dataset(input_dataset), workers(num_parallel_calls)

    def walk(run: Run) -> Walk:
        function = Function(run, f, other_arguments, not preserve_cardinality)
        return _in_parallel(run, source, function, f.name, count, sloppy or run.sloppy)

    return Dataset(walk, source.cardinality, "ParallelMapDataset")


def _in_parallel(
    run: Run, source: Dataset, function: Function, name: str, count: int, sloppy: bool = False
) -> Walk:
    # What is compiled costs less than to have another thread make the call.
    if function.is_best_on_blocks or run.is_compiled(name):
        return _mapped(run, source, function)
    return _called_ahead(run, source, function, count, sloppy)


class _Calls:
    """Calls that threads make, in the order in which they were begun."""

    def __init__(self, call: Callable[[Element], Element], count: int, sloppy: bool):
        self._call, self._count, self._sloppy = call, count, sloppy
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="weft-map")
        self._pending: deque[Future] = deque()
        self._changed = threading.Condition()  # told when a call is done

    def __len__(self) -> int:
        return len(self._pending)

    @property
    def full(self) -> bool:
        """Whether as many run as should at a time."""
        return len(self._pending) >= self._count

    def begin(self, element: Element) -> None:
        call = self._pool.submit(self._call, element)
        self._pending.append(call)
        call.add_done_callback(self._done)

    def add(self, outcome: Element | Exception) -> None:
        """What needs no call: comes in its turn."""
        done: Future = Future()
        if isinstance(outcome, Exception):
            done.set_exception(outcome)
        else:
            done.set_result(outcome)
        self._pending.append(done)

    def take(self, run: Run) -> Element:
        """The result of the first; with `sloppy` of one that is ready, if there is one."""
        with self._changed:
            while True:
                for call in self._pending if self._sloppy else (self._pending[0],):
                    if call.done():
                        self._pending.remove(call)
                        return call.result()
                run.wait(self._changed)

    def _done(self, call: Future) -> None:
        with self._changed:
            self._changed.notify_all()

    def end(self) -> None:
        """No more calls will begin."""
        self._pool.shutdown(wait=False)

    def saved(self, freeze: Callable[[Any], Any]) -> Any:
        """The results of all calls that run; waits for them."""
        wait(self._pending)
        return freeze([f.exception() or f.result() for f in self._pending])

    def restore(self, outcomes: list[Any]) -> None:
        """Has the results of calls that another process made."""
        self._pending.clear()
        for outcome in outcomes:
            self.add(outcome)


def _called_ahead(
    run: Run,
    source: Dataset,
    call: Callable[[Element], Element],
    count: int,
    sloppy: bool = False,
) -> Walk:
    """Calls a function for up to `count` elements before they are asked for, by threads.

    `sloppy`: what is ready may overtake what is not.
    """

    def end(at: Place) -> None:
        at.over = True
        at.calls.end()

    def advance(at: Place) -> Element:
        while not at.over and not at.calls.full:
            try:
                at.calls.begin(at.before())
            except End:
                end(at)
            except Exception as e:  # comes in its turn
                at.calls.add(e)
                break
        if not at.calls:
            raise End
        try:
            return at.calls.take(run)
        except End:  # of the function: nothing comes behind it
            end(at)
            at.calls.restore([])
            raise

    at = Place(
        run, source.walk, over=False, calls=_Calls(call, min(count, run.threads or count), sloppy)
    )
    at.before = at.begin()
    return Walk(advance, at)


@dataset_op(
    "MapAndBatchDataset",
    f"{_ARGS}, batch_size: int64, num_parallel_calls: int64, drop_remainder: bool",
    f"{_FUNCTION}; preserve_cardinality: bool = false",
    old=True,
)
def map_and_batch_dataset(
    ctx,
    input_dataset,
    other_arguments,
    batch_size,
    num_parallel_calls,
    drop_remainder,
    *,
    f,
    preserve_cardinality,
):
    """What a function makes of each element, so many as one."""
    source, size, drop = as_dataset(input_dataset), int(batch_size), bool(drop_remainder)
    count = workers(num_parallel_calls)
    if size <= 0:
        raise invalid("batch_size must be greater than zero.")

    def walk(run: Run) -> Walk:
        function = Function(run, f, other_arguments, not preserve_cardinality)
        return _in_parallel(run, source, function, f.name, count)

    mapped = Dataset(walk, source.cardinality, "MapDataset")
    return batches(size, drop, mapped, stacked, "MapAndBatchDataset")


@dataset_op("FilterDataset", _ARGS, "predicate: func; Targuments: list(type) >= 0")
def filter_dataset(ctx, input_dataset, other_arguments, *, predicate):
    """The elements for which a function is true."""
    source = as_dataset(input_dataset)

    def walk(run: Run) -> Walk:
        function = Function(run, predicate, other_arguments)

        def advance(at: Place) -> Element:
            while True:
                run.check()
                element = function.following(at)
                if _truth(function(element)):
                    return element

        def several(at: Place, most: int) -> Block:
            while True:
                run.check()
                elements, results = function.some(at, most)
                found = elements.those(_truths(results))
                if found.count:
                    return found

        return function.walk(function.place(run, source), advance, several)

    known = source.cardinality
    return Dataset(walk, known if known == 0 else UNKNOWN, "FilterDataset")


def _truths(results: Block) -> np.ndarray:
    column = results.columns[0]
    if type(column) is np.ndarray and column.shape == (results.count,) and column.dtype == bool:
        if len(results.columns) == 1:
            return column
    return np.array([_truth(row) for row in results.rows])


def _truth(results: Element) -> bool:
    if len(results) != 1 or np.ndim(results[0]) or results[0].dtype != bool:
        raise invalid("Filter predicate `f` must return a scalar bool.")
    return bool(results[0])


@dataset_op("TakeWhileDataset", _ARGS, "predicate: func; Targuments: list(type) >= 0", old=True)
def take_while_dataset(ctx, input_dataset, other_arguments, *, predicate):
    """The elements up to the first for which a function is false."""
    source = as_dataset(input_dataset)

    def walk(run: Run) -> Walk:
        call = Function(run, predicate, other_arguments)

        def advance(at: Place) -> Element:
            if at.over:
                raise End
            element = at.before()
            at.over = not _truth(call(element))
            if at.over:
                raise End
            return element

        at = Place(run, source.walk, over=False)
        at.before = at.begin()
        return Walk(advance, at)

    return Dataset(walk, UNKNOWN, "TakeWhileDataset")


@dataset_op("FilterByLastComponentDataset", "input_dataset: variant", output="output")
def filter_by_last_component_dataset(ctx, input_dataset):
    """The elements of which the last component is true, without it."""
    source = as_dataset(input_dataset)

    def walk(run: Run) -> Walk:
        def advance(at: Place) -> Element:
            while True:
                run.check()
                *element, keep = at.before()
                if _truth([keep]):
                    return element

        at = Place(run, source.walk)
        at.before = at.begin()
        return Walk(advance, at)

    return Dataset(walk, UNKNOWN, "FilterByLastComponentDataset")


@dataset_op(
    "ScanDataset",
    "input_dataset: variant, initial_state: Tstate, other_arguments: Targuments",
    "f: func; Tstate: list(type) >= 1; Targuments: list(type) >= 0; preserve_cardinality: bool = false",
    old=True,
)
def scan_dataset(ctx, input_dataset, initial_state, other_arguments, *, f, preserve_cardinality):
    """What a function makes of each element and of the state that it gave with the one before."""
    source, size = as_dataset(input_dataset), len(initial_state)

    def walk(run: Run) -> Walk:
        call = Function(run, f, other_arguments, not preserve_cardinality)

        def advance(at: Place) -> Element:
            results = call([*at.state, *at.before()])
            at.state = results[:size]
            return results[size:]

        at = Place(run, source.walk, state=list(initial_state))
        at.before = at.begin()
        return Walk(advance, at)

    return Dataset(walk, source.cardinality, "ScanDataset")


# -- one element, a dataset -----------------------------------------------------------------------------


@dataset_op("FlatMapDataset", _ARGS, _FUNCTION)
def flat_map_dataset(ctx, input_dataset, other_arguments, *, f):
    """The elements of the datasets that a function makes of each element."""
    source = as_dataset(input_dataset)

    def walk(run: Run) -> Walk:
        call = Function(run, f, other_arguments)

        def several(at: Place, most: int) -> Block:
            while True:
                run.check()
                if at.current is None:
                    at.current = at.begin(at.before())
                try:
                    return at.current.some(most)
                except End:
                    at.current = None

        at = Place(run, source.walk, made=lambda element: as_dataset(call(element)[0]).walk)
        at.before, at.current = at.begin(), None
        return Walk.of_blocks(several, at)

    return Dataset(walk, UNKNOWN, "FlatMapDataset")


def _interleaved(
    source: Dataset,
    captured: list[Any],
    cycle_length: Any,
    block_length: Any,
    f: Any,
    kind: str,
    wrap: Callable[[Dataset, bool], Dataset] = lambda dataset, may_go_ahead: dataset,
) -> Dataset:
    cycle = int(cycle_length)
    if cycle == -1:
        cycle = max(2, os.cpu_count() or 2)
    block = int(block_length)
    if cycle <= 0:
        raise invalid("cycle_length must be greater than zero.")
    if block <= 0:
        raise invalid("block_length must be greater than zero.")

    def walk(run: Run) -> Walk:
        call = Function(run, f, captured)

        def go_on(at: Place) -> None:
            at.turn, at.taken = (at.turn + 1) % cycle, 0

        def several(at: Place, most: int) -> Block:
            found: list[Element] = []
            empty = 0  # places in the cycle without a dataset, one after the other
            while empty < cycle and len(found) < most:
                run.check()
                if at.walks[at.turn] is None and at.before is None:
                    empty += 1
                    go_on(at)
                    continue
                empty = 0
                rows = at.rows[at.turn]
                if not rows:
                    if found:  # nothing is read while there is something to go on with
                        break
                    rows = read(at, -(-most // cycle))
                    if not rows:
                        continue
                found.append(rows.pop())
                at.taken += 1
                if at.taken == block:
                    go_on(at)
            if not found:
                raise End
            return Block.of(found)

        def read(at: Place, most: int) -> list[Element]:
            """Elements of the dataset whose turn it is, the first at the end; none where it is over."""
            current = at.walks[at.turn]
            if current is None:
                try:
                    element = at.before()
                except End:
                    at.before = None
                    return []
                current = at.walks[at.turn] = at.begin(element)
                at.taken = 0
            try:
                at.rows[at.turn] = current.some(most if current.may_go_ahead else 1).rows[::-1]
            except End:
                at.walks[at.turn] = None
                go_on(at)
                return []
            return at.rows[at.turn]

        def begin(element: list[Any]) -> Callable[[Run], Walk]:
            dataset = as_dataset(call(element)[0])
            may_go_ahead = not run.has_state(dataset)

            def walk(run: Run) -> Walk:
                walk = wrap(dataset, may_go_ahead).walk(run)
                walk.may_go_ahead = may_go_ahead
                return walk

            return walk

        at = Place(run, source.walk, made=begin)
        at.before, at.walks, at.turn, at.taken = at.begin(), [None] * cycle, 0, 0
        at.rows = [[] for _ in range(cycle)]
        return Walk.of_blocks(several, at)

    return Dataset(walk, UNKNOWN, kind)


@dataset_op("InterleaveDataset", f"{_ARGS}, cycle_length: int64, block_length: int64", _FUNCTION)
def interleave_dataset(ctx, input_dataset, other_arguments, cycle_length, block_length, *, f):
    """Elements of several datasets that a function makes, a block of each in turn."""
    return _interleaved(
        as_dataset(input_dataset),
        other_arguments,
        cycle_length,
        block_length,
        f,
        "InterleaveDataset",
    )


@dataset_op(
    "ParallelInterleaveDatasetV2",
    f"{_ARGS}, cycle_length: int64, block_length: int64, num_parallel_calls: int64",
    f"{_FUNCTION}; sloppy: bool = false",
)
def parallel_interleave_dataset_v2(
    ctx, input_dataset, other_arguments, cycle_length, block_length, num_parallel_calls, *, f
):
    """As InterleaveDataset, the datasets read ahead by threads."""
    workers(num_parallel_calls)
    return _interleaved(
        as_dataset(input_dataset),
        other_arguments,
        cycle_length,
        block_length,
        f,
        "ParallelInterleaveDatasetV2",
        _read_ahead(int(block_length)),
    )


@dataset_op(
    "ParallelInterleaveDataset",
    f"{_ARGS}, cycle_length: int64, block_length: int64, sloppy: bool, buffer_output_elements: int64, "
    "prefetch_input_elements: int64",
    _FUNCTION,
    old=True,
)
def parallel_interleave_dataset(
    ctx,
    input_dataset,
    other_arguments,
    cycle_length,
    block_length,
    sloppy,
    buffer_output_elements,
    prefetch_input_elements,
    *,
    f,
):
    """As InterleaveDataset, the datasets read ahead by threads."""
    if int(buffer_output_elements) <= 0:
        raise invalid("`buffer_output_elements` must be > 0")
    if int(prefetch_input_elements) < 0:
        raise invalid("`prefetch_input_elements` must be >= 0")
    return _interleaved(
        as_dataset(input_dataset),
        other_arguments,
        cycle_length,
        block_length,
        f,
        "ParallelInterleaveDataset",
        _read_ahead(int(buffer_output_elements)),
    )


_READ_AHEAD = 16  # elements of each dataset where nobody can notice


def _read_ahead(count: int) -> Callable[[Dataset, bool], Dataset]:
    from weft.ops.datasets.buffering import prefetched

    return lambda dataset, may_go_ahead: prefetched(
        dataset, max(count, _READ_AHEAD) if may_go_ahead else count
    )


# -- groups ---------------------------------------------------------------------------------------------


def _key(results: Element) -> int:
    if len(results) != 1 or np.ndim(results[0]) or results[0].dtype != np.int64:
        raise invalid("`key_func` must return a scalar int64.")
    return int(results[0])


@dataset_op(
    "GroupByWindowDataset",
    "input_dataset: variant, key_func_other_arguments: Tkey_func_other_arguments, reduce_func_other_arguments: "
    "Treduce_func_other_arguments, window_size_func_other_arguments: Twindow_size_func_other_arguments",
    "key_func: func; reduce_func: func; window_size_func: func; Tkey_func_other_arguments: list(type) >= 0; "
    "Treduce_func_other_arguments: list(type) >= 0; Twindow_size_func_other_arguments: list(type) >= 0",
    old=True,
)
def group_by_window_dataset(
    ctx,
    input_dataset,
    key_func_other_arguments,
    reduce_func_other_arguments,
    window_size_func_other_arguments,
    *,
    key_func,
    reduce_func,
    window_size_func,
):
    """The elements of the datasets that a function makes of windows of elements with the same key."""
    source = as_dataset(input_dataset)

    def walk(run: Run) -> Walk:
        key_of = Function(run, key_func, key_func_other_arguments)
        size_of = Function(run, window_size_func, window_size_func_other_arguments)
        reduce = Function(run, reduce_func, reduce_func_other_arguments)

        def reduced(window: list[Any]) -> Callable[[Run], Walk]:
            key, rows = window
            return as_dataset(reduce([np.asarray(key, np.int64), of_rows(rows)])[0]).walk

        def start(at: Place, key: int) -> Walk:
            return at.begin([key, at.groups.pop(key)])

        def advance(at: Place) -> Element:
            while True:
                run.check()
                if at.current is not None:
                    try:
                        return at.current()
                    except End:
                        at.current = None
                if at.before is None:
                    if not at.groups:
                        raise End
                    at.current = start(at, min(at.groups))
                    continue
                try:
                    element = at.before()
                except End:
                    at.before = None
                    continue
                key = _key(key_of(element))
                if key not in at.sizes:
                    at.sizes[key] = int(size_of([np.asarray(key, np.int64)])[0])
                    if at.sizes[key] <= 0:
                        raise invalid(
                            f"Window size must be greater than zero, but got {at.sizes[key]}."
                        )
                at.groups.setdefault(key, []).append(element)
                if len(at.groups[key]) == at.sizes[key]:
                    at.current = start(at, key)

        at = Place(run, source.walk, made=reduced, groups={}, sizes={}, current=None)
        at.before = at.begin()
        return Walk(advance, at)

    return Dataset(walk, UNKNOWN, "GroupByWindowDataset")


@dataset_op(
    "GroupByReducerDataset",
    "input_dataset: variant, key_func_other_arguments: Tkey_func_other_arguments, init_func_other_arguments: "
    "Tinit_func_other_arguments, reduce_func_other_arguments: Treduce_func_other_arguments, "
    "finalize_func_other_arguments: Tfinalize_func_other_arguments",
    "key_func: func; init_func: func; reduce_func: func; finalize_func: func; Tkey_func_other_arguments: list(type) >= "
    "0; Tinit_func_other_arguments: list(type) >= 0; Treduce_func_other_arguments: list(type) >= 0; "
    "Tfinalize_func_other_arguments: list(type) >= 0",
    old=True,
    stateful=True,
)
def group_by_reducer_dataset(
    ctx,
    input_dataset,
    key_func_other_arguments,
    init_func_other_arguments,
    reduce_func_other_arguments,
    finalize_func_other_arguments,
    *,
    key_func,
    init_func,
    reduce_func,
    finalize_func,
):
    """One element for each key: the state that a function has made of all elements with the key."""
    source = as_dataset(input_dataset)

    def walk(run: Run) -> Walk:
        key_of = Function(run, key_func, key_func_other_arguments)
        begin = Function(run, init_func, init_func_other_arguments)
        reduce = Function(run, reduce_func, reduce_func_other_arguments)
        finish = Function(run, finalize_func, finalize_func_other_arguments)

        def advance(at: Place) -> Element:
            while at.before is not None:
                run.check()
                try:
                    element = at.before()
                except End:
                    at.before = None
                    break
                key = _key(key_of(element))
                if key not in at.states:
                    at.states[key] = begin([np.asarray(key, np.int64)])
                at.states[key] = reduce([*at.states[key], *element])
            if not at.states:
                raise End
            return finish(at.states.pop(min(at.states)))

        at = Place(run, source.walk, states={})
        at.before = at.begin()
        return Walk(advance, at)

    return Dataset(walk, UNKNOWN, "GroupByReducerDataset")
