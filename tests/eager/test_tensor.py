"""EagerTensor: TensorFlow 1.15's interface. Expected texts are TensorFlow's."""

import copy
import pickle

import numpy as np
import pytest

import weft as tf


def test_numbers_convert_as_those_of_numpy():
    x = tf.constant(3)
    assert int(x) == 3 and float(x) == 3.0 and bool(x) and [1, 2, 3, 4][x] == 4
    assert f"{tf.constant(0.5):.2f}" == "0.50"
    with pytest.raises(TypeError, match="only size-1 arrays can be converted"):
        int(tf.ones([2]))
    with pytest.raises(ValueError, match="more than one element is ambiguous"):
        bool(tf.ones([2]))


def test_texts():
    assert str(tf.constant("a")) == "tf.Tensor(b'a', shape=(), dtype=string)"
    text = repr(tf.constant([1, 2]))
    assert text.startswith("<tf.Tensor: id=") and text.endswith(
        "shape=(2,), dtype=int32, numpy=array([1, 2], dtype=int32)>"
    )
    assert repr(tf.Variable(0.5, name="v")).endswith("shape=() dtype=float32, numpy=0.5>")


def test_the_array_belongs_to_the_caller():
    x = tf.constant([1.0, 2.0])
    x.numpy()[0] = 5.0
    assert x.numpy().tolist() == [1.0, 2.0]
    source = np.ones(3)
    y = tf.convert_to_tensor(source)
    source[0] = 7.0
    assert y.numpy()[0] == 1.0


@pytest.mark.parametrize("name", ["op", "graph", "name", "value_index"])
def test_what_a_graph_would_know_is_meaningless(name):
    with pytest.raises(AttributeError, match=f"Tensor.{name} is meaningless when eager execution"):
        getattr(tf.constant(1), name)


def test_copies_and_pickles():
    x = tf.constant([1, 2])
    assert copy.copy(x) is x and copy.deepcopy([x])[0] is x
    again = pickle.loads(pickle.dumps(x))
    assert again.numpy().tolist() == [1, 2] and again.dtype is tf.int32


def test_iteration_and_length():
    x = tf.constant([[1, 2], [3, 4]])
    assert [row.numpy().tolist() for row in x] == [[1, 2], [3, 4]] and len(x) == 2
    with pytest.raises(TypeError, match="Cannot iterate over a scalar tensor"):
        iter(tf.constant(1))
    with pytest.raises(TypeError, match="Scalar tensor has no"):
        len(tf.constant(1))


def test_tensors_are_compared_by_identity():
    x = tf.constant(1.0)
    assert (x == tf.constant(1.0)) is False and x in {x}
    assert x.experimental_ref().deref() is x


def test_a_shape_that_does_not_fit():
    x = tf.ones([2, 3])
    x.set_shape([None, 3])
    with pytest.raises(ValueError, match="is not compatible with supplied shape"):
        x.set_shape([3, 3])


def test_a_plain_graph_takes_no_concrete_tensor():
    x = tf.constant(1.0)
    with tf.Graph().as_default(), pytest.raises(RuntimeError, match="without building a function"):
        tf.add(x, x)
