"""What is known of a shape survives the arithmetic that programs do on it."""

from __future__ import annotations

import numpy as np
import pytest

import weft as tf
from weft.framework.known_elements import follows_from_shapes, known_elements


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def dims(tensor):
    return None if tensor.shape.ndims is None else tensor.shape.as_list()


def test_reshape_by_parts_of_a_shape():
    x = tf.placeholder(tf.float32, [None, 4, 6])
    n = tf.shape(x)[0]
    assert dims(tf.reshape(x, tf.stack([n, 24]))) == [None, 24]
    assert dims(tf.reshape(x, [n, 4, 2, 3])) == [None, 4, 2, 3]
    assert dims(tf.reshape(x, [-1, 6])) == [None, 6]
    assert dims(tf.reshape(x, tf.concat([tf.shape(x)[:1], [3, 8]], 0))) == [None, 3, 8]
    assert dims(tf.reshape(x, [n, tf.shape(x)[1] * tf.shape(x)[2]])) == [None, 24]
    full = tf.placeholder(tf.float32, [2, 4, 6])
    assert dims(tf.reshape(full, tf.stack([tf.shape(full)[0], -1]))) == [2, 24]


def test_unpacked_and_sliced_shapes():
    x = tf.placeholder(tf.float32, [None, 4, 6])
    n, height, width = tf.unstack(tf.shape(x))
    assert dims(tf.zeros([n, width, height])) == [None, 6, 4]
    assert dims(tf.zeros(tf.shape(x)[1:])) == [4, 6]
    assert dims(tf.zeros(tf.slice(tf.shape(x), [1], [-1]))) == [4, 6]
    assert dims(tf.zeros(tf.gather(tf.shape(x), [2, 0]))) == [6, None]
    assert dims(tf.fill(tf.cast(tf.cast(tf.shape(x), tf.int64), tf.int32), 1.0)) == [None, 4, 6]
    assert dims(tf.broadcast_to(tf.zeros([6]), tf.shape(x))) == [None, 4, 6]
    assert dims(tf.tile(x, tf.stack([1, n, 2]))) == [None, None, 12]
    assert dims(tf.pad(x, [[0, 0], [1, 2], [n, 0]])) == [None, 7, None]


def test_known_elements():
    x = tf.placeholder(tf.float32, [None, 4])
    one = tf.shape(x)[1]
    assert known_elements(tf.stack([one * 2, tf.shape(x)[0], one // 3, -1])) == [8, None, 1, -1]
    assert known_elements(tf.placeholder(tf.int32, [2])) == [None, None]
    assert known_elements(tf.placeholder(tf.int32)) is None


def test_what_follows_from_shapes():
    x = tf.placeholder(tf.float32, [None, 4])
    assert follows_from_shapes(tf.stack([tf.shape(x)[0] + 1, 3]))
    assert not follows_from_shapes(tf.cast(x[0], tf.int32))


def test_a_deep_chain_of_sizes():
    """Linear in the depth, though each size is used twice."""
    n = tf.shape(tf.placeholder(tf.float32, [None]))[0]
    for _ in range(200):
        n = n + n
    assert dims(tf.zeros([n, 3])) == [None, 3]


def test_shapes_are_constants_where_they_are_known():
    assert tf.shape(tf.zeros([2, 3])).op.type == "Const"
    assert tf.shape(tf.placeholder(tf.float32, [None])).op.type == "Shape"
    assert tf.size(tf.zeros([2, 3])).op.type == tf.rank(tf.zeros([2, 3])).op.type == "Const"


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: tf.reshape(tf.zeros([2, 3]), [4]), "Cannot reshape a tensor with 6 elements"),
        (lambda: tf.reshape(tf.zeros([2, 3]), [-1, -1]), "Only one input size may be -1"),
        (lambda: tf.reshape(tf.zeros([2, 3]), [-1, 4]), "must be evenly divisible by 4"),
        (lambda: tf.concat([tf.zeros([2]), tf.zeros([2, 2])], 0), "equal rank"),
        (lambda: tf.concat([tf.zeros([1, 2]), tf.zeros([2, 3])], 0), "Dimensions of inputs"),
        (lambda: tf.stack([tf.zeros([1]), tf.zeros([2])]), "Shapes of all inputs must match"),
        (lambda: tf.split(tf.zeros([5]), 2), "should evenly divide"),
        (lambda: tf.squeeze(tf.zeros([2]), [0]), "Can not squeeze dim"),
        (lambda: tf.expand_dims(tf.zeros([2]), 3), "dim index 3"),
        (lambda: tf.transpose(tf.zeros([2, 3]), [0, 2]), "perm dim 2 is out of range"),
        (lambda: tf.gather(tf.zeros([2]), [0], axis=1), "Expected axis in the range"),
        (lambda: tf.slice(tf.zeros([2]), [1], [3]), "Expected size"),
        (lambda: tf.unstack(tf.zeros([2]), num=3), "number of parts"),
        (lambda: tf.unstack(tf.placeholder(tf.int32)), "Cannot infer num from shape"),
        (lambda: tf.where(tf.zeros([2], tf.bool), tf.zeros([3]), tf.zeros([3])), "equal"),
        (lambda: tf.fill([-1], 0), "must be >= 0"),
        (lambda: tf.boolean_mask(tf.zeros([2]), True), "mask cannot be scalar"),
    ],
)
def test_wrong_shapes(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_the_same_at_run_time():
    """The rule of the static check runs again on what is fed."""
    x, shape = tf.placeholder(tf.float32), tf.placeholder(tf.int32)
    with tf.Session() as sess:
        y = tf.reshape(x, shape)
        with pytest.raises(tf.errors.InvalidArgumentError, match="has 6 values|6 values") as caught:
            sess.run(y, {x: np.zeros((2, 3)), shape: [4]})
        assert caught.value.op is y.op
        with pytest.raises(tf.errors.InvalidArgumentError, match="Dimensions of inputs"):
            sess.run(tf.concat([x, tf.zeros([2, 2])], 0), {x: np.zeros((1, 3))})
        np.testing.assert_array_equal(
            sess.run(y, {x: np.ones((2, 3)), shape: [3, -1]}), np.ones((3, 2))
        )
