"""Shapes that are known only after an op ran, that are fed, and that keep changing."""

from __future__ import annotations

import numpy as np
import pytest

import weft as tf
from weft import testing


def _where(x):
    return tf.reduce_sum(tf.gather(x, tf.where(x > 0)[:, 0]) * 2)


def _mask(x):
    return tf.reduce_sum(tf.boolean_mask(x, x > 0) ** 2)


def _unique(x):
    values, index = tf.unique(x)
    return tf.reduce_sum(values) + tf.cast(tf.reduce_max(index), tf.float32)


def _partition(x):
    low, high = tf.dynamic_partition(x, tf.cast(x > 0, tf.int32), 2)
    return tf.reduce_sum(high) - tf.cast(tf.size(low), tf.float32)


EXPECTED = {
    _where: lambda x: 2 * x[x > 0].sum(),
    _mask: lambda x: (x[x > 0] ** 2).sum(),
    _unique: lambda x: np.unique(x).sum() + len(np.unique(x)) - 1,
    _partition: lambda x: x[x > 0].sum() - (x <= 0).sum(),
}


@pytest.mark.parametrize("build", EXPECTED, ids=lambda f: f.__name__)
def test_shapes_that_follow_from_values(session, build):
    x = tf.placeholder(tf.float32, [None])
    y = build(x)
    for value in ([1, -1, 3], [2, 2, -1, 5], [-1.0], [1, -1, 3]):
        value = np.array(value, np.float32)
        assert session.run(y, {x: value}) == EXPECTED[build](value)


def test_the_gradient_through_a_mask(session):
    x = tf.placeholder(tf.float32, [None])
    (grad,) = tf.gradients(tf.reduce_sum(tf.boolean_mask(x, x > 0) ** 2), x)
    assert session.run(grad, {x: [1, -1, 3]}).tolist() == [2, 0, 6]
    assert session.run(grad, {x: [-1, -1]}).tolist() == [0, 0]


def test_fed_scalars_are_used_as_shapes(session):
    n = tf.placeholder(tf.int32, [])
    x = tf.placeholder(tf.float32, [None])
    y = [
        tf.reshape(x, [n, -1]),
        tf.range(n),
        tf.zeros(tf.shape(x)) + 1,
        tf.tile(x, [n]),
        tf.one_hot([0, 1], n),
        tf.fill([n, 2], 3.0),
        x[:n],
        tf.eye(n),
        tf.linspace(0.0, 1.0, n),
    ]
    for k in (2, 3, 6, 1, 2):
        got = session.run(y, {n: k, x: np.arange(6)})
        assert [list(a.shape) for a in got] == [
            [k, 6 // k], [k], [6], [6 * k], [2, k], [k, 2], [k], [k, k], [k],
        ]  # fmt: skip
        np.testing.assert_array_equal(got[0], np.arange(6).reshape(k, -1))
    with pytest.raises(tf.errors.InvalidArgumentError, match="reshape|multiple"):
        session.run(y[0], {n: 4, x: np.arange(6)})
    with pytest.raises(tf.errors.InvalidArgumentError):
        session.run(y[5], {n: -1})
    assert session.run(y[1], {n: 0}).tolist() == []


def test_a_fed_shape_vector(session):
    shape = tf.placeholder(tf.int32, [None])
    x = tf.placeholder(tf.float32)
    y = tf.reshape(x, shape) * 2
    z = tf.broadcast_to(3.0, shape)
    for dims in ([6], [2, 3], [3, -1], [1, 2, 3]):
        got = session.run(y, {x: np.arange(6), shape: dims})
        np.testing.assert_array_equal(got, np.arange(6).reshape(dims) * 2)
    assert session.run(z, {shape: [2, 0]}).shape == (2, 0)
    assert session.run(y, {x: 5.0, shape: []}) == 10


def test_a_range_of_a_computed_length_feeds_a_reduction(session):
    x = tf.placeholder(tf.float32, [None, None])
    rows = tf.shape(x)[0]
    mean = tf.reduce_sum(x) / tf.cast(rows, tf.float32)
    index = tf.stack([tf.range(rows), tf.zeros([rows], tf.int32)], 1)
    first = tf.gather_nd(x, index)
    for shape in ((2, 3), (5, 1), (1, 4)):
        value = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        got = session.run([mean, first], {x: value})
        assert got[0] == value.sum() / shape[0]
        np.testing.assert_array_equal(got[1], value[:, 0])


def test_the_last_smaller_batch(session):
    x = tf.placeholder(tf.float32, [None, 4])
    w = tf.get_variable("w", [4, 2], initializer=tf.ones_initializer())
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w)))
    step = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    session.run(tf.global_variables_initializer())
    for _ in range(3):
        for n in (8, 8, 3):
            assert np.isfinite(session.run([loss, step], {x: np.ones((n, 4))})[0])


def test_shapes_that_keep_changing_stop_being_recompiled():
    x = tf.placeholder(tf.float32, [None, 64])
    w = tf.get_variable("w", [64, 64], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(tf.matmul(tf.nn.relu(tf.matmul(x, w)), w) - 1))
    step = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        start = testing.compilations()
        for n in range(1, 400):
            session.run(step, {x: np.ones((n, 64))})
        assert testing.compilations() - start <= 12


def test_fed_values_that_keep_changing_stop_being_recompiled():
    n = tf.placeholder(tf.int32, [])
    x = tf.placeholder(tf.float32, [64, 64])
    y = tf.reduce_sum(tf.matmul(x, x)) + tf.cast(tf.reduce_sum(tf.range(n)), tf.float32)
    with tf.Session() as session:
        start = testing.compilations()
        for k in range(400):
            got = session.run(y, {n: k, x: np.zeros((64, 64))})
            assert got == k * (k - 1) // 2
        assert testing.compilations() - start <= 12


def test_the_same_plan_takes_any_rank(session):
    x = tf.placeholder(tf.float32)
    y = tf.reduce_sum(tf.exp(x) - 1)
    for shape in ((), (3,), (2, 0), (2, 3, 4), (3,)):
        assert session.run(y, {x: np.zeros(shape)}) == 0


def test_shapes_that_come_out_of_a_branch_do_not_hinder_compiling():
    """The branch draws random numbers, so it has state; the shapes that its gradient needs do not follow from it."""
    with tf.Graph().as_default(), testing.tier("compile"), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 4])
        training = tf.placeholder_with_default(False, [])
        y = tf.layers.dropout(x, 0.5, training=training)
        gradient = tf.gradients(y, x)[0]
        for size in (3, 2):
            for chosen in (True, False):
                feeds = {x: np.ones((size, 4)), training: chosen}
                value, slope = session.run([y, gradient], feeds)
                np.testing.assert_allclose(value, slope, rtol=1e-6)
                assert (slope == 1).all() == (not chosen)
        text = session.plan([y, gradient], feeds).describe()
    assert "interpreted" not in text
    assert "compiled for" in text
