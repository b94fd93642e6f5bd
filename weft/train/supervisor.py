"""Supervisor: training with a session, checkpoints and summaries by threads of their own."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import weft as tf
from weft import proto
from weft.framework import context, meta_graph
from weft.framework.export import export
from weft.train.coordinator import Coordinator, LooperThread
from weft.train.graph_io import write_graph
from weft.train.saver import Saver
from weft.train.session_manager import SessionManager
from weft.train.steps import global_step as value_of_step


@export("train.Supervisor")
class Supervisor:
    """Prepares sessions, and saves checkpoints and summaries every so many seconds while they train.

    `MonitoredTrainingSession` is its successor. What is not given is taken from the graph's collections or made.
    """

    # Stands for what is found or made; zero, as programs compare with it.
    USE_DEFAULT = 0

    def __init__(
        self,
        graph: Any = None,
        ready_op: Any = USE_DEFAULT,
        ready_for_local_init_op: Any = USE_DEFAULT,
        is_chief: bool = True,
        init_op: Any = USE_DEFAULT,
        init_feed_dict: Any = None,
        local_init_op: Any = USE_DEFAULT,
        logdir: str | None = None,
        summary_op: Any = USE_DEFAULT,
        saver: Any = USE_DEFAULT,
        global_step: Any = USE_DEFAULT,
        save_summaries_secs: float = 120,
        save_model_secs: float = 600,
        recovery_wait_secs: float = 30,
        stop_grace_secs: float = 120,
        checkpoint_basename: str = "model.ckpt",
        session_manager: Any = None,
        summary_writer: Any = USE_DEFAULT,
        init_fn: Callable[[Any], None] | None = None,
        local_init_run_options: Any = None,
    ):
        if context.executing_eagerly():
            raise RuntimeError("Supervisors are incompatible with eager execution.")
        keys = tf.GraphKeys
        self._graph = graph = tf.get_default_graph() if graph is None else graph
        with graph.as_default():
            self._ready_op = _given(ready_op, keys.READY_OP, tf.report_uninitialized_variables)
            self._ready_for_local_init_op = _given(
                ready_for_local_init_op, keys.READY_FOR_LOCAL_INIT_OP
            )
            self._init_op = _given(init_op, keys.INIT_OP, tf.global_variables_initializer)
            self._local_init_op = _given(
                local_init_op,
                keys.LOCAL_INIT_OP,
                lambda: tf.group(tf.local_variables_initializer(), tf.tables_initializer()),
            )
            self._saver = _given(
                saver, keys.SAVERS, lambda: Saver() if tf.global_variables() else None
            )
            self._summary_op = _given(summary_op, keys.SUMMARY_OP, tf.summary.merge_all)
            self._global_step = _given(global_step, keys.GLOBAL_STEP, _global_step_by_name)
        self._init_feed_dict = init_feed_dict
        self._meta_graph_def = meta_graph.create_meta_graph_def(
            graph=graph,
            graph_def=graph.as_graph_def(add_shapes=True),
            saver_def=self._saver.saver_def if self._saver else None,
        )
        self._is_chief = is_chief
        self._coord = Coordinator()
        self._stop_grace_secs = stop_grace_secs
        self._init_fn = init_fn
        # Only the chief writes.
        self._logdir = logdir if is_chief else None
        self._save_summaries_secs = save_summaries_secs if is_chief else None
        self._save_model_secs = save_model_secs if is_chief else None
        self._save_path = os.path.join(self._logdir, checkpoint_basename) if self._logdir else None
        self._summary_writer: Any = None
        self._graph_added_to_summary = False
        if is_chief:
            if summary_writer is not Supervisor.USE_DEFAULT:
                self._summary_writer = summary_writer
            elif self._logdir:
                self._summary_writer = tf.summary.FileWriter(self._logdir)
        self._session_manager = session_manager or SessionManager(
            local_init_op=self._local_init_op,
            ready_op=self._ready_op,
            ready_for_local_init_op=self._ready_for_local_init_op,
            graph=graph,
            recovery_wait_secs=recovery_wait_secs,
            local_init_run_options=local_init_run_options,
        )
        self._check_devices()
        graph.finalize()

    def _check_devices(self) -> None:
        if self._is_chief:
            return
        for op in self._graph.get_operations():
            if op.type in ("Variable", "VariableV2") and not op.device:
                raise ValueError(
                    f"When using replicas, all Variables must have their device set: {op.name}"
                )

    # -- what it has ---------------------------------------------------------------------------------

    @property
    def is_chief(self) -> bool:
        """Whether this process initialises and saves."""
        return self._is_chief

    @property
    def session_manager(self) -> Any:
        """What makes the sessions."""
        return self._session_manager

    @property
    def coord(self) -> Coordinator:
        """What stops the threads."""
        return self._coord

    @property
    def init_op(self) -> Any:
        """The operation that initialises the model."""
        return self._init_op

    @property
    def init_feed_dict(self) -> Any:
        """What is fed to the init op."""
        return self._init_feed_dict

    @property
    def ready_op(self) -> Any:
        """The tensor of the names of what is not initialised."""
        return self._ready_op

    @property
    def ready_for_local_init_op(self) -> Any:
        """The tensor of the names of what must be initialised before what is local."""
        return self._ready_for_local_init_op

    @property
    def summary_writer(self) -> Any:
        """The writer of summaries, of the chief."""
        return self._summary_writer

    @property
    def summary_op(self) -> Any:
        """The tensor of the merged summaries."""
        return self._summary_op

    @property
    def save_summaries_secs(self) -> float | None:
        """How often summaries are written."""
        return self._save_summaries_secs

    @property
    def global_step(self) -> Any:
        """The tensor of the global step."""
        return self._global_step

    @property
    def saver(self) -> Any:
        """The saver of the model."""
        return self._saver

    @property
    def save_model_secs(self) -> float | None:
        """How often a checkpoint is saved."""
        return self._save_model_secs

    @property
    def save_path(self) -> str | None:
        """The prefix of the checkpoints."""
        return self._save_path

    # -- sessions ------------------------------------------------------------------------------------

    def prepare_or_wait_for_session(
        self,
        master: str = "",
        config: Any = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        start_standard_services: bool = True,
    ) -> Any:
        """A session in which the model is ready: the chief makes it so, others wait."""
        self._coord.clear_stop()
        if self._summary_writer:
            self._summary_writer.reopen()
        if self._is_chief:
            session = self._session_manager.prepare_session(
                master,
                init_op=self.init_op,
                saver=self.saver,
                checkpoint_dir=self._logdir,
                wait_for_checkpoint=wait_for_checkpoint,
                max_wait_secs=max_wait_secs,
                config=config,
                init_feed_dict=self._init_feed_dict,
                init_fn=self._init_fn,
            )
            self._write_graph()
            if start_standard_services:
                tf.logging.info("Starting standard services.")
                self.start_standard_services(session)
        else:
            session = self._session_manager.wait_for_session(
                master, config=config, max_wait_secs=max_wait_secs
            )
        if start_standard_services:
            tf.logging.info("Starting queue runners.")
            self.start_queue_runners(session)
        return session

    @contextlib.contextmanager
    def managed_session(
        self,
        master: str = "",
        config: Any = None,
        start_standard_services: bool = True,
        close_summary_writer: bool = True,
    ) -> Iterator[Any]:
        """A session for a `with` statement; at its end the threads stop, and the first error is raised."""
        session: Any = None
        try:
            session = self.prepare_or_wait_for_session(
                master, config, start_standard_services=start_standard_services
            )
            yield session
        except Exception as e:
            self.request_stop(e)
        finally:
            try:
                self.stop(close_summary_writer=close_summary_writer)
            finally:
                if session is not None:
                    with contextlib.suppress(Exception):
                        session.close()

    def _write_graph(self) -> None:
        if self._logdir:
            write_graph(self._graph.as_graph_def(add_shapes=True), self._logdir, "graph.pbtxt")
        if self._summary_writer and not self._graph_added_to_summary:
            self._summary_writer.add_graph(self._graph)
            self._summary_writer.add_meta_graph(self._meta_graph_def)
            self._graph_added_to_summary = True

    # -- threads -------------------------------------------------------------------------------------

    def start_standard_services(self, sess: Any) -> list[LooperThread] | None:
        """Starts the threads that save checkpoints and summaries."""
        if not self._is_chief:
            raise RuntimeError(
                "Only chief supervisor can start standard services. Because only chief supervisors can write events."
            )
        if not self._logdir:
            tf.logging.warning("Standard services need a 'logdir' passed to the SessionManager")
            return None
        if self._global_step is not None and self._summary_writer:
            self._summary_writer.add_session_log(
                proto.SessionLog(status=proto.SessionLog.START),
                value_of_step(sess, self._global_step),
            )
        threads: list[LooperThread] = []
        if self._save_summaries_secs and self._summary_writer:
            if self._summary_op is not None:
                threads.append(SVSummaryThread(self, sess))
            if self._global_step is not None:
                threads.append(SVStepCounterThread(self, sess))
        if self.saver and self._save_model_secs:
            threads.append(SVTimerCheckpointThread(self, sess))
        for thread in threads:
            thread.start()
        return threads

    def start_queue_runners(self, sess: Any, queue_runners: Any = None) -> list[Any]:
        """Starts the threads of queue runners, by default of all in the graph."""
        if context.executing_eagerly():
            raise RuntimeError("Queues are not compatible with eager execution.")
        if queue_runners is None:
            queue_runners = self._graph.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
        return [
            thread
            for runner in queue_runners
            for thread in runner.create_threads(sess, coord=self._coord, daemon=True, start=True)
        ]

    def loop(
        self,
        timer_interval_secs: float | None,
        target: Callable,
        args: Any = None,
        kwargs: Any = None,
    ) -> LooperThread:
        """Starts a thread that calls a function every so many seconds."""
        looper = LooperThread(
            self._coord, timer_interval_secs, target=target, args=args, kwargs=kwargs
        )
        looper.start()
        return looper

    def stop(
        self,
        threads: Any = None,
        close_summary_writer: bool = True,
        ignore_live_threads: bool = False,
    ) -> None:
        """Stops the threads, waits for them, and raises what stopped them."""
        self._coord.request_stop()
        try:
            self._coord.join(
                threads,
                stop_grace_period_secs=self._stop_grace_secs,
                ignore_live_threads=ignore_live_threads,
            )
        finally:
            if close_summary_writer and self._summary_writer:
                self._summary_writer.add_session_log(proto.SessionLog(status=proto.SessionLog.STOP))
                self._summary_writer.close()
                self._graph_added_to_summary = False

    def request_stop(self, ex: Any = None) -> None:
        """Tells the threads to stop."""
        self._coord.request_stop(ex=ex)

    def should_stop(self) -> bool:
        """Whether somebody wants the end."""
        return self._coord.should_stop()

    def stop_on_exception(self) -> Any:
        """A context that reports its error to the coordinator."""
        return self._coord.stop_on_exception()

    def wait_for_stop(self) -> None:
        """Waits until somebody wants the end."""
        self._coord.wait_for_stop()

    def summary_computed(self, sess: Any, summary: Any, global_step: Any = None) -> None:
        """Writes a summary that was computed."""
        if not self._summary_writer:
            raise RuntimeError("Writing a summary requires a summary writer.")
        if global_step is None and self.global_step is not None:
            global_step = value_of_step(sess, self.global_step)
        self._summary_writer.add_summary(summary, global_step)

    # Older names of the methods.
    PrepareSession = prepare_or_wait_for_session
    StartStandardServices = start_standard_services
    StartQueueRunners = start_queue_runners
    Loop = loop
    Stop = stop
    RequestStop = request_stop
    ShouldStop = should_stop
    StopOnException = stop_on_exception
    WaitForStop = wait_for_stop
    SummaryComputed = summary_computed


def _given(item: Any, key: str, make: Callable[[], Any] | None = None) -> Any:
    """What was given, or the first of a collection, or what is made and added to it."""
    if item is not Supervisor.USE_DEFAULT:
        return item
    found = tf.get_collection(key)
    if len(found) > 1:
        tf.logging.info("Found %d %s operations. Returning the first one.", len(found), key)
    if found:
        return found[0]
    made = make() if make else None
    if made is not None:
        tf.add_to_collection(key, made)
    return made


def _global_step_by_name() -> Any:
    try:
        step = tf.get_default_graph().get_tensor_by_name("global_step:0")
    except KeyError:
        return None
    if step.dtype.base_dtype in (tf.int32, tf.int64):
        return step
    tf.logging.warning("Found 'global_step' is not an int type: %s", step.dtype)
    return None


class SVSummaryThread(LooperThread):
    """Writes the merged summaries."""

    def __init__(self, sv: Supervisor, sess: Any):
        super().__init__(sv.coord, sv.save_summaries_secs)
        self._sv, self._sess = sv, sess

    def run_loop(self) -> None:
        step = None
        if self._sv.global_step is None:
            summary = self._sess.run(self._sv.summary_op)
        else:
            summary, step = self._sess.run([self._sv.summary_op, self._sv.global_step])
        if self._sv.summary_writer:
            tf.logging.info("Recording summary at step %s.", step)
            self._sv.summary_writer.add_summary(summary, step)


class SVStepCounterThread(LooperThread):
    """Writes how many steps a second were taken."""

    def __init__(self, sv: Supervisor, sess: Any, step_counter: Any = None):
        super().__init__(sv.coord, sv.save_summaries_secs)
        self._sv, self._sess = sv, sess
        self._step_counter = sv.global_step if step_counter is None else step_counter
        self._summary_tag = f"{self._step_counter.op.name}/sec"
        self._last_time, self._last_step = 0.0, 0

    def start_loop(self) -> None:
        self._last_time = time.time()
        self._last_step = value_of_step(self._sess, self._step_counter)

    def run_loop(self) -> None:
        step, now = value_of_step(self._sess, self._step_counter), time.time()
        seconds = now - self._last_time
        rate = (step - self._last_step) / seconds if seconds > 0 else float("inf")
        self._last_step, self._last_time = step, now
        if self._sv.summary_writer:
            summary = proto.Summary()
            summary.value.add(tag=self._summary_tag, simple_value=rate)
            self._sv.summary_writer.add_summary(summary, step)
        tf.logging.log_first_n(tf.logging.INFO, "%s: %g", 10, self._summary_tag, rate)


class SVTimerCheckpointThread(LooperThread):
    """Saves checkpoints."""

    def __init__(self, sv: Supervisor, sess: Any):
        super().__init__(sv.coord, sv.save_model_secs)
        self._sv, self._sess = sv, sess

    def run_loop(self) -> None:
        sv = self._sv
        tf.logging.info("Saving checkpoint to path %s", sv.save_path)
        sv.saver.save(self._sess, sv.save_path, global_step=sv.global_step)
        if sv.summary_writer and sv.global_step is not None:
            sv.summary_writer.add_session_log(
                proto.SessionLog(status=proto.SessionLog.CHECKPOINT, checkpoint_path=sv.save_path),
                value_of_step(self._sess, sv.global_step),
            )


@export("train.basic_train_loop")
def basic_train_loop(
    supervisor: Supervisor,
    train_step_fn: Callable,
    args: Any = None,
    kwargs: Any = None,
    master: str = "",
) -> None:
    """Calls a function of a session (and what else is given) until somebody wants the end; begins anew when a
    task was lost."""
    again = True
    while again:
        again = False
        try:
            with supervisor.managed_session(master) as session:
                while not supervisor.should_stop():
                    train_step_fn(session, *(args or ()), **(kwargs or {}))
        except tf.errors.AbortedError:
            again = True
