"""Branches, loops and functions whose operations are on both tasks."""

import json

PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"


def _on(tf, device, function):
    def place(*args):
        with tf.device(device):
            return function(*args)

    return place


def _check(tf, sess, fetch, feeds, expected):
    sess.run(tf.global_variables_initializer())
    for _ in range(2):
        given = [sess.run(fetch, feed) for feed in feeds]
        given = json.loads(json.dumps(given, default=lambda o: o.tolist()))
        assert given == expected, given


def a_branch_elsewhere(tf, sess):
    x = tf.placeholder(tf.float32, [])
    with tf.device(WORKER):
        y = tf.cond(x > 0, _on(tf, PS, lambda: x * 2.0), lambda: x - 1.0)
        z = y + 1.0
    _check(tf, sess, [y, z], [{x: 3.0}, {x: -3.0}], [[6.0, 7.0], [-4.0, -3.0]])


def a_branch_with_effects(tf, sess):
    p = tf.placeholder(tf.bool, [])
    with tf.device(PS):
        v = tf.get_variable("branched", initializer=2.0, use_resource=True)
    with tf.device(WORKER):
        y = tf.cond(p, lambda: v.assign_add(1.0) + 0.0, lambda: v.assign_sub(1.0) + 0.0)
    sess.run(v.initializer)
    assert [sess.run(y, {p: True}), sess.run(v)] == [3.0, 3.0]
    assert [sess.run(y, {p: False}), sess.run(v)] == [2.0, 2.0]


def a_loop_over_tasks(tf, sess):
    with tf.device(PS):
        r = tf.get_variable("looped", initializer=1.0, use_resource=False)
    x = tf.placeholder(tf.float32, [])

    def body(i, a):
        return i + 1, _on(tf, PS, lambda: a * r * 2.0)() * x

    with tf.device(WORKER):
        i, a = tf.while_loop(lambda i, a: i < 3, body, [0, 1.0])
    _check(tf, sess, [i, a], [{x: 3.0}, {x: 1.0}], [[3, 216.0], [3, 8.0]])


def its_gradient(tf, sess):
    x = tf.placeholder(tf.float32, [])

    def body(i, a):
        return i + 1, _on(tf, PS, lambda: a * x)()

    with tf.device(WORKER):
        a = tf.while_loop(lambda i, a: i < 3, body, [0, 1.0])[1]
        g = tf.gradients(a, x)[0]
    _check(tf, sess, [a, g], [{x: 3.0}], [[27.0, 27.0]])


def loops_and_branches_in_each_other(tf, sess):
    p = tf.placeholder(tf.bool, [])

    def inner(i, a):
        step = _on(tf, PS, lambda j, b: (j + 1, b + 1.0))
        return tf.while_loop(lambda j, b: j < i, step, [0, a])[1]

    def body(i, a):
        b = tf.cond(tf.equal(i % 2, 0), _on(tf, PS, lambda: a + 10.0), lambda: a + 1.0)
        return i + 1, inner(i, b) * 1.0

    with tf.device(WORKER):
        y = tf.cond(
            p,
            lambda: tf.while_loop(lambda i, a: i < 4, body, [0, 0.0])[1],
            lambda: tf.constant(-1.0),
        )
    _check(tf, sess, y, [{p: True}, {p: False}], [28.0, -1.0])


def a_loop_that_does_not_run(tf, sess):
    n = tf.placeholder(tf.int32, [])
    step = _on(tf, PS, lambda i, a: (i + 1, a * 2.0))
    with tf.device(WORKER):
        y = tf.while_loop(lambda i, a: i < n, step, [0, tf.identity(1.0)])[1] + 1.0
    _check(tf, sess, y, [{n: 0}, {n: 2}], [2.0, 5.0])


def a_map_elsewhere(tf, sess):
    x = tf.placeholder(tf.float32, [None])
    with tf.device(WORKER):
        y = tf.map_fn(_on(tf, PS, lambda e: e * e), x)
        g = tf.gradients(y, x)[0]
    _check(tf, sess, [y, g], [{x: [1.0, 2.0, 3.0]}], [[[1.0, 4.0, 9.0], [2.0, 4.0, 6.0]]])


def functions_over_tasks(tf, sess):
    with tf.device(PS):
        v = tf.get_variable("of_function", initializer=2.0, use_resource=True)

    @tf.function
    def f(x):
        y = _on(tf, PS, lambda: x * 3.0)()
        v.assign_add(y)
        return v + 1.0, y

    with tf.device(WORKER):
        results = f(tf.constant(2.0))
    sess.run(v.initializer)
    assert tuple(sess.run(results)) == (9.0, 6.0)
    assert sess.run(results[0]) == 15.0 and sess.run(v) == 14.0


def one_of_several_branches(tf, sess):
    i = tf.placeholder(tf.int32, [])
    with tf.device(WORKER):
        branches = [
            _on(tf, device, lambda k=k: tf.constant(1.0) * k)
            for k, device in enumerate((PS, WORKER, PS))
        ]
        y = tf.switch_case(i, branches) + 1.0
    _check(tf, sess, y, [{i: k} for k in (0, 1, 2, 7)], [1.0, 2.0, 3.0, 3.0])


def what_optimizers_write(tf, sess):
    """A master of TensorFlow sends operations that stand for several."""
    x = tf.placeholder(tf.float32, [1, 4, 4, 2])
    with tf.device(PS):
        ones = tf.ones([3, 3, 2, 2])
        h = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, ones, 1, "SAME"), [1.0, -100.0]))
        scaled = tf.nn.fused_batch_norm(
            h, [2.0, 1.0], [0.0, 1.0], [1.0, 1.0], [1.0, 1.0], is_training=False, epsilon=1e-7
        )
        flat = tf.reshape(tf.nn.relu(scaled[0]), [1, 32])
        y = tf.nn.relu6(tf.nn.bias_add(tf.matmul(flat, tf.ones([32, 2])), [-400.0, 0.5]))
        z = tf.nn.elu(tf.matmul(flat, tf.ones([32, 2])) + [-400.0, 0.5])
        rows = tf.parallel_stack([tf.reduce_sum(flat), tf.constant(7.0)])
        total = tf.accumulate_n([y, z])
    with tf.device(WORKER):
        out = [tf.round(t / 4.0) for t in (y, z, rows, total)]
    _check(
        tf,
        sess,
        out,
        [{x: [[[[1.0, 1.0]] * 4] * 4]}],
        [[[[0.0, 2.0]], [[0.0, 100.0]], [100.0, 2.0], [[0.0, 102.0]]]],
    )
