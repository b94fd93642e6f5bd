"""A frozen graph: variables made constants, with the Switch, Merge, Enter and Exit of its loop."""

import numpy as np


def build(tf):
    random = np.random.RandomState(0)
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    start = tf.constant(random.randn(3, 3).astype(np.float32))
    kernel = tf.get_variable("kernel", initializer=start)
    shared = tf.get_variable("shared", initializer=start * 0.5, use_resource=True)
    y = tf.while_loop(
        lambda i, v: tf.logical_and(i < 5, tf.reduce_max(tf.abs(v)) < 20.0),
        lambda i, v: (i + 1, tf.matmul(v, kernel) + x),
        (tf.constant(0), x),
    )[1]
    y = tf.cond(tf.reduce_sum(y) > 0, lambda: tf.matmul(y, shared), lambda: y - 1.0)
    tf.nn.softmax(y, name="output")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        graph_def = tf.graph_util.convert_variables_to_constants(
            session, session.graph_def, ["output"]
        )
    assert not any("Variable" in node.op or node.op == "VarHandleOp" for node in graph_def.node)
    inputs = [random.randn(2, 3).astype(np.float32) * scale for scale in (0.1, 1.0, -1.0)]
    runs = [({"x:0": value}, ["output:0"]) for value in inputs]
    return {"frozen": graph_def, "init": "init", "runs": runs}
