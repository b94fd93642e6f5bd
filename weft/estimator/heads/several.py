"""`tf.estimator.MultiHead`: several heads on one model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import weft as tf
from weft.estimator.export_outputs import PredictOutput
from weft.estimator.heads.head import Head, training_op
from weft.estimator.modes import ModeKeys
from weft.estimator.spec import EstimatorSpec
from weft.framework.export import export


@export("estimator.MultiHead")
class MultiHead(Head):
    """Several heads with names: their losses are added up, each with a weight.

    Logits are a dict by the heads' names, or one tensor that is divided among them; labels are a dict.
    """

    def __init__(self, heads: Sequence[Head], head_weights: Sequence[float] | None = None):
        if not heads:
            raise ValueError(f"Must specify heads. Given: {heads}")
        if head_weights and len(head_weights) != len(heads):
            raise ValueError(
                "heads and head_weights must have the same size. "
                f"Given len(heads): {len(heads)}. Given len(head_weights): {len(head_weights)}."
            )
        for head in heads:
            if head.name is None:
                raise ValueError(f"All given heads must have name specified. Given: {head}")
        self._heads = tuple(heads)
        self._weights = tuple(head_weights or ())

    @property
    def name(self) -> str:
        return "_".join(str(head.name) for head in self._heads)

    @property
    def logits_dimension(self) -> int:
        return sum(head.logits_dimension for head in self._heads)

    @property
    def loss_reduction(self) -> str:
        reductions = {head.loss_reduction for head in self._heads}
        if len(reductions) > 1:
            raise ValueError(
                f"The loss_reduction must be the same for different heads. Given: {reductions}"
            )
        return reductions.pop()

    def _by_head(self, logits: Any) -> dict[Any, Any]:
        """The logits of each head."""
        if isinstance(logits, dict):
            return self._complete("logits", logits)
        logits = tf.convert_to_tensor(logits)
        sizes = [head.logits_dimension for head in self._heads]
        if logits.shape[-1].value not in (None, sum(sizes)):
            raise ValueError(
                f"Could not split logits of shape {logits.shape} among the heads with individual logits dimensions: "
                f"{sizes}. The last dimension of the logits tensor should equal {sum(sizes)} but is "
                f"{logits.shape[-1].value}."
            )
        parts = tf.split(logits, sizes, axis=-1, name="split_logits")
        return {head.name: part for head, part in zip(self._heads, parts, strict=True)}

    def _complete(self, what: str, given: Any) -> Any:
        if not isinstance(given, dict):
            raise ValueError(f"{what} must be a dict. Given: {given}")
        missing = [head.name for head in self._heads if head.name not in given]
        if missing:
            raise ValueError(f"{what} has missing values for head(s): {missing}")
        return given

    def _losses(self, labels: Any, logits: dict[Any, Any], features: Any, mode: Any) -> list[Any]:
        labels = self._complete("labels", labels)
        return [h.loss(labels[h.name], logits[h.name], features, mode) for h in self._heads]

    def _merged(self, losses: list[Any], regularization_losses: Any) -> Any:
        weights = self._weights or (1.0,) * len(losses)
        weighted = [
            loss if weight == 1 else loss * weight
            for loss, weight in zip(losses, weights, strict=True)
        ]
        return tf.add_n([*weighted, *(regularization_losses or ())])

    def loss(
        self,
        labels: Any,
        logits: Any,
        features: Any = None,
        mode: Any = None,
        regularization_losses: Any = None,
    ) -> Any:
        losses = self._losses(labels, self._by_head(logits), features, mode)
        return self._merged(losses, regularization_losses)

    def predictions(self, logits: Any, keys: Any = None) -> dict[Any, Any]:
        """The predictions by head and name; `keys` are such pairs."""
        by_head = self._by_head(logits)
        made = {
            (head.name, key): value
            for head in self._heads
            for key, value in head.predictions(by_head[head.name]).items()
        }
        return made if keys is None else {key: made[key] for key in keys}

    def create_estimator_spec(
        self,
        features: Any,
        mode: Any,
        logits: Any,
        labels: Any = None,
        optimizer: Any = None,
        trainable_variables: Any = None,
        train_op_fn: Any = None,
        update_ops: Any = None,
        regularization_losses: Any = None,
    ) -> EstimatorSpec:
        with tf.name_scope(self.name or "multi_head"):
            by_head = self._by_head(logits)
            if labels is not None:
                self._complete("labels", labels)
            specs = [
                head.create_estimator_spec(
                    features=features,
                    mode=mode,
                    logits=by_head[head.name],
                    labels=None if labels is None else labels[head.name],
                    train_op_fn=lambda loss: tf.no_op(),
                )
                for head in self._heads
            ]
            predictions = {
                (head.name, key): value
                for head, spec in zip(self._heads, specs, strict=True)
                for key, value in spec.predictions.items()
            }
            if mode == ModeKeys.PREDICT:
                return EstimatorSpec(
                    mode, predictions=predictions, export_outputs=self._served(specs)
                )
            loss = self._merged([spec.loss for spec in specs], regularization_losses)
            if mode == ModeKeys.EVAL:
                metrics: dict[str, Any] = {}
                for head, spec in zip(self._heads, specs, strict=True):
                    metrics[f"loss/{head.name}"] = tf.metrics.mean(spec.loss)
                    metrics.update(spec.eval_metric_ops)
                if regularization_losses:
                    extra = tf.add_n(list(regularization_losses))
                    metrics["regularization_loss"] = tf.metrics.mean(extra)
                return EstimatorSpec(
                    mode, predictions=predictions, loss=loss, eval_metric_ops=metrics
                )
            train_op = training_op(loss, optimizer, trainable_variables, train_op_fn, update_ops)
        with tf.name_scope(""):
            tf.summary.scalar("loss", loss)
        return EstimatorSpec(mode, predictions=predictions, loss=loss, train_op=train_op)

    def _served(self, specs: list[EstimatorSpec]) -> dict[str, Any]:
        """What an exported model gives: of each head under its name, the first by default, and all predictions."""
        outputs = {"serving_default": specs[0].export_outputs["serving_default"]}
        merged = {}
        for head, spec in zip(self._heads, specs, strict=True):
            for key, output in spec.export_outputs.items():
                name = str(head.name) if key == "serving_default" else f"{head.name}/{key}"
                outputs[name] = output
            for key, value in spec.export_outputs["predict"].outputs.items():
                merged[f"{head.name}/{key}"] = value
        outputs["predict"] = PredictOutput(merged)
        return outputs
