"""`tf.estimator.train_and_evaluate`: training with evaluations in between, alone or as a task of a cluster."""

from __future__ import annotations

import collections
import os
import time
from collections.abc import Callable
from typing import Any

import weft as tf
from weft.estimator.cluster_role import TaskType, tf_config
from weft.estimator.estimator import Estimator
from weft.estimator.exporters import Exporter
from weft.estimator.spec import checked_hooks
from weft.framework.export import export
from weft.framework.graph_keys import GraphKeys
from weft.train.saving_hooks import CheckpointSaverListener

# Workers begin one after the other, so that the chief has made the variables before them.
_MAX_DELAY_SECS, _DELAY_SECS_PER_WORKER = 60, 5
_SECS_BETWEEN_WARNINGS = 600


def _check_callable(input_fn: Any) -> None:
    if not callable(input_fn):
        raise TypeError(f"`input_fn` must be callable, given: {input_fn}")


@export("estimator.TrainSpec")
class TrainSpec(collections.namedtuple("_TrainSpec", ["input_fn", "max_steps", "hooks"])):
    """The input of a training, how far it goes, and its hooks."""

    __slots__ = ()

    def __new__(
        cls, input_fn: Callable, max_steps: int | None = None, hooks: Any = None
    ) -> TrainSpec:
        _check_callable(input_fn)
        if max_steps is not None and max_steps <= 0:
            raise ValueError(f"Must specify max_steps > 0, given: {max_steps}")
        return super().__new__(cls, input_fn, max_steps, checked_hooks(hooks, "`SessionRunHook`"))


@export("estimator.EvalSpec")
class EvalSpec(
    collections.namedtuple(
        "_EvalSpec",
        [
            "input_fn",
            "steps",
            "name",
            "hooks",
            "exporters",
            "start_delay_secs",
            "throttle_secs",
        ],
    )
):
    """The input of an evaluation, how long and how often it is done, its hooks, and what is exported after it."""

    __slots__ = ()

    def __new__(
        cls,
        input_fn: Callable,
        steps: int | None = 100,
        name: str | None = None,
        hooks: Any = None,
        exporters: Any = None,
        start_delay_secs: float = 120,
        throttle_secs: float = 600,
    ) -> EvalSpec:
        _check_callable(input_fn)
        if steps is not None and steps <= 0:
            raise ValueError(f"Must specify steps > 0, given: {steps}")
        if name is not None and not isinstance(name, str):
            raise TypeError(f"`name` must be string, given: {name}")
        for what, secs in (
            ("start_delay_secs", start_delay_secs),
            ("throttle_secs", throttle_secs),
        ):
            if secs < 0:
                raise ValueError(f"Must specify {what} >= 0, given: {secs}")
        return super().__new__(
            cls,
            input_fn,
            steps,
            name,
            checked_hooks(hooks, "`SessionRunHook`"),
            _checked_exporters(exporters),
            start_delay_secs,
            throttle_secs,
        )


def _checked_exporters(exporters: Any) -> tuple[Exporter, ...]:
    """Exporters, one or several, whose names differ."""
    wrong = TypeError(
        f"`exporters` must be an Exporter, an iterable of Exporter, or `None`, found {exporters}."
    )
    if isinstance(exporters, Exporter):
        exporters = [exporters]
    try:
        exporters = tuple(exporters or ())
    except TypeError:
        raise wrong from None
    if not all(isinstance(e, Exporter) for e in exporters):
        raise wrong
    names = [e.name for e in exporters]
    for name in names:
        if not name:
            raise ValueError(
                f"An Exporter cannot have a name that is `None` or empty. All exporter names: {names}"
            )
        if not isinstance(name, str):
            raise ValueError(f"An Exporter must have a string name. Given: {type(name)}")
        if names.count(name) > 1:
            raise ValueError(
                "`exporters` must have unique names. Such a name cannot be `None`. All exporter names: "
                f"{names}"
            )
    return exporters


@export("estimator.train_and_evaluate")
def train_and_evaluate(estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec) -> Any:
    """Trains a model, and evaluates and exports its checkpoints as they come.

    Alone it gives the metrics of the last evaluation and the results of its exporters. In a cluster that TF_CONFIG
    describes each task does its part: the chief (or master) and the workers train, parameter servers serve, the
    evaluator evaluates.
    """
    for what, given, kind in (
        ("eval_spec", eval_spec, EvalSpec),
        ("estimator", estimator, Estimator),
        ("train_spec", train_spec, TrainSpec),
    ):
        if not isinstance(given, kind):
            raise TypeError(
                f"`{what}` must have type `tf.estimator.{kind.__name__}`. Got: {type(given)}"
            )
    config = estimator.config
    if config.task_type == TaskType.EVALUATOR:
        if config.task_id > 0:
            raise ValueError(
                "For distributed training, there can only be one `evaluator` task (with task id 0).  Given task id "
                f"{config.task_id}"
            )
        return _evaluate_continuously(estimator, train_spec, eval_spec)
    if not config.cluster_spec:
        return _train_here(estimator, train_spec, eval_spec)
    roles = (TaskType.CHIEF, TaskType.MASTER, TaskType.PS, TaskType.WORKER)
    if config.task_type not in roles:
        raise ValueError(
            f"Task type {config.task_type} is not supported. Supported task types are "
            f"{[*roles, TaskType.EVALUATOR]}"
        )
    if config.task_type == TaskType.PS:
        _server(config).join()
        return None
    if config.master and tf_config().get("environment") != "google":
        _server(config)
    if config.task_type == TaskType.MASTER:
        _train_here(estimator, train_spec, eval_spec)
        return None
    if config.task_type == TaskType.WORKER and config.train_distribute is None:
        _wait_for_turn(config)
    _train(estimator, train_spec)
    return None


def _train(estimator: Estimator, spec: TrainSpec, listeners: Any = None) -> None:
    estimator.train(
        input_fn=spec.input_fn,
        max_steps=spec.max_steps,
        hooks=list(spec.hooks),
        saving_listeners=listeners,
    )


def _train_here(estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec) -> Any:
    """Trains, and evaluates after checkpoints in the same process."""
    config = estimator.config
    tf.logging.info(
        "Start train and evaluate loop. The evaluate will happen after every checkpoint. Checkpoint frequency is "
        "determined based on RunConfig arguments: save_checkpoints_steps %s or save_checkpoints_secs %s.",
        config.save_checkpoints_steps,
        config.save_checkpoints_secs,
    )
    evaluator = _Evaluator(estimator, eval_spec, train_spec.max_steps)
    listener = _EvaluateCheckpoints(evaluator, eval_spec.throttle_secs)
    _train(estimator, train_spec, [listener])
    return listener.metrics, listener.exports


class _Evaluator:
    """Evaluates and exports the latest checkpoint, each once."""

    def __init__(self, estimator: Estimator, spec: EvalSpec, max_training_steps: int | None):
        self._estimator, self._spec = estimator, spec
        self._max_training_steps = max_training_steps
        self._previous: str | None = None
        self._last_warning = -float("inf")

    def evaluate_and_export(self) -> tuple[dict[str, Any] | None, list[Any]]:
        """The metrics and the results of the exporters; None if there is no new checkpoint."""
        path = self._estimator.latest_checkpoint()
        if not path:
            self._warn(
                "Estimator is not trained yet. Will start an evaluation when a checkpoint is ready."
            )
            return None, []
        if path == self._previous:
            self._warn("No new checkpoint ready for evaluation: its results would be the same.")
            return None, []
        metrics = self._estimator.evaluate(
            input_fn=self._spec.input_fn,
            steps=self._spec.steps,
            name=self._spec.name,
            checkpoint_path=path,
            hooks=self._spec.hooks,
        )
        exports = [
            exporter.export(
                estimator=self._estimator,
                export_path=os.path.join(self._estimator.model_dir, "export", exporter.name),
                checkpoint_path=path,
                eval_result=metrics,
                is_the_final_export=self.is_final(metrics),
            )
            for exporter in self._spec.exporters
        ]
        self._previous, self._last_warning = path, -float("inf")
        return metrics, exports

    def is_final(self, metrics: dict[str, Any] | None) -> bool:
        """Whether these are the metrics of the last step of the training."""
        most = self._max_training_steps
        return bool(metrics and most and metrics[GraphKeys.GLOBAL_STEP] >= most)

    def _warn(self, text: str) -> None:
        now = time.monotonic()
        if now - self._last_warning > _SECS_BETWEEN_WARNINGS:
            tf.logging.warning(text)
            self._last_warning = now


class _EvaluateCheckpoints(CheckpointSaverListener):
    """Evaluates checkpoints as they are saved, though not more often than every so many seconds; the last always."""

    def __init__(self, evaluator: _Evaluator, throttle_secs: float):
        self._evaluator, self._throttle_secs = evaluator, throttle_secs
        self.metrics: dict[str, Any] | None = None
        self.exports: list[Any] | None = None
        self._timer: Any = None
        self._is_first = True

    def begin(self) -> None:
        self._timer = tf.train.SecondOrStepTimer(every_secs=self._throttle_secs)
        self._is_first = True

    def after_save(self, session: Any, global_step_value: int) -> None:
        if self._is_first:  # of the model as training finds it
            self._is_first = False
        elif self._timer.should_trigger_for_step(global_step_value):
            self._evaluate(global_step_value)
        else:
            tf.logging.info(
                "Skip the current checkpoint eval due to throttle secs (%s secs).",
                self._throttle_secs,
            )

    def end(self, session: Any, global_step_value: int) -> None:
        if global_step_value != self._timer.last_triggered_step():
            self._evaluate(global_step_value)

    def _evaluate(self, step: int) -> None:
        self._timer.update_last_triggered_step(step)
        metrics, exports = self._evaluator.evaluate_and_export()
        if metrics is None:
            raise RuntimeError(
                f"There was no new checkpoint after the training (step {step}) to evaluate."
            )
        self.metrics, self.exports = metrics, exports


def _evaluate_continuously(estimator: Estimator, train_spec: TrainSpec, spec: EvalSpec) -> None:
    """What an evaluator does: it evaluates new checkpoints till the last of the training."""
    if spec.start_delay_secs:
        tf.logging.info("Waiting %f secs before starting eval.", spec.start_delay_secs)
        time.sleep(spec.start_delay_secs)
    evaluator = _Evaluator(estimator, spec, train_spec.max_steps)
    while True:
        began = time.monotonic()
        metrics, _ = evaluator.evaluate_and_export()
        rest = spec.throttle_secs - (time.monotonic() - began)
        if rest > 0:
            tf.logging.info("Waiting %f secs before starting next eval run.", rest)
            time.sleep(rest)
        if evaluator.is_final(metrics):
            tf.logging.info("Exiting evaluation: the training has come to its end.")
            return


def _wait_for_turn(config: Any) -> None:
    longest = config.experimental_max_worker_delay_secs
    longest = _MAX_DELAY_SECS if longest is None else int(longest)
    delay = min(longest, (config.task_id + 1) * _DELAY_SECS_PER_WORKER)
    if delay > 0:
        tf.logging.info("Waiting %d secs before starting training.", delay)
        time.sleep(delay)


def _server(config: Any) -> Any:
    """The server of a task of a cluster."""
    tf.logging.info("Start Tensorflow server.")
    given = config.session_config
    server_config = tf.ConfigProto(gpu_options=given.gpu_options if given else None)
    if config.train_distribute is not None:
        if given is not None:
            server_config.device_count.update(given.device_count)
        server_config = config.train_distribute.update_config_proto(server_config)
    return tf.train.Server(
        config.cluster_spec,
        job_name=config.task_type,
        task_index=config.task_id,
        config=server_config,
        protocol=config.protocol,
    )
