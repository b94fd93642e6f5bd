"""Hooks that write: checkpoints, summaries, steps per second, profiles."""

from __future__ import annotations

import os
from typing import Any

import weft as tf
from weft import proto
from weft.framework import meta_graph
from weft.framework.export import export
from weft.studio.timeline import Timeline
from weft.train.hooks import required_step
from weft.train.session_run_hook import SessionRunArgs, SessionRunHook
from weft.train.step_timer import SecondOrStepTimer
from weft.train.steps import get_global_step


def _writer_of(folder: str) -> Any:
    return tf.summary.FileWriterCache.get(folder)


class _StepHook(SessionRunHook):
    """A hook that does something when its timer says so, which it asks at the step that has come true."""

    _timer: SecondOrStepTimer

    def begin(self) -> None:
        self._global_step_tensor = required_step(type(self).__name__)
        self._steps_per_run = 1

    def _set_steps_per_run(self, steps_per_run: int) -> None:
        self._steps_per_run = steps_per_run

    def _step_if_due(self, session: Any, step_before: int) -> int | None:
        """The step after a run, if it is time; looked up only where it may be."""
        if not self._timer.should_trigger_for_step(step_before + self._steps_per_run):
            return None
        step = session.run(self._global_step_tensor)
        return step if self._timer.should_trigger_for_step(step) else None


@export("train.CheckpointSaverListener", "estimator.CheckpointSaverListener")
class CheckpointSaverListener:
    """Something that is called before and after a checkpoint is saved; a subclass overrides what it needs."""

    def begin(self) -> None:
        """Called before the graph is finalized."""

    def before_save(self, session: Any, global_step_value: int) -> None:
        """Called before a checkpoint is saved."""

    def after_save(self, session: Any, global_step_value: int) -> bool | None:
        """Called after a checkpoint was saved; a true result ends the training."""

    def end(self, session: Any, global_step_value: int) -> None:
        """Called at the end of the session."""


@export("train.CheckpointSaverHook", "estimator.CheckpointSaverHook")
class CheckpointSaverHook(_StepHook):
    """Saves a checkpoint at the beginning, every so many steps or seconds, and at the end."""

    def __init__(
        self,
        checkpoint_dir: str,
        save_secs: float | None = None,
        save_steps: int | None = None,
        saver: Any = None,
        checkpoint_basename: str = "model.ckpt",
        scaffold: Any = None,
        listeners: list[CheckpointSaverListener] | None = None,
    ):
        tf.logging.info("Create CheckpointSaverHook.")
        if saver is not None and scaffold is not None:
            raise ValueError("You cannot provide both saver and scaffold.")
        self._saver, self._scaffold = saver, scaffold
        self._checkpoint_dir = checkpoint_dir
        self._save_path = os.path.join(checkpoint_dir, checkpoint_basename)
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)
        self._listeners = listeners or []

    def begin(self) -> None:
        super().begin()
        self._summary_writer = _writer_of(self._checkpoint_dir)
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session: Any, coord: Any) -> None:
        step = session.run(self._global_step_tensor)
        graph = tf.get_default_graph()
        graph_def = graph.as_graph_def(add_shapes=True)
        tf.train.write_graph(graph_def, self._checkpoint_dir, "graph.pbtxt")
        saver = self._get_saver()
        meta = meta_graph.create_meta_graph_def(
            graph_def=graph_def, saver_def=saver.saver_def if saver else None
        )
        self._summary_writer.add_graph(graph)
        self._summary_writer.add_meta_graph(meta)
        self._save(session, step)
        self._timer.update_last_triggered_step(step)

    def before_run(self, run_context: Any) -> SessionRunArgs:
        return SessionRunArgs(self._global_step_tensor)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        step = self._step_if_due(run_context.session, run_values.results)
        if step is not None:
            self._timer.update_last_triggered_step(step)
            if self._save(run_context.session, step):
                run_context.request_stop()

    def end(self, session: Any) -> None:
        last = session.run(self._global_step_tensor)
        if last != self._timer.last_triggered_step():
            self._save(session, last)
        for listener in self._listeners:
            listener.end(session, last)

    def _save(self, session: Any, step: int) -> bool:
        """Saves a checkpoint; whether a listener wants the training to end."""
        tf.logging.info("Saving checkpoints for %d into %s.", step, self._save_path)
        for listener in self._listeners:
            listener.before_save(session, step)
        self._get_saver().save(session, self._save_path, global_step=step)
        self._summary_writer.add_session_log(
            proto.SessionLog(status=proto.SessionLog.CHECKPOINT, checkpoint_path=self._save_path),
            step,
        )
        stop = False
        for listener in self._listeners:
            if listener.after_save(session, step):
                tf.logging.info(
                    "A CheckpointSaverListener requested that training be stopped. listener: %s",
                    listener,
                )
                stop = True
        return stop

    def _get_saver(self) -> Any:
        if self._saver is not None:
            return self._saver
        if self._scaffold is not None:
            return self._scaffold.saver
        savers = tf.get_collection(tf.GraphKeys.SAVERS)
        if len(savers) != 1:
            few = "No items" if not savers else "More than one item"
            raise RuntimeError(
                f"{few} in collection {tf.GraphKeys.SAVERS}. Please add a saver to the collection or provide a saver "
                "or scaffold."
            )
        self._saver = savers[0]
        return self._saver


@export("train.StepCounterHook", "estimator.StepCounterHook")
class StepCounterHook(_StepHook):
    """Logs, and writes as a summary, how many steps a second were taken."""

    def __init__(
        self,
        every_n_steps: int | None = 100,
        every_n_secs: float | None = None,
        output_dir: str | None = None,
        summary_writer: Any = None,
    ):
        if (every_n_steps is None) == (every_n_secs is None):
            raise ValueError("exactly one of every_n_steps and every_n_secs should be provided.")
        self._timer = SecondOrStepTimer(every_steps=every_n_steps, every_secs=every_n_secs)
        self._summary_writer = summary_writer
        self._output_dir = output_dir
        self._last_global_step: int | None = None

    def begin(self) -> None:
        super().begin()
        if self._summary_writer is None and self._output_dir:
            self._summary_writer = _writer_of(self._output_dir)
        self._summary_tag = get_global_step().op.name + "/sec"

    def before_run(self, run_context: Any) -> SessionRunArgs:
        return SessionRunArgs(self._global_step_tensor)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        before = run_values.results
        step = self._step_if_due(run_context.session, before)
        if step is not None:
            seconds, steps = self._timer.update_last_triggered_step(step)
            if seconds is not None and steps is not None:
                self._log_and_record(steps, seconds, step)
        if before == self._last_global_step:
            tf.logging.log_first_n(
                tf.logging.WARN,
                "It seems that global step (tf.train.get_global_step) has not been increased. Current value (could be "
                "stable): %s vs previous value: %s. You could increase the global step by passing "
                "tf.train.get_global_step() to Optimizer.apply_gradients or Optimizer.minimize.",
                5,
                before,
                self._last_global_step,
            )
        self._last_global_step = before

    def _log_and_record(self, elapsed_steps: int, elapsed_time: float, global_step: int) -> None:
        rate = elapsed_steps / elapsed_time
        if self._summary_writer is not None:
            summary = proto.Summary()
            summary.value.add(tag=self._summary_tag, simple_value=rate)
            self._summary_writer.add_summary(summary, global_step)
        tf.logging.info("%s: %g", self._summary_tag, rate)


@export("train.SummarySaverHook", "estimator.SummarySaverHook")
class SummarySaverHook(_StepHook):
    """Writes summaries every so many steps or seconds."""

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: str | None = None,
        summary_writer: Any = None,
        scaffold: Any = None,
        summary_op: Any = None,
    ):
        if (scaffold is None) == (summary_op is None):
            raise ValueError("Exactly one of scaffold or summary_op must be provided.")
        self._summary_op, self._scaffold = summary_op, scaffold
        self._summary_writer, self._output_dir = summary_writer, output_dir
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)

    def begin(self) -> None:
        super().begin()
        if self._summary_writer is None and self._output_dir:
            self._summary_writer = _writer_of(self._output_dir)
        self._next_step: int | None = None

    def before_run(self, run_context: Any) -> SessionRunArgs:
        self._request_summary = self._next_step is None or self._timer.should_trigger_for_step(
            self._next_step
        )
        requests = {"global_step": self._global_step_tensor}
        if self._request_summary and (found := self._summaries()) is not None:
            requests["summary"] = found
        return SessionRunArgs(requests)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        if not self._summary_writer:
            return
        step = run_values.results["global_step"] + 1
        if self._request_summary:
            step = run_context.session.run(self._global_step_tensor)
        if self._next_step is None:
            self._summary_writer.add_session_log(
                proto.SessionLog(status=proto.SessionLog.START), step
            )
        if self._request_summary:
            self._timer.update_last_triggered_step(step)
            for summary in run_values.results.get("summary", ()):
                self._summary_writer.add_summary(summary, step)
        self._next_step = step + 1

    def end(self, session: Any = None) -> None:
        if self._summary_writer:
            self._summary_writer.flush()

    def _summaries(self) -> list[Any] | None:
        found = self._summary_op if self._scaffold is None else self._scaffold.summary_op
        if found is None:
            return None
        return found if isinstance(found, list) else [found]


@export("train.ProfilerHook", "estimator.ProfilerHook")
class ProfilerHook(_StepHook):
    """Traces a step every so many steps or seconds, and writes `timeline-<step>.json` for Chrome's viewer."""

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: str = "",
        show_dataflow: bool = True,
        show_memory: bool = False,
    ):
        self._output_file = os.path.join(output_dir, "timeline-{}.json")
        self._file_writer = _writer_of(output_dir)
        self._show_dataflow, self._show_memory = show_dataflow, show_memory
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)

    def begin(self) -> None:
        super().begin()
        self._next_step: int | None = None

    def before_run(self, run_context: Any) -> SessionRunArgs:
        self._request_summary = self._next_step is not None and self._timer.should_trigger_for_step(
            self._next_step
        )
        options = None
        if self._request_summary:
            options = proto.RunOptions(trace_level=proto.RunOptions.FULL_TRACE)
        return SessionRunArgs({"global_step": self._global_step_tensor}, options=options)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        before = run_values.results["global_step"]
        if self._next_step is None:
            self._timer.update_last_triggered_step(before)
        step = before + 1
        if self._request_summary:
            step = run_context.session.run(self._global_step_tensor)
            self._timer.update_last_triggered_step(step)
            self._save(step, self._output_file.format(step), run_values.run_metadata.step_stats)
            self._file_writer.add_run_metadata(run_values.run_metadata, f"step_{step}")
        self._next_step = step + 1

    def _save(self, step: int, save_path: str, step_stats: Any) -> None:
        tf.logging.info("Saving timeline for %d into '%s'.", step, save_path)
        trace = Timeline(step_stats)
        with tf.gfile.Open(save_path, "w") as f:
            f.write(
                trace.generate_chrome_trace_format(
                    show_dataflow=self._show_dataflow, show_memory=self._show_memory
                )
            )
