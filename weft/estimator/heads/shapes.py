"""Labels, weights and logits of heads, with their shapes checked."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.feature_column.base import FeatureTransformationCache
from weft.feature_column.numeric import NumericColumn
from weft.framework.sparse_tensor import SparseTensor

_NO_LABELS = (
    "You must provide a labels Tensor. Given: None. Suggested troubleshooting steps: Check that your data contains "
    "your label feature. Check that your input_fn properly parses and returns labels."
)


def checked_logits(logits: Any, dimension: int) -> Any:
    """Logits as floats, whose last axis has as many numbers as the head needs."""
    with tf.name_scope("logits"):
        logits = tf.cast(logits, tf.float32)
        wrong = "logits shape must be [D0, D1, ... DN, logits_dimension]"
        shape = logits.get_shape()
        if (
            shape.ndims is not None
            and shape.ndims < 2
            or shape[-1:].as_list()
            not in (
                [None],
                [dimension],
            )
        ):
            raise ValueError(f"{wrong}, got {shape} for logits_dimension {dimension}.")
        if shape.ndims is not None and shape[-1].value is not None:
            return logits
        fits = tf.assert_equal(tf.shape(logits)[-1], dimension, message=wrong)
        with tf.control_dependencies([fits]):
            return tf.identity(logits)


def checked_labels(labels: Any, logits: Any, dimension: int) -> Any:
    """Labels [..., dimension] for logits [..., n]; the last axis may be left out where it is one."""
    if labels is None:
        raise ValueError(_NO_LABELS)
    if isinstance(labels, SparseTensor):
        raise ValueError(
            f"SparseTensor labels are not supported. Labels must be a Tensor of shape [D0, D1, ..., DN, {dimension}], "
            f"e.g. [batch_size, {dimension}]. Suggested Fix (1): Check the label feature in your data. Each example "
            f"must contain {dimension} value(s). If not, your choice of label was probably incorrect. Suggested Fix "
            "(2): In your input_fn, use tf.sparse_tensor_to_dense() to turn labels into a Tensor."
        )
    with tf.name_scope("labels"):
        labels = tf.convert_to_tensor(labels)
        if None not in (labels.shape.ndims, logits.shape.ndims) and (
            labels.shape.ndims == logits.shape.ndims - 1
        ):
            labels = tf.expand_dims(labels, -1)
        wrong = (
            f"labels shape must be [D0, D1, ... DN, {dimension}]. Suggested Fix: check your n_classes argument to the "
            "head and/or the shape of your label."
        )
        if labels.shape.ndims is not None:
            last = labels.shape[-1].value if labels.shape.ndims > 0 else 1
            if last not in (None, dimension):
                raise ValueError(
                    f"Mismatched label shape. Expected labels dimension={dimension}.  Received {last}. Suggested Fix: "
                    "If your classifier expects one-hot encoding label, check your n_classes argument to the estimator "
                    "and/or the shape of your label. Otherwise, check the shape of your label."
                )
        least = tf.assert_rank_at_least(labels, 2, message=wrong)
        with tf.control_dependencies([least]):
            expected = tf.concat([tf.shape(logits)[:-1], [dimension]], axis=0)
            fits = tf.assert_equal(expected, tf.shape(labels), message=wrong)
        with tf.control_dependencies([fits]):
            return tf.identity(labels)


def checked_weights(features: Any, column: Any, logits: Any, one_per_logit: bool) -> Any:
    """The weights that a column has, one for each example (or each logit); 1 where there is no column."""
    if column is None:
        return 1.0
    if isinstance(column, str):
        column = tf.feature_column.numeric_column(column, shape=(1,))
    if not isinstance(column, NumericColumn):
        raise TypeError(
            f"Weight column must be either a string or NumericColumn. Given type: {type(column)}."
        )
    with tf.name_scope("weights"):
        weights = column._get_dense_tensor(FeatureTransformationCache(features))
        if not (weights.dtype.is_floating or weights.dtype.is_integer):
            raise ValueError(
                f"Weight column should be castable to float. Given dtype: {weights.dtype}"
            )
        weights = tf.cast(weights, tf.float32)
        if None not in (weights.shape.ndims, logits.shape.ndims) and (
            weights.shape.ndims == logits.shape.ndims - 1
        ):
            weights = tf.expand_dims(weights, -1)
        shape, of_logits = tf.shape(weights), tf.shape(logits)
        by_example = tf.concat([of_logits[:-1], [1]], axis=0)
        if not one_per_logit:
            wrong = "weights shape must be [D0, D1, ... DN] or [D0, D1, ... DN, 1]"
            fits = tf.assert_equal(by_example, shape, message=wrong)
        else:
            wrong = "weights shape must be [D0, D1, ... DN], [D0, D1, ... DN, 1] or [D0, D1, ... DN, logits_dimension]"
            either = [tf.reduce_all(tf.equal(s, shape)) for s in (of_logits, by_example)]
            fits = tf.Assert(tf.reduce_any(either), [wrong, of_logits, shape])
        with tf.control_dependencies([fits]):
            return tf.identity(weights)


def in_range(labels: Any, n_classes: int) -> Any:
    """Labels that are checked to be class ids when they are read."""
    most = tf.constant(n_classes - 1, dtype=labels.dtype)
    checks = [
        tf.assert_less_equal(labels, most, message="Labels must be <= n_classes - 1"),
        tf.assert_non_negative(labels, message="Labels must be >= 0"),
    ]
    with tf.control_dependencies(checks):
        return tf.identity(labels)
