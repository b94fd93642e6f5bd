"""Statistics of input pipelines: how long elements take, and how large they are."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework.export import export


@export("data.experimental.StatsAggregator")
class StatsAggregator:
    """Gathers what datasets measure: the option `experimental_stats.aggregator` of a dataset."""

    def __init__(self) -> None:
        self._resource = tf.raw_ops.StatsAggregatorHandle()

    def get_summary(self) -> Any:
        """A serialized `Summary` of what was gathered, which may go into the collection SUMMARIES."""
        return tf.raw_ops.StatsAggregatorSummary(iterator=self._resource)


def _measured(op: str, tag: Any) -> Any:
    return lambda dataset: dataset._made(op, tag=tf.convert_to_tensor(tag, dtype=tf.string))


@export("data.experimental.latency_stats")
def latency_stats(tag: Any) -> Any:
    """The elements as they are; how many microseconds each takes is measured under a tag."""
    return _measured("LatencyStatsDataset", tag)


@export("data.experimental.bytes_produced_stats")
def bytes_produced_stats(tag: Any) -> Any:
    """The elements as they are; how many bytes each has is measured under a tag."""
    return _measured("BytesProducedStatsDataset", tag)
