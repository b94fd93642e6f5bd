"""Datasets that change nothing in the elements: advice to TensorFlow's runtime, statistics, errors passed over."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

from weft.framework import errors
from weft.framework.registry import op
from weft.ops.datasets.block import Block, Element
from weft.ops.datasets.dataset import (
    UNKNOWN,
    Dataset,
    Place,
    Run,
    Walk,
    as_dataset,
    dataset_op,
    invalid,
    path,
)
from weft.ops.datasets.statistics import timed_everywhere
from weft.ops.queues.handles import held

_MOST_THREADS = 65536


def _unchanged(ctx: Any, input_dataset: Any, *rest: Any) -> Dataset:
    """The elements as they are: what is said here is advice to TensorFlow's runtime, or asks for its statistics."""
    return as_dataset(input_dataset)


for _name, _args, _attrs, _old in (
    ("ModelDataset", "", "algorithm: int = 0; cpu_budget: int = 0", False),
    ("MaxIntraOpParallelismDataset", "max_intra_op_parallelism: int64", "", True),
    ("NonSerializableDataset", "", "", True),
):
    dataset_op(
        _name, ", ".join(["input_dataset: variant", *filter(None, [_args])]), _attrs, old=_old
    )(_unchanged)


@dataset_op(
    "OptimizeDataset",
    "input_dataset: variant, optimizations: string",
    "optimization_configs: list(string) = []",
)
def optimize_dataset(ctx, input_dataset, optimizations):
    """The elements as they are. With `make_sloppy` what is ready may overtake what is not, with `latency_all_edges`
    the time that elements take is measured."""
    source = as_dataset(input_dataset)
    wanted = set(optimizations.tolist())

    def tell(run: Run) -> None:
        run.sloppy = run.sloppy or b"make_sloppy" in wanted
        if b"latency_all_edges" in wanted:
            run.around = timed_everywhere

    return _told(source, tell) if wanted & {b"make_sloppy", b"latency_all_edges"} else source


def _told(source: Dataset, tell: Callable[[Run], None]) -> Dataset:
    """A dataset whose walks tell the run something before they begin."""

    def walk(run: Run) -> Walk:
        tell(run)
        return source.walk(run)

    return Dataset(walk, source.cardinality)


def _with_threads(source: Dataset, count: int) -> Dataset:
    if not 1 <= count < _MOST_THREADS:
        raise invalid(f"`num_threads` must be >= 1 and < {_MOST_THREADS}, got {count}")

    def tell(run: Run) -> None:
        run.threads = count

    return _told(source, tell)


@dataset_op("PrivateThreadPoolDataset", "input_dataset: variant, num_threads: int64", old=True)
def private_thread_pool_dataset(ctx, input_dataset, num_threads):
    """The elements as they are; so many threads at most call functions on them."""
    return _with_threads(as_dataset(input_dataset), int(num_threads))


class ThreadPool:
    """How many threads call functions on the elements of datasets."""

    def __init__(self, threads: int):
        self.threads = threads


def _thread_pool(ctx, *, num_threads, container, shared_name):
    """A number of threads by a name."""
    name = shared_name or ctx.op.name
    return ctx.resources.get_or_create(
        "thread pool", container, name, lambda: ThreadPool(num_threads)
    )


for _prefix in ("", "Experimental"):
    _decl = op(
        f"{_prefix}ThreadPoolHandle",
        "-> handle: resource",
        "num_threads: int; max_intra_op_parallelism: int = 1; display_name: string; container: string = ''; "
        "shared_name: string = ''",
        host=True,
        stateful=True,
    )(_thread_pool)
    _decl.shape(lambda: ())
    _decl.not_differentiable()


@dataset_op(
    "ThreadPoolDataset", "input_dataset: variant, thread_pool: resource", old=True, stateful=True
)
def thread_pool_dataset(ctx, input_dataset, thread_pool):
    """The elements as they are; the threads of a pool call functions on them."""
    return _with_threads(as_dataset(input_dataset), held(thread_pool, ThreadPool).threads)


@dataset_op("AssertNextDataset", "input_dataset: variant, transformations: string", old=True)
def assert_next_dataset(ctx, input_dataset, transformations):
    """The elements as they are; InvalidArgumentError unless these datasets are made of this one, in this order."""
    source = as_dataset(input_dataset)
    wanted = [name.decode() for name in transformations.reshape(-1).tolist()]

    def walk(run: Run) -> Walk:
        found = [re.sub(r"Dataset(?=V?\d*$)", "", kind) for kind in path.get()[-2::-1] if kind]
        if len(found) < len(wanted):
            raise invalid(
                f"Asserted next {len(wanted)} transformations but encountered only {len(found)}."
            )
        for i, (name, other) in enumerate(zip(wanted, found)):
            if name != other:
                raise invalid(
                    f"Asserted {name} transformation at offset {i} but encountered {other} transformation instead."
                )
        return source.walk(run)

    return Dataset(walk, source.cardinality, "AssertNextDataset")


@dataset_op(
    "ChooseFastestDataset",
    "input_datasets: N*variant",
    "N: int >= 2; num_experiments: int",
    old=True,
)
def choose_fastest_dataset(ctx, input_datasets):
    """The elements of any of several datasets that have the same: of the first."""
    return _told(as_dataset(input_datasets[0]), lambda run: None)


@dataset_op("IgnoreErrorsDataset", "input_dataset: variant", old=True)
def ignore_errors_dataset(ctx, input_dataset):
    """The elements that could be made; those that could not are passed over."""
    source = as_dataset(input_dataset)

    def walk(run: Run) -> Walk:
        def several(at: Place, most: int) -> Block:
            while True:
                run.check()
                try:
                    return at.before.some(most)
                except errors.CancelledError:
                    raise
                except errors.OpError:
                    continue

        at = Place(run, source.walk)
        at.before = at.begin()
        return Walk.of_blocks(several, at)

    return Dataset(walk, UNKNOWN, "IgnoreErrorsDataset")


@dataset_op("SleepDataset", "input_dataset: variant, sleep_microseconds: int64", old=True)
def sleep_dataset(ctx, input_dataset, sleep_microseconds):
    """The elements, each after a while."""
    source, seconds = as_dataset(input_dataset), int(sleep_microseconds) / 1e6

    def walk(run: Run) -> Walk:
        def advance(at: Place) -> Element:
            time.sleep(seconds)
            run.check()
            return at.before()

        at = Place(run, source.walk)
        at.before = at.begin()
        return Walk(advance, at)

    return Dataset(walk, source.cardinality, "SleepDataset")


@op("DatasetCardinality", "input_dataset: variant -> cardinality: int64", "", host=True)
def dataset_cardinality(ctx, input_dataset):
    """How many elements there are: -1 where there is no end, -2 where it is not known."""
    return ctx.xp.asarray(as_dataset(input_dataset).cardinality, ctx.xp.int64)


@op("ExperimentalDatasetCardinality", "input_dataset: variant -> cardinality: int64", "", host=True)
def experimental_dataset_cardinality(ctx, input_dataset):
    """How many elements there are: -1 where there is no end, -2 where it is not known."""
    return ctx.xp.asarray(as_dataset(input_dataset).cardinality, ctx.xp.int64)


@op("WrapDatasetVariant", "input_handle: variant -> output_handle: variant", "", host=True)
def wrap_dataset_variant(ctx, input_handle):
    """The dataset as it is."""
    return as_dataset(input_handle)


@op("UnwrapDatasetVariant", "input_handle: variant -> output_handle: variant", "", host=True)
def unwrap_dataset_variant(ctx, input_handle):
    """The dataset as it is."""
    return as_dataset(input_handle)


for _decl in (
    dataset_cardinality,
    experimental_dataset_cardinality,
    wrap_dataset_variant,
    unwrap_dataset_variant,
):
    _decl.shape(lambda *inputs: ())
    _decl.not_differentiable()
