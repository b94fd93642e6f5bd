"""Heads of regressions: `tf.estimator.RegressionHead` and its kin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft as tf
from weft.estimator.export_outputs import RegressionOutput
from weft.estimator.heads.head import LossParts, SingleHead
from weft.framework.export import export


@export("estimator.RegressionHead")
class RegressionHead(SingleHead):
    """Numbers: the square of their error, or a loss of the user's.

    Args:
      inverse_link_fn: makes predictions of logits; without it they are the logits.
    """

    _weights_per_logit = True

    def __init__(
        self,
        label_dimension: int = 1,
        weight_column: Any = None,
        loss_reduction: str = "sum_over_batch_size",
        loss_fn: Callable | None = None,
        inverse_link_fn: Callable | None = None,
        name: str | None = None,
    ):
        if label_dimension < 1:
            raise ValueError(f"Invalid label_dimension {label_dimension}.")
        super().__init__(
            label_dimension, label_dimension, weight_column, loss_reduction, loss_fn, name
        )
        self._inverse_link_fn = inverse_link_fn

    def _label_values(self, labels: Any) -> Any:
        return tf.cast(labels, tf.float32)

    def _losses(self, labels: Any, logits: Any) -> Any:
        return tf.losses.mean_squared_error(labels, logits, reduction=tf.losses.Reduction.NONE)

    def _all_predictions(self, logits: Any) -> dict[str, Any]:
        if self._inverse_link_fn is None:
            return {"predictions": logits}
        return {"predictions": self._inverse_link_fn(logits), "logits": logits}

    def _served(self, predictions: dict[str, Any]) -> dict[str, Any]:
        output = RegressionOutput(predictions["predictions"])
        return {"serving_default": output, "regression": output}

    def _metrics(self, parts: LossParts, predictions: dict[str, Any]) -> dict[str, Any]:
        means = {"prediction/mean": predictions["predictions"], "label/mean": parts.labels}
        return {
            name: tf.metrics.mean(values, parts.weights, name=name)
            for name, values in means.items()
        }


@export("estimator.PoissonRegressionHead")
class PoissonRegressionHead(RegressionHead):
    """Counts, whose mean is the exponential of the logits."""

    def __init__(
        self,
        label_dimension: int = 1,
        weight_column: Any = None,
        loss_reduction: str = "sum_over_batch_size",
        compute_full_loss: bool = True,
        name: str | None = None,
    ):
        def loss_fn(labels: Any, logits: Any) -> Any:
            return tf.nn.log_poisson_loss(
                targets=labels, log_input=logits, compute_full_loss=compute_full_loss
            )

        super().__init__(label_dimension, weight_column, loss_reduction, loss_fn, tf.exp, name)


@export("estimator.LogisticRegressionHead")
class LogisticRegressionHead(RegressionHead):
    """Numbers between 0 and 1, the logistic function of the logits."""

    def __init__(
        self,
        weight_column: Any = None,
        loss_reduction: str = "sum_over_batch_size",
        name: str | None = None,
    ):
        def loss_fn(labels: Any, logits: Any) -> Any:
            return tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

        super().__init__(1, weight_column, loss_reduction, loss_fn, tf.sigmoid, name)
