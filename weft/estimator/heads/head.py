"""What all heads share: from logits and labels to an EstimatorSpec."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any

import weft as tf
from weft.estimator.arguments import arguments_of, those_taken
from weft.estimator.export_outputs import PredictOutput
from weft.estimator.heads.shapes import checked_labels, checked_logits, checked_weights
from weft.estimator.modes import ModeKeys
from weft.estimator.spec import EstimatorSpec
from weft.framework.export import export

# How the losses of examples become one: the names of Keras, and those of tf.losses for the same.
_REDUCTIONS = {"sum_over_batch_size": "weighted_sum_over_batch_size", "sum": "weighted_sum"}


@export("estimator.Head")
class Head(abc.ABC):
    """What the logits of a model mean: their loss, their predictions, and metrics of these."""

    @property
    @abc.abstractmethod
    def name(self) -> str | None:
        """What its metrics and summaries are called after."""

    @property
    @abc.abstractmethod
    def logits_dimension(self) -> int:
        """How many logits it takes for each example."""

    @property
    @abc.abstractmethod
    def loss_reduction(self) -> str:
        """How the losses of examples become one."""

    @abc.abstractmethod
    def loss(
        self,
        labels: Any,
        logits: Any,
        features: Any = None,
        mode: Any = None,
        regularization_losses: Any = None,
    ) -> Any:
        """The loss that training makes small."""

    @abc.abstractmethod
    def predictions(self, logits: Any, keys: Any = None) -> dict[str, Any]:
        """The predictions by name."""

    @abc.abstractmethod
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
        """What a model function gives for logits."""


class LossParts:
    """The loss, and what it is made of."""

    def __init__(self, loss: Any, of_examples: Any, weights: Any, labels: Any, extra: Any):
        self.loss, self.of_examples, self.weights = loss, of_examples, weights
        self.labels, self.regularization = labels, extra


class SingleHead(Head):
    """A head with one kind of label."""

    # Whether weights may differ between the logits of an example.
    _weights_per_logit = False

    def __init__(
        self,
        logits_dimension: int,
        label_dimension: int,
        weight_column: Any,
        loss_reduction: str,
        loss_fn: Callable | None,
        name: str | None,
    ):
        reduction = _REDUCTIONS.get(loss_reduction, loss_reduction)
        allowed = tf.losses.Reduction
        if reduction not in allowed.all() or reduction == allowed.NONE:
            raise ValueError(f"Invalid loss_reduction: {loss_reduction}")
        if loss_fn is not None:
            _check_loss_fn(loss_fn)
        self._logits_dimension, self._label_dimension = logits_dimension, label_dimension
        self._weight_column, self._loss_fn, self._name = weight_column, loss_fn, name
        self._loss_reduction, self._reduction = loss_reduction, reduction

    @property
    def name(self) -> str | None:
        return self._name

    @property
    def logits_dimension(self) -> int:
        return self._logits_dimension

    @property
    def loss_reduction(self) -> str:
        return self._loss_reduction

    # -- what the kinds of heads say ----------------------------------------------------------------------------

    @abc.abstractmethod
    def _label_values(self, labels: Any) -> Any:
        """Labels as the loss takes them."""

    @abc.abstractmethod
    def _losses(self, labels: Any, logits: Any) -> Any:
        """The losses of the examples, [..., 1] or [..., logits_dimension]."""

    @abc.abstractmethod
    def _all_predictions(self, logits: Any) -> dict[str, Any]:
        """All predictions by name."""

    @abc.abstractmethod
    def _served(self, predictions: dict[str, Any]) -> dict[str, Any]:
        """What an exported model gives, by signature, besides all predictions."""

    @abc.abstractmethod
    def _metrics(self, parts: LossParts, predictions: dict[str, Any]) -> dict[str, Any]:
        """Metrics by name, as pairs of value and update."""

    # -- from logits to a specification -------------------------------------------------------------------------

    def predictions(self, logits: Any, keys: Any = None) -> dict[str, Any]:
        made = self._all_predictions(checked_logits(logits, self._logits_dimension))
        if keys is None:
            return made
        unknown = [key for key in keys if key not in made]
        if unknown:
            raise ValueError(
                f"Prediction key must be in PredictionKeys, given: {unknown}. Valid prediction keys include "
                f"{sorted(made)}."
            )
        return {key: made[key] for key in keys}

    def loss(
        self,
        labels: Any,
        logits: Any,
        features: Any = None,
        mode: Any = None,
        regularization_losses: Any = None,
    ) -> Any:
        logits = checked_logits(logits, self._logits_dimension)
        return self._parts(labels, logits, features, regularization_losses).loss

    def _parts(self, labels: Any, logits: Any, features: Any, regularization: Any) -> LossParts:
        with tf.name_scope("losses"):
            checked = checked_labels(labels, logits, self._label_dimension)
            values = self._label_values(checked)
            if self._loss_fn is None:
                losses = self._losses(values, logits)
            else:
                losses = self._losses_of_user(values, logits, features)
            weights = checked_weights(
                features, self._weight_column, logits, self._weights_per_logit
            )
            loss = tf.losses.compute_weighted_loss(
                losses, weights=weights, reduction=self._reduction
            )
            extra = tf.add_n(list(regularization)) if regularization else None
            if extra is not None:
                loss = tf.add(loss, extra)
            return LossParts(loss, losses, weights, values, extra)

    def _losses_of_user(self, labels: Any, logits: Any, features: Any) -> Any:
        assert self._loss_fn is not None
        offered = {"features": features}
        losses = self._loss_fn(labels=labels, logits=logits, **those_taken(self._loss_fn, offered))
        dimension = self._logits_dimension if self._weights_per_logit else 1
        expected = tf.concat([tf.shape(logits)[:-1], [dimension]], axis=0)
        fits = tf.Assert(
            tf.reduce_all(tf.equal(tf.shape(losses), expected)),
            [
                f"loss_fn must return Tensor of shape [D0, D1, ... DN, {dimension}]. ",
                tf.shape(losses),
            ],
        )
        with tf.control_dependencies([fits]):
            return tf.identity(losses)

    def _key(self, key: str) -> str:
        return f"{key}/{self._name}" if self._name else key

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
        with tf.name_scope(self._name or "head"):
            logits = checked_logits(logits, self._logits_dimension)
            with tf.name_scope("predictions"):
                predictions = self._all_predictions(logits)
            if mode == ModeKeys.PREDICT:
                outputs = {**self._served(predictions), "predict": PredictOutput(predictions)}
                return EstimatorSpec(mode, predictions=predictions, export_outputs=outputs)
            parts = self._parts(labels, logits, features, regularization_losses)
            if mode == ModeKeys.EVAL:
                return EstimatorSpec(
                    mode,
                    predictions=predictions,
                    loss=parts.loss,
                    eval_metric_ops=self._named_metrics(parts, predictions),
                )
            train_op = training_op(
                parts.loss, optimizer, trainable_variables, train_op_fn, update_ops
            )
        self._summarise(parts)
        return EstimatorSpec(mode, predictions=predictions, loss=parts.loss, train_op=train_op)

    def _named_metrics(self, parts: LossParts, predictions: dict[str, Any]) -> dict[str, Any]:
        with tf.name_scope("metrics"):
            metrics = {"average_loss": tf.metrics.mean(parts.of_examples, parts.weights)}
            metrics.update(self._metrics(parts, predictions))
            if parts.regularization is not None:
                metrics["regularization_loss"] = tf.metrics.mean(parts.regularization)
        return {self._key(name): metric for name, metric in metrics.items()}

    def _summarise(self, parts: LossParts) -> None:
        with tf.name_scope(""):
            tf.summary.scalar(self._key("loss"), parts.loss)
            if self._loss_reduction == tf.losses.Reduction.SUM:
                count = tf.reduce_sum(parts.weights * tf.ones_like(parts.of_examples))
                extra = 0.0 if parts.regularization is None else parts.regularization
                tf.summary.scalar(self._key("average_loss"), (parts.loss - extra) / count)
            if parts.regularization is not None:
                tf.summary.scalar(self._key("regularization_loss"), parts.regularization)


def training_op(
    loss: Any,
    optimizer: Any,
    trainable_variables: Any,
    train_op_fn: Callable | None,
    update_ops: Any,
) -> Any:
    """The operation that makes a loss smaller, with those that layers want to be run beside it."""
    if (optimizer is None) == (train_op_fn is None):
        raise ValueError(
            f"train_op_fn and optimizer cannot both be {'None' if optimizer is None else 'set'}."
        )
    if train_op_fn is not None:
        train_op = train_op_fn(loss)
    elif isinstance(optimizer, tf.train.Optimizer):
        train_op = optimizer.minimize(
            loss, global_step=tf.train.get_global_step(), var_list=trainable_variables
        )
    else:  # of Keras
        if trainable_variables is None:
            raise ValueError("trainable_variables cannot be None")
        train_op = optimizer.get_updates(loss, trainable_variables)[0]
    beside = [*tf.get_collection(tf.GraphKeys.UPDATE_OPS), *(update_ops or ())]
    return tf.group(train_op, *beside) if beside else train_op


def _check_loss_fn(loss_fn: Callable) -> None:
    names = arguments_of(loss_fn)
    for needed in ("labels", "logits"):
        if needed not in names:
            raise ValueError(f"loss_fn must contain argument: {needed}. Given arguments: {names}")
    others = set(names) - {"labels", "logits", "features"}
    if others:
        raise ValueError(f"loss_fn has unexpected args: {sorted(others)}")
