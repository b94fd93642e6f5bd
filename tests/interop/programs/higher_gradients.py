"""Gradients of gradients, a Hessian, stopped and custom gradients, all as graph ops."""

import numpy as np


def build(tf):
    x = tf.placeholder(tf.float32, [3], name="x")
    y = tf.reduce_sum(tf.sin(x) * x**3 + tf.exp(-x) / (1.0 + x * x))
    first = tf.gradients(y, x)[0]
    second = tf.gradients(first, x)[0]
    third = tf.gradients(second, x, grad_ys=[x])[0]
    hessian = tf.hessians(tf.reduce_prod(x) + y, x)[0]
    stopped = tf.gradients(tf.stop_gradient(x * x) * x, x)[0]

    @tf.custom_gradient
    def clipped(value):
        return value * 2.0, lambda grad: tf.clip_by_value(grad, -0.1, 0.1)

    custom = tf.gradients(tf.reduce_sum(clipped(x) ** 2), x)[0]
    results = [first, second, third, hessian, stopped, custom]
    names = [tf.identity(result, name="result_%d" % i).name for i, result in enumerate(results)]
    return {"runs": [({"x:0": np.array([0.3, -0.7, 1.1], np.float32)}, names)]}
