"""tf.gradients: its arguments, sparse gradients, errors."""

import numpy as np
import pytest

import weft as tf


@pytest.fixture
def sess():
    with tf.Graph().as_default(), tf.Session() as s:
        yield s


def test_a_tensor_reached_on_two_ways_gets_the_sum(sess):
    x = tf.constant(3.0)
    y = x * x + 2.0 * x
    assert sess.run(tf.gradients(y, x)[0]) == 8.0
    assert sess.run(tf.gradients([y, x], [x, y])) == [9.0, 1.0]


def test_grad_ys_stop_gradients_and_unconnected(sess):
    a, b = tf.constant(2.0), tf.constant(5.0)
    c = a * b
    d = c * c
    assert sess.run(tf.gradients(d, c, grad_ys=3.0)[0]) == 60.0
    assert tf.gradients(d, a, stop_gradients=[c]) == [None]
    assert tf.gradients(a, b) == [None]
    (zero,) = tf.gradients(a, b, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    assert sess.run(zero) == 0.0


def test_second_derivatives_and_hessians(sess):
    x = tf.constant([1.0, 2.0])
    y = tf.reduce_sum(x * x * x)
    (h,) = tf.hessians(y, x)
    np.testing.assert_allclose(sess.run(h), [[6.0, 0.0], [0.0, 12.0]])


def test_the_gradient_of_gather_stays_sparse(sess):
    table = tf.get_variable("t", [5, 2], initializer=tf.ones_initializer())
    rows = tf.gather(table, [1, 3, 1])
    twice = tf.gather(table, [4])
    (g,) = tf.gradients([rows, twice], table)
    assert isinstance(g, tf.IndexedSlices)
    sess.run(table.initializer)
    assert sorted(sess.run(g.indices)) == [1, 1, 3, 4]
    dense = sess.run(tf.convert_to_tensor(g))
    np.testing.assert_array_equal(dense[:, 0], [0, 2, 0, 1, 1])


@pytest.mark.parametrize("method", [0, 1, 2])
def test_ways_of_adding_agree(sess, method):
    x = tf.constant([2.0])
    y = x * 1.0 + x * 2.0 + x * 3.0
    assert sess.run(tf.gradients(y, x, aggregation_method=method)[0]) == [6.0]
    gated = tf.gradients(y, x, gate_gradients=True, colocate_gradients_with_ops=True)
    assert sess.run(gated[0]) == [6.0]


def test_names_are_tensorflows(sess):
    x = tf.placeholder(tf.float32, [2, 2], name="x")
    w = tf.get_variable("w", [2, 2])
    y = tf.matmul(x, w, name="m")
    (g,) = tf.gradients(y, w)
    assert g.op.name == "gradients/m_grad/MatMul_1"


def test_own_gradients_and_overrides(sess):
    @tf.RegisterGradient("TestTenfold")
    def _(op, grad):
        return grad * 10.0

    x = tf.constant(1.0)
    with tf.get_default_graph().gradient_override_map({"Identity": "TestTenfold"}):
        y = tf.identity(x)
    assert sess.run(tf.gradients(y, x)[0]) == 10.0

    @tf.custom_gradient
    def clipped(v):
        return v * 5.0, lambda dy: dy * 7.0

    assert sess.run(tf.gradients(clipped(x), x)[0]) == 7.0
    with pytest.raises(KeyError, match="Registering two gradient with name 'TestTenfold'"):
        tf.RegisterGradient("TestTenfold")(lambda op, g: g)


def test_what_has_no_gradient_says_so(sess):
    x = tf.constant(1.0)
    with tf.get_default_graph().gradient_override_map({"Neg": "NobodyRegisteredThis"}):
        y = tf.negative(x, name="minus")
    with pytest.raises(LookupError, match="No gradient defined for operation 'minus'"):
        tf.gradients(y, x)
    z = tf.constant(1 + 1j)
    with pytest.raises(TypeError, match="complex tensors must set grad_ys"):
        tf.gradients(z * z, z)


def test_a_deep_graph_is_walked_without_recursion(sess):
    x = tf.constant(1.0)
    y = x
    for _ in range(3000):
        y = tf.identity(y)
    assert sess.run(tf.gradients(y, x)[0]) == 1.0
