"""Hooks of a monitored session: what is called before, between and after its steps."""

from __future__ import annotations

from typing import Any, NamedTuple

from weft.framework.export import export


@export("train.SessionRunHook", "estimator.SessionRunHook")
class SessionRunHook:
    """Something that takes part in the steps of a monitored session; a subclass overrides what it needs."""

    def begin(self) -> None:
        """Called before the graph is finalized: the last moment to add to it."""

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Called when there is a session, and again when there is a new one after a failure."""

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Called before a step; what it returns is fetched and fed with the step."""
        return None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Called after a step, with the values of what was asked for."""

    def end(self, session: Any) -> None:
        """Called at the end of a session that did not fail."""


@export("train.SessionRunArgs", "estimator.SessionRunArgs")
class SessionRunArgs(NamedTuple):
    """What a hook adds to a step."""

    fetches: Any
    feed_dict: Any = None
    options: Any = None


@export("train.SessionRunValues", "estimator.SessionRunValues")
class SessionRunValues(NamedTuple):
    """What came of it: values in the structure of the fetches, options and metadata of the step."""

    results: Any
    options: Any
    run_metadata: Any


@export("train.SessionRunContext", "estimator.SessionRunContext")
class SessionRunContext:
    """The step that a hook is called for."""

    def __init__(self, original_args: SessionRunArgs, session: Any):
        self._original_args = original_args
        self._session = session
        self._stop_requested = False

    @property
    def original_args(self) -> SessionRunArgs:
        """What the program gave to `run`."""
        return self._original_args

    @property
    def session(self) -> Any:
        """The session beneath, which runs without hooks."""
        return self._session

    @property
    def stop_requested(self) -> bool:
        """Whether a hook wants this to be the last step."""
        return self._stop_requested

    def request_stop(self) -> None:
        """Makes this the last step."""
        self._stop_requested = True
