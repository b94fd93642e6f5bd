"""`tf.estimator.add_metrics`: an estimator with more metrics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.estimator.arguments import refuse_others, those_taken
from weft.estimator.estimator import Estimator
from weft.estimator.modes import ModeKeys
from weft.estimator.spec import EstimatorSpec
from weft.framework.export import export


@export("estimator.add_metrics")
def add_metrics(estimator: Estimator, metric_fn: Callable) -> Estimator:
    """An estimator of the same model and folder whose evaluations have the metrics of a function too.

    It gets of `features`, `labels`, `predictions` and `config` what it takes.
    """
    refuse_others("metric_fn", metric_fn, {"features", "labels", "predictions", "config"})

    def new_model_fn(features: Any, labels: Any, mode: Any, config: Any) -> EstimatorSpec:
        spec = estimator.model_fn(features, labels, mode, config)
        if mode != ModeKeys.EVAL:
            return spec
        offered = {
            "features": features,
            "labels": labels,
            "predictions": spec.predictions,
            "config": config,
        }
        added = metric_fn(**those_taken(metric_fn, offered))
        return spec._replace(eval_metric_ops={**spec.eval_metric_ops, **added})

    return Estimator(
        model_fn=new_model_fn,
        model_dir=estimator.model_dir,
        config=estimator.config,
        warm_start_from=estimator._warm_start_settings,
    )
