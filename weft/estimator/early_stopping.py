"""Hooks that end training when evaluations say so: `tf.estimator.experimental.stop_if_no_decrease_hook`, ..."""

from __future__ import annotations

import collections
import os
from collections.abc import Callable
from typing import Any

import weft as tf
from weft.estimator.estimator import Estimator
from weft.framework.export import export
from weft.train.session_run_hook import SessionRunArgs, SessionRunHook


@export("estimator.experimental.make_early_stopping_hook")
def make_early_stopping_hook(
    estimator: Estimator,
    should_stop_fn: Callable[[], bool],
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """A hook that ends training, on all workers, when the chief's function says so."""
    if not isinstance(estimator, Estimator):
        raise TypeError(
            f"`estimator` must have type `tf.estimator.Estimator`. Got: {type(estimator)}"
        )
    if run_every_secs is not None and run_every_steps is not None:
        raise ValueError("Only one of `run_every_secs` and `run_every_steps` must be set.")
    if estimator.config.is_chief:
        return _StopOnPredicateHook(should_stop_fn, run_every_secs, run_every_steps)
    return _CheckForStoppingHook()


@export("estimator.experimental.stop_if_higher_hook")
def stop_if_higher_hook(
    estimator: Estimator,
    metric_name: str,
    threshold: float,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """A hook that ends training when a metric is higher than a threshold."""
    results = _Results(estimator, metric_name, eval_dir, min_steps)
    return make_early_stopping_hook(
        estimator, lambda: results.any_above(threshold, 1), run_every_secs, run_every_steps
    )


@export("estimator.experimental.stop_if_lower_hook")
def stop_if_lower_hook(
    estimator: Estimator,
    metric_name: str,
    threshold: float,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """A hook that ends training when a metric is lower than a threshold."""
    results = _Results(estimator, metric_name, eval_dir, min_steps)
    return make_early_stopping_hook(
        estimator, lambda: results.any_above(threshold, -1), run_every_secs, run_every_steps
    )


@export("estimator.experimental.stop_if_no_increase_hook")
def stop_if_no_increase_hook(
    estimator: Estimator,
    metric_name: str,
    max_steps_without_increase: int,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """A hook that ends training when a metric has not become higher for so many steps."""
    results, most = (
        _Results(estimator, metric_name, eval_dir, min_steps),
        max_steps_without_increase,
    )
    return make_early_stopping_hook(
        estimator, lambda: results.is_at_rest(most, 1), run_every_secs, run_every_steps
    )


@export("estimator.experimental.stop_if_no_decrease_hook")
def stop_if_no_decrease_hook(
    estimator: Estimator,
    metric_name: str,
    max_steps_without_decrease: int,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """A hook that ends training when a metric has not become lower for so many steps."""
    results, most = (
        _Results(estimator, metric_name, eval_dir, min_steps),
        max_steps_without_decrease,
    )
    return make_early_stopping_hook(
        estimator, lambda: results.is_at_rest(most, -1), run_every_secs, run_every_steps
    )


def read_eval_metrics(eval_dir: str) -> dict[int, dict[str, float]]:
    """The metrics in the event files of a folder, by step in order."""
    metrics: dict[int, dict[str, float]] = collections.defaultdict(dict)
    if tf.gfile.Exists(eval_dir):
        for path in tf.gfile.Glob(os.path.join(eval_dir, "events.out.tfevents.*")):
            for event in tf.train.summary_iterator(path):
                for value in event.summary.value:
                    if value.HasField("simple_value"):
                        metrics[event.step][value.tag] = value.simple_value
    return dict(sorted(metrics.items()))


class _Results:
    """The course of a metric; `sign` is 1 where higher and -1 where lower is meant."""

    def __init__(
        self, estimator: Estimator, metric_name: str, eval_dir: str | None, min_steps: int
    ):
        self._folder = estimator.eval_dir() if eval_dir is None else eval_dir
        self._name, self._min_steps = metric_name, min_steps

    def _course(self, sign: int) -> list[tuple[int, float]]:
        metrics = read_eval_metrics(self._folder)
        return [(s, sign * m[self._name]) for s, m in metrics.items() if s >= self._min_steps]

    def any_above(self, threshold: float, sign: int) -> bool:
        """Whether the metric was beyond the threshold."""
        for step, value in self._course(sign):
            if value > sign * threshold:
                tf.logging.info(
                    'At step %s, metric "%s" has value %s, beyond the threshold (%s) for early stopping.',
                    step,
                    self._name,
                    sign * value,
                    threshold,
                )
                return True
        return False

    def is_at_rest(self, most_steps: int, sign: int) -> bool:
        """Whether the metric was for so many steps not better than before."""
        best, best_step = -float("inf"), None
        for step, value in self._course(sign):
            if best_step is None or value > best:
                best, best_step = value, step
            if step - best_step >= most_steps:
                tf.logging.info(
                    'Metric "%s" is not better than %s steps ago: at least the %s steps for early stopping.',
                    self._name,
                    step - best_step,
                    most_steps,
                )
                return True
        return False


def _stop_variable() -> Any:
    """The variable by which the chief tells the workers."""
    with tf.variable_scope("signal_early_stopping", reuse=tf.AUTO_REUSE):
        return tf.get_variable(
            "STOP",
            shape=[],
            dtype=tf.bool,
            initializer=tf.constant_initializer(False),
            collections=[tf.GraphKeys.GLOBAL_VARIABLES],
            trainable=False,
        )


class _StopOnPredicateHook(SessionRunHook):
    """Asks a function every so often whether to stop, and tells the others."""

    def __init__(
        self,
        should_stop_fn: Callable[[], bool],
        run_every_secs: float | None = 60,
        run_every_steps: int | None = None,
    ):
        if not callable(should_stop_fn):
            raise TypeError("`should_stop_fn` must be callable.")
        self._should_stop_fn = should_stop_fn
        self._timer = tf.train.SecondOrStepTimer(
            every_secs=run_every_secs, every_steps=run_every_steps
        )
        self._step: Any = None
        self._stop_op: Any = None

    def begin(self) -> None:
        self._step = tf.train.get_global_step()
        self._stop_op = tf.assign(_stop_variable(), True)

    def before_run(self, run_context: Any) -> Any:
        return SessionRunArgs(self._step)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        step = run_values.results
        if not self._timer.should_trigger_for_step(step):
            return
        self._timer.update_last_triggered_step(step)
        if self._should_stop_fn():
            tf.logging.info("Requesting early stopping at global step %d", step)
            run_context.session.run(self._stop_op)
            run_context.request_stop()


class _CheckForStoppingHook(SessionRunHook):
    """Stops when the chief has said so."""

    def __init__(self) -> None:
        self._stop: Any = None

    def begin(self) -> None:
        self._stop = _stop_variable()

    def before_run(self, run_context: Any) -> Any:
        return SessionRunArgs(self._stop)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        if run_values.results:
            tf.logging.info("Early stopping requested, suspending run.")
            run_context.request_stop()
