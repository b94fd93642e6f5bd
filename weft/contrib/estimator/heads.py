"""Heads as functions: those of `tf.estimator`, whose losses are divided by the size of the batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.estimator.heads.classes import BinaryClassHead, MultiClassHead
from weft.estimator.heads.head import Head
from weft.estimator.heads.labels import MultiLabelHead
from weft.estimator.heads.numbers import (
    LogisticRegressionHead,
    PoissonRegressionHead,
    RegressionHead,
)
from weft.estimator.heads.several import MultiHead
from weft.framework.export import export

_BY_SIZE = "weighted_sum_over_batch_size"


@export("contrib.estimator.binary_classification_head")
def binary_classification_head(
    weight_column: Any = None,
    thresholds: Any = None,
    label_vocabulary: Any = None,
    loss_reduction: str = _BY_SIZE,
    loss_fn: Callable | None = None,
    name: str | None = None,
) -> Head:
    """One of two classes."""
    return BinaryClassHead(
        weight_column, thresholds, label_vocabulary, loss_reduction, loss_fn, name
    )


@export("contrib.estimator.multi_class_head")
def multi_class_head(
    n_classes: int,
    weight_column: Any = None,
    label_vocabulary: Any = None,
    loss_reduction: str = _BY_SIZE,
    loss_fn: Callable | None = None,
    name: str | None = None,
) -> Head:
    """One of several classes."""
    return MultiClassHead(n_classes, weight_column, label_vocabulary, loss_reduction, loss_fn, name)


@export("contrib.estimator.multi_label_head")
def multi_label_head(
    n_classes: int,
    weight_column: Any = None,
    thresholds: Any = None,
    label_vocabulary: Any = None,
    loss_reduction: str = _BY_SIZE,
    loss_fn: Callable | None = None,
    classes_for_class_based_metrics: Any = None,
    name: str | None = None,
) -> Head:
    """Any number of several classes at once."""
    return MultiLabelHead(
        n_classes,
        weight_column,
        thresholds,
        label_vocabulary,
        loss_reduction,
        loss_fn,
        classes_for_class_based_metrics,
        name,
    )


@export("contrib.estimator.regression_head")
def regression_head(
    weight_column: Any = None,
    label_dimension: int = 1,
    loss_reduction: str = _BY_SIZE,
    loss_fn: Callable | None = None,
    inverse_link_fn: Callable | None = None,
    name: str | None = None,
) -> Head:
    """Numbers."""
    return RegressionHead(
        label_dimension, weight_column, loss_reduction, loss_fn, inverse_link_fn, name
    )


@export("contrib.estimator.poisson_regression_head")
def poisson_regression_head(
    weight_column: Any = None,
    label_dimension: int = 1,
    loss_reduction: str = _BY_SIZE,
    compute_full_loss: bool = True,
    name: str | None = None,
) -> Head:
    """Counts."""
    return PoissonRegressionHead(
        label_dimension, weight_column, loss_reduction, compute_full_loss, name
    )


@export("contrib.estimator.logistic_regression_head")
def logistic_regression_head(
    weight_column: Any = None, loss_reduction: str = _BY_SIZE, name: str | None = None
) -> Head:
    """Numbers between 0 and 1."""
    return LogisticRegressionHead(weight_column, loss_reduction, name)


@export("contrib.estimator.multi_head")
def multi_head(heads: Any, head_weights: Any = None) -> Head:
    """Several heads on one model."""
    return MultiHead(heads, head_weights)
