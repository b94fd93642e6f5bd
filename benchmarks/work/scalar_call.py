"""What a call costs: fed scalars through three ops; ten fetches and three feeds."""

import numpy as np

from timing import per_call


def measure(tf):
    a = tf.placeholder(tf.float32, [])
    b = tf.placeholder(tf.float32, [])
    c = tf.placeholder(tf.float32, [3])
    few = (a + b) * (a - b)
    many = [few, a + b, a - b, a * b, c * a, c + b, c - a, tf.reduce_sum(c), tf.exp(c), tf.abs(c)]
    vector = np.array([1, 2, 3], np.float32)
    with tf.Session() as session:
        return {
            "few": per_call(lambda: session.run(few, {a: 3.0, b: 2.0}), warm=200),
            "many": per_call(lambda: session.run(many, {a: 3.0, b: 2.0, c: vector}), warm=200),
        }
