"""Gradients of math ops where broadcasting, unknown sizes, ties or complex numbers make them hard."""

from __future__ import annotations

import numpy as np
import pytest

import weft as tf
from weft.ops.math.broadcasting import repeated_axes


@pytest.mark.parametrize(
    ("own", "other", "axes"),
    [
        ((2, 3), (2, 3), ()),
        ((3,), (2, 3), (0,)),
        ((1, 3), (2, 3), (0,)),
        ((2, 1), (2, 3), (1,)),
        ((), (2, 3), (0, 1)),
        ((2, 3), (), ()),
        ((None, 3), (3,), ()),
        ((3,), (None, 3), (0,)),
        ((None, 3), (None, 3), None),
        ((None,), (4,), None),
        ((4,), (None,), ()),
        ((1,), (None,), (0,)),
        (None, (2,), None),
    ],
)
def test_axes_along_which_an_input_was_repeated(own, other, axes):
    assert repeated_axes(own, other) == axes


BINARY = [tf.add, tf.subtract, tf.multiply, tf.divide, tf.maximum, tf.pow, tf.squared_difference]


@pytest.mark.parametrize("function", BINARY, ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    ("a", "b"), [((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2, 3))], ids=lambda s: str(s)
)
def test_broadcasting_is_undone(function, a, b):
    """Whether the shapes are known or fed."""
    rng = np.random.default_rng(4)
    values = [rng.uniform(1, 2, a), rng.uniform(1, 2, b)]
    results = []
    for known in (True, False):
        with tf.Graph().as_default(), tf.Session() as session:
            xs = [tf.placeholder(tf.float64, v.shape if known else [None] * v.ndim) for v in values]
            y = function(*xs)
            weights = tf.constant(np.arange(1.0, 7).reshape(2, 3))
            grads = tf.gradients(y * weights, xs)
            results.append(session.run(grads, dict(zip(xs, values))))
            for grad, value in zip(results[-1], values):
                assert grad.shape == value.shape
    for one, other in zip(*results):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    with tf.Graph().as_default(), tf.Session():
        xs = [tf.constant(v) for v in values]
        y = function(*xs) * np.arange(1.0, 7).reshape(2, 3)
        for x, value in zip(xs, values):
            error = tf.test.compute_gradient_error(x, value.shape, y, (2, 3), value)
            assert error < 1e-5


def test_full_shapes_need_no_reduction():
    with tf.Graph().as_default() as graph:
        x, y = tf.placeholder(tf.float32, [2, 3]), tf.placeholder(tf.float32, [2, 3])
        tf.gradients(x * y + x, [x, y])
        assert not {"Sum", "BroadcastGradientArgs"} & {op.type for op in graph.get_operations()}


def test_ties_share_the_gradient_of_max():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]])
        np.testing.assert_allclose(
            session.run(tf.gradients(tf.reduce_max(x, 1), x)[0]),
            [[0, 0.5, 0.5], [1 / 3, 1 / 3, 1 / 3]],
            rtol=1e-6,
        )


def test_product_with_zeros():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([[2.0, 0.0, 3.0], [0.0, 0.0, 4.0]])
        np.testing.assert_allclose(
            session.run(tf.gradients(tf.reduce_prod(x, 1), x)[0]), [[0, 6, 0], [0, 0, 0]]
        )
        fed = tf.placeholder(tf.float32)
        axes = tf.placeholder(tf.int32, [None])
        grad = tf.gradients(tf.reduce_prod(fed, axes), fed)[0]
        np.testing.assert_allclose(
            session.run(grad, {fed: [[2.0, 3.0], [4.0, 5.0]], axes: [-1]}), [[3, 2], [5, 4]]
        )


def test_gradients_of_complex_functions_are_conjugated():
    # As TensorFlow 1.15.5 gives them.
    with tf.Graph().as_default(), tf.Session() as session:
        z = tf.constant(1 + 2j)
        for y, wanted in (
            (tf.square(z), 6 - 2j),
            (z * (3 + 1j), 4 + 2j),
            (tf.abs(z), 0.4472136 + 0.8944272j),
            (tf.real(z * z), 2 - 4j),
            (tf.conj(z), 1 - 1j),
            (tf.exp(z), 1.3405223 - 3.602931j),
        ):
            start = tf.constant(1 + 1j) if y.dtype.is_complex else tf.ones([], y.dtype)
            np.testing.assert_allclose(session.run(tf.gradients(y, z, start)[0]), wanted, rtol=1e-6)


def test_gradient_of_a_gradient():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(0.7, tf.float64)
        for y, wanted in (
            (tf.tanh(x), -2 * np.tanh(0.7) / np.cosh(0.7) ** 2),
            (tf.sqrt(x), -0.25 * 0.7**-1.5),
            (tf.rsqrt(x), 0.75 * 0.7**-2.5),
            (tf.reciprocal(x), 2 / 0.7**3),
            (tf.sigmoid(x), None),
        ):
            first = tf.gradients(y, x)[0]
            second = session.run(tf.gradients(first, x)[0])
            if wanted is None:
                s = 1 / (1 + np.exp(-0.7))
                wanted = s * (1 - s) * (1 - 2 * s)
            np.testing.assert_allclose(second, wanted, rtol=1e-9)


def test_segments():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([[1.0], [2.0], [3.0], [3.0]])
        ids = tf.constant([0, 0, 1, 1])
        for y, wanted in (
            (tf.segment_sum(x, ids), [1, 1, 1, 1]),
            (tf.segment_mean(x, ids), [0.5, 0.5, 0.5, 0.5]),
            (tf.segment_max(x, ids), [0, 1, 0.5, 0.5]),
            (tf.unsorted_segment_sum(x, [0, -1, 1, 1], 2), [1, 0, 1, 1]),
            (tf.unsorted_segment_prod(x, [0, 0, 1, 1], 2), [2, 1, 3, 3]),
            (tf.sparse_segment_mean(x, [0, 0, 3], [0, 0, 1]), [1, 0, 0, 1]),
        ):
            grad = session.run(tf.gradients(y, x)[0])
            np.testing.assert_allclose(grad[:, 0], wanted, err_msg=y.op.type)


def test_slices_as_a_gradient_become_dense_where_they_must():
    with tf.Graph().as_default(), tf.Session() as session:
        table = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        rows = tf.gather(table * 2.0, [0, 2, 2])
        np.testing.assert_array_equal(
            session.run(tf.gradients(rows, table)[0]), [[2, 2], [0, 0], [4, 4]]
        )
