"""`tf.estimator.DNNClassifier` and its kin."""

from __future__ import annotations

import functools
from typing import Any

import weft as tf
from weft.estimator.canned.models import by_name, dnn_logit_fn_builder, partitioner_for
from weft.estimator.canned.optimizers import optimizer_of
from weft.estimator.estimator import Estimator
from weft.estimator.heads.classes import class_head
from weft.estimator.heads.numbers import RegressionHead
from weft.estimator.spec import EstimatorSpec
from weft.framework.export import export

_LEARNING_RATE = 0.05


def _network_model(
    features: Any,
    labels: Any,
    mode: str,
    config: Any,
    *,
    head: Any,
    hidden_units: Any,
    feature_columns: Any,
    optimizer: Any,
    activation_fn: Any,
    dropout: float | None,
    input_layer_partitioner: Any,
    batch_norm: bool,
) -> EstimatorSpec:
    chosen = optimizer_of(optimizer, _LEARNING_RATE)
    values = tuple(by_name(features).values())
    partitioner = partitioner_for(config, of_input=False)
    with tf.variable_scope("dnn", values=values, partitioner=partitioner):
        logit_fn = dnn_logit_fn_builder(
            head.logits_dimension,
            hidden_units,
            tuple(feature_columns or ()),
            activation_fn,
            dropout,
            input_layer_partitioner or partitioner_for(config, of_input=True),
            batch_norm,
        )
        logits = logit_fn(features, mode)
        return head.create_estimator_spec(
            features=features, mode=mode, labels=labels, optimizer=chosen, logits=logits
        )


class _Network(Estimator):
    """A network over feature columns with a head."""

    def __init__(
        self,
        head: Any,
        hidden_units: Any,
        feature_columns: Any,
        model_dir: Any,
        optimizer: Any,
        activation_fn: Any,
        dropout: float | None,
        input_layer_partitioner: Any,
        config: Any,
        warm_start_from: Any,
        batch_norm: bool,
    ):
        super().__init__(
            model_fn=functools.partial(
                _network_model,
                head=head,
                hidden_units=hidden_units,
                feature_columns=feature_columns,
                optimizer=optimizer,
                activation_fn=activation_fn,
                dropout=dropout,
                input_layer_partitioner=input_layer_partitioner,
                batch_norm=batch_norm,
            ),
            model_dir=model_dir,
            config=config,
            warm_start_from=warm_start_from,
        )


@export("estimator.DNNClassifier")
class DNNClassifier(_Network):
    """Classes by a network of densely connected layers."""

    def __init__(
        self,
        hidden_units: Any,
        feature_columns: Any,
        model_dir: Any = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Any = None,
        optimizer: Any = "Adagrad",
        activation_fn: Any = tf.nn.relu,
        dropout: float | None = None,
        input_layer_partitioner: Any = None,
        config: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = "weighted_sum",
        batch_norm: bool = False,
    ):
        super().__init__(
            class_head(n_classes, weight_column, label_vocabulary, loss_reduction),
            hidden_units,
            feature_columns,
            model_dir,
            optimizer,
            activation_fn,
            dropout,
            input_layer_partitioner,
            config,
            warm_start_from,
            batch_norm,
        )


@export("estimator.DNNRegressor")
class DNNRegressor(_Network):
    """Numbers by a network of densely connected layers."""

    def __init__(
        self,
        hidden_units: Any,
        feature_columns: Any,
        model_dir: Any = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        optimizer: Any = "Adagrad",
        activation_fn: Any = tf.nn.relu,
        dropout: float | None = None,
        input_layer_partitioner: Any = None,
        config: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = "weighted_sum",
        batch_norm: bool = False,
    ):
        super().__init__(
            RegressionHead(label_dimension, weight_column, loss_reduction),
            hidden_units,
            feature_columns,
            model_dir,
            optimizer,
            activation_fn,
            dropout,
            input_layer_partitioner,
            config,
            warm_start_from,
            batch_norm,
        )


@export("estimator.DNNEstimator")
class DNNEstimator(_Network):
    """What a head makes of a network of densely connected layers."""

    def __init__(
        self,
        head: Any,
        hidden_units: Any,
        feature_columns: Any,
        model_dir: Any = None,
        optimizer: Any = "Adagrad",
        activation_fn: Any = tf.nn.relu,
        dropout: float | None = None,
        input_layer_partitioner: Any = None,
        config: Any = None,
        warm_start_from: Any = None,
        batch_norm: bool = False,
    ):
        super().__init__(
            head,
            hidden_units,
            feature_columns,
            model_dir,
            optimizer,
            activation_fn,
            dropout,
            input_layer_partitioner,
            config,
            warm_start_from,
            batch_norm,
        )
