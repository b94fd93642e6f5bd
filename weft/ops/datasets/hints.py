"""Datasets that change nothing in the elements: advice to TensorFlow's runtime, statistics, errors passed over."""

from __future__ import annotations

import time
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
)


def _unchanged(ctx: Any, input_dataset: Any, *rest: Any) -> Dataset:
    """The elements as they are: what is said here is advice to TensorFlow's runtime, or asks for its statistics."""
    return as_dataset(input_dataset)


for _name, _args, _attrs, _old in (
    ("ModelDataset", "", "algorithm: int = 0; cpu_budget: int = 0", False),
    ("MaxIntraOpParallelismDataset", "max_intra_op_parallelism: int64", "", True),
    ("PrivateThreadPoolDataset", "num_threads: int64", "", True),
    ("NonSerializableDataset", "", "", True),
    ("BytesProducedStatsDataset", "tag: string", "", True),
    ("LatencyStatsDataset", "tag: string", "", True),
    ("AssertNextDataset", "transformations: string", "", True),
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
    """The elements as they are, but for `make_sloppy`: what is ready may overtake what is not."""
    source = as_dataset(input_dataset)
    if b"make_sloppy" not in optimizations.tolist():
        return source

    def walk(run: Run) -> Walk:
        run.sloppy = True
        return source.walk(run)

    return Dataset(walk, source.cardinality, "OptimizeDataset")


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
