"""`tf.contrib.learn.Experiment`: an estimator with what it is trained and evaluated on."""

from __future__ import annotations

import inspect
import math
import os
import time
from collections.abc import Callable
from typing import Any

import weft as tf
from weft.contrib.learn.export_strategy import ExportStrategy
from weft.estimator.estimator import Estimator
from weft.framework.export import export
from weft.framework.graph_keys import GraphKeys
from weft.train.saving_hooks import CheckpointSaverListener


@export("contrib.learn.Experiment")
class Experiment:
    """Trains, evaluates and exports a `tf.estimator.Estimator`, as its schedule says.

    Estimators of `tf.contrib.learn` itself, which came before those, are not there.
    """

    def __init__(
        self,
        estimator: Estimator,
        train_input_fn: Callable,
        eval_input_fn: Callable,
        eval_metrics: Any = None,
        train_steps: int | None = None,
        eval_steps: int | None = 100,
        train_monitors: Any = None,
        eval_hooks: Any = None,
        local_eval_frequency: int | None = None,
        eval_delay_secs: float = 120,
        continuous_eval_throttle_secs: float = 60,
        min_eval_frequency: int | None = None,
        delay_workers_by_global_step: bool = False,
        export_strategies: Any = None,
        train_steps_per_iteration: int | None = None,
        checkpoint_and_export: bool = False,
        saving_listeners: Any = None,
        check_interval_secs: float = 5,
    ):
        if not isinstance(estimator, Estimator):
            raise ValueError("`estimator` must implement `tf.estimator.Estimator`.")
        if eval_metrics is not None:
            raise ValueError(
                "`eval_metrics` must be `None` with `tf.estimator.Estimator`. Use `eval_metric_ops` in "
                "`tf.estimator.EstimatorSpec` instead."
            )
        if not isinstance(train_steps_per_iteration, int | None):
            raise ValueError("`train_steps_per_iteration` must be an integer.")
        self._estimator = estimator
        self._train_input_fn, self._eval_input_fn = train_input_fn, eval_input_fn
        self._train_steps, self._eval_steps = train_steps, eval_steps
        self._train_hooks, self._eval_hooks = list(train_monitors or ()), list(eval_hooks or ())
        self._local_eval_frequency = local_eval_frequency
        self._min_eval_frequency = 1 if min_eval_frequency is None else min_eval_frequency
        self._eval_delay_secs = eval_delay_secs
        self._throttle_secs = continuous_eval_throttle_secs
        self._delay_by_step = delay_workers_by_global_step
        self._steps_per_iteration = train_steps_per_iteration
        self._checkpoint_and_export = checkpoint_and_export
        self._saving_listeners = saving_listeners
        self._check_interval_secs = check_interval_secs
        self._strategies = _checked_strategies(export_strategies)

    @property
    def estimator(self) -> Estimator:
        """The estimator."""
        return self._estimator

    @property
    def eval_metrics(self) -> None:
        """None: the metrics are those of the model."""
        return None

    @property
    def train_steps(self) -> int | None:
        """How far it is trained."""
        return self._train_steps

    @property
    def eval_steps(self) -> int | None:
        """How many steps an evaluation has."""
        return self._eval_steps

    def extend_train_hooks(self, additional_hooks: Any) -> None:
        """Adds hooks of the training."""
        self._train_hooks.extend(additional_hooks)

    def reset_export_strategies(self, new_export_strategies: Any = None) -> Any:
        """Replaces how the model is exported; how it was before."""
        old, self._strategies = self._strategies, _checked_strategies(new_export_strategies)
        return old

    def train(self, delay_secs: float | None = None) -> Estimator:
        """Trains; workers begin one after the other."""
        config = self._estimator.config
        environment = getattr(config, "environment", "local")
        if config.cluster_spec and config.master and environment not in ("local", "google"):
            self._server()
        hooks = list(self._train_hooks)
        if delay_secs is None:
            delay_secs = min(60, config.task_id * 5)
            if self._delay_by_step:
                wait = int(8000.0 * math.log(config.task_id + 1))
                hooks.append(tf.train.GlobalStepWaiterHook(wait))
                delay_secs = 0
        _wait(delay_secs, "training")
        return self._train(self._saving_listeners, hooks)

    def evaluate(self, delay_secs: float | None = None, name: str | None = None) -> dict[str, Any]:
        """Evaluates the latest checkpoint."""
        _wait(self._eval_delay_secs if delay_secs is None else delay_secs, "eval")
        return self._evaluate(name or "one_pass")

    def continuous_eval(
        self,
        delay_secs: float | None = None,
        throttle_delay_secs: float | None = None,
        evaluate_checkpoint_only_once: bool = True,
        continuous_eval_predicate_fn: Callable | None = None,
        name: str = "continuous",
    ) -> None:
        """Evaluates and exports new checkpoints till the training is at its end."""
        self._evaluate_on(
            self._eval_input_fn,
            name,
            delay_secs,
            throttle_delay_secs,
            evaluate_checkpoint_only_once,
            continuous_eval_predicate_fn,
            exports=True,
        )

    def continuous_eval_on_train_data(
        self,
        delay_secs: float | None = None,
        throttle_delay_secs: float | None = None,
        continuous_eval_predicate_fn: Callable | None = None,
        name: str = "continuous_on_train_data",
    ) -> None:
        """The same on the data of training, without exports."""
        self._evaluate_on(
            self._train_input_fn,
            name,
            delay_secs,
            throttle_delay_secs,
            True,
            continuous_eval_predicate_fn,
            exports=False,
        )

    def train_and_evaluate(self) -> tuple[Any, list[Any]]:
        """Trains, evaluates in between and at the end, and exports; the last metrics, and what was exported."""
        listener = _EvaluateCheckpoints(self)
        listeners = list(self._saving_listeners or ())
        if self._checkpoint_and_export or self._min_eval_frequency:
            listeners.append(listener)
        self._train(listeners, self._train_hooks)
        if self._checkpoint_and_export and listener.metrics is not None:
            return listener.metrics, listener.exports
        metrics = self._evaluate(None)
        return metrics, self._export(metrics)

    def local_run(self) -> tuple[Any, list[Any]]:
        """The older name of `train_and_evaluate`."""
        saved, self._min_eval_frequency = self._min_eval_frequency, self._local_eval_frequency or 0
        try:
            return self.train_and_evaluate()
        finally:
            self._min_eval_frequency = saved

    def continuous_train_and_eval(
        self, continuous_eval_predicate_fn: Callable | None = None
    ) -> tuple[Any, Any]:
        """Trains and evaluates by turns."""
        steps = self._steps_per_iteration or (
            1000 if self._train_steps is None else max(1, self._train_steps // 10)
        )
        metrics, exports, path = None, None, None
        while _goes_on(continuous_eval_predicate_fn, metrics, path):
            if self._is_trained(metrics):
                break
            self._estimator.train(
                self._train_input_fn,
                steps=steps,
                hooks=self._train_hooks,
                saving_listeners=self._saving_listeners,
            )
            path = self._estimator.latest_checkpoint()
            metrics = self._evaluate("one_pass", path)
            exports = self._export(metrics)
        return metrics, exports

    def run_std_server(self) -> None:
        """Serves, for ever."""
        self._server().join()

    def test(self) -> dict[str, Any]:
        """One step of training and of evaluation, and the exports."""
        self._estimator.train(self._train_input_fn, steps=1, hooks=self._train_hooks)
        metrics = self._estimator.evaluate(self._eval_input_fn, steps=1, name="one_pass")
        self._export(metrics)
        return metrics

    # -- what these are made of ---------------------------------------------------------------------------------

    def _train(self, listeners: Any, hooks: list[Any]) -> Estimator:
        return self._estimator.train(
            self._train_input_fn,
            max_steps=self._train_steps,
            hooks=hooks,
            saving_listeners=listeners,
        )

    def _evaluate(self, name: str | None, path: str | None = None, input_fn: Any = None) -> Any:
        return self._estimator.evaluate(
            input_fn or self._eval_input_fn,
            steps=self._eval_steps,
            name=name,
            checkpoint_path=path,
            hooks=self._eval_hooks,
        )

    def _export(self, metrics: Any, path: str | None = None) -> list[Any]:
        base = os.path.join(self._estimator.model_dir, "export")
        path = path or self._estimator.latest_checkpoint()
        return [
            s.export(self._estimator, os.path.join(base, s.name), path, metrics)
            for s in self._strategies
        ]

    def _is_trained(self, metrics: Any) -> bool:
        most = self._train_steps
        return bool(metrics and most and metrics[GraphKeys.GLOBAL_STEP] >= most)

    def _evaluate_on(
        self,
        input_fn: Callable,
        name: str,
        delay_secs: float | None,
        throttle_secs: float | None,
        once: bool,
        predicate: Callable | None,
        exports: bool,
    ) -> None:
        _wait(self._eval_delay_secs if delay_secs is None else delay_secs, "eval")
        throttle = self._throttle_secs if throttle_secs is None else throttle_secs
        done: str | None = None
        metrics: Any = None
        while _goes_on(predicate, metrics, done):
            if self._is_trained(metrics):
                return
            began = time.monotonic()
            path = self._estimator.latest_checkpoint()
            if path and not (once and path == done):
                metrics = self._evaluate(name, path, input_fn)
                if exports:
                    self._export(metrics, path)
                done = path
            rest = throttle - (time.monotonic() - began)
            if rest > 0 and not self._is_trained(metrics):
                time.sleep(rest)

    def _server(self) -> Any:
        config = self._estimator.config
        if not config.cluster_spec or not config.task_type or not config.master:
            raise ValueError(
                "Could not start server; be sure to specify cluster_spec, task_type, master, and task in RunConfig or "
                "set the TF_CONFIG environment variable."
            )
        return tf.train.Server(
            config.cluster_spec,
            job_name=config.task_type,
            task_index=config.task_id,
            config=getattr(config, "tf_config", None),
        )


class _EvaluateCheckpoints(CheckpointSaverListener):
    """Evaluates new checkpoints while training goes on, though not more often than every so many seconds."""

    def __init__(self, experiment: Experiment):
        self._experiment = experiment
        self._last = -float("inf")
        self.metrics: Any = None
        self.exports: list[Any] = []

    def after_save(self, session: Any, global_step_value: int) -> None:
        experiment, now = self._experiment, time.monotonic()
        path = experiment.estimator.latest_checkpoint()
        if experiment._checkpoint_and_export:
            self.metrics = experiment._evaluate("intermediate_export", path)
            self.exports = experiment._export(self.metrics, path)
        elif now - self._last >= experiment._check_interval_secs:
            self._last = now
            self.metrics = experiment._evaluate(None, path)


def _wait(secs: float, what: str) -> None:
    if secs > 0:
        tf.logging.info("Waiting %d secs before starting %s.", secs, what)
        time.sleep(secs)


def _goes_on(predicate: Callable | None, metrics: Any, path: str | None) -> bool:
    if predicate is None:
        return True
    if not callable(predicate):
        raise ValueError("`continuous_eval_predicate_fn` must be a callable, or None.")
    if "checkpoint_path" in inspect.signature(predicate).parameters:
        return predicate(metrics, checkpoint_path=path)
    return predicate(metrics)


def _checked_strategies(strategies: Any) -> tuple[ExportStrategy, ...]:
    if isinstance(strategies, ExportStrategy):
        return (strategies,)
    strategies = tuple(strategies or ())
    for strategy in strategies:
        if not isinstance(strategy, ExportStrategy):
            raise ValueError(
                "`export_strategies` must be an ExportStrategy, an iterable of ExportStrategy, or `None`, found "
                f"{strategy}."
            )
    return strategies
