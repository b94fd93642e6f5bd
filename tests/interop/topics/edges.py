"""Edges of all kinds between tasks."""

import numpy as np

PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"


def arrays_of_tensors(tf, sess):
    with tf.device(PS):
        size = tf.placeholder(tf.int32, [])
        array = tf.TensorArray(tf.float32, size, clear_after_read=False)
        array = array.write(0, tf.constant([1.0, 2.0])).write(1, tf.constant([3.0, 4.0]))
        rows = array.stack()
    with tf.device(WORKER):
        total = tf.reduce_sum(rows, 0)
    assert sess.run(total, {size: 2}).tolist() == [4.0, 6.0]


def control_edges_cross(tf, sess):
    with tf.device(PS):
        v = tf.get_variable("ordered", initializer=1.0, use_resource=True)
    with tf.device(WORKER):
        noted = tf.get_variable("noted", initializer=0.0, use_resource=False)
        first = noted.assign(5.0)
        with tf.control_dependencies([first]):
            now = noted.read_value()
            with tf.device(PS):
                second = v.assign_add(now)
        with tf.control_dependencies([second if not hasattr(second, "op") else second.op]):
            third = tf.identity(v.read_value()) * now
    sess.run([v.initializer, noted.initializer])
    given = [sess.run(third), sess.run(third)]
    assert given == [30.0, 55.0], given


def feeds_of_what_is_elsewhere(tf, sess):
    with tf.device(PS):
        # One, but no constant: TensorFlow 2.21's master folds what follows from constants, and forgets feeds of it.
        a = tf.floor(tf.random_uniform([], 1.0, 1.9), name="fed_there")
        b = a + 1.0
    with tf.device(WORKER):
        c = a * 10.0 + b
    assert sess.run(c) == 12.0
    assert sess.run([c, a], {a: 5.0}) == [56.0, 5.0]
    assert sess.run(c, {b: 0.0}) == 10.0
    assert sess.run([a, a, b, b], {a: 2.0}) == [2.0, 2.0, 3.0, 3.0]


def shapes_that_change(tf, sess):
    x = tf.placeholder(tf.float32, [None, None])
    with tf.device(PS):
        y = tf.boolean_mask(x, tf.reduce_sum(x, 1) > 0)
    with tf.device(WORKER):
        z = tf.concat([y, y], 0)
    for rows in (
        [[1.0], [-1.0]],
        [[1.0, 1.0]],
        [[-1.0, 0.0, 0.0]],
        np.zeros((0, 2)),
        [[2.0, 2.0]] * 50,
    ):
        rows = np.array(rows, "f")
        kept = rows[rows.sum(1) > 0]
        assert (sess.run(z, {x: rows}) == np.concatenate([kept, kept])).all()
