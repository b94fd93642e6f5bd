"""Datasets of what functions of the graph make of each element of others."""

from __future__ import annotations

from weft.ops.datasets.batching import batches, stacked
from weft.ops.datasets.dataset import (
    Dataset,
    Element,
    Place,
    Run,
    Walk,
    as_dataset,
    dataset_op,
    invalid,
)
from weft.ops.datasets.function import ARGS, FUNCTION, Function
from weft.ops.datasets.parallel_calls import called_ahead, workers

_MAP = "use_inter_op_parallelism: bool = true; preserve_cardinality: bool = false"


@dataset_op("MapDataset", ARGS, f"{FUNCTION}; {_MAP}")
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
    f"{ARGS}, num_parallel_calls: int32",
    f"{FUNCTION}; use_inter_op_parallelism: bool = true; sloppy: bool = false; preserve_cardinality: bool = false",
)
def parallel_map_dataset(
    ctx, input_dataset, other_arguments, num_parallel_calls, *, f, sloppy, preserve_cardinality
):
    """What a function makes of each element, called for several at a time; the order stays."""
    source, count = as_dataset(input_dataset), workers(num_parallel_calls)

    def walk(run: Run) -> Walk:
        function = Function(run, f, other_arguments, not preserve_cardinality, count)
        return _in_parallel(run, source, function, f.name, count, sloppy or run.sloppy)

    return Dataset(walk, source.cardinality, "ParallelMapDataset")


def _in_parallel(
    run: Run, source: Dataset, function: Function, name: str, count: int, sloppy: bool = False
) -> Walk:
    # What is compiled costs less than to have another thread make the call.
    if function.is_best_on_blocks or run.is_compiled(name):
        return _mapped(run, source, function)
    return called_ahead(run, source, function, count, sloppy)


@dataset_op(
    "MapAndBatchDataset",
    f"{ARGS}, batch_size: int64, num_parallel_calls: int64, drop_remainder: bool",
    f"{FUNCTION}; preserve_cardinality: bool = false",
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
        function = Function(run, f, other_arguments, not preserve_cardinality, count)
        return _in_parallel(run, source, function, f.name, count)

    mapped = Dataset(walk, source.cardinality, "MapDataset")
    return batches(size, drop, mapped, stacked, "MapAndBatchDataset", fails_as_a_whole=True)


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
