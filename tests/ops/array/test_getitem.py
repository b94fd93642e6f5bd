"""Indexing means what NumPy's does; slices of variables can be assigned to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft as tf
from weft import testing

ARRAY = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)

bounds = st.one_of(st.none(), st.integers(-7, 7))
steps = st.one_of(st.none(), st.integers(-3, 3).filter(bool))
entries = st.one_of(
    st.builds(slice, bounds, bounds, steps),
    st.integers(-2, 1),
    st.none(),
    st.just(Ellipsis),
)


def is_valid(spec):
    return (
        sum(s is Ellipsis for s in spec) <= 1
        and sum(s is not None and s is not Ellipsis for s in spec) <= ARRAY.ndim
    )


specs = st.lists(entries, max_size=6).map(tuple).filter(is_valid)


@settings(max_examples=150, deadline=None)
@given(specs)
def test_slices_as_numpy(spec):
    expected = ARRAY[spec]
    with tf.Graph().as_default(), tf.Session() as sess:
        whole = tf.constant(ARRAY)[spec]
        assert whole.shape.as_list() == list(expected.shape)
        fed = tf.placeholder(tf.int64)
        np.testing.assert_array_equal(sess.run(fed[spec], {fed: ARRAY}), expected)


@settings(max_examples=25, deadline=None)
@given(specs)
def test_gradient_of_slices(spec):
    """The gradient puts a one wherever the slice took an element from; both tiers agree."""
    expected = np.zeros(ARRAY.shape)
    expected[spec] = 1
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float64, ARRAY.shape)
        found = tf.gradients(x[spec], x)[0]
        for tier in ("interpret", "compile"):
            with testing.tier(tier), tf.Session() as sess:
                np.testing.assert_array_equal(sess.run(found, {x: ARRAY}), expected)


def test_partly_known_shapes():
    x = tf.placeholder(tf.float32, [None, 4, 6])
    assert x[0].shape.as_list() == [4, 6]
    assert x[:, 1:3].shape.as_list() == [None, 2, 6]
    assert x[2:5].shape.as_list() == [None, 4, 6]
    assert x[..., tf.newaxis, ::-1].shape.as_list() == [None, 4, 1, 6]
    n = tf.placeholder(tf.int32, [])
    assert x[n, :, 1].shape.as_list() == [4]
    assert x[:, n:].shape.as_list() == [None, None, 6]


def test_tensor_bounds_and_types():
    n = tf.placeholder(tf.int32, [])
    x = tf.constant(ARRAY)
    wide = tf.constant(1, tf.int64)
    with tf.Session() as sess:
        found = sess.run([x[n], x[:, n:], x[:, :, n, tf.newaxis], x[:, wide]], {n: 1})
    for value, spec in zip(
        found,
        [1, np.s_[:, 1:], np.s_[:, :, 1, None], np.s_[:, 1]],
    ):
        np.testing.assert_array_equal(value, ARRAY[spec])


def test_one_compilation_for_all_indices():
    """A traced index is part of the program's input, not of its key."""
    x, i = tf.placeholder(tf.float32, [5, 3]), tf.placeholder(tf.int32, [])
    outputs = [x[i], x[:, 0], x[1:3, i], tf.slice(x, [i, 0], [2, 3])]
    outputs += tf.gradients(outputs[:1] + outputs[3:], x)
    data = np.arange(15, dtype=np.float32).reshape(5, 3)
    with testing.tier("compile"), tf.Session() as sess:
        sess.run(outputs, {x: data, i: 0})
        before = testing.compilations()
        for k in (1, 2):
            row, _, column, box, grad = sess.run(outputs, {x: data, i: k})
            np.testing.assert_array_equal(row, data[k])
            np.testing.assert_array_equal(column, data[1:3, k])
            np.testing.assert_array_equal(box, data[k : k + 2])
            assert grad.sum() == 9 and grad[k].sum() == 6
        assert testing.compilations() == before
        with pytest.raises(tf.errors.InvalidArgumentError, match="slice index 7 of dimension 0"):
            sess.run(outputs[0], {x: data, i: 7})


def test_masks():
    x = tf.constant([[1.0, -2.0], [3.0, -4.0]])
    with tf.Session() as sess:
        np.testing.assert_array_equal(sess.run(x[x > 0]), [1, 3])
        np.testing.assert_array_equal(sess.run(x[np.array([False, True])]), [[3, -4]])
        np.testing.assert_array_equal(
            sess.run(tf.boolean_mask(x, [False, True], axis=1)), [[-2], [-4]]
        )


@pytest.mark.parametrize("spec", [1.5, "a", np.s_[0, 1.0], np.s_["a":]])
def test_wrong_indices(spec):
    with pytest.raises(TypeError, match="Only integers, slices"):
        tf.constant(ARRAY)[spec]


def test_wrong_counts():
    x = tf.constant(ARRAY)
    with pytest.raises(ValueError, match="Index out of range using input dim 4"):
        x[0, 0, 0, 0, 0]
    with pytest.raises(ValueError, match="out of bounds"):
        x[5]
    with pytest.raises(ValueError, match="strides.* must be non-zero"):
        x[::0]
    with pytest.raises(ValueError, match="Multiple ellipses"):
        x[..., ...]


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("tier", ["interpret", "compile"])
def test_assignment_to_slices(resource, tier):
    with tf.Graph().as_default(), testing.tier(tier), tf.Session() as sess:
        v = tf.Variable(np.zeros((3, 4), np.float32), use_resource=resource)
        sess.run(v.initializer)
        expected = np.zeros((3, 4), np.float32)
        sess.run(v[1:, ::2].assign([[1.0, 2.0], [3.0, 4.0]]))
        expected[1:, ::2] = [[1, 2], [3, 4]]
        np.testing.assert_array_equal(sess.run(v), expected)
        sess.run(v[0].assign([5.0, 6.0, 7.0, 8.0]))
        expected[0] = [5, 6, 7, 8]
        np.testing.assert_array_equal(sess.run(v), expected)
        with pytest.raises(tf.errors.InvalidArgumentError, match="cannot be assigned to a slice"):
            sess.run(v[0].assign([1.0, 2.0]))
        np.testing.assert_array_equal(sess.run(v), expected)


def test_only_variables_can_be_assigned_to():
    with pytest.raises(ValueError, match="Sliced assignment is only supported for variables"):
        tf.constant([1, 2])[:1].assign([3])


def test_names():
    """As TensorFlow names them."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [3], name="x")
        x[0]
        assert [op.name for op in graph.get_operations()] == [
            "x",
            "strided_slice/stack",
            "strided_slice/stack_1",
            "strided_slice/stack_2",
            "strided_slice",
        ]


def test_eagerly():
    with testing.eager_mode():
        x = tf.constant(ARRAY)
        np.testing.assert_array_equal(
            x[0, ..., tf.newaxis, ::-2].numpy(), ARRAY[0, ..., None, ::-2]
        )
        np.testing.assert_array_equal(x[x > 100].numpy(), ARRAY[ARRAY > 100])
