"""A MetaGraphDef: the collections bring the variables back as variables."""

import numpy as np


def build(tf):
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    with tf.variable_scope("model"):
        w = tf.get_variable("w", initializer=tf.constant([[1.0], [2.0]]))
        b = tf.get_variable("b", initializer=tf.constant([0.5]), use_resource=True)
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b), name="loss")
    tf.train.GradientDescentOptimizer(0.1).minimize(loss, name="train")
    tf.add_to_collection("losses", loss)
    tf.global_variables_initializer()
    feeds = {"x:0": np.array([[1.0, -1.0], [0.5, 2.0]], np.float32)}
    return {
        "init": "init",
        "meta": True,
        "trainable": ["model/w:0", "model/b:0"],
        "runs": [(feeds, ["loss:0", "train"])] * 3,
    }
