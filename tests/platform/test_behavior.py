"""Switching to what TensorFlow 2 does otherwise, and back."""

import pytest

import weft as tf
from weft import testing


@pytest.fixture
def elementwise():
    tf.enable_tensor_equality()
    yield
    tf.disable_tensor_equality()


def test_equality_compares_elements_of_concrete_tensors(elementwise):
    with testing.eager_mode():
        a, v = tf.constant([1, 2]), tf.Variable([1, 3])
        assert (a == a).numpy().tolist() == [True, True]
        assert (a != tf.constant([1, 3])).numpy().tolist() == [False, True]
        assert (v == a).numpy().tolist() == [True, False]
        assert not (a == None) and a != None  # noqa: E711
        with pytest.raises(tf.errors.InvalidArgumentError, match="Incompatible shapes"):
            a == tf.constant([1, 2, 3])  # noqa: B015


def test_equality_in_functions_is_an_op(elementwise):
    with testing.eager_mode():
        a = tf.constant([1, 2])
        assert tf.function(lambda x: x == a)(a).numpy().tolist() == [True, True]


def test_equality_in_graphs_stays_identity(elementwise):
    with tf.Graph().as_default():
        a, b = tf.constant(1), tf.constant(1)
        v = tf.Variable(1.0)
        assert a == a and a != b and v == v


def test_equality_is_identity_by_default():
    with testing.eager_mode():
        a, b = tf.constant(1), tf.constant(1)
        assert a == a and a != b


def test_v2_behavior_switches_everything_and_back():
    with testing.eager_mode():
        tf.disable_v2_behavior()
        tf.reset_default_graph()
        tf.enable_v2_behavior()
        try:
            assert tf.executing_eagerly() and tf.resource_variables_enabled()
            assert isinstance(tf.constant([2]).shape[0], int) and tf.control_flow_v2_enabled()
        finally:
            tf.disable_v2_behavior()
        assert not tf.executing_eagerly() and not tf.resource_variables_enabled()
        assert isinstance(tf.constant([2]).shape[0], tf.Dimension)
