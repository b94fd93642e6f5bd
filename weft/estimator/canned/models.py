"""Logits of features: the linear model and the network that canned estimators are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import weft as tf
from weft.estimator.modes import ModeKeys
from weft.framework.export import export

_LEAST_PART_OF_INPUT = 64 << 20  # bytes


def by_name(features: Any) -> dict[str, Any]:
    """Features, checked to be a dict."""
    if not isinstance(features, dict):
        raise ValueError(
            f"features should be a dictionary of `Tensor`s. Given type: {type(features)}"
        )
    return features


def partitioner_for(config: Any, of_input: bool) -> Any:
    """How variables are shared out among the parameter servers."""
    servers = config.num_ps_replicas if config else 0
    least = {"min_slice_size": _LEAST_PART_OF_INPUT} if of_input else {}
    return tf.min_max_variable_partitioner(max_partitions=servers, **least)


def _parts(variables: Iterable[Any]) -> list[Any]:
    """Variables, those in parts by their parts."""
    return [part for v in variables for part in (v if isinstance(v, (list, tuple)) else [v])]


@export("estimator.experimental.linear_logit_fn_builder")
def linear_logit_fn_builder(
    units: int, feature_columns: Any, sparse_combiner: str = "sum"
) -> Callable[[dict[str, Any]], Any]:
    """A function that makes logits of features: weights of columns, added up."""

    def linear_logit_fn(features: dict[str, Any]) -> Any:
        variables: dict[Any, Any] = {}
        logits = tf.feature_column.linear_model(
            features,
            feature_columns,
            units=units,
            sparse_combiner=sparse_combiner,
            cols_to_vars=variables,
        )
        bias = _parts([variables.pop("bias")])
        if units > 1:
            tf.summary.histogram("bias", tf.concat([tf.identity(b) for b in bias], 0))
        else:
            tf.summary.scalar("bias", bias[0][0])
        weights = [tf.reshape(w, [-1]) for w in _parts(variables.values())]
        tf.summary.scalar("fraction_of_zero_weights", tf.nn.zero_fraction(tf.concat(weights, 0)))
        return logits

    return linear_logit_fn


@export("estimator.experimental.dnn_logit_fn_builder")
def dnn_logit_fn_builder(
    units: int,
    hidden_units: Any,
    feature_columns: Any,
    activation_fn: Any,
    dropout: float | None,
    input_layer_partitioner: Any,
    batch_norm: bool,
) -> Callable[[dict[str, Any], str], Any]:
    """A function that makes logits of features by layers of so many hidden units."""
    if not isinstance(units, int):
        raise ValueError(f"units must be an int.  Given type: {type(units)}")

    def dnn_logit_fn(features: dict[str, Any], mode: str) -> Any:
        training = mode == ModeKeys.TRAIN
        with tf.variable_scope("input_from_feature_columns", partitioner=input_layer_partitioner):
            net = tf.feature_column.input_layer(features, feature_columns)
        for i, size in enumerate(hidden_units):
            with tf.variable_scope(f"hiddenlayer_{i}") as scope:
                net = _dense(net, size, activation_fn, scope)
                if dropout is not None and training:
                    net = tf.layers.dropout(net, rate=dropout, training=True)
                if batch_norm:
                    # The statistics are the better, the longer training goes on: they forget slowly.
                    net = tf.layers.batch_normalization(
                        net, momentum=0.999, training=training, name=f"batchnorm_{i}"
                    )
            summarise_layer(net, scope.name)
        with tf.variable_scope("logits") as scope:
            logits = _dense(net, units, None, scope)
        summarise_layer(logits, scope.name)
        return logits

    return dnn_logit_fn


def _dense(inputs: Any, units: int, activation: Any, scope: Any) -> Any:
    return tf.layers.dense(
        inputs,
        units,
        activation=activation,
        kernel_initializer=tf.glorot_uniform_initializer(),
        name=scope,
    )


def summarise_layer(value: Any, tag: str) -> None:
    """How much of a layer is zero, and how its values are spread."""
    tf.summary.scalar(f"{tag}/fraction_of_zero_values", tf.nn.zero_fraction(value))
    tf.summary.histogram(f"{tag}/activation", value)
