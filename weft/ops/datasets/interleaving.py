"""Datasets of the elements of datasets that a function makes of each element: one after the other, or by turns."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from weft.framework import errors
from weft.ops.datasets.batching import of_rows
from weft.ops.datasets.block import Block
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
from weft.ops.datasets.function import ARGS, FUNCTION, Function
from weft.ops.datasets.parallel_calls import workers


@dataset_op("FlatMapDataset", ARGS, FUNCTION)
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


_NOTHING = 1  # the number of a source without elements


def _interleaved(
    source: Dataset,
    captured: list[Any],
    cycle_length: Any,
    block_length: Any,
    f: Any,
    kind: str,
    wrap: Callable[[Dataset, bool], Dataset] | None = None,
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
                    current = at.begin(at.before())
                except End:
                    at.before = None
                    return []
                except errors.OpError:
                    if wrap is not None:  # as if it were the only element of a dataset
                        at.walks[at.turn] = at.begin(_NOTHING)
                        go_on(at)
                    raise
                at.walks[at.turn], at.taken = current, 0
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
                ahead = dataset if wrap is None else wrap(dataset, may_go_ahead)
                walk = ahead.walk(run)
                walk.may_go_ahead = may_go_ahead
                return walk

            return walk

        at = Place(run, source.walk, of_rows([]).walk, made=begin)
        at.before, at.walks, at.turn, at.taken = at.begin(), [None] * cycle, 0, 0
        at.rows = [[] for _ in range(cycle)]
        return Walk.of_blocks(several, at)

    return Dataset(walk, UNKNOWN, kind)


@dataset_op("InterleaveDataset", f"{ARGS}, cycle_length: int64, block_length: int64", FUNCTION)
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
    f"{ARGS}, cycle_length: int64, block_length: int64, num_parallel_calls: int64",
    f"{FUNCTION}; sloppy: bool = false",
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
    f"{ARGS}, cycle_length: int64, block_length: int64, sloppy: bool, buffer_output_elements: int64, "
    "prefetch_input_elements: int64",
    FUNCTION,
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
