"""`tf.estimator.DNNLinearCombinedClassifier` and its kin: a network and a linear model, trained together."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import weft as tf
from weft.estimator.canned.models import (
    by_name,
    dnn_logit_fn_builder,
    linear_logit_fn_builder,
    partitioner_for,
    summarise_layer,
)
from weft.estimator.canned.optimizers import optimizer_of
from weft.estimator.estimator import Estimator
from weft.estimator.heads.classes import class_head
from weft.estimator.heads.numbers import RegressionHead
from weft.estimator.spec import EstimatorSpec
from weft.framework.export import export

_NETWORK_LEARNING_RATE = 0.001
_LINEAR_LEARNING_RATE = 0.005


def _optimizer(given: Any, learning_rate: float) -> Any:
    chosen = optimizer_of(given, learning_rate)
    if isinstance(chosen, tf.train.SyncReplicasOptimizer):
        raise ValueError(
            "SyncReplicasOptimizer does not support multi optimizers case. Therefore, it is not supported in "
            "DNNLinearCombined model. If you want to use this optimizer, please use either DNN or Linear model."
        )
    return chosen


def _combined_model(
    features: Any,
    labels: Any,
    mode: str,
    config: Any,
    *,
    head: Any,
    linear_feature_columns: Any,
    linear_optimizer: Any,
    dnn_feature_columns: Any,
    dnn_optimizer: Any,
    dnn_hidden_units: Any,
    dnn_activation_fn: Any,
    dnn_dropout: float | None,
    input_layer_partitioner: Any,
    batch_norm: bool,
    linear_sparse_combiner: str,
) -> EstimatorSpec:
    values = tuple(by_name(features).values())
    of_input = input_layer_partitioner or partitioner_for(config, of_input=True)
    logits: list[Any] = []
    trained: list[tuple[Any, str]] = []  # optimizers, and the scopes of their variables
    if dnn_feature_columns:
        optimizer = _optimizer(dnn_optimizer, _NETWORK_LEARNING_RATE)
        partitioner = partitioner_for(config, of_input=False)
        with tf.variable_scope("dnn", values=values, partitioner=partitioner) as scope:
            network = dnn_logit_fn_builder(
                head.logits_dimension,
                dnn_hidden_units,
                dnn_feature_columns,
                dnn_activation_fn,
                dnn_dropout,
                of_input,
                batch_norm,
            )
            logits.append(network(features, mode))
            trained.append((optimizer, scope.name))
    if linear_feature_columns:
        rate = min(_LINEAR_LEARNING_RATE, 1.0 / math.sqrt(len(linear_feature_columns)))
        optimizer = _optimizer(linear_optimizer, rate)
        with tf.variable_scope("linear", values=values, partitioner=of_input) as scope:
            linear = linear_logit_fn_builder(
                head.logits_dimension, linear_feature_columns, linear_sparse_combiner
            )
            logits.append(linear(features))
            summarise_layer(logits[-1], scope.name)
            trained.append((optimizer, scope.name))

    def train_op_fn(loss: Any) -> Any:
        trainable = tf.GraphKeys.TRAINABLE_VARIABLES
        updates = [
            optimizer.minimize(loss, var_list=tf.get_collection(trainable, scope=scope))
            for optimizer, scope in trained
        ]
        with tf.control_dependencies(updates):
            return tf.assign_add(tf.train.get_global_step(), 1).op

    return head.create_estimator_spec(
        features=features,
        mode=mode,
        labels=labels,
        train_op_fn=train_op_fn,
        logits=logits[0] if len(logits) == 1 else logits[0] + logits[1],
    )


class _Combined(Estimator):
    """A network and a linear model over feature columns with a head."""

    def __init__(
        self,
        head: Any,
        model_dir: Any,
        config: Any,
        warm_start_from: Any,
        *,
        linear_feature_columns: Any,
        dnn_feature_columns: Any,
        dnn_hidden_units: Any,
        **model: Any,
    ):
        linear, dnn = list(linear_feature_columns or ()), list(dnn_feature_columns or ())
        if not linear and not dnn:
            raise ValueError(
                "Either linear_feature_columns or dnn_feature_columns must be defined."
            )
        if dnn and not dnn_hidden_units:
            raise ValueError(
                "dnn_hidden_units must be defined when dnn_feature_columns is specified."
            )
        model_fn: Callable = functools.partial(
            _combined_model,
            head=head,
            linear_feature_columns=linear,
            dnn_feature_columns=dnn,
            dnn_hidden_units=dnn_hidden_units,
            **model,
        )
        super().__init__(
            model_fn=model_fn, model_dir=model_dir, config=config, warm_start_from=warm_start_from
        )


@export("estimator.DNNLinearCombinedClassifier")
class DNNLinearCombinedClassifier(_Combined):
    """Classes by a network and a linear model together."""

    def __init__(
        self,
        model_dir: Any = None,
        linear_feature_columns: Any = None,
        linear_optimizer: Any = "Ftrl",
        dnn_feature_columns: Any = None,
        dnn_optimizer: Any = "Adagrad",
        dnn_hidden_units: Any = None,
        dnn_activation_fn: Any = tf.nn.relu,
        dnn_dropout: float | None = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Any = None,
        input_layer_partitioner: Any = None,
        config: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = "weighted_sum",
        batch_norm: bool = False,
        linear_sparse_combiner: str = "sum",
    ):
        super().__init__(
            class_head(n_classes, weight_column, label_vocabulary, loss_reduction),
            model_dir,
            config,
            warm_start_from,
            linear_feature_columns=linear_feature_columns,
            linear_optimizer=linear_optimizer,
            dnn_feature_columns=dnn_feature_columns,
            dnn_optimizer=dnn_optimizer,
            dnn_hidden_units=dnn_hidden_units,
            dnn_activation_fn=dnn_activation_fn,
            dnn_dropout=dnn_dropout,
            input_layer_partitioner=input_layer_partitioner,
            batch_norm=batch_norm,
            linear_sparse_combiner=linear_sparse_combiner,
        )


@export("estimator.DNNLinearCombinedRegressor")
class DNNLinearCombinedRegressor(_Combined):
    """Numbers by a network and a linear model together."""

    def __init__(
        self,
        model_dir: Any = None,
        linear_feature_columns: Any = None,
        linear_optimizer: Any = "Ftrl",
        dnn_feature_columns: Any = None,
        dnn_optimizer: Any = "Adagrad",
        dnn_hidden_units: Any = None,
        dnn_activation_fn: Any = tf.nn.relu,
        dnn_dropout: float | None = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        input_layer_partitioner: Any = None,
        config: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = "weighted_sum",
        batch_norm: bool = False,
        linear_sparse_combiner: str = "sum",
    ):
        super().__init__(
            RegressionHead(label_dimension, weight_column, loss_reduction),
            model_dir,
            config,
            warm_start_from,
            linear_feature_columns=linear_feature_columns,
            linear_optimizer=linear_optimizer,
            dnn_feature_columns=dnn_feature_columns,
            dnn_optimizer=dnn_optimizer,
            dnn_hidden_units=dnn_hidden_units,
            dnn_activation_fn=dnn_activation_fn,
            dnn_dropout=dnn_dropout,
            input_layer_partitioner=input_layer_partitioner,
            batch_norm=batch_norm,
            linear_sparse_combiner=linear_sparse_combiner,
        )


@export("estimator.DNNLinearCombinedEstimator")
class DNNLinearCombinedEstimator(_Combined):
    """What a head makes of a network and a linear model together."""

    def __init__(
        self,
        head: Any,
        model_dir: Any = None,
        linear_feature_columns: Any = None,
        linear_optimizer: Any = "Ftrl",
        dnn_feature_columns: Any = None,
        dnn_optimizer: Any = "Adagrad",
        dnn_hidden_units: Any = None,
        dnn_activation_fn: Any = tf.nn.relu,
        dnn_dropout: float | None = None,
        input_layer_partitioner: Any = None,
        config: Any = None,
        linear_sparse_combiner: str = "sum",
    ):
        super().__init__(
            head,
            model_dir,
            config,
            None,
            linear_feature_columns=linear_feature_columns,
            linear_optimizer=linear_optimizer,
            dnn_feature_columns=dnn_feature_columns,
            dnn_optimizer=dnn_optimizer,
            dnn_hidden_units=dnn_hidden_units,
            dnn_activation_fn=dnn_activation_fn,
            dnn_dropout=dnn_dropout,
            input_layer_partitioner=input_layer_partitioner,
            batch_norm=False,
            linear_sparse_combiner=linear_sparse_combiner,
        )
