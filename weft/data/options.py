"""Options of datasets: how TensorFlow's runtime would make the elements. They change none of the elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.data.statistics import StatsAggregator
from weft.framework.export import export


class _Option:
    """A named value of a type; None while nobody has set it, or what `make` gives."""

    def __init__(self, kind: type, make: Callable[[], Any] | None = None):
        self._kind, self._make = kind, make

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, options: Any, owner: type) -> Any:
        if options is None:
            return self
        if self._make is not None and self._name not in options._set:
            options._set[self._name] = self._make()
        return options._set.get(self._name)

    def __set__(self, options: Any, value: Any) -> None:
        if not isinstance(value, self._kind):
            raise TypeError(
                f'Property "{self._name}" must be of type {self._kind}, got: {value} (type: {type(value)})'
            )
        options._set[self._name] = value


class _Options:
    """Named values, of which those that nobody set are None."""

    _set: dict[str, Any]

    def __init__(self) -> None:
        object.__setattr__(self, "_set", {})

    def __setattr__(self, name: str, value: Any) -> None:
        if not isinstance(getattr(type(self), name, None), _Option):
            raise AttributeError(f"Cannot set the property {name} on {type(self).__name__}.")
        super().__setattr__(name, value)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(
            getattr(self, n) == getattr(other, n)
            for n, option in vars(type(self)).items()
            if isinstance(option, _Option)
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
                elif known is not None and known != value:
                    raise ValueError(
                        f"Cannot merge incompatible values ({known!r} and {value!r}) of option: {name}"
                    )
                merged._set[name] = value
        return merged


def _class(name: str, doc: str, *spaces: str, **options: _Option) -> Any:
    return export(*spaces)(type(name, (_Options,), {"__doc__": doc, **options}))


def _switches(names: str) -> dict[str, _Option]:
    return {name: _Option(bool) for name in names.split()}


MapVectorizationOptions = _class(
    "MapVectorizationOptions",
    "How functions would be applied to batches instead of elements.",
    "data.experimental.MapVectorizationOptions",
    **_switches("enabled use_choose_fastest"),
)
OptimizationOptions = _class(
    "OptimizationOptions",
    "Which rewrites of the pipeline TensorFlow's runtime would make.",
    "data.experimental.OptimizationOptions",
    **_switches(
        "apply_default_optimizations autotune autotune_buffers filter_fusion filter_with_random_uniform_fusion "
        "hoist_random_uniform map_and_batch_fusion map_and_filter_fusion map_fusion map_parallelization "
        "noop_elimination parallel_batch prefetch_to_device shuffle_and_repeat_fusion"
    ),
    autotune_algorithm=_Option(int),
    autotune_cpu_budget=_Option(int),
    map_vectorization=_Option(MapVectorizationOptions, MapVectorizationOptions),
)
StatsOptions = _class(
    "StatsOptions",
    "Which statistics are gathered.",
    "data.experimental.StatsOptions",
    aggregator=_Option(StatsAggregator),
    prefix=_Option(str, str),
    counter_prefix=_Option(str, str),
    latency_all_edges=_Option(bool),
)
ThreadingOptions = _class(
    "ThreadingOptions",
    "How many threads TensorFlow's runtime would use.",
    "data.experimental.ThreadingOptions",
    max_intra_op_parallelism=_Option(int),
    private_threadpool_size=_Option(int),
)
DistributeOptions = _class(
    "DistributeOptions",
    "How elements would be shared out among replicas.",
    "data.experimental.DistributeOptions",
    auto_shard=_Option(bool),
    num_devices=_Option(int),
)


@export("data.Options")
class Options(_Options):
    """Options of a dataset."""

    experimental_deterministic = _Option(bool)
    experimental_distribute = _Option(DistributeOptions, DistributeOptions)
    experimental_optimization = _Option(OptimizationOptions, OptimizationOptions)
    experimental_slack = _Option(bool)
    experimental_stateful_whitelist = _Option(list)
    experimental_stats = _Option(StatsOptions, StatsOptions)
    experimental_threading = _Option(ThreadingOptions, ThreadingOptions)

    def merge(self, options: Options) -> Options:
        """These options, and others where they say something."""
        return self._merged(options)
