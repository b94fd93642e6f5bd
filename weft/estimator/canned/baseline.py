"""`tf.estimator.BaselineClassifier` and its kin: what is learnt without looking at the features."""

from __future__ import annotations

import functools
from typing import Any

import weft as tf
from weft.estimator.canned.optimizers import optimizer_of
from weft.estimator.estimator import Estimator
from weft.estimator.heads.classes import class_head
from weft.estimator.heads.numbers import RegressionHead
from weft.estimator.spec import EstimatorSpec
from weft.feature_column.numeric import NumericColumn
from weft.framework.export import export

_LEARNING_RATE = 0.3


def _key_of(weight_column: Any) -> Any:
    if weight_column is None or isinstance(weight_column, str):
        return weight_column
    if not isinstance(weight_column, NumericColumn):
        raise TypeError(
            f"Weight column must be either a string or NumericColumn. Given type: {type(weight_column)}."
        )
    return weight_column.key


def _baseline_model(
    features: Any,
    labels: Any,
    mode: str,
    config: Any,
    *,
    head: Any,
    optimizer: Any,
    weight_column: Any = None,
) -> EstimatorSpec:
    weights = _key_of(weight_column)
    sizes = [tf.shape(feature)[0] for key, feature in features.items() if key != weights]
    checks = [tf.assert_equal(sizes[0], size) for size in sizes[1:]]
    with tf.control_dependencies(checks), tf.variable_scope("baseline"):
        bias = tf.get_variable(
            "bias", shape=[head.logits_dimension], initializer=tf.zeros_initializer()
        )
        logits = tf.multiply(bias, tf.ones([sizes[0], head.logits_dimension]))

    def train_op_fn(loss: Any) -> Any:
        chosen = optimizer_of(optimizer, _LEARNING_RATE)
        return chosen.minimize(loss, global_step=tf.train.get_global_step())

    return head.create_estimator_spec(
        features=features, mode=mode, logits=logits, labels=labels, train_op_fn=train_op_fn
    )


@export("estimator.BaselineClassifier")
class BaselineClassifier(Estimator):
    """Says of every example how frequent each class is."""

    def __init__(
        self,
        model_dir: Any = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Any = None,
        optimizer: Any = "Ftrl",
        config: Any = None,
        loss_reduction: str = "weighted_sum",
    ):
        head = class_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        model_fn = functools.partial(
            _baseline_model, head=head, optimizer=optimizer, weight_column=weight_column
        )
        super().__init__(model_fn=model_fn, model_dir=model_dir, config=config)


@export("estimator.BaselineRegressor")
class BaselineRegressor(Estimator):
    """Says of every example the mean of the labels."""

    def __init__(
        self,
        model_dir: Any = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        optimizer: Any = "Ftrl",
        config: Any = None,
        loss_reduction: str = "weighted_sum",
    ):
        head = RegressionHead(label_dimension, weight_column, loss_reduction)
        model_fn = functools.partial(
            _baseline_model, head=head, optimizer=optimizer, weight_column=weight_column
        )
        super().__init__(model_fn=model_fn, model_dir=model_dir, config=config)


@export("estimator.BaselineEstimator")
class BaselineEstimator(Estimator):
    """Says of every example the same, as a head wants it."""

    def __init__(
        self, head: Any, model_dir: Any = None, optimizer: Any = "Ftrl", config: Any = None
    ):
        model_fn = functools.partial(_baseline_model, head=head, optimizer=optimizer)
        super().__init__(model_fn=model_fn, model_dir=model_dir, config=config)
