"""What a master wants to know about a worker's part of a step, between its message and the executor's options."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from weft import proto


def ask(options: Any, wanted: Any) -> None:
    """Writes what RunOptions ask for into the ExecutorOpts of a RunGraphRequest."""
    if options is not None:
        wanted.record_timeline = bool(options.trace_level)
        wanted.record_partition_graphs = options.output_partition_graphs


def wanted(opts: Any) -> tuple[Any, Any]:
    """The options and metadata for the executor; None where nothing is wanted."""
    traced = opts.record_timeline or opts.record_costs
    if not traced and not opts.record_partition_graphs:
        return None, None
    options = proto.RunOptions(
        trace_level=proto.RunOptions.FULL_TRACE if traced else proto.RunOptions.NO_TRACE,
        output_partition_graphs=opts.record_partition_graphs,
    )
    return options, proto.RunMetadata()


def tell(metadata: Any, response: Any) -> None:
    """Writes what was found out into a RunGraphResponse."""
    if metadata is not None:
        response.step_stats.CopyFrom(metadata.step_stats)
        response.partition_graph.extend(metadata.partition_graphs)


@contextlib.contextmanager
def transfers(workers: Iterable[Any], step_id: int, options: Any, metadata: Any) -> Iterator[None]:
    """Has workers of TensorFlow note what they receive while a step is traced, as those of weft do anyway."""
    if metadata is None or options is None or options.trace_level != proto.RunOptions.FULL_TRACE:
        yield
        return
    others = [w for w in workers if not w.is_weft]
    for worker in others:
        worker.log(enable_rpc_logging=True)
    try:
        yield
        for worker in others:
            for step in worker.log(fetch_step_id=[step_id]).step:
                metadata.step_stats.MergeFrom(step.step_stats)
    finally:
        for worker in others:
            worker.log(disable_rpc_logging=True)
