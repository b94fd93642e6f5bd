"""Heads of classifiers: `tf.estimator.BinaryClassHead` and `MultiClassHead`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft as tf
from weft.estimator.export_outputs import ClassificationOutput, RegressionOutput
from weft.estimator.heads.head import LossParts, SingleHead
from weft.estimator.heads.shapes import in_range
from weft.framework.export import export


class Words:
    """What classes are called: as a vocabulary says, or after their numbers."""

    def __init__(self, vocabulary: Any, n_classes: int):
        if vocabulary is not None:
            if not isinstance(vocabulary, (list, tuple)):
                raise ValueError(
                    f"label_vocabulary should be a list or a tuple. Given type: {type(vocabulary)}."
                )
            if len(vocabulary) != n_classes:
                raise ValueError(
                    f'"label_vocabulary" does not have "n_classes" items. n_classes={n_classes}, '
                    f"vocabulary={vocabulary}"
                )
        self.vocabulary, self.n_classes = vocabulary, n_classes

    def ids_of(self, labels: Any) -> Any:
        """The class ids of labels."""
        if self.vocabulary is None:
            return labels
        if labels.dtype.base_dtype != tf.string:
            raise ValueError(
                f"Labels dtype should be string if there is a vocabulary. Instead got {labels.dtype}"
            )
        table = tf.contrib.lookup.index_table_from_tensor(
            tuple(self.vocabulary), name="class_id_lookup"
        )
        return table.lookup(labels)

    def of(self, class_ids: Any) -> Any:
        """What the classes are called whose ids these are."""
        if self.vocabulary is None:
            return tf.as_string(class_ids, name="str_classes")
        return tf.gather(tf.constant(list(self.vocabulary)), class_ids)

    def all_ids(self, logits: Any) -> Any:
        """The ids of all classes, for each example."""
        return tf.tile(tf.expand_dims(tf.range(self.n_classes), 0), [tf.shape(logits)[0], 1])

    def all(self, logits: Any) -> Any:
        """What all classes are called, for each example."""
        words = self.of(tf.range(self.n_classes))
        return tf.tile(tf.expand_dims(words, 0), [tf.shape(logits)[0], 1])


class _ClassHead(SingleHead):
    _words: Words

    def _class_predictions(self, logits: Any, scores: Any) -> dict[str, Any]:
        """Predictions of classes by scores [..., n_classes]."""
        ids = tf.expand_dims(tf.argmax(scores, axis=-1, name="class_ids"), -1)
        return {
            "logits": logits,
            "probabilities": tf.nn.softmax(scores, name="probabilities"),
            "class_ids": ids,
            "classes": self._words.of(ids),
            "all_class_ids": self._words.all_ids(logits),
            "all_classes": self._words.all(logits),
        }

    def _served(self, predictions: dict[str, Any]) -> dict[str, Any]:
        scores = predictions["probabilities"]
        classes = ClassificationOutput(scores=scores, classes=predictions["all_classes"])
        return {"serving_default": classes, "classification": classes}


@export("estimator.MultiClassHead")
class MultiClassHead(_ClassHead):
    """One of several classes: cross entropy of the softmax of the logits."""

    def __init__(
        self,
        n_classes: int,
        weight_column: Any = None,
        label_vocabulary: Any = None,
        loss_reduction: str = "sum_over_batch_size",
        loss_fn: Callable | None = None,
        name: str | None = None,
    ):
        if n_classes is None:
            raise ValueError("n_classes cannot be None")
        if n_classes <= 2:
            raise ValueError(f"n_classes must be > 2: {n_classes}.")
        super().__init__(n_classes, 1, weight_column, loss_reduction, loss_fn, name)
        self._words = Words(label_vocabulary, n_classes)

    def _label_values(self, labels: Any) -> Any:
        if self._words.vocabulary is None and not labels.dtype.is_integer:
            raise ValueError(f"Labels dtype should be integer. Instead got {labels.dtype}.")
        return in_range(self._words.ids_of(labels), self._words.n_classes)

    def _losses(self, labels: Any, logits: Any) -> Any:
        losses = tf.losses.sparse_softmax_cross_entropy(
            labels, logits, reduction=tf.losses.Reduction.NONE
        )
        return tf.expand_dims(losses, axis=-1)

    def _all_predictions(self, logits: Any) -> dict[str, Any]:
        return self._class_predictions(logits, logits)

    def _metrics(self, parts: LossParts, predictions: dict[str, Any]) -> dict[str, Any]:
        accuracy = tf.metrics.accuracy(
            parts.labels, predictions["class_ids"], parts.weights, name="accuracy"
        )
        return {"accuracy": accuracy}


@export("estimator.BinaryClassHead")
class BinaryClassHead(_ClassHead):
    """One of two classes: cross entropy of the logistic function of one logit.

    Args:
      thresholds: where else than at 1/2 accuracy, precision and recall are measured.
    """

    def __init__(
        self,
        weight_column: Any = None,
        thresholds: Any = None,
        label_vocabulary: Any = None,
        loss_reduction: str = "sum_over_batch_size",
        loss_fn: Callable | None = None,
        name: str | None = None,
    ):
        self._thresholds = tuple(thresholds or ())
        if any(not 0.0 < t < 1.0 for t in self._thresholds):
            raise ValueError(f"thresholds not in (0, 1): {self._thresholds}.")
        super().__init__(1, 1, weight_column, loss_reduction, loss_fn, name)
        self._words = Words(label_vocabulary, 2)

    def _label_values(self, labels: Any) -> Any:
        ids = self._words.ids_of(labels)
        return in_range(tf.cast(ids, tf.float32), 2)

    def _losses(self, labels: Any, logits: Any) -> Any:
        return tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

    def _all_predictions(self, logits: Any) -> dict[str, Any]:
        two = tf.concat([tf.zeros_like(logits), logits], axis=-1, name="two_class_logits")
        logistic = tf.sigmoid(logits, name="logistic")
        return {"logistic": logistic, **self._class_predictions(logits, two)}

    def _served(self, predictions: dict[str, Any]) -> dict[str, Any]:
        return {
            **super()._served(predictions),
            "regression": RegressionOutput(predictions["logistic"]),
        }

    def _metrics(self, parts: LossParts, predictions: dict[str, Any]) -> dict[str, Any]:
        labels, weights = parts.labels, parts.weights
        ids, logistic = predictions["class_ids"], predictions["logistic"]
        m = tf.metrics
        label_mean = m.mean(labels, weights, name="label/mean")
        at_least = tuple(tf.maximum(mean, 1.0 - mean) for mean in label_mean)
        metrics = {
            "accuracy": m.accuracy(labels, ids, weights, name="accuracy"),
            "precision": m.precision(labels, ids, weights, name="precision"),
            "recall": m.recall(labels, ids, weights, name="recall"),
            "prediction/mean": m.mean(logistic, weights, name="prediction/mean"),
            "label/mean": label_mean,
            "accuracy_baseline": at_least,  # of who always says the more frequent class
            "auc": m.auc(labels, logistic, weights, name="auc"),
            "auc_precision_recall": m.auc(
                labels, logistic, weights, curve="PR", name="auc_precision_recall"
            ),
        }
        for threshold in self._thresholds:
            said = tf.cast(logistic >= threshold, tf.float32)
            suffix = f"positive_threshold_{threshold:g}"
            at = f"accuracy/{suffix}"
            metrics[at] = m.accuracy(labels, said, weights, name=at)
            for name, measure in (
                ("precision", m.precision_at_thresholds),
                ("recall", m.recall_at_thresholds),
            ):
                pair = measure(labels, logistic, (threshold,), weights, name=f"{name}/{suffix}")
                metrics[f"{name}/{suffix}"] = tuple(tf.squeeze(x) for x in pair)
        return metrics


def class_head(
    n_classes: int, weight_column: Any, label_vocabulary: Any, loss_reduction: str
) -> SingleHead:
    """The head of a classifier."""
    if n_classes == 2:
        return BinaryClassHead(
            weight_column, label_vocabulary=label_vocabulary, loss_reduction=loss_reduction
        )
    return MultiClassHead(n_classes, weight_column, label_vocabulary, loss_reduction)
