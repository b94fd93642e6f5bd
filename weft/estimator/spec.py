"""`tf.estimator.EstimatorSpec`: what a model function gives."""

from __future__ import annotations

import collections
from collections.abc import Iterable
from typing import Any

import weft as tf
from weft.estimator.arguments import those_taken
from weft.estimator.export_outputs import serving_outputs
from weft.estimator.modes import ModeKeys
from weft.framework import context, nest
from weft.framework.export import export
from weft.framework.operation import Operation
from weft.framework.tensor import Tensor
from weft.train.scaffold import Scaffold
from weft.train.session_run_hook import SessionRunHook
from weft.variables.base import Variable

LOSS_METRIC_KEY = "loss"


@export("estimator.EstimatorSpec")
class EstimatorSpec(
    collections.namedtuple(
        "_EstimatorSpec",
        [
            "mode",
            "predictions",
            "loss",
            "train_op",
            "eval_metric_ops",
            "export_outputs",
            "training_chief_hooks",
            "training_hooks",
            "scaffold",
            "evaluation_hooks",
            "prediction_hooks",
        ],
    )
):
    """What a model does in a mode: its loss, the operation that trains it, its metrics and its predictions."""

    __slots__ = ()

    def __new__(
        cls,
        mode: Any,
        predictions: Any = None,
        loss: Any = None,
        train_op: Any = None,
        eval_metric_ops: Any = None,
        export_outputs: Any = None,
        training_chief_hooks: Any = None,
        training_hooks: Any = None,
        scaffold: Any = None,
        evaluation_hooks: Any = None,
        prediction_hooks: Any = None,
    ) -> EstimatorSpec:
        train_op = checked_train_op(train_op, mode)
        loss = checked_loss(loss, mode)
        predictions = checked_predictions(predictions, mode)
        if mode == ModeKeys.PREDICT:
            export_outputs = serving_outputs(export_outputs, predictions)
        hooks = [
            checked_hooks(h)
            for h in (training_chief_hooks, training_hooks, evaluation_hooks, prediction_hooks)
        ]
        metrics = _checked_metrics(eval_metric_ops)
        scaffold = scaffold or Scaffold()
        if not isinstance(scaffold, Scaffold):
            raise TypeError(f"scaffold must be tf.train.Scaffold. Given: {scaffold}")
        return super().__new__(
            cls,
            mode=mode,
            predictions=predictions,
            loss=loss,
            train_op=train_op,
            eval_metric_ops=metrics,
            export_outputs=export_outputs,
            training_chief_hooks=hooks[0],
            training_hooks=hooks[1],
            scaffold=scaffold,
            evaluation_hooks=hooks[2],
            prediction_hooks=hooks[3],
        )

    def _replace(self, **kwds: Any) -> EstimatorSpec:
        """A specification with other values, which are checked; the mode stays."""
        if kwds.get("mode", self.mode) != self.mode:
            raise ValueError("mode of EstimatorSpec cannot be changed.")
        return EstimatorSpec(**{**self._asdict(), **kwds})


# -- checks -----------------------------------------------------------------------------------------------


def _is_tensor(x: Any) -> bool:
    return isinstance(x, (Tensor, Variable))


def _of_this_graph(what: str, name: str, item: Any) -> None:
    if not context.executing_eagerly() and item.graph is not tf.get_default_graph():
        raise ValueError(
            f'{what} with "{name}" must be from the default graph. Either {what} was made outside of the default '
            "graph, or by another call of the model_fn than the latest."
        )


def checked_train_op(train_op: Any, mode: str) -> Any:
    """The operation that trains, which training has to have."""
    if train_op is None:
        if mode == ModeKeys.TRAIN:
            raise ValueError("Missing train_op.")
        return None
    if not (isinstance(train_op, Operation) or _is_tensor(train_op)):
        raise TypeError(f"train_op must be Operation or Tensor, given: {train_op}")
    if isinstance(train_op, Variable):
        train_op = train_op.op
    _of_this_graph("train_op", train_op.name, train_op)
    return train_op


def _checked_tensor(x: Any, what: str) -> Any:
    if not _is_tensor(x):
        raise TypeError(f"{what} must be Tensor, given: {x}")
    return x


def checked_loss(loss: Any, mode: str) -> Any:
    """The loss as a scalar, which training and evaluations have to have."""
    if loss is None:
        if mode in (ModeKeys.TRAIN, ModeKeys.EVAL):
            raise ValueError("Missing loss.")
        return None
    shape = _checked_tensor(loss, "loss").get_shape()
    if shape.num_elements() not in (None, 1):
        raise ValueError(f"Loss must be scalar, given: {loss}")
    if not shape.is_compatible_with([]):
        loss = tf.reshape(loss, [])
    _of_this_graph("loss", loss.name, loss)
    return loss


def checked_predictions(predictions: Any, mode: str) -> Any:
    """The predictions, a tensor or several by name."""
    if predictions is None:
        if mode == ModeKeys.PREDICT:
            raise ValueError("Missing predictions.")
        return {}
    if not isinstance(predictions, dict):
        _of_this_graph(
            "prediction values",
            _checked_tensor(predictions, "predictions").name,
            predictions,
        )
        return predictions
    for key, value in predictions.items():
        _checked_tensor(value, f"predictions[{key}]")
        _of_this_graph("prediction values", f"{key}: {value.name}", value)
    return dict(predictions)


def checked_hooks(
    hooks: Iterable[Any] | None, kind: str = "SessionRunHook"
) -> tuple[SessionRunHook, ...]:
    """Hooks, as a tuple."""
    hooks = tuple(hooks or ())
    for hook in hooks:
        if not isinstance(hook, SessionRunHook):
            raise TypeError(f"All hooks must be {kind} instances, given: {hook}")
    return hooks


def _is_metric_object(value: Any) -> bool:
    """Whether this is a metric of Keras: it collects its updates and says its result."""
    return all(hasattr(value, name) for name in ("updates", "result", "variables"))


def _checked_metrics(eval_metric_ops: Any) -> dict[str, Any]:
    """Metrics as pairs of value and update; the variables of metric objects are found by who initialises."""
    if eval_metric_ops is None:
        return {}
    if not isinstance(eval_metric_ops, dict):
        raise TypeError(f"eval_metric_ops must be a dict, given: {eval_metric_ops}")
    metrics = {}
    for key, value in eval_metric_ops.items():
        if _is_metric_object(value):
            if not value.updates:
                raise ValueError(f'Please call update_state(...) on the "{value.name}" metric')
            for collection in (tf.GraphKeys.LOCAL_VARIABLES, tf.GraphKeys.METRIC_VARIABLES):
                known = {id(v) for v in tf.get_collection(collection)}
                for variable in value.variables:
                    if id(variable) not in known:
                        tf.add_to_collection(collection, variable)
            for update in value.updates:
                _of_this_graph("eval_metric_ops", f"{key}: {update.name}", update)
            value = (value.result(), value.updates[0])
        elif not isinstance(value, tuple) or len(value) != 2:
            raise TypeError(
                "Values of eval_metric_ops must be (metric_value, update_op) tuples, given: "
                f"{value} for key: {key}"
            )
        for item in nest.flatten(value):
            _of_this_graph("eval_metric_ops", f"{key}: {item.name}", item)
        metrics[key] = value
    return metrics


@export("estimator.experimental.call_logit_fn")
def call_logit_fn(logit_fn: Any, features: Any, mode: Any, params: Any, config: Any) -> Any:
    """Calls a function that makes logits with those arguments that it takes."""
    offered = {"mode": mode, "params": params, "config": config}
    logits = logit_fn(features=features, **those_taken(logit_fn, offered))
    by_name = isinstance(logits, dict) and all(
        isinstance(k, str) and isinstance(v, Tensor) for k, v in logits.items()
    )
    if not by_name and not isinstance(logits, Tensor):
        raise ValueError(
            "logit_fn should return a Tensor or a dictionary mapping strings to Tensors.  logit_fn returned: "
            f"{logits}"
        )
    return logits
