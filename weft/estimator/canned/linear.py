"""`tf.estimator.LinearClassifier` and its kin."""

from __future__ import annotations

import functools
import math
from typing import Any

import weft as tf
from weft.estimator.canned.models import by_name, linear_logit_fn_builder, partitioner_for
from weft.estimator.canned.optimizers import optimizer_of
from weft.estimator.estimator import Estimator
from weft.estimator.heads.classes import class_head
from weft.estimator.heads.numbers import RegressionHead
from weft.estimator.spec import EstimatorSpec
from weft.framework.export import export

_LEARNING_RATE = 0.2


def _linear_model(
    features: Any,
    labels: Any,
    mode: str,
    config: Any,
    *,
    head: Any,
    feature_columns: Any,
    optimizer: Any,
    partitioner: Any,
    sparse_combiner: str,
) -> EstimatorSpec:
    columns = tuple(feature_columns or ())
    by_name(features)
    partitioner = partitioner or partitioner_for(config, of_input=True)
    with tf.variable_scope("linear", values=tuple(features.values()), partitioner=partitioner):
        logits = linear_logit_fn_builder(head.logits_dimension, columns, sparse_combiner)(features)
        rate = min(_LEARNING_RATE, 1.0 / math.sqrt(len(columns)))
        chosen = (
            optimizer_of(optimizer, _LEARNING_RATE)
            if optimizer
            else tf.train.FtrlOptimizer(learning_rate=rate)
        )
        return head.create_estimator_spec(
            features=features, mode=mode, labels=labels, optimizer=chosen, logits=logits
        )


class _Linear(Estimator):
    """A linear model of feature columns with a head."""

    def __init__(
        self,
        head: Any,
        feature_columns: Any,
        model_dir: Any,
        optimizer: Any,
        config: Any,
        partitioner: Any,
        warm_start_from: Any,
        sparse_combiner: str,
    ):
        super().__init__(
            model_fn=functools.partial(
                _linear_model,
                head=head,
                feature_columns=feature_columns,
                optimizer=optimizer,
                partitioner=partitioner,
                sparse_combiner=sparse_combiner,
            ),
            model_dir=model_dir,
            config=config,
            warm_start_from=warm_start_from,
        )


@export("estimator.LinearClassifier")
class LinearClassifier(_Linear):
    """Classes by weights of features, added up."""

    def __init__(
        self,
        feature_columns: Any,
        model_dir: Any = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Any = None,
        optimizer: Any = "Ftrl",
        config: Any = None,
        partitioner: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = "weighted_sum",
        sparse_combiner: str = "sum",
    ):
        super().__init__(
            class_head(n_classes, weight_column, label_vocabulary, loss_reduction),
            feature_columns,
            model_dir,
            optimizer,
            config,
            partitioner,
            warm_start_from,
            sparse_combiner,
        )


@export("estimator.LinearRegressor")
class LinearRegressor(_Linear):
    """Numbers by weights of features, added up."""

    def __init__(
        self,
        feature_columns: Any,
        model_dir: Any = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        optimizer: Any = "Ftrl",
        config: Any = None,
        partitioner: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = "weighted_sum",
        sparse_combiner: str = "sum",
    ):
        super().__init__(
            RegressionHead(label_dimension, weight_column, loss_reduction),
            feature_columns,
            model_dir,
            optimizer,
            config,
            partitioner,
            warm_start_from,
            sparse_combiner,
        )


@export("estimator.LinearEstimator")
class LinearEstimator(_Linear):
    """What a head makes of weights of features, added up."""

    def __init__(
        self,
        head: Any,
        feature_columns: Any,
        model_dir: Any = None,
        optimizer: Any = "Ftrl",
        config: Any = None,
        partitioner: Any = None,
        sparse_combiner: str = "sum",
    ):
        super().__init__(
            head,
            feature_columns,
            model_dir,
            optimizer,
            config,
            partitioner,
            None,
            sparse_combiner,
        )
