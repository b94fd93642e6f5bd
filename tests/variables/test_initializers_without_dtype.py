"""`tf.compat.v2.initializers`: what they draw, what they are asked for, what they refuse."""

import numpy as np
import pytest

import weft as tf

made = tf.compat.v2.initializers


@pytest.fixture(scope="module")
def values():
    with tf.Graph().as_default(), tf.Session() as sess:
        yield sess.run


@pytest.mark.parametrize(
    ("initializer", "deviation"),
    [
        (made.RandomNormal(0.0, 2.0, seed=1), 2.0),
        (made.TruncatedNormal(0.0, 2.0, seed=1), 2.0 * 0.87962566),
        (made.RandomUniform(-1.0, 1.0, seed=1), 1 / np.sqrt(3)),
        (made.VarianceScaling(2.0, "fan_out", "untruncated_normal", 1), np.sqrt(2 / 300)),
        (made.GlorotUniform(1), np.sqrt(2 / 500)),
        (made.GlorotNormal(1), np.sqrt(2 / 500)),
        (made.lecun_normal(1), np.sqrt(1 / 200)),
        (made.he_uniform(1), np.sqrt(2 / 200)),
    ],
    ids=lambda x: type(x).__name__,
)
def test_values_have_the_deviation_and_a_seed_gives_the_same(values, initializer, deviation):
    a, b = values([initializer([200, 300]), initializer([200, 300], tf.float32)])
    np.testing.assert_array_equal(a, b)
    np.testing.assert_allclose(a.std(), deviation, rtol=0.02)
    again = type(initializer).from_config(initializer.get_config())
    np.testing.assert_array_equal(values(again([200, 300])), a)


def test_without_a_seed_values_differ(values):
    draw = made.RandomNormal()
    a, b = values([draw([100]), draw([100])])
    assert not np.array_equal(a, b)


def test_orthogonal_and_identity(values):
    q = values(made.Orthogonal(2.0, seed=3)([3, 4, 2], tf.float64)).reshape(12, 2)
    np.testing.assert_allclose(q.T @ q, 4 * np.eye(2), atol=1e-12)
    np.testing.assert_array_equal(values(made.Identity(3.0)([2, 3])), 3 * np.eye(2, 3))


def test_constants_fill_a_shape_or_are_refused(values):
    assert values(made.Constant([1, 2, 3, 4])([2, 2])).tolist() == [[1, 2], [3, 4]]
    assert values(made.Constant(7)([2], tf.int64)).dtype == np.int64
    assert values(made.Ones()([2], tf.bool)).all() and not values(made.Zeros()([2])).any()
    with pytest.raises(TypeError, match="3 elements"):
        made.Constant([1, 2, 3])([2, 2])
    with pytest.raises(TypeError, match="Invalid type for initial value"):
        made.Constant(tf.constant(1))


@pytest.mark.parametrize(
    ("make", "shape", "dtype"),
    [
        (made.RandomNormal, [2], tf.int32),
        (made.RandomUniform, [2], tf.string),
        (made.Ones, [2], tf.string),
        (made.Orthogonal, [5], tf.float32),
        (made.Identity, [2, 2, 2], tf.float32),
    ],
)
def test_shapes_and_types_that_do_not_fit(make, shape, dtype):
    with pytest.raises(ValueError):
        make()(shape, dtype)
