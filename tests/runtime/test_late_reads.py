"""Readers of reference variables that are ordered behind an assignment find the value after it, as in TensorFlow 1.

The expected values are those of TensorFlow 1.15, run after run.
"""

import numpy as np
import pytest

import weft as tf


def _variable(value=1.0, **more):
    return tf.Variable(value, **more)


def _behind_an_assignment(read, value=1.0, delta=1.0):
    v = _variable(value)
    with tf.control_dependencies([v.assign_add(np.full_like(value, delta))]):
        return read(v)


def _before_and_after():
    v = _variable()
    before = v + 0.0
    with tf.control_dependencies([v.assign_add(1.0)]):
        return [before, v * 10.0]


def _assignment_after_a_read():
    v = _variable()
    before = v + 0.0
    with tf.control_dependencies([before]):
        assigned = v.assign_add(1.0)
    with tf.control_dependencies([assigned]):
        return [before, v + 0.0, v.read_value()]


def _scattered():
    v = _variable([1.0, 2.0, 3.0])
    with tf.control_dependencies([tf.scatter_update(v, [1], [9.0])]):
        return tf.gather(v, [0, 1])


def _after_a_training_step():
    v = _variable()
    loss = v * v
    with tf.control_dependencies([tf.train.GradientDescentOptimizer(0.1).minimize(loss)]):
        return [loss, tf.identity(v)]


def _averages():
    v = _variable()
    averages = tf.train.ExponentialMovingAverage(0.5)
    averages.apply([v])
    with tf.control_dependencies([v.assign(3.0)]):
        with tf.control_dependencies([averages.apply([v])]):
            return [averages.average(v) + 0.0, averages.average(v).read_value()]


def _copied():
    v, w = _variable(), _variable(0.0)
    with tf.control_dependencies([v.assign_add(1.0)]):
        return [tf.assign(w, v)]


def _behind_a_group():
    v, w = _variable(), _variable(5.0)
    with tf.control_dependencies([tf.group(w.assign_add(1.0), v.assign_add(1.0))]):
        with tf.control_dependencies([tf.no_op()]):
            return [v + w, w - 0.0]


def _no_order():
    v, w = _variable(), _variable(5.0)
    with tf.control_dependencies([w.assign_add(1.0)]):
        return [v * 2.0]


PROGRAMS = [
    (lambda: _behind_an_assignment(lambda v: v + 0.0), [2.0, 3.0]),
    (lambda: _behind_an_assignment(tf.identity), [2.0, 3.0]),
    (lambda: _behind_an_assignment(lambda v: v.value() + 0.0), [2.0, 3.0]),
    (lambda: _behind_an_assignment(lambda v: tf.reduce_sum(v) + v), [4.0, 6.0]),
    (lambda: _behind_an_assignment(lambda v: v * v), [4.0, 9.0]),
    (lambda: _behind_an_assignment(lambda v: tf.stack([v, v])), [[2.0, 2.0], [3.0, 3.0]]),
    (lambda: _behind_an_assignment(lambda v: v[0], [1.0, 2.0]), [2.0, 3.0]),
    (
        lambda: _behind_an_assignment(lambda v: tf.concat([v, v], 0), [1.0, 2.0]),
        [[2.0, 3.0, 2.0, 3.0], [3.0, 4.0, 3.0, 4.0]],
    ),
    (lambda: _behind_an_assignment(lambda v: tf.matmul(v, v), [[1.0]]), [[[4.0]], [[9.0]]]),
    (
        lambda: _behind_an_assignment(
            lambda v: tf.cond(tf.constant(True), lambda: v + 0.0, lambda: v - 1.0)
        ),
        [2.0, 3.0],
    ),
    (
        lambda: _behind_an_assignment(
            lambda v: tf.cond(tf.constant(False), lambda: v + 0.0, lambda: tf.identity(v))
        ),
        [2.0, 3.0],
    ),
    (_before_and_after, [[1.0, 20.0], [2.0, 30.0]]),
    (_assignment_after_a_read, [[1.0, 2.0, 2.0], [2.0, 3.0, 3.0]]),
    (_scattered, [[1.0, 9.0], [1.0, 9.0]]),
    (_after_a_training_step, [[1.0, 0.8], [0.64, 0.64]]),
    (_averages, [[2.0, 2.0], [2.5, 2.5]]),
    (_copied, [[2.0], [3.0]]),
    (_behind_a_group, [[8.0, 6.0], [10.0, 7.0]]),
    (_no_order, [[2.0], [2.0]]),
]


@pytest.mark.parametrize("hot", [False, True])
@pytest.mark.parametrize("program, expected", PROGRAMS)
def test_values(program, expected, hot):
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        fetches = program()
        before = graph.as_graph_def()
        for _ in range(40 if hot else 1):  # the same once the step is compiled
            sess.run(tf.global_variables_initializer())
            for value in expected:
                np.testing.assert_allclose(sess.run(fetches), value, rtol=1e-6)
        assert [
            n for n in graph.as_graph_def().node if n.name in {m.name for m in before.node}
        ] == (list(before.node))


def test_errors_and_dependants_of_a_late_reader():
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable([1, 2])
        with tf.control_dependencies([v.assign_add([1, 1])]):
            picked = tf.gather([10, 20, 30, 40], v, name="picked")
            shown = tf.Print(v, [v])
        with tf.control_dependencies([picked, shown]):
            done = tf.no_op()
        sess.run(v.initializer)
        assert sess.run(picked).tolist() == [30, 40]
        sess.run(v.initializer)
        sess.run(done)
        sess.run([v.initializer])
        sess.run(v.assign([4, 4]))
        with pytest.raises(tf.errors.InvalidArgumentError, match="picked"):
            sess.run(picked)
