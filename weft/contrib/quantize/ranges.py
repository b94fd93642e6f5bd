"""Tensors rounded to few bits, within a range that is learnt while training: `min` and `max` are variables."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework.graph_keys import GraphKeys
from weft.train.moving_averages import assign_moving_average


def last_value_quantized(inputs: Any, **how: Any) -> Any:
    """Within the range of the last values, as weights are."""
    return _quantized(inputs, _assign_last, **how)


def moving_average_quantized(inputs: Any, ema_decay: float = 0.999, **how: Any) -> Any:
    """Within a range that moves slowly to that of the values, as activations are."""

    def assign(variable: Any, value: Any, end: str) -> Any:
        return assign_moving_average(variable, value, ema_decay, name=f"Assign{end}Ema")

    return _quantized(inputs, assign, **how)


def _assign_last(variable: Any, value: Any, end: str) -> Any:
    return tf.assign(variable, value, name=f"Assign{end}Last")


def _quantized(
    inputs: Any,
    assign: Any,
    name_prefix: str,
    is_training: bool,
    init_min: float = -6.0,
    init_max: float = 6.0,
    num_bits: int = 8,
    narrow_range: bool = False,
    symmetric: bool = False,
    collection: str = GraphKeys.GLOBAL_VARIABLES,
) -> Any:
    with tf.variable_scope(None, default_name=name_prefix, values=[inputs]) as scope:
        scope.set_partitioner(None)
        ends = []
        for name, value in (("min", init_min), ("max", init_max)):
            variable = tf.get_variable(
                name,
                shape=[],
                initializer=tf.constant_initializer(value),
                collections=list({GraphKeys.GLOBAL_VARIABLES, collection}),
                trainable=False,
                aggregation=tf.VariableAggregation.MEAN,
            )
            ends.append(variable)
        if is_training:
            least = tf.reduce_min(inputs, name="BatchMin")
            most = tf.reduce_max(inputs, name="BatchMax")
            if symmetric:
                # With a wide range there is one negative number more than there are positive ones.
                ratio = -1 if narrow_range else -((1 << num_bits) - 2) / (1 << num_bits)
                least, most = tf.minimum(least, most / ratio), tf.maximum(most, least * ratio)
            else:
                least, most = tf.minimum(least, 0.0), tf.maximum(most, 0.0)
            ends = [assign(ends[0], least, "Min"), assign(ends[1], most, "Max")]
        return tf.fake_quant_with_min_max_vars(
            inputs, *ends, num_bits=num_bits, narrow_range=narrow_range
        )


def quantization_step(graph: Any) -> Any:
    """How many steps the rewritten graph has run; counted once a step."""
    try:
        return graph.get_tensor_by_name("fake_quantization_step/Identity:0")
    except KeyError:
        pass
    with (
        tf.name_scope(None),
        tf.variable_scope(tf.VariableScope(reuse=False), auxiliary_name_scope=False),
    ):
        step = tf.get_variable(
            "fake_quantization_step",
            shape=[],
            dtype=tf.int64,
            initializer=tf.zeros_initializer(),
            trainable=False,
            collections=[GraphKeys.GLOBAL_VARIABLES],
            aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,
        )
        with tf.name_scope(step.op.name + "/"):
            return tf.identity(tf.assign_add(step, 1))
