"""How long elements take and how large they are: datasets that measure, and what gathers the measurements."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

from weft.framework import errors
from weft.framework.registry import op
from weft.ops.datasets.dataset import Dataset, Element, Place, Run, Walk, as_dataset, dataset_op
from weft.ops.queues.handles import held
from weft.ops.summary.histogram import Histogram

_COUNTED_AT_ONCE = 1024


class StatsAggregator:
    """Histograms and numbers by name, of all iterators that are told of it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._histograms: defaultdict[str, Histogram] = defaultdict(Histogram)
        self._new: defaultdict[str, list[float]] = defaultdict(list)

    def add(self, name: str, value: float) -> None:
        """Adds to a histogram."""
        with self._lock:
            values = self._new[name]
            values.append(value)
            if len(values) == _COUNTED_AT_ONCE:
                self._count(name)

    def _count(self, name: str) -> None:
        self._histograms[name].add(np.array(self._new.pop(name)))

    def summary(self) -> Any:
        """What was gathered, as a `Summary`."""
        from weft import proto

        summary = proto.Summary()
        with self._lock:
            for name in list(self._new):
                self._count(name)
            for name, histogram in self._histograms.items():
                histogram.write(summary.value.add(tag=name).histo)
        return summary


def _handle(ctx, *, container, shared_name):
    """What gathers measurements."""
    name = shared_name or ctx.op.name
    return ctx.resources.get_or_create("statistics", container, name, StatsAggregator)


def _summary(ctx, iterator):
    """What was gathered, as a serialized `Summary`."""
    out = np.empty((), object)
    out[()] = held(iterator, StatsAggregator).summary().SerializeToString()
    return out


for _prefix in ("", "Experimental"):
    for _name, _args, _attrs, _kernel in (
        (
            "StatsAggregatorHandle",
            "-> handle: resource",
            "container: string = ''; shared_name: string = ''",
            _handle,
        ),
        ("StatsAggregatorSummary", "iterator: resource -> summary: string", "", _summary),
    ):
        _decl = op(f"{_prefix}{_name}", _args, _attrs, host=True, stateful=True)(_kernel)
        _decl.shape(lambda *inputs: ())
        _decl.not_differentiable()


@dataset_op(
    "SetStatsAggregatorDataset",
    "input_dataset: variant, stats_aggregator: resource, tag: string, counter_prefix: string",
    old=True,
    stateful=True,
)
def set_stats_aggregator_dataset(ctx, input_dataset, stats_aggregator, tag, counter_prefix):
    """The elements as they are; what datasets before this one measure is gathered, under names that begin so."""
    source, aggregator = as_dataset(input_dataset), held(stats_aggregator, StatsAggregator)
    prefix = tag.item().decode()

    def walk(run: Run) -> Walk:
        run.measure = lambda name, value: aggregator.add(
            f"{prefix}::{name}" if prefix else name, value
        )
        return source.walk(run)

    return Dataset(walk, source.cardinality, "SetStatsAggregatorDataset")


def _tag(tag: Any) -> str:
    if tag.ndim:
        raise errors.InvalidArgumentError(None, None, f"The tag must be a scalar, not {tag}.")
    return tag.item().decode()


@dataset_op("LatencyStatsDataset", "input_dataset: variant, tag: string", old=True)
def latency_stats_dataset(ctx, input_dataset, tag):
    """The elements as they are; how many microseconds each takes is measured."""
    source, name = as_dataset(input_dataset), _tag(tag)

    def walk(run: Run) -> Walk:
        return _timed(name, source.walk, run)

    return Dataset(walk, source.cardinality, "LatencyStatsDataset")


def _timed(name: str, begin: Callable[[Run], Walk], run: Run) -> Walk:
    def advance(at: Place) -> Element:
        began = time.perf_counter()
        element = at.before()
        if run.measure is not None:
            run.measure(name, (time.perf_counter() - began) * 1e6)
        return element

    at = Place(run, begin)
    at.before = at.begin()
    return Walk(advance, at)


def timed_everywhere(kind: str, begin: Callable[[Run], Walk], run: Run) -> Walk:
    """What `Run.around` is where the time of each dataset's elements is to be measured."""
    return _timed(f"record_latency::{kind}", begin, run)


@dataset_op("BytesProducedStatsDataset", "input_dataset: variant, tag: string", old=True)
def bytes_produced_stats_dataset(ctx, input_dataset, tag):
    """The elements as they are; how many bytes each has is measured."""
    source, name = as_dataset(input_dataset), _tag(tag)

    def walk(run: Run) -> Walk:
        def advance(at: Place) -> Element:
            element = at.before()
            if run.measure is not None:
                run.measure(name, float(sum(map(_size, element))))
            return element

        at = Place(run, source.walk)
        at.before = at.begin()
        return Walk(advance, at)

    return Dataset(walk, source.cardinality, "BytesProducedStatsDataset")


_STRING_OBJECT = 32  # what TensorFlow counts for a string beside its characters


def _size(component: Any) -> int:
    if not isinstance(component, np.ndarray):
        return 0
    if component.dtype != object:
        return component.nbytes
    return sum(
        len(x) + _STRING_OBJECT if isinstance(x, (bytes, str)) else _size(x)
        for x in component.reshape(-1).tolist()
    )
