"""Replicas that are built one after the other, each in a thread of its own, and that meet in `merge_call`.

Only one thread builds at any time. What the graph knows of its scopes without regard to threads is exchanged when
another one goes on.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable
from typing import Any

import weft as tf
from weft.distribute.replica_context import ReplicaContext
from weft.distribute.values import regrouped, selected
from weft.framework import context, random_seed, recording, replication
from weft.variables.creation import _creator_scope

# Scopes that a graph has for all threads.
_OF_GRAPH = (
    "_devices",
    "_colocations",
    "_attr_scopes",
    "_gradient_overrides",
    "_kernel_labels",
    "_original",
    "_container",
    "_variable_creator_stack",
)


class _Stopped(Exception):
    """Ends a replica whose siblings have failed."""


class MergingContext(ReplicaContext):
    """The context of a replica that is built beside others."""

    def __init__(self, strategy: Any, replica_id: Any, thread: _Replica):
        super().__init__(strategy, replica_id)
        self._thread, self._index = thread, thread.index

    def _merge_call(self, merge_fn: Callable, args: Any, kwargs: Any) -> Any:
        return self._thread.merge(merge_fn, args, kwargs)


class _Replica:
    """A replica: its thread, and where it stands."""

    def __init__(self, strategy: Any, index: int, first: int, device: str, shared: dict, call: Any):
        self.index, self.done = index, False
        self.error: BaseException | None = None
        self._strategy, self._device, self._call, self._first = strategy, device, call, first
        self._shared = shared
        self.graph = context.get_default_graph()
        self._scopes = {n: getattr(self.graph, n) for n in _OF_GRAPH}
        self._scopes["_variable_creator_stack"] = list(self.graph._variable_creator_stack)
        current = context.current
        self._current = list(current.graphs), list(current.modes), list(current.sessions)
        self._eager = current.eager
        self._thread_locals = [
            (local, dict(vars(local))) for local in (recording.recording, random_seed.eager_seed)
        ]
        self._roles = list(replication.roles.stack)
        self._name = self.graph.get_name_scope()
        self._control = list(self.graph._scopes.control)
        self._variable_scope = None if self._eager else tf.get_variable_scope()
        self.result: Any = None
        self.merging: Any = None
        self.merged: Any = None
        self._stop = False
        self._go, self._paused = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, daemon=True, name=f"replica-{index}")

    # -- from the thread that builds all replicas -------------------------------------------------------

    def go_on(self) -> None:
        """Lets the replica go on to its next `merge_call`, or to its end."""
        before = {n: getattr(self.graph, n) for n in _OF_GRAPH}
        self._put(self._scopes)
        try:
            if not self._thread.is_alive():
                self._thread.start()
            self._go.release()
            self._paused.acquire()
        finally:
            self._scopes = {n: getattr(self.graph, n) for n in _OF_GRAPH}
            self._put(before)
        if self.error is not None:
            raise self.error

    def _put(self, scopes: dict[str, Any]) -> None:
        for name, value in scopes.items():
            setattr(self.graph, name, value)

    def end(self) -> None:
        """Ends the thread, wherever it is."""
        if self._thread.is_alive() and not self.done:
            self._stop = True
            with contextlib.suppress(BaseException):
                self.go_on()
        if self._thread.ident is not None:
            self._thread.join()

    # -- in the thread of the replica -------------------------------------------------------------------

    def _run(self) -> None:
        self._go.acquire()
        try:
            if not self._stop:
                with self._surroundings():
                    fn, args, kwargs = self._call
                    self.result = fn(*args, **kwargs)
                self.done = True
        except BaseException as e:
            self.error = e
        finally:
            self._paused.release()

    @contextlib.contextmanager
    def _surroundings(self) -> Any:
        current = context.current
        current.graphs, current.modes, current.sessions = self._current
        current.eager = self._eager
        for local, state in self._thread_locals:
            vars(local).update(state)
        replication.roles.stack = self._roles
        graph = self.graph
        graph._scopes.name, graph._scopes.control = self._name, self._control
        with contextlib.ExitStack() as stack:
            replica_id: Any = self._first + self.index
            if not self._eager:
                with tf.control_dependencies(None):
                    replica_id = tf.constant(replica_id, tf.int32)
            stack.enter_context(MergingContext(self._strategy, replica_id, self))
            stack.enter_context(tf.device(self._device))
            if self.index:
                prefix = f"{self._name}/" if self._name else ""
                stack.enter_context(tf.name_scope(f"{prefix}replica_{self.index}/"))
            if self._variable_scope is not None:
                stack.enter_context(
                    tf.variable_scope(
                        self._variable_scope,
                        reuse=self.index > 0 or None,
                        auxiliary_name_scope=False,
                    )
                )
            stack.enter_context(_creator_scope(_shared_creator(self._shared, self.index), 100))
            yield

    def merge(self, merge_fn: Callable, args: Any, kwargs: Any) -> Any:
        """Hands over to the thread that builds all replicas, and returns this replica's part of what comes of it."""
        if context.get_default_graph() is not self.graph:
            raise RuntimeError(
                "`merge_call` called while defining a new graph or a tf.function. This can often happen if the "
                "function `fn` passed to `strategy.experimental_run()` is decorated with `@tf.function` (or contains "
                "a nested `@tf.function`), and `fn` contains a synchronization point, such as aggregating gradients. "
                "This behavior is not yet supported. Instead, please wrap the entire call "
                "`strategy.experimental_run(fn)` in a `@tf.function`, and avoid nested `tf.function`s that may "
                "potentially cross a synchronization boundary."
            )
        scope = self.graph.get_name_scope()
        variable_scope = None if self._eager else tf.get_variable_scope()
        control = self.graph._current_control_dependencies() if not self._eager else []
        self.merging = merge_fn, args, kwargs, scope, variable_scope, control
        self._paused.release()
        self._go.acquire()
        if self._stop:
            raise _Stopped
        return self.merged


def call_for_each(
    strategy: Any, devices: tuple[str, ...], fn: Callable, args: Any, kwargs: Any, first: int = 0
) -> Any:
    """Calls a function for each device, and gives what they return together. The replicas are numbered from
    `first` on."""
    shared: dict[str, list[Any]] = {}
    replicas = [
        _Replica(strategy, i, first, d, shared, (fn, selected(i, args), selected(i, kwargs)))
        for i, d in enumerate(devices)
    ]
    try:
        while True:
            for replica in replicas:
                replica.go_on()
            done = [replica.done for replica in replicas]
            if all(done):
                return regrouped(devices, [r.result for r in replicas])
            if any(done):
                raise RuntimeError(
                    "Some replicas made a different number of replica_context().merge_call() calls."
                )
            _merge(strategy, devices, replicas)
    finally:
        for replica in replicas:
            replica.end()


def _merge(strategy: Any, devices: tuple[str, ...], replicas: list[_Replica]) -> None:
    """Runs the function of a `merge_call` on what all replicas have given."""
    given = [r.merging for r in replicas]
    fn, _, _, scope, variable_scope, _ = given[0]
    args = regrouped(devices, [g[1] for g in given])
    kwargs = regrouped(devices, [g[2] for g in given])
    control = list(dict.fromkeys(op for g in given for op in g[5]))
    with contextlib.ExitStack() as stack:
        stack.enter_context(tf.name_scope(f"{scope}/" if scope else ""))
        if control:
            stack.enter_context(tf.control_dependencies(control))
        if variable_scope is not None:
            stack.enter_context(tf.variable_scope(variable_scope, auxiliary_name_scope=False))
        result = fn(strategy, *args, **kwargs)
    for i, replica in enumerate(replicas):
        replica.merged = selected(i, result)


# -- variables that all replicas make -----------------------------------------------------------------------


def _common_name(name: str | None) -> str:
    """What variables are called that replicas make in the same place."""
    if not name:
        return "Variable"
    kept = []
    for part in name.split("/"):
        if re.fullmatch(r"replica_\d+", part):
            continue
        kept.append(re.sub(r"_\d+$", "", part))
    return "/".join(kept)


def _shared_creator(shared: dict[str, list[Any]], index: int) -> Callable:
    """The first replica makes variables; the others get the same, in the same order for each name."""
    if index == 0:

        def make(next_creator: Callable, **kwargs: Any) -> Any:
            variable = next_creator(**kwargs)
            shared.setdefault(_common_name(kwargs.get("name")), []).append(variable)
            return variable

        return make
    used: dict[str, int] = {}

    def take(next_creator: Callable, **kwargs: Any) -> Any:
        name = _common_name(kwargs.get("name"))
        at = used.get(name, 0)
        used[name] = at + 1
        made = shared.get(name, ())
        if at >= len(made):
            raise RuntimeError(
                f"Tried to create variable {kwargs.get('name')} with mismatching name on device {index}"
            )
        return made[at]

    return take
