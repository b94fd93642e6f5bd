"""Hooks of `tf.estimator.experimental`: evaluations within a training, and a stop where the chief has stopped."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import weft as tf
from weft.estimator.checks import checked_hooks, step_of_latest_checkpoint
from weft.estimator.estimator import Estimator, Evaluation
from weft.framework.export import export
from weft.train.scaffold import Scaffold
from weft.train.session_run_hook import SessionRunArgs, SessionRunHook
from weft.train.steps import global_step_read


@export("estimator.experimental.InMemoryEvaluatorHook")
class InMemoryEvaluatorHook(SessionRunHook):
    """Evaluates a model while it is trained, every so many steps, with the values that its variables have then.

    The evaluation has its own graph, which is built once; no checkpoint is needed.
    """

    def __init__(
        self,
        estimator: Estimator,
        input_fn: Callable,
        steps: int | None = None,
        hooks: Any = None,
        name: str | None = None,
        every_n_iter: int = 100,
    ):
        if every_n_iter is None or every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        if estimator.config.num_ps_replicas > 0 or estimator.config.num_worker_replicas > 1:
            raise ValueError("InMemoryEvaluator supports only single machine (aka Local) setting.")
        self._estimator, self._input_fn = estimator, input_fn
        self._folder = estimator.eval_dir(name)
        self._hooks = checked_hooks(hooks)
        self._hooks.extend(estimator._convert_eval_steps_to_hooks(steps))
        self._timer = tf.train.SecondOrStepTimer(every_steps=every_n_iter)
        self._iterations = 0
        self._graph: Any = None
        self._built: Any = None
        self._variables: dict[str, Any] = {}  # those of training that the evaluation has too
        self._placeholders: dict[str, Any] = {}
        self._set_variables: Any = None

    def begin(self) -> None:
        self._timer.reset()
        self._iterations = 0
        self._graph = tf.Graph()
        with self._graph.as_default():
            self._built = self._estimator._evaluate_build_graph(
                self._input_fn, self._hooks, checkpoint_path=None
            )
            if self._built.scaffold.saver is not None:
                raise ValueError("InMemoryEvaluator does not support custom saver")
            if self._built.scaffold.init_fn is not None:
                raise ValueError("InMemoryEvaluator does not support custom init_fn")

    def after_create_session(self, session: Any, coord: Any) -> None:
        if tf.get_collection(tf.GraphKeys.SAVEABLE_OBJECTS):
            raise ValueError(
                "InMemoryEvaluator does not support saveables other than global variables."
            )
        trained = {v.name: v for v in tf.global_variables()}
        with self._graph.as_default():
            evaluated = {v.name: v for v in tf.global_variables() if v.name in trained}
            if self._set_variables is None:
                self._placeholders = {
                    name: tf.placeholder(v.dtype.base_dtype, v.get_shape())
                    for name, v in evaluated.items()
                }
                self._set_variables = tf.group(
                    *(tf.assign(v, self._placeholders[name]) for name, v in evaluated.items())
                )
        self._variables = {name: trained[name] for name in evaluated}
        self._evaluate(session)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self._iterations += 1
        if self._timer.should_trigger_for_step(self._iterations):
            self._evaluate(run_context.session)

    def end(self, session: Any) -> None:
        self._evaluate(session)

    def _evaluate(self, session: Any) -> None:
        values = session.run(self._variables)
        feeds = {self._placeholders[name]: value for name, value in values.items()}

        def take_over(scaffold: Any, evaluating: Any) -> None:
            evaluating.run(self._set_variables, feed_dict=feeds)

        scaffold = Scaffold(init_fn=take_over, copy_from_scaffold=self._built.scaffold)
        with self._graph.as_default():
            built: Evaluation = self._built._replace(scaffold=scaffold)
            self._estimator._evaluate_run(None, built, self._folder)
        self._timer.update_last_triggered_step(self._iterations)


class _StopAtCheckpointStepHook(SessionRunHook):
    """Ends the training of a worker once the chief's last checkpoint is there, which it waits for."""

    def __init__(self, model_dir: str, last_step: int, wait_after_file_check_secs: float = 30):
        if last_step is None:
            raise ValueError("last_step must be specified.")
        if model_dir is None:
            raise ValueError("model_dir must be specified.")
        self._model_dir, self._last_step = model_dir, last_step
        self._wait_secs = wait_after_file_check_secs
        self._step: Any = None

    def begin(self) -> None:
        self._step = global_step_read()
        if self._step is None:
            raise RuntimeError("Global step should be created to use StopAtCheckpointStepHook.")

    def before_run(self, run_context: Any) -> Any:
        return SessionRunArgs(self._step)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        if run_values.results + 1 < self._last_step:
            return
        if step_of_latest_checkpoint(self._model_dir) >= self._last_step:
            run_context.request_stop()
        else:
            time.sleep(self._wait_secs)


@export("estimator.experimental.make_stop_at_checkpoint_step_hook")
def make_stop_at_checkpoint_step_hook(
    estimator: Estimator, last_step: int, wait_after_file_check_secs: float = 30
) -> SessionRunHook:
    """A hook that ends training at a step; other workers than the chief when that step is saved."""
    if estimator.config.is_chief:
        return tf.train.StopAtStepHook(last_step=last_step)
    return _StopAtCheckpointStepHook(estimator.model_dir, last_step, wait_after_file_check_secs)
