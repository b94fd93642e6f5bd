"""`linear_model`: a weight for each category and number, added up."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.feature_column import checks
from weft.feature_column.base import (
    CategoricalColumn,
    DenseColumn,
    FeatureColumn,
    FeatureTransformationCache,
    flattened,
)
from weft.feature_column.dense_input import with_default_collections
from weft.feature_column.embedding import parts_of
from weft.framework.export import export


def dense_sum(tensor: Any, weights: Any, count: int) -> Any:
    """The weighted sum of a dense column."""
    return tf.matmul(flattened(tensor, count), weights, name="weighted_sum")


def categorical_sum(pair: Any, weights: Any, combiner: str) -> Any:
    """The sum of the weights of the categories of each row."""

    def flat(tensor: Any) -> Any:
        if tensor.dense_shape.shape.as_list() == [2]:
            return tensor
        return tf.sparse.reshape(tensor, [tf.shape(tensor)[0], -1])

    return tf.nn.safe_embedding_lookup_sparse(
        weights,
        flat(pair.id_tensor),
        sparse_weights=None if pair.weight_tensor is None else flat(pair.weight_tensor),
        combiner=combiner,
        name="weighted_sum",
    )


@export("feature_column.linear_model")
def linear_model(
    features: dict[str, Any],
    feature_columns: Any,
    units: int = 1,
    sparse_combiner: str = "sum",
    weight_collections: Any = None,
    trainable: bool = True,
    cols_to_vars: dict | None = None,
) -> Any:
    """Returns a tensor [batch, units]: the weighted sum of all that the columns make of features.

    Variables of each column, and under "bias" that of the bias, are put into `cols_to_vars`.
    """
    columns = checks.checked_columns(feature_columns, FeatureColumn, "_FeatureColumn")
    with tf.variable_scope(None, "linear_model") as scope:
        model_name = _leaf(scope.name)
    names = {}
    for column in columns:
        with tf.variable_scope(None, default_name=column._var_scope_name) as scope:
            names[column] = _leaf(scope.name)
        if not isinstance(column, (DenseColumn, CategoricalColumn)):
            raise ValueError(
                "Items of feature_columns must be either a _DenseColumn or _CategoricalColumn. "
                f"Given: {column}"
            )
    columns.sort(key=lambda column: names[column])
    found: dict[Any, list[Any]] = {}
    collections = with_default_collections(weight_collections)

    def variable(name: str, shape: list[int]) -> Any:
        return tf.get_variable(
            name,
            shape,
            initializer=tf.zeros_initializer(),
            trainable=trainable,
            collections=collections,
            use_resource=True,
        )

    with tf.variable_scope(model_name):
        cache = FeatureTransformationCache(features)
        sums = []
        for column in columns:
            with tf.variable_scope(names[column]) as scope:
                if isinstance(column, CategoricalColumn):
                    weights = variable("weights", [column._num_buckets, units])
                    pair = column._get_sparse_tensors(cache, collections, trainable)
                    sums.append(categorical_sum(pair, weights, sparse_combiner))
                else:
                    count = column._variable_shape.num_elements()
                    weights = variable("weights", [count, units])
                    tensor = column._get_dense_tensor(cache, collections, trainable)
                    sums.append(dense_sum(tensor, weights, count))
                found[column] = tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope=scope.name)
        checks.check_batch_sizes(sums, columns)
        bias = variable("bias_weights", [units])
        parts = parts_of(bias)
        found["bias"] = list(parts) if isinstance(parts, (list, tuple)) else [parts]
        total = tf.add_n(sums, name="weighted_sum_no_bias")
        result = tf.nn.bias_add(total, bias, name="weighted_sum")
    if cols_to_vars is not None:
        cols_to_vars.update(found)
    return result


def _leaf(name: str) -> str:
    return name.rsplit("/", 1)[-1]
