"""Branches and loops as functions (If, While) and functions that are called (PartitionedCall)."""

import numpy as np


def build(tf):
    was_on = tf.control_flow_v2_enabled()
    tf.enable_control_flow_v2()
    try:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        weights = tf.constant([[1.0, 2.0], [3.0, -4.0]])

        @tf.function
        def layer(value):
            return tf.nn.relu(tf.matmul(value, weights))

        @tf.function
        def both(value):
            return layer(value) + layer(-value)

        called = both(x)
        tf.identity(called, name="called")
        tf.identity(tf.gradients(called, x)[0], name="called_gradient")
        chosen = tf.cond(tf.reduce_sum(x) > 0, lambda: both(x) * 2.0, lambda: tf.exp(x))
        tf.identity(chosen, name="chosen")
        tf.identity(tf.gradients(chosen, x)[0], name="chosen_gradient")
        looped = tf.while_loop(
            lambda i, v: i < 4, lambda i, v: (i + 1, tf.tanh(v) + x), (tf.constant(0), x)
        )
        tf.identity(looped[1], name="looped")
        slope = tf.gradients(looped[1], x)[0]
        tf.identity(slope, name="looped_gradient")
        tf.identity(tf.gradients(slope, x)[0], name="looped_curvature")
    finally:
        if not was_on:
            tf.disable_control_flow_v2()
    fetches = [
        name + ending + ":0"
        for name in ("called", "chosen", "looped")
        for ending in ("", "_gradient")
    ] + ["looped_curvature:0"]
    inputs = ([[1.0, 2.0]], [[-3.0, 1.0], [0.5, -0.5]])
    return {"runs": [({"x:0": np.array(value, np.float32)}, fetches) for value in inputs]}
