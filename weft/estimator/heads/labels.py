"""`tf.estimator.MultiLabelHead`: any number of several classes at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft as tf
from weft.estimator.export_outputs import ClassificationOutput
from weft.estimator.heads.classes import Words
from weft.estimator.heads.head import LossParts, SingleHead
from weft.estimator.heads.shapes import in_range
from weft.framework.export import export
from weft.framework.sparse_tensor import SparseTensor


@export("estimator.MultiLabelHead")
class MultiLabelHead(SingleHead):
    """Several classes, each of which an example has or has not: the mean of their logistic cross entropies.

    Labels are a row of zeros and ones for each example, or a SparseTensor of class ids or of words.

    Args:
      thresholds: where accuracy, precision and recall are measured.
      classes_for_class_based_metrics: classes, by ids or words, that have metrics of their own.
    """

    def __init__(
        self,
        n_classes: int,
        weight_column: Any = None,
        thresholds: Any = None,
        label_vocabulary: Any = None,
        loss_reduction: str = "sum_over_batch_size",
        loss_fn: Callable | None = None,
        classes_for_class_based_metrics: Any = None,
        name: str | None = None,
    ):
        if n_classes is None or n_classes < 2:
            raise ValueError(
                f"n_classes must be > 1 for multi-label classification. Given: {n_classes}"
            )
        self._thresholds = tuple(thresholds or ())
        for threshold in self._thresholds:
            if not 0.0 < threshold < 1.0:
                raise ValueError(f"thresholds must be in (0, 1) range. Given: {threshold}")
        super().__init__(n_classes, n_classes, weight_column, loss_reduction, loss_fn, name)
        self._words = Words(label_vocabulary, n_classes)
        self._class_ids = [self._id_of(c) for c in classes_for_class_based_metrics or ()]

    def _id_of(self, given: Any) -> int:
        vocabulary, n_classes = self._words.vocabulary, self._words.n_classes
        if isinstance(given, str):
            if vocabulary is None:
                raise ValueError(
                    "label_vocabulary must be provided when classes_for_class_based_metrics are sting."
                )
            return vocabulary.index(given)
        if not 0 <= given < n_classes:
            raise ValueError(
                f"All classes_for_class_based_metrics must be in range [0, {n_classes - 1}]. Given: {given}"
            )
        return given

    def _as_rows(self, labels: Any) -> Any:
        if not isinstance(labels, SparseTensor):
            return labels
        ids = labels.values
        if labels.dtype.base_dtype == tf.string:
            ids = self._words.ids_of(ids)
        elif not labels.dtype.is_integer:
            raise ValueError(f"Labels dtype should be integer. Instead got {labels.dtype}.")
        n_classes = self._words.n_classes
        sparse = SparseTensor(labels.indices, in_range(ids, n_classes), labels.dense_shape)
        return tf.cast(tf.sparse_to_indicator(sparse, n_classes), tf.int64)

    def _parts(self, labels: Any, logits: Any, features: Any, regularization: Any) -> LossParts:
        return super()._parts(self._as_rows(labels), logits, features, regularization)

    def _label_values(self, labels: Any) -> Any:
        return in_range(labels, 2)

    def _losses(self, labels: Any, logits: Any) -> Any:
        losses = tf.nn.sigmoid_cross_entropy_with_logits(
            labels=tf.cast(labels, tf.float32), logits=logits
        )
        return tf.reduce_mean(losses, axis=-1, keepdims=True)

    def _all_predictions(self, logits: Any) -> dict[str, Any]:
        return {"logits": logits, "probabilities": tf.sigmoid(logits, name="probabilities")}

    def _served(self, predictions: dict[str, Any]) -> dict[str, Any]:
        scores = predictions["probabilities"]
        output = ClassificationOutput(scores=scores, classes=self._words.all(scores))
        return {"serving_default": output, "classification": output}

    def _metrics(self, parts: LossParts, predictions: dict[str, Any]) -> dict[str, Any]:
        m, labels, weights = tf.metrics, parts.labels, parts.weights
        probabilities = predictions["probabilities"]

        def areas(labels: Any, probabilities: Any, suffix: str) -> dict[str, Any]:
            return {
                f"{name}{suffix}": m.auc(labels, probabilities, weights, curve=curve)
                for name, curve in (("auc", "ROC"), ("auc_precision_recall", "PR"))
            }

        metrics = areas(labels, probabilities, "")
        for threshold in self._thresholds:
            said = tf.cast(probabilities >= threshold, tf.float32)
            suffix = f"positive_threshold_{threshold:g}"
            metrics[f"accuracy/{suffix}"] = m.accuracy(labels, said, weights)
            metrics[f"precision/{suffix}"] = m.precision(labels, said, weights)
            metrics[f"recall/{suffix}"] = m.recall(labels, said, weights)
        for i in self._class_ids:
            words = self._words.vocabulary
            suffix = f"/class{i}" if words is None else f"/{words[i]}"
            one = probabilities[..., i : i + 1]
            metrics[f"probability_mean{suffix}"] = m.mean(one, weights)
            metrics.update(areas(labels[..., i : i + 1], one, suffix))
        return metrics
