"""What estimators check of what they are given, and take of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import weft as tf
from weft.estimator.arguments import arguments_of, refuse_others
from weft.framework.graph_keys import GraphKeys
from weft.train.session_run_hook import SessionRunHook

_MODEL_ARGUMENTS = {"features", "labels", "mode", "params", "self", "config"}


def checked_hooks(hooks: Iterable[Any] | None) -> list[SessionRunHook]:
    """Hooks, as a new list."""
    hooks = list(hooks or ())
    for hook in hooks:
        if not isinstance(hook, SessionRunHook):
            raise TypeError(f"Hooks must be a SessionRunHook, given: {hook}")
    return hooks


def step_of_latest_checkpoint(folder: str) -> int:
    """How far the model of a folder is trained."""
    path = tf.train.latest_checkpoint(folder)
    if not path:
        return 0
    reader = tf.train.NewCheckpointReader(path)
    name = GraphKeys.GLOBAL_STEP
    return int(reader.get_tensor(name)) if reader.has_tensor(name) else 0


def check_steps(what: str, steps: int | None) -> None:
    """ValueError if this is no number of steps."""
    if steps is not None and steps <= 0:
        raise ValueError(f"Must specify {what} > 0, given: {steps}")


def check_model_fn(model_fn: Callable, params: Any) -> None:
    """ValueError if a model function lacks an argument, or has one that nobody gives."""
    names = arguments_of(model_fn)
    if "features" not in names:
        raise ValueError(f"model_fn ({model_fn}) must include features argument.")
    if params is not None and "params" not in names:
        raise ValueError(
            f"model_fn ({model_fn}) does not include params argument, but params ({params}) is passed to Estimator."
        )
    if params is None and "params" in names:
        tf.logging.warning(
            "Estimator's model_fn (%s) includes params argument, but params are not passed to Estimator.",
            model_fn,
        )
    refuse_others("model_fn", model_fn, _MODEL_ARGUMENTS)


def device_setter(config: Any) -> Any:
    """Variables on parameter servers, everything else on this task; None where there are no parameter servers."""
    if config.num_ps_replicas <= 0:
        return None
    return tf.train.replica_device_setter(
        ps_tasks=config.num_ps_replicas,
        worker_device=f"/job:{config.task_type}/task:{config.task_id}",
        merge_devices=True,
        cluster=config.cluster_spec,
    )


def chosen(predictions: Any, keys: Any) -> Any:
    """Those predictions that are asked for."""
    if not keys:
        return predictions
    if not isinstance(predictions, dict):
        raise ValueError("predict_keys argument is not valid in case of non-dict predictions.")
    chosen = {name: value for name, value in predictions.items() if name in keys}
    if not chosen:
        raise ValueError(
            f"Expected to run at least one output from {predictions.keys()}, provided {keys}."
        )
    return chosen


def batch_length(values: dict[str, np.ndarray]) -> int:
    """How many examples there are predictions for."""
    lengths = {name: value.shape[0] for name, value in values.items()}
    first = next(iter(lengths.values()))
    for name, length in lengths.items():
        if length != first:
            raise ValueError(
                f"Batch length of predictions should be same. {name} has different batch length than others."
            )
    return first
