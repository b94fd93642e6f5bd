"""Options of datasets: how TensorFlow's runtime would make the elements. They change none of the elements."""

from __future__ import annotations

from typing import Any

from weft.framework.export import export


class _Options:
    """Named values, of which those that nobody set are None."""

    _names: tuple[str, ...] = ()
    _made: dict[str, Any] = {}

    def __init__(self) -> None:
        object.__setattr__(self, "_set", {})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._names:
            raise AttributeError(f"{type(self).__name__} has no option {name}")
        made = self._made.get(name)
        if made is not None and name not in self._set:
            self._set[name] = made()
        return self._set.get(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._names:
            raise AttributeError(f"Cannot set the property {name} on {type(self).__name__}.")
        self._set[name] = value

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(
            getattr(self, n) == getattr(other, n) for n in self._names
        )

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]

    def _merged(self, other: Any) -> Any:
        merged = type(self)()
        for source in (self, other):
            for name, value in source._set.items():
                known = merged._set.get(name)
                if isinstance(value, _Options) and isinstance(known, _Options):
                    value = known._merged(value)
                if value is not None:
                    merged._set[name] = value
        return merged


def _class(name: str, doc: str, names: str, *spaces: str) -> type:
    kind = type(name, (_Options,), {"__doc__": doc, "_names": tuple(names.split())})
    return export(*spaces)(kind)


MapVectorizationOptions = _class(
    "MapVectorizationOptions",
    "How functions would be applied to batches instead of elements.",
    "enabled use_choose_fastest",
    "data.experimental.MapVectorizationOptions",
)
OptimizationOptions = _class(
    "OptimizationOptions",
    "Which rewrites of the pipeline TensorFlow's runtime would make.",
    "apply_default_optimizations autotune autotune_algorithm autotune_buffers autotune_cpu_budget filter_fusion "
    "filter_with_random_uniform_fusion hoist_random_uniform map_and_batch_fusion map_and_filter_fusion map_fusion "
    "map_parallelization map_vectorization noop_elimination parallel_batch prefetch_to_device "
    "shuffle_and_repeat_fusion",
    "data.experimental.OptimizationOptions",
)
OptimizationOptions._made = {"map_vectorization": MapVectorizationOptions}  # type: ignore[attr-defined]
StatsOptions = _class(
    "StatsOptions",
    "Which statistics TensorFlow's runtime would gather.",
    "aggregator prefix counter_prefix latency_all_edges",
    "data.experimental.StatsOptions",
)
ThreadingOptions = _class(
    "ThreadingOptions",
    "How many threads TensorFlow's runtime would use.",
    "max_intra_op_parallelism private_threadpool_size",
    "data.experimental.ThreadingOptions",
)
DistributeOptions = _class(
    "DistributeOptions",
    "How elements would be shared out among replicas.",
    "auto_shard num_devices",
    "data.experimental.DistributeOptions",
)


@export("data.Options")
class Options(_Options):
    """Options of a dataset."""

    _names = (
        "experimental_deterministic",
        "experimental_distribute",
        "experimental_optimization",
        "experimental_slack",
        "experimental_stateful_whitelist",
        "experimental_stats",
        "experimental_threading",
    )
    _made = {
        "experimental_distribute": DistributeOptions,
        "experimental_optimization": OptimizationOptions,
        "experimental_stats": StatsOptions,
        "experimental_threading": ThreadingOptions,
    }

    def merge(self, options: Options) -> Options:
        """These options, and others where they say something."""
        return self._merged(options)
