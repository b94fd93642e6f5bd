"""`tf.contrib.tpu.TPUEstimatorSpec`: a model whose metrics and summaries are functions, called apart from it."""

from __future__ import annotations

import collections
import inspect
from typing import Any

import weft as tf
from weft.estimator.arguments import arguments_of
from weft.estimator.spec import (
    EstimatorSpec,
    checked_hooks,
    checked_loss,
    checked_predictions,
    checked_train_op,
)
from weft.framework.export import export
from weft.train.session_run_hook import SessionRunArgs, SessionRunHook


@export("estimator.tpu.TPUEstimatorSpec", "contrib.tpu.TPUEstimatorSpec")
class TPUEstimatorSpec(
    collections.namedtuple(
        "_TPUEstimatorSpec",
        [
            "mode",
            "predictions",
            "loss",
            "train_op",
            "eval_metrics",
            "export_outputs",
            "scaffold_fn",
            "host_call",
            "training_hooks",
            "evaluation_hooks",
            "prediction_hooks",
        ],
    )
):
    """What a model does in a mode; `eval_metrics` and `host_call` are pairs of a function and its tensors."""

    __slots__ = ()

    def __new__(
        cls,
        mode: Any,
        predictions: Any = None,
        loss: Any = None,
        train_op: Any = None,
        eval_metrics: Any = None,
        export_outputs: Any = None,
        scaffold_fn: Any = None,
        host_call: Any = None,
        training_hooks: Any = None,
        evaluation_hooks: Any = None,
        prediction_hooks: Any = None,
    ) -> TPUEstimatorSpec:
        for name, call in (("eval_metrics", eval_metrics), ("host_call", host_call)):
            if call is not None:
                _check_call(name, call)
        return super().__new__(
            cls,
            mode,
            checked_predictions(predictions, mode),
            checked_loss(loss, mode),
            checked_train_op(train_op, mode),
            eval_metrics,
            export_outputs,
            scaffold_fn,
            host_call,
            checked_hooks(training_hooks),
            checked_hooks(evaluation_hooks),
            checked_hooks(prediction_hooks),
        )

    def as_estimator_spec(self) -> EstimatorSpec:
        """The same model without a TPU: the functions are called here."""
        metrics = None if self.eval_metrics is None else _called(self.eval_metrics)
        hooks: tuple[SessionRunHook, ...] = ()
        if self.host_call is not None:
            hooks = (_HostCallHook(_called(self.host_call)),)
        return EstimatorSpec(
            mode=self.mode,
            predictions=self.predictions,
            loss=self.loss,
            train_op=self.train_op,
            eval_metric_ops=metrics,
            export_outputs=self.export_outputs,
            scaffold=self.scaffold_fn() if self.scaffold_fn else None,
            training_hooks=self.training_hooks + hooks,
            evaluation_hooks=self.evaluation_hooks + hooks,
            prediction_hooks=self.prediction_hooks + hooks,
        )


def _check_call(name: str, call: Any) -> None:
    if not isinstance(call, (tuple, list)):
        raise ValueError(f"{name} should be tuple or list")
    if len(call) != 2:
        raise ValueError(f"{name} should have two elements.")
    function, tensors = call
    if not callable(function):
        raise TypeError(f"{name}[0] should be callable.")
    if not isinstance(tensors, (tuple, list, dict)):
        raise ValueError(f"{name}[1] should be tuple or list, or dict.")
    if isinstance(tensors, dict) or inspect.getfullargspec(function).varargs is not None:
        return
    count = len(arguments_of(function))
    if len(tensors) != count:
        raise RuntimeError(
            f"In TPUEstimatorSpec.{name}, length of tensors {len(tensors)} does not match method args of the "
            f"function, which takes {count}."
        )


def _called(call: Any) -> Any:
    function, tensors = call
    return function(**tensors) if isinstance(tensors, dict) else function(*tensors)


class _HostCallHook(SessionRunHook):
    """Runs what a host call made in each step, and opens and flushes the summary writers that it uses."""

    def __init__(self, tensors: Any):
        self._tensors = tensors
        self._open: Any = None
        self._flush: Any = None

    def begin(self) -> None:
        self._open = tf.contrib.summary.summary_writer_initializer_op()
        self._flush = [tf.contrib.summary.flush(writer=op.inputs[0]) for op in self._open]

    def after_create_session(self, session: Any, coord: Any) -> None:
        session.run(self._open)

    def before_run(self, run_context: Any) -> Any:
        return SessionRunArgs(self._tensors)

    def end(self, session: Any) -> None:
        session.run(self._flush)
