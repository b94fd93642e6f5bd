"""Session: runs parts of a graph. It plans a step once, and hands the plan to the executor."""

from __future__ import annotations

import contextlib
import copy
import threading
import warnings
from collections import namedtuple
from collections.abc import Iterator
from typing import Any

import numpy as np

from weft.engine import interpreter
from weft.framework import context, errors
from weft.framework.operation import Operation
from weft.framework.shape_rules import compatible, text
from weft.framework.tensor import Tensor
from weft.framework.tensor_proto import to_array
from weft.runtime import executor
from weft.runtime.fetches import Fetches, feed_function_for, partial_feed_function_for
from weft.runtime.functions import FunctionPrograms
from weft.runtime.partial_run import PartialRun
from weft.runtime.plan import Plan
from weft.runtime.recent_cache import RecentCache
from weft.runtime.rewired import rewired
from weft.runtime.targets import find_target, reset_target

DeviceAttributes = namedtuple(
    "DeviceAttributes", ["name", "device_type", "memory_limit_bytes", "incarnation"]
)


# Kinds of step that a session remembers. A program has a few; one that makes new ones for ever must not grow.
_KEPT_PLANS = 256
_GROWTH_WARNING = 100


class BaseSession:
    """What `Session` and `InteractiveSession` share."""

    def __init__(self, target: str = "", graph: Any = None, config: Any = None):
        if graph is None:
            self._graph = context.get_default_graph()
        else:
            from weft.framework.graph import Graph

            if not isinstance(graph, Graph):
                raise TypeError(f"graph must be a tf.Graph, but got {type(graph)}")
            self._graph = graph
        if target is not None and not isinstance(target, (str, bytes)):
            raise TypeError(f"target must be a string, but got {type(target)}")
        self._target = target or ""
        if config is not None and not hasattr(config, "allow_soft_placement"):
            raise TypeError(f"config must be a tf.ConfigProto, but got {type(config)}")
        self._behind = find_target(
            self._target if isinstance(self._target, str) else self._target.decode(), config
        )
        self._config = config = self._behind.config
        self._closed = False
        self._soft_placement = config is not None and config.allow_soft_placement
        self._plans: RecentCache = RecentCache(_KEPT_PLANS)
        self._fetches: RecentCache = RecentCache(_KEPT_PLANS)
        self._grown = 0
        self._planned_version = self._graph.version
        self.resources = self._behind.main_store
        self._functions = FunctionPrograms(self._graph)
        self._lock = threading.RLock()
        self._steps: set[Any] = set()
        self._partial_runs: dict[str, PartialRun] = {}

    @property
    def graph(self) -> Any:
        """The graph that this session runs."""
        return self._graph

    @property
    def devices(self) -> list[Any]:
        """The devices that steps of this session may use."""
        return self._behind.devices

    @property
    def graph_def(self) -> Any:
        shapes = self._config is not None and self._config.graph_options.infer_shapes
        return self._graph.as_graph_def(add_shapes=shapes)

    @property
    def sess_str(self) -> str:
        return self._target

    # -- running -------------------------------------------------------------------------------------

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """Runs what the fetches need and returns their values, in the structure of `fetches`."""
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        if not self._graph._ops:
            raise RuntimeError(
                "The Session graph is empty.  Add operations to the graph before calling run()."
            )
        handler = self._fetches_of(fetches)
        if feed_dict:
            tensors, values = self._feeds_of(feed_dict)
        else:
            tensors, values = (), []
        return handler.result(self._step(handler, tensors, values, options, run_metadata))

    def _step(
        self,
        handler: Fetches,
        feeds: tuple[Tensor, ...],
        values: list[Any],
        options: Any = None,
        metadata: Any = None,
        step: Any = None,
    ) -> list[Any]:
        """Runs a step here, or through the master elsewhere, and returns the values of its fetches."""
        if self._behind.master is not None:
            return self._behind.master.run(
                self._graph, handler, feeds, values, options, metadata, step
            )
        plan = self._plan_of(handler, feeds)
        return executor.run(self, plan, values, options, metadata, step)

    def plan(self, fetches: Any, feeds: Any = ()) -> Plan:
        """The plan that `run` follows for these fetches and fed tensors (a feed_dict will do): print its
        `describe()` to see what was pruned, where each operation runs, what is compiled together and why."""
        handler = self._fetches_of(fetches)
        fed = [tensor for key in feeds for tensor, _ in self._feed_pairs(key, key)]
        return self._plan_of(handler, tuple(self._feed_tensor(t) for t in fed))

    def _fetches_of(self, fetches: Any) -> Fetches:
        key = _structure_key(fetches)
        if key is None:
            return Fetches(self._graph, fetches)
        found = self._fetches.get(key)
        if found is None:
            found = Fetches(self._graph, fetches)
            self._fetches.put(key, found)
        return found

    def _feeds_of(self, feed_dict: Any) -> tuple[tuple[Tensor, ...], list[Any]]:
        graph = self._graph
        tensors, values = [], []
        for key, value in feed_dict.items():
            if type(key) is Tensor:
                pairs: Any = ((key, value),)
            else:
                pairs = self._feed_pairs(key, value)
            for tensor, value in pairs:
                if type(tensor) is not Tensor or tensor._op._graph is not graph:
                    tensor = self._feed_tensor(tensor)
                if graph._unfeedable and not graph.is_feedable(tensor):
                    raise ValueError(f"Tensor {tensor} may not be fed.")
                tensors.append(tensor)
                values.append(_feed_value(tensor, value))
        return tuple(tensors), values

    def _feed_pairs(self, key: Any, value: Any) -> Any:
        feed = feed_function_for(key)
        if feed is not None:
            return feed(key, value)
        if isinstance(key, (list, tuple)):
            if len(key) != len(value):
                raise ValueError(f"{len(key)} tensors are to be fed, but {len(value)} values came.")
            return [pair for k, v in zip(key, value) for pair in self._feed_pairs(k, v)]
        return ((key, value),)

    def _feed_tensor(self, key: Any) -> Tensor:
        try:
            return self._graph.as_graph_element(key, allow_tensor=True, allow_operation=False)
        except Exception as e:
            raise TypeError(f"Cannot interpret feed_dict key as Tensor: {e.args[0]}") from None

    def _plan_of(self, handler: Fetches, feeds: tuple[Tensor, ...]) -> Plan:
        # A graph that only grows leaves the plans of what it had before as they are.
        key = (handler, feeds, self._graph._rewrites)
        plan = self._plans.get(key)
        if plan is None:
            with self._lock:
                plan = Plan(
                    self._graph,
                    handler.tensors,
                    handler.ops,
                    list(feeds),
                    self._functions,
                    self._behind.devices,
                    self._soft_placement,
                )
                self._plans.put(key, plan)
            self._watch_growth()
        return plan

    def _watch_growth(self) -> None:
        """Tells a program that adds operations between its steps, which plans each step anew."""
        version = self._graph.version
        self._grown = self._grown + 1 if version > self._planned_version else 0
        self._planned_version = version
        if self._grown == _GROWTH_WARNING:
            warnings.warn(
                f"The graph has grown before each of the last {_GROWTH_WARNING} new kinds of step (it has {version} "
                "operations now), so that each had to be planned anew. Build the graph before the loop, and call "
                "graph.finalize() to find what adds to it.",
                RuntimeWarning,
                stacklevel=4,
            )

    def make_callable(
        self, fetches: Any, feed_list: Any = None, accept_options: bool = False
    ) -> Any:
        """Returns a function that runs `fetches`; it takes a value for each tensor of `feed_list`."""
        if feed_list is not None and not isinstance(feed_list, (list, tuple)):
            raise TypeError("`feed_list` must be a list or tuple.")
        handler = Fetches(self._graph, fetches)
        feeds = tuple(self._feed_tensor(f) for f in feed_list or ())

        def call(*values: Any, options: Any = None, run_metadata: Any = None) -> Any:
            if self._closed:
                raise RuntimeError("Attempted to use a closed Session.")
            if len(values) != len(feeds):
                raise errors.InvalidArgumentError(
                    None, None, f"{len(feeds)} values are to be fed, but {len(values)} came."
                )
            arrays = [_feed_value(t, v) for t, v in zip(feeds, values)]
            return handler.result(self._step(handler, feeds, arrays, options, run_metadata))

        return call if accept_options else lambda *values: call(*values)

    def _make_callable_from_options(self, callable_options: Any) -> Any:
        """Returns a function that runs what a CallableOptions message names, and gives a list of values."""
        options = callable_options
        there = self._connected(options.tensor_connection) if options.tensor_connection else self
        targets = [there._graph.get_operation_by_name(t) for t in options.target]
        handler = Fetches(there._graph, [*options.fetch, *targets])
        feeds = tuple(there._feed_tensor(name) for name in options.feed)
        run_options = options.run_options if options.HasField("run_options") else None
        prepare = getattr(self._behind.master, "make_callable", None)
        remote = prepare(self._graph, options) if prepare is not None else None

        def call(*values: Any, run_metadata: Any = None) -> Any:
            if self._closed:
                raise RuntimeError("Attempted to use a closed Session.")
            if len(values) != len(feeds):
                raise errors.InvalidArgumentError(
                    None, None, f"{len(feeds)} values are to be fed, but {len(values)} came."
                )
            arrays = [_feed_value(t, v) for t, v in zip(feeds, values)]
            if remote is not None:
                fed = [(t.dtype, value) for t, value in zip(feeds, arrays)]
                return remote(fed, run_metadata)
            results = there._step(handler, feeds, arrays, run_options, run_metadata)
            return handler.result(results)[: len(options.fetch)]

        return call

    def _connected(self, connections: Any) -> BaseSession:
        """This session, with a graph in which some tensors take the place of others."""
        out = copy.copy(self)
        out._graph = rewired(self._graph, connections)
        out._functions = FunctionPrograms(out._graph)
        out._plans, out._fetches = RecentCache(_KEPT_PLANS), RecentCache(_KEPT_PLANS)
        return out

    def partial_run_setup(self, fetches: Any, feeds: Any = None) -> str:
        """Begins a step that is run in parts, and returns its handle."""
        handler = Fetches(self._graph, fetches)
        tensors: list[Tensor] = []
        for feed in feeds or ():
            split = partial_feed_function_for(feed)
            tensors.extend(
                self._feed_tensor(t) for t in (split(feed) if split is not None else [feed])
            )
        if not handler.tensors and not handler.ops:
            raise errors.InvalidArgumentError(
                None, None, "Must specify at least one target to fetch or execute."
            )
        return self._begin_parts(handler, tensors)

    def _begin_parts(self, handler: Fetches, tensors: list[Tensor]) -> str:
        if self._behind.master is not None:
            return self._behind.master.begin_parts(self._graph, handler, tensors)
        handle = f"partial_run_{len(self._partial_runs)}"
        self._partial_runs[handle] = PartialRun(
            handler.tensors, handler.ops, tensors, self._plan_of(handler, tuple(tensors))
        )
        return handle

    def partial_run(self, handle: str, fetches: Any, feed_dict: Any = None) -> Any:
        """Continues a step that `partial_run_setup` began, with more feeds and fetches."""
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        handler = Fetches(self._graph, fetches)
        tensors, values = self._feeds_of(feed_dict or {})
        return handler.result(self._advance(handle, handler, tensors, values))

    def _advance(
        self, handle: str, handler: Fetches, feeds: Any, values: list[Any], options: Any = None
    ) -> list[Any]:
        if self._behind.master is not None:
            return self._behind.master.run(
                self._graph, handler, feeds, values, options, partial=handle
            )
        run = self._partial_runs.get(handle)
        if run is None:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Must run 'setup' before performing partial runs: {handle!r} is not known.",
            )
        if run.finished:
            raise errors.InvalidArgumentError(
                None, None, f"The partial run {handle} has already finished."
            )
        step = executor.Step(self)
        ctx: Any = interpreter.Context(self.resources, step, self._functions)
        if run.placed:
            ctx = executor.ContextOfDevice(self, step, ctx)
        results = run.advance(handler.tensors, handler.ops, dict(zip(feeds, values)), ctx)
        return [executor.fetched(v, ctx, t) for v, t in zip(results, handler.tensors)]

    def list_devices(self) -> list[Any]:
        """Returns what is known of the devices of this session."""
        return [
            DeviceAttributes(d.name, d.kind, d.memory_limit, d.incarnation) for d in self.devices
        ]

    # -- life ----------------------------------------------------------------------------------------

    def close(self) -> None:
        """Ends the session: frees its state, and cancels steps that still run."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            for step in list(self._steps):
                step.cancel(errors.CancelledError(None, None, "Session was closed."))
        self._behind.close()
        self._plans.clear()
        self._fetches.clear()

    def as_default(self) -> Any:
        """Makes this session the default of this thread (its graph is not made the default)."""
        return context.DefaultStack.push(context.current.sessions, self)


def _structure_key(fetches: Any) -> Any:
    """A hashable key of a fetch structure, or None for those that are parsed at each run."""
    kind = type(fetches)
    if kind is Tensor or kind is str:
        return fetches
    if kind is list or kind is tuple:
        for f in fetches:
            if type(f) is not Tensor and type(f) is not Operation:
                break
        else:
            return kind, *fetches
        parts = []
        for f in fetches:
            key = _structure_key(f)
            if key is None:
                return None
            parts.append(key)
        return (kind, tuple(parts))
    if kind is dict:
        inner = _structure_key(list(fetches.values()))
        return None if inner is None else (dict, tuple(fetches), inner)
    if hasattr(fetches, "_decl") or hasattr(fetches, "_nest_components"):
        return fetches  # an operation; sparse tensors and the like, whose parts stay what they are
    return None


def _feed_value(tensor: Tensor, value: Any) -> Any:
    """The array that is fed for a tensor; errors name the tensor."""
    if isinstance(value, Tensor):
        raise TypeError(
            "The value of a feed cannot be a tf.Tensor object. Acceptable feed values include Python scalars, "
            f"strings, lists, numpy ndarrays, or TensorHandles. For reference, the tensor object was "
            f"{value} which was passed to the feed with key {tensor}."
        )
    dtype = tensor._dtype.base_dtype.np
    if dtype is None:
        return value
    if type(value) is np.ndarray and value.dtype is dtype and dtype.kind != "O":
        array = value.view()  # not the caller's own: a variable may keep an array that is nobody's
    elif dtype.kind == "O":
        try:
            array = to_array(value, tensor._dtype.base_dtype)
        except TypeError as e:
            raise TypeError(
                f"Type of feed value {value} with type {type(value)} is not compatible with Tensor type string of "
                f"{tensor.name!r}: {e}"
            ) from None
    else:
        if isinstance(value, int) and dtype.kind in "iu" and not isinstance(value, bool):
            if dtype.type(np.array(value).astype(dtype)) != value:
                raise TypeError(
                    f"Type of feed value {value} with type {type(value)} is not compatible with Tensor type "
                    f"{dtype}. Try explicitly setting the type of the feed tensor to a larger type (e.g. int64)."
                )
        try:
            array = np.asarray(value, dtype)
            if array is value:
                array = array.view()
        except (TypeError, ValueError) as e:
            raise type(e)(
                f"Cannot feed a value for Tensor {tensor.name!r} of dtype {dtype}: {e}"
            ) from None
    dims = tensor._dims
    if dims is not None and array.shape != dims and not compatible(dims, array.shape):
        raise ValueError(
            f"Cannot feed value of shape {array.shape} for Tensor {tensor.name!r}, which has shape "
            f"'{tensor.get_shape()}'"
        )
    return array


class Session(BaseSession):
    """Runs operations of a graph; a `with` block makes the session and its graph the defaults."""

    def __init__(self, target: str = "", graph: Any = None, config: Any = None):
        super().__init__(target, graph, config)
        self._entered: list[contextlib.ExitStack] = []

    def __enter__(self) -> Session:
        stack = contextlib.ExitStack()
        if self._entered:
            raise RuntimeError(
                "Session context managers are not re-entrant. Use `Session.as_default()`."
            )
        stack.enter_context(self._graph.as_default())
        stack.enter_context(self.as_default())
        self._entered.append(stack)
        return self

    def __exit__(self, *error: Any) -> None:
        self._entered.pop().__exit__(*error)
        self.close()

    @staticmethod
    def reset(target: str, containers: Any = None, config: Any = None) -> None:
        """Forgets the state that a server keeps; a local session keeps its own, which ends with it."""
        if not target:
            raise errors.UnimplementedError(
                None,
                None,
                "Session.reset needs the target of a server: a local session's state ends with it.",
            )
        reset_target(target, containers, config)


class InteractiveSession(BaseSession):
    """A session that is the default from its creation until it is closed; for a shell or notebook."""

    _count_lock = threading.Lock()
    _active_session_count = 0

    def __init__(self, target: str = "", graph: Any = None, config: Any = None):
        super().__init__(target, graph, config)
        self._explicit_graph = graph
        with InteractiveSession._count_lock:
            if InteractiveSession._active_session_count > 0:
                warnings.warn(
                    "An interactive session is already active. This can cause out-of-memory errors in some cases. "
                    "You must explicitly call `InteractiveSession.close()` to release resources held by the other "
                    "session(s).",
                    stacklevel=2,
                )
            InteractiveSession._active_session_count += 1
        self._default = contextlib.ExitStack()
        if graph is not None:
            self._default.enter_context(graph.as_default())
        self._default.enter_context(self.as_default())

    def close(self) -> None:
        """Closes the session, and makes the one before it the default again."""
        if not self._closed:
            with InteractiveSession._count_lock:
                InteractiveSession._active_session_count -= 1
        super().close()
        self._default.close()


@contextlib.contextmanager
def no_default_session() -> Iterator[None]:
    before, context.current.sessions = context.current.sessions, []
    try:
        yield
    finally:
        context.current.sessions = before


__all__ = ["BaseSession", "InteractiveSession", "Session", "no_default_session", "text"]
