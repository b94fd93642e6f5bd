"""tf.Module: names, scopes, and what attributes hold."""

import pytest

import weft as tf


class Part(tf.Module):
    def __init__(self, name=None):
        super().__init__(name)
        self.w = tf.Variable(1.0, name="w")
        self.list = [tf.Variable(2.0, trainable=False, name="fixed"), 3, "text"]
        self.by_key = {"b": tf.Variable(3.0, name="b"), "a": tf.Variable(4.0, name="a")}

    @tf.Module.with_name_scope
    def add(self):
        return tf.constant(1.0)


class HTTPNet2Part(tf.Module):
    def __init__(self):
        super().__init__()
        self.part = Part("x")
        self.parts = [self.part, (Part(),)]


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def test_variables_by_attribute_then_by_module():
    part = Part()
    assert [v.op.name for v in part.variables] == ["a", "b", "fixed", "w"]
    assert [v.op.name for v in part.trainable_variables] == ["a", "b", "w"]
    net = HTTPNet2Part()
    assert [m.name for m in net.submodules] == ["x", "part"]
    assert len(net.variables) == 8
    paths = [path for path, _ in part._flatten(with_path=True, predicate=tf.is_tensor)]
    assert paths == [("by_key", "a"), ("by_key", "b"), ("list", 0), ("w",)]


def test_names():
    assert HTTPNet2Part().name == "http_net2_part"
    assert Part().add().op.name == "part_1/Const"
    for wrong in ("a b", "1a", "a/b"):
        with pytest.raises(ValueError, match="not a valid module name"):
            tf.Module(wrong)


def test_is_tensor():
    assert tf.is_tensor(tf.constant(1)) and tf.is_tensor(tf.Variable(1.0))
    assert tf.is_tensor(tf.SparseTensor([[0]], [1], [1]))
    assert not tf.is_tensor(1) and not tf.is_tensor(tf.TensorArray(tf.float32, 1))
