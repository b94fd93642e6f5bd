"""GradientTape, eagerly, in functions and in graphs."""

import numpy as np
import pytest

import weft as tf


def test_gradients_have_the_structure_of_the_sources():
    x, v = tf.constant(3.0), tf.Variable(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x * v
    grads = tape.gradient(y, {"x": x, "v": [v]})
    assert grads["x"].numpy() == 12.0 and grads["v"][0].numpy() == 9.0
    with pytest.raises(RuntimeError, match="only be called once on non-persistent tapes"):
        tape.gradient(y, x)


def test_higher_orders():
    x = tf.constant(2.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = x**3
        first = inner.gradient(y, x)
    assert first.numpy() == 12.0 and outer.gradient(first, x).numpy() == 12.0


def test_what_is_watched():
    v, w = tf.Variable(1.0), tf.Variable(1.0, trainable=False)
    with tf.GradientTape() as tape:
        tape_result = v * w
    assert tape.watched_variables() == (v,) and tape_result.numpy() == 1.0
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(w)
        y = v * w
    assert [g if g is None else g.numpy() for g in tape.gradient(y, [v, w])] == [None, 1.0]
    with pytest.raises(ValueError, match="not tf.Tensor"), tf.GradientTape() as tape:
        tape.watch("x")


def test_stop_reset_and_unconnected():
    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        with tape.stop_recording():
            y = x * x
        z = x * 2.0
    assert tape.gradient(y, x) is None and tape.gradient(z, x).numpy() == 2.0
    zeros = tape.gradient(y, x, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    assert zeros.numpy() == 0.0
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        tape.reset()
        tape.watch(x)
        y = y + x
    assert tape.gradient(y, x).numpy() == 1.0


def test_given_gradients_and_several_targets():
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y, z = x * 2.0, x * 3.0
    grad = tape.gradient([y, z], x, output_gradients=[tf.constant([1.0, 10.0]), None])
    assert grad.numpy().tolist() == [5.0, 23.0]


def test_rows_stay_sparse():
    table = tf.Variable(tf.ones([5, 2]))
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.nn.embedding_lookup(table, [1, 1, 3]))
    grad = tape.gradient(y, table)
    assert isinstance(grad, tf.IndexedSlices) and grad.indices.numpy().tolist() == [1, 1, 3]


def test_jacobians():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
    assert tape.jacobian(y, x).shape == [2, 2, 2, 2]
    np.testing.assert_allclose(
        tape.batch_jacobian(y, x).numpy(), [[[2, 0], [0, 4]], [[6, 0], [0, 8]]]
    )
    with pytest.raises(ValueError, match="must have rank at least 2"):
        tape.batch_jacobian(y, tf.ones([2]))


def test_an_op_without_gradient_is_named():
    x = tf.constant([3.0, 1.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.raw_ops.NthElement(input=x, n=0) if hasattr(tf.raw_ops, "Zeta") else x
        z = tf.floor(y)
    assert tape.gradient(z, x) is None


def test_in_a_graph():
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.constant(3.0)
        v = tf.Variable(2.0, use_resource=True)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.cond(x > 0.0, lambda: x * x * v, lambda: x)
        grads = tape.gradient(y, [x, v])
        sess.run(v.initializer)
        assert sess.run(grads) == [12.0, 9.0]


def test_custom_gradients():
    v = tf.Variable(2.0)

    @tf.custom_gradient
    def scaled(x, factor=1.0):
        def grad(dy, variables=None):
            return dy * 10.0 * factor, [dy * 20.0 for _ in variables]

        return x * v, grad

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = scaled(x, factor=2.0)
    assert [g.numpy() for g in tape.gradient(y, [x, v])] == [20.0, 20.0]
    traced = tf.function(lambda x: scaled(x))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = traced(x)
    assert [g.numpy() for g in tape.gradient(y, [x, v])] == [10.0, 20.0]


def test_custom_gradients_are_checked():
    @tf.custom_gradient
    def wrong(x):
        return x, lambda dy: []

    x = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = wrong(x)
    with pytest.raises(ValueError, match="expected to return 1 gradients but returned 0"):
        tape.gradient(y, x)


@pytest.mark.parametrize(
    "optimizer",
    [
        tf.train.GradientDescentOptimizer(0.1),
        tf.train.MomentumOptimizer(0.1, 0.9),
        tf.train.AdamOptimizer(0.1),
    ],
)
def test_optimizers(optimizer):
    v = tf.Variable([2.0, -1.0])
    step = tf.Variable(0, trainable=False, dtype=tf.int64)
    before = tf.reduce_sum(v * v).numpy()
    for _ in range(10):
        optimizer.minimize(lambda: tf.reduce_sum(v * v), global_step=step)
    assert tf.reduce_sum(v * v).numpy() < 0.5 * before and step.numpy() == 10
