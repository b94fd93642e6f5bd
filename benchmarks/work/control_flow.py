"""What control flow costs: 10,000 trivial iterations, one `cond`, one Python function."""

import numpy as np

from timing import per_call

ITERATIONS = 10000


def measure(tf):
    count = tf.placeholder(tf.int32, [])
    loop = tf.while_loop(lambda i, _: i < count, lambda i, x: (i + 1, x + 1.0), (0, 0.0))
    x = tf.placeholder(tf.float32, [])
    branch = tf.cond(x > 0, lambda: x * 2.0, lambda: x - 1.0)
    called = tf.py_func(lambda value: np.float32(value + 1), [x], tf.float32)
    signs = iter([1.0, -1.0] * 10**7)
    with tf.Session() as session:
        result = session.run(loop, {count: ITERATIONS})
        assert result == (ITERATIONS, float(ITERATIONS)), result
        seconds = per_call(lambda: session.run(loop, {count: ITERATIONS}), warm=8)
        return {
            "iteration": seconds / ITERATIONS,
            "cond": per_call(lambda: session.run(branch, {x: next(signs)}), warm=200),
            "py_func": per_call(lambda: session.run(called, {x: 1.0}), warm=200),
        }
