"""Branches and loops of TensorFlow 1: nested, differentiated, with side effects."""

import numpy as np


def build(tf):
    x = tf.placeholder(tf.float32, [None], name="x")
    count = tf.get_variable("count", [], tf.int32, tf.zeros_initializer(), trainable=False)
    positive = tf.reduce_sum(x) > 0

    def counted():
        with tf.control_dependencies([tf.assign_add(count, 1)]):
            return tf.reduce_sum(x * x)

    branch = tf.cond(positive, counted, lambda: tf.reduce_sum(-x) * 3.0)
    tf.identity(branch, name="branch")
    tf.identity(tf.gradients(branch, x)[0], name="branch_gradient")

    def inner(v):
        return tf.while_loop(lambda w: tf.reduce_sum(w) < 50.0, lambda w: w * 1.5 + 1.0, [v])

    looped = tf.while_loop(
        lambda i, v: i < 3,
        lambda i, v: (i + 1, tf.cond(tf.equal(i % 2, 0), lambda: inner(v) * 0.1, lambda: v - 1.0)),
        (tf.constant(0), tf.abs(x)),
    )
    tf.identity(looped[1], name="looped")
    tf.identity(tf.gradients(tf.reduce_sum(looped[1]), x)[0], name="looped_gradient")

    grown = tf.while_loop(
        lambda i, v: i < 3,
        lambda i, v: (i + 1, tf.concat([v, v[:1] * tf.cast(i, tf.float32)], 0)),
        (tf.constant(0), x),
        shape_invariants=(tf.TensorShape([]), tf.TensorShape([None])),
    )
    tf.identity(grown[1], name="grown")
    cases = tf.case(
        [
            (tf.size(x) > 3, lambda: tf.constant("long")),
            (positive, lambda: tf.constant("positive")),
        ],
        default=lambda: tf.constant("other"),
    )
    tf.identity(cases, name="cases")
    tf.identity(tf.map_fn(lambda v: v * v + 1.0, x), name="mapped")
    tf.identity(tf.scan(lambda a, v: a + v, x), name="scanned")
    tf.identity(tf.foldl(lambda a, v: a * 2.0 + v, x), name="folded")
    tf.global_variables_initializer()

    names = ["branch", "branch_gradient", "looped", "looped_gradient", "grown", "cases", "mapped"]
    fetches = [name + ":0" for name in names + ["scanned", "folded"]]
    inputs = ([1.0, 2.0], [-3.0, 1.0], [1.0, 2.0, 3.0, 4.0, -1.0])
    runs = [({"x:0": np.array(value, np.float32)}, fetches) for value in inputs]
    return {"init": "init", "runs": runs + [({}, ["count:0"])]}
