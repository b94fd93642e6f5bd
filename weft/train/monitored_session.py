"""Monitored sessions: sessions that initialise or restore a model, call hooks around each step, and start
anew when a task of the cluster was lost."""

from __future__ import annotations

import abc
import inspect
from collections.abc import Callable
from typing import Any

import weft as tf
from weft import proto
from weft.framework import errors
from weft.framework.export import export
from weft.train.coordinator import Coordinator
from weft.train.hooks import StopAtStepHook
from weft.train.progress import close_progress, with_progress
from weft.train.queue_runner import start_queue_runners
from weft.train.saving_hooks import CheckpointSaverHook, StepCounterHook, SummarySaverHook
from weft.train.scaffold import Scaffold
from weft.train.session_manager import SessionManager
from weft.train.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)

# A task went away and may come back: the session is made again.
_PREEMPTION_ERRORS = (errors.AbortedError, errors.UnavailableError)
# How programs that watch a training's log know them.
_LOST = (
    "An error was raised%s. A connected worker or parameter server may have been preempted, or was out of reach for "
    "want of memory or bandwidth, which more parameter servers may help. %s Error: %s"
)
_ANEW = "The current session will be closed and a new session will be created."
USE_DEFAULT = object()


# -- making sessions ------------------------------------------------------------------------------------


@export("train.SessionCreator")
class SessionCreator(abc.ABC):
    """Makes sessions in which the model is ready."""

    @abc.abstractmethod
    def create_session(self) -> Any:
        """A new session."""
        raise NotImplementedError(f"create_session is not implemented for {self}.")


class _ScaffoldedCreator(SessionCreator):
    def __init__(self, scaffold: Scaffold | None, master: str, config: Any):
        self._scaffold = scaffold or Scaffold()
        self._master, self._config = master, config
        self._session_manager: SessionManager | None = None

    def _get_session_manager(self) -> SessionManager:
        self._scaffold.finalize()
        if self._session_manager is None:
            self._session_manager = SessionManager(
                local_init_op=self._scaffold.local_init_op,
                ready_op=self._scaffold.ready_op,
                ready_for_local_init_op=self._scaffold.ready_for_local_init_op,
                graph=tf.get_default_graph(),
            )
        return self._session_manager


@export("train.ChiefSessionCreator")
class ChiefSessionCreator(_ScaffoldedCreator):
    """Makes the sessions of the chief, which restores or initialises the model."""

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
    ):
        super().__init__(scaffold, master, config)
        self._checkpoint_dir = checkpoint_dir
        self._checkpoint_filename_with_path = checkpoint_filename_with_path

    def create_session(self) -> Any:
        manager = self._get_session_manager()
        return manager.prepare_session(
            self._master,
            saver=self._scaffold.saver,
            checkpoint_dir=self._checkpoint_dir,
            checkpoint_filename_with_path=self._checkpoint_filename_with_path,
            config=self._config,
            init_op=self._scaffold.init_op,
            init_feed_dict=self._scaffold.init_feed_dict,
            init_fn=self._scaffold.init_fn,
        )


@export("train.WorkerSessionCreator")
class WorkerSessionCreator(_ScaffoldedCreator):
    """Makes the sessions of a worker, which waits until the chief has made the model ready."""

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        max_wait_secs: float = 30 * 60,
    ):
        super().__init__(scaffold, master, config)
        self._max_wait_secs = max_wait_secs

    def create_session(self) -> Any:
        return self._get_session_manager().wait_for_session(
            self._master, config=self._config, max_wait_secs=self._max_wait_secs
        )


# -- the layers of a monitored session ------------------------------------------------------------------


class _WrappedSession:
    """A session in another: it can say that it is over, and is closed without complaint."""

    def __init__(self, sess: Any):
        self._sess = sess

    @property
    def graph(self) -> Any:
        return self._sess.graph

    @property
    def sess_str(self) -> str:
        return self._sess.sess_str

    def should_stop(self) -> bool:
        """Whether this session, or one within, is over."""
        if self._check_stop() or self._sess is None:
            return True
        return isinstance(self._sess, _WrappedSession) and self._sess.should_stop()

    def _check_stop(self) -> bool:
        return False

    def close(self) -> None:
        if self._sess is None:
            return
        try:
            self._sess.close()
        except _PREEMPTION_ERRORS as e:
            tf.logging.warning("A task was lost while the session was closed. Error: %s", e)
        finally:
            self._sess = None

    def run(self, *args: Any, **kwargs: Any) -> Any:
        return self._sess.run(*args, **kwargs)

    def run_step_fn(self, step_fn: Callable, raw_session: Any, run_with_hooks: Any) -> Any:
        return step_fn(_MonitoredSession.StepContext(raw_session, run_with_hooks or self.run))


class _HookedSession(_WrappedSession):
    """Calls hooks before and after each step, and runs with it what they ask for."""

    def __init__(self, sess: Any, hooks: list[SessionRunHook]):
        super().__init__(sess)
        self._hooks = hooks
        self._over = False

    def _check_stop(self) -> bool:
        return self._over

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        if self.should_stop():
            raise RuntimeError("Run called even after should_stop requested.")
        run_context = SessionRunContext(SessionRunArgs(fetches, feed_dict), self._sess)
        wanted: dict[Any, Any] = {"caller": fetches}
        feeds: dict[Any, Any] = {}
        for hook in self._hooks:
            request = hook.before_run(run_context)
            if request is None:
                continue
            if request.fetches is not None:
                wanted[hook] = request.fetches
            if request.feed_dict:
                _check_apart(feeds, request.feed_dict, "Same tensor is fed by two hooks.")
                feeds.update(request.feed_dict)
            if request.options:
                options = _merged_options(options, request.options)
        if feeds and feed_dict:
            _check_apart(feed_dict, feeds, "Same tensor is fed by a SessionRunHook and user.")
        feeds.update(feed_dict or {})
        # A step that is not traced needs none; a hook is given one in any case.
        if run_metadata is None and options is not None:
            run_metadata = proto.RunMetadata()
        values = self._sess.run(
            wanted, feed_dict=feeds or None, options=options, run_metadata=run_metadata
        )
        if self._hooks:
            options = proto.RunOptions() if options is None else options
            run_metadata = proto.RunMetadata() if run_metadata is None else run_metadata
        for hook in self._hooks:
            hook.after_run(run_context, SessionRunValues(values.get(hook), options, run_metadata))
        self._over = self._over or run_context.stop_requested
        return values["caller"]


def _check_apart(first: dict[Any, Any], second: dict[Any, Any], message: str) -> None:
    both = set(first) & set(second)
    if both:
        raise RuntimeError(f"{message} Conflict(s): {list(both)}")


def _merged_options(options: Any, more: Any) -> Any:
    """Options that ask for whatever either asks for."""
    merged = proto.RunOptions()
    if options is not None:
        merged.CopyFrom(options)
    for field in ("trace_level", "timeout_in_ms", "inter_op_thread_pool"):
        setattr(merged, field, max(getattr(merged, field), getattr(more, field)))
    merged.output_partition_graphs |= more.output_partition_graphs
    merged.report_tensor_allocations_upon_oom |= more.report_tensor_allocations_upon_oom
    merged.debug_options.debug_tensor_watch_opts.extend(more.debug_options.debug_tensor_watch_opts)
    return merged


class _CoordinatedSession(_WrappedSession):
    """Stops with the coordinator's threads, and says what stopped these."""

    def __init__(self, sess: Any, coord: Coordinator, stop_grace_period_secs: float = 120):
        super().__init__(sess)
        self._coord = coord
        self._stop_grace_period_secs = stop_grace_period_secs

    def _check_stop(self) -> bool:
        self._coord.raise_requested_exception()
        return self._coord.should_stop()

    def close(self) -> None:
        self._coord.request_stop()
        try:
            self._coord.join(
                stop_grace_period_secs=self._stop_grace_period_secs, ignore_live_threads=True
            )
        finally:
            try:
                super().close()
            except Exception as e:  # the session is over in any case
                tf.logging.warning("Closing the session: %s", e)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self._sess.run(*args, **kwargs)
        except _PREEMPTION_ERRORS:
            raise
        except Exception:
            # What a thread of the input met may be what this step suffered from; a lost task is.
            try:
                self._coord.raise_requested_exception()
            except _PREEMPTION_ERRORS:
                raise
            except Exception as e:
                tf.logging.debug("A thread of the coordinator had failed: %s", e)
            raise


class _RecoverableSession(_WrappedSession):
    """Makes its session again when a task was lost."""

    def __init__(self, sess_creator: Any):
        self._sess_creator = sess_creator
        super().__init__(self._create_session())

    def _create_session(self) -> Any:
        while True:
            try:
                return self._sess_creator.create_session()
            except _PREEMPTION_ERRORS as e:
                created = " while a session was being created"
                tf.logging.info(_LOST, created, "A new session will be created.", e)

    def _check_stop(self) -> bool:
        try:
            return self._sess is None or self._sess._check_stop()
        except _PREEMPTION_ERRORS as e:
            asked = " while considering whether the session is complete"
            tf.logging.info(_LOST, asked, _ANEW, e)
            self.close()
            self._sess = self._create_session()
            return False
        except Exception:  # the next step raises it
            return True

    def _again_when_lost(self, act: Callable[[], Any]) -> Any:
        while True:
            try:
                if self._sess is None:
                    self._sess = self._create_session()
                return act()
            except _PREEMPTION_ERRORS as e:
                tf.logging.info(_LOST, "", _ANEW, e)
                self.close()

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        return self._again_when_lost(
            lambda: self._sess.run(
                fetches, feed_dict=feed_dict, options=options, run_metadata=run_metadata
            )
        )

    def run_step_fn(self, step_fn: Callable, raw_session: Any, run_with_hooks: Any) -> Any:
        return self._again_when_lost(
            lambda: self._sess.run_step_fn(step_fn, raw_session, self._sess.run)
        )


# -- what a program uses --------------------------------------------------------------------------------


class _MonitoredSession:
    """What both kinds of monitored session share."""

    def __init__(
        self,
        session_creator: Any,
        hooks: Any,
        should_recover: bool,
        stop_grace_period_secs: float = 120,
    ):
        self._graph_was_finalized = tf.get_default_graph().finalized
        self._hooks = list(hooks or ())
        if any(isinstance(h, StopAtStepHook) for h in self._hooks):
            self._hooks = with_progress(self._hooks)
        for hook in self._hooks:
            hook.begin()
        self._coordinated_creator = self._CoordinatedSessionCreator(
            session_creator or ChiefSessionCreator(), self._hooks, stop_grace_period_secs
        )
        self._sess: Any
        if should_recover:
            self._sess = _RecoverableSession(self._coordinated_creator)
        else:
            self._sess = self._coordinated_creator.create_session()

    class StepContext:
        """What a step function has: the session beneath, runs with hooks, and the end."""

        def __init__(self, session: Any, run_with_hooks_fn: Callable):
            self._session = session
            self._run_with_hooks_fn = run_with_hooks_fn

        @property
        def session(self) -> Any:
            """The session beneath, which runs without hooks."""
            return self._session

        def run_with_hooks(self, *args: Any, **kwargs: Any) -> Any:
            """As `run` of the monitored session."""
            return self._run_with_hooks_fn(*args, **kwargs)

        def request_stop(self) -> None:
            """Leaves the step function and makes `should_stop` true."""
            raise StopIteration("step_fn has requested the iterations to stop.")

    class _CoordinatedSessionCreator(SessionCreator):
        def __init__(self, session_creator: Any, hooks: list[Any], stop_grace_period_secs: float):
            self._session_creator = session_creator
            self._hooks = hooks
            self._stop_grace_period_secs = stop_grace_period_secs
            self.coord: Any = None
            self.tf_sess: Any = None

        def create_session(self) -> Any:
            self.tf_sess = self._session_creator.create_session()
            # What stops a thread without an error stops the session so too.
            self.coord = Coordinator(clean_stop_exception_types=[])
            if tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS):
                start_queue_runners(sess=self.tf_sess, coord=self.coord)
            for hook in self._hooks:
                hook.after_create_session(self.tf_sess, self.coord)
            return _CoordinatedSession(
                _HookedSession(self.tf_sess, self._hooks), self.coord, self._stop_grace_period_secs
            )

    @property
    def graph(self) -> Any:
        """The graph of the session."""
        session = self._tf_sess()
        return None if session is None else session.graph

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """As `tf.Session.run`, with the hooks."""
        if self._sess is None:
            raise RuntimeError("Attempted to use a closed Session.")
        return self._sess.run(
            fetches, feed_dict=feed_dict, options=options, run_metadata=run_metadata
        )

    def run_step_fn(self, step_fn: Callable[[Any], Any]) -> Any:
        """Calls a function of a StepContext as one step; it may run the session several times."""
        names = list(inspect.signature(step_fn).parameters)
        if isinstance(step_fn, type) or names not in (["step_context"], ["self", "step_context"]):
            raise ValueError(
                "`step_fn` may either have one `step_context` argument, or `self` and `step_context` arguments if "
                f"it's an instance method. Got {tuple(names)} instead."
            )
        return self._sess.run_step_fn(step_fn, self._tf_sess(), run_with_hooks=None)

    def should_stop(self) -> bool:
        """Whether training is over."""
        return self._sess is None or self._sess.should_stop()

    def close(self) -> None:
        """Ends the hooks, the threads and the session."""
        self._close_internal()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> bool:
        if kind in (errors.OutOfRangeError, StopIteration):  # the end of the input is no error
            kind = None
        self._close_internal(kind)
        return kind is None

    def _close_internal(self, exception_type: Any = None) -> None:
        close_progress(self._hooks)
        try:
            if not exception_type:
                for hook in self._hooks:
                    hook.end(self._coordinated_creator.tf_sess)
        finally:
            try:
                if self._sess is None:
                    raise RuntimeError("Session is already closed.")
                self._sess.close()
            finally:
                self._sess = None
                self._coordinated_creator.tf_sess = None
                self._coordinated_creator.coord = None
                if not self._graph_was_finalized:
                    tf.get_default_graph()._unsafe_unfinalize()

    def _is_closed(self) -> bool:
        return self._coordinated_creator.tf_sess is None

    def _tf_sess(self) -> Any:
        return self._coordinated_creator.tf_sess


@export("train.MonitoredSession")
class MonitoredSession(_MonitoredSession):
    """A session with hooks, which initialises or restores the model first and recovers from lost tasks.

    It is no `tf.Session`: it cannot be the default session, nor be given to a saver.
    """

    def __init__(
        self,
        session_creator: Any = None,
        hooks: Any = None,
        stop_grace_period_secs: float = 120,
    ):
        super().__init__(
            session_creator,
            hooks,
            should_recover=True,
            stop_grace_period_secs=stop_grace_period_secs,
        )


@export("train.SingularMonitoredSession")
class SingularMonitoredSession(_MonitoredSession):
    """A session with hooks on one machine: it does not recover from lost tasks, and gives away the session beneath."""

    def __init__(
        self,
        hooks: Any = None,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        checkpoint_dir: str | None = None,
        stop_grace_period_secs: float = 120,
        checkpoint_filename_with_path: str | None = None,
    ):
        creator = ChiefSessionCreator(
            scaffold=scaffold,
            master=master,
            config=config,
            checkpoint_dir=checkpoint_dir,
            checkpoint_filename_with_path=checkpoint_filename_with_path,
        )
        super().__init__(
            creator, hooks, should_recover=False, stop_grace_period_secs=stop_grace_period_secs
        )

    def raw_session(self) -> Any:
        """The session beneath."""
        return self._tf_sess()


def _or_default(first: Any, second: Any, default: Any) -> tuple[Any, Any]:
    """Two settings of which one is used: neither given means a default for the first."""
    if first is USE_DEFAULT and second is USE_DEFAULT:
        return default, None
    return (None if first is USE_DEFAULT else first, None if second is USE_DEFAULT else second)


@export("train.MonitoredTrainingSession")
def MonitoredTrainingSession(
    master: str = "",
    is_chief: bool = True,
    checkpoint_dir: str | None = None,
    scaffold: Scaffold | None = None,
    hooks: Any = None,
    chief_only_hooks: Any = None,
    save_checkpoint_secs: Any = USE_DEFAULT,
    save_summaries_steps: Any = USE_DEFAULT,
    save_summaries_secs: Any = USE_DEFAULT,
    config: Any = None,
    stop_grace_period_secs: float = 120,
    log_step_count_steps: int | None = 100,
    max_wait_secs: float = 7200,
    save_checkpoint_steps: Any = USE_DEFAULT,
    summary_dir: str | None = None,
) -> MonitoredSession:
    """A monitored session for training.

    The chief restores or initialises the model, and saves checkpoints (every 600 seconds) and summaries (every
    100 steps) where a directory is given; other workers wait for it.
    """
    summary_steps, summary_secs = _or_default(save_summaries_steps, save_summaries_secs, 100)
    checkpoint_secs, checkpoint_steps = _or_default(
        save_checkpoint_secs, save_checkpoint_steps, 600
    )
    scaffold = scaffold or Scaffold()
    if not is_chief:
        hooks = with_progress(list(hooks or ()))
        worker = WorkerSessionCreator(
            scaffold=scaffold, master=master, config=config, max_wait_secs=max_wait_secs
        )
        return MonitoredSession(worker, hooks, stop_grace_period_secs)
    all_hooks = list(chief_only_hooks or ())
    summary_dir = summary_dir or checkpoint_dir
    if summary_dir and log_step_count_steps and log_step_count_steps > 0:
        all_hooks.append(
            StepCounterHook(output_dir=summary_dir, every_n_steps=log_step_count_steps)
        )
    if summary_dir and _positive(summary_steps, summary_secs):
        all_hooks.append(
            SummarySaverHook(
                scaffold=scaffold,
                save_steps=summary_steps,
                save_secs=summary_secs,
                output_dir=summary_dir,
            )
        )
    if checkpoint_dir and _positive(checkpoint_secs, checkpoint_steps):
        all_hooks.append(
            CheckpointSaverHook(
                checkpoint_dir,
                save_steps=checkpoint_steps,
                save_secs=checkpoint_secs,
                scaffold=scaffold,
            )
        )
    all_hooks.extend(hooks or ())
    chief = ChiefSessionCreator(
        scaffold=scaffold, checkpoint_dir=checkpoint_dir, master=master, config=config
    )
    return MonitoredSession(chief, with_progress(all_hooks), stop_grace_period_secs)


def _positive(*values: Any) -> bool:
    return any(v and v > 0 for v in values)
