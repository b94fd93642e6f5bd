"""`input_layer`, and what examples must hold for columns."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.feature_column import checks
from weft.feature_column.base import (
    DenseColumn,
    FeatureColumn,
    FeatureTransformationCache,
    flattened,
)
from weft.framework.export import export


def with_default_collections(collections: Any) -> list[str]:
    """The collections that variables of columns go to: those given, and the usual ones."""
    out = list(collections or [])
    for name in (tf.GraphKeys.GLOBAL_VARIABLES, tf.GraphKeys.MODEL_VARIABLES):
        if name not in out:
            out.append(name)
    return out


@export("feature_column.input_layer")
def input_layer(
    features: dict[str, Any],
    feature_columns: Any,
    weight_collections: Any = None,
    trainable: bool = True,
    cols_to_vars: dict | None = None,
    cols_to_output_tensors: dict | None = None,
) -> Any:
    """Returns a dense tensor [batch, width]: what the columns make of features, one after another by name.

    Variables of each column are put into `cols_to_vars`, its part of the result into
    `cols_to_output_tensors`, where these are given.
    """
    columns = checks.checked_columns(feature_columns, FeatureColumn, "_FeatureColumn")
    for column in columns:
        if not isinstance(column, DenseColumn):
            raise ValueError(
                "Items of feature_columns must be a _DenseColumn. You can wrap a categorical column with an "
                f"embedding_column or indicator_column. Given: {column}"
            )
    collections = with_default_collections(weight_collections)
    with tf.variable_scope(None, default_name="input_layer", values=list(features.values())):
        cache = FeatureTransformationCache(features)
        outputs = []
        for column in columns:
            with tf.variable_scope(None, default_name=column._var_scope_name) as scope:
                tensor = column._get_dense_tensor(cache, collections, trainable)
                flat = flattened(tensor, column._variable_shape.num_elements())
                outputs.append(flat)
                if cols_to_vars is not None:
                    cols_to_vars[column] = tf.get_collection(
                        tf.GraphKeys.GLOBAL_VARIABLES, scope=scope.name
                    )
                if cols_to_output_tensors is not None:
                    cols_to_output_tensors[column] = flat
        checks.check_batch_sizes(outputs, columns)
        return tf.concat(outputs, 1)


@export("feature_column.make_parse_example_spec")
def make_parse_example_spec(feature_columns: Any) -> dict[str, Any]:
    """Returns what `tf.io.parse_example` must read for the columns, by key."""
    return _spec(feature_columns, "_parse_example_spec", "_FeatureColumn")


@export("compat.v2.feature_column.make_parse_example_spec")
def make_parse_example_spec_v2(feature_columns: Any) -> dict[str, Any]:
    """Returns what `tf.io.parse_example` must read for the columns, by key."""
    return _spec(feature_columns, "parse_example_spec", "FeatureColumn")


def _spec(columns: Any, attribute: str, what: str) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for column in columns:
        if not isinstance(column, FeatureColumn):
            raise ValueError(f"All feature_columns must be {what} instances. Given: {column}")
        for key, wanted in getattr(column, attribute).items():
            if key in result and result[key] != wanted:
                raise ValueError(
                    f"feature_columns contain different parse_spec for key {key}. Given {wanted} and "
                    f"{result[key]}"
                )
            result[key] = wanted
    return result
