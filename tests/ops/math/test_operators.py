"""The operators of Tensor: ops, names, dtypes, reversed forms."""

from __future__ import annotations

import numpy as np
import pytest

import weft as tf


@pytest.fixture
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def floats():
    return tf.placeholder(tf.float32, [2, 3], name="x")


# As TensorFlow 1.15.5 builds them.
OPERATORS = {
    "add": (lambda x: x + 1, "AddV2", ["add/y", "add"]),
    "radd": (lambda x: 1 + x, "AddV2", ["add/x", "add"]),
    "sub": (lambda x: x - 2.5, "Sub", ["sub/y", "sub"]),
    "rsub": (lambda x: 2 - x, "Sub", ["sub/x", "sub"]),
    "mul": (lambda x: x * np.float32(2), "Mul", ["mul/y", "mul"]),
    "rmul": (lambda x: np.ones(3, np.float32) * x, "Mul", ["mul/x", "mul"]),
    "truediv": (lambda x: x / 2, "RealDiv", ["truediv/y", "truediv"]),
    "floordiv": (lambda x: x // 2, "FloorDiv", ["floordiv/y", "floordiv"]),
    "mod": (lambda x: x % 2, "FloorMod", ["mod/y", "mod"]),
    "pow": (lambda x: x**2, "Pow", ["pow/y", "pow"]),
    "rpow": (lambda x: 2.0**x, "Pow", ["pow/x", "pow"]),
    "neg": (lambda x: -x, "Neg", ["Neg"]),
    "abs": (abs, "Abs", ["Abs"]),
    "lt": (lambda x: x < 1, "Less", ["Less/y", "Less"]),
    "ge": (lambda x: x >= x, "GreaterEqual", ["GreaterEqual"]),
    "and": (lambda x: (x < x) & True, "LogicalAnd", ["Less", "and/y", "and"]),
    "xor": (
        lambda x: (x < x) ^ (x > x),
        "LogicalAnd",
        ["Less", "Greater", "xor/LogicalOr", "xor/LogicalAnd", "xor/LogicalNot", "xor"],
    ),
    "invert": (lambda x: ~(x < x), "LogicalNot", ["Less", "LogicalNot"]),
    "matmul": (lambda x: x @ np.ones((3, 1), np.float32), "MatMul", ["matmul/b", "matmul"]),
    "tf.reduce_sum": (lambda x: tf.reduce_sum(x), "Sum", ["Const", "Sum"]),
    "tf.add": (lambda x: tf.add(x, 1.0), "Add", ["Add/y", "Add"]),
    "tf.multiply": (lambda x: tf.multiply(x, x, name="named"), "Mul", ["named"]),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_ops_and_names(graph, name):
    build, kind, names = OPERATORS[name]
    result = build(floats())
    assert result.op.type == kind
    ops = [op.name for op in graph.get_operations()[1:]]
    if name == "matmul":  # the operand's constant may be called either way
        ops[0] = "matmul/b"
    assert ops == names


def test_integers_divide_as_floats(graph):
    i = tf.constant([7, 8])
    assert (i / 2).dtype == tf.float64
    assert (tf.constant([7], tf.int8) / tf.constant([2], tf.int8)).dtype == tf.float32
    assert (i // 2).dtype == tf.int32
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(i / 2), [3.5, 4])


def test_strings_are_joined(graph):
    joined = tf.constant(["a", "b"]) + "c"
    assert joined.op.type == "Add"
    with tf.Session() as session:
        assert session.run(joined).tolist() == [b"ac", b"bc"]


def test_dtypes_must_agree(graph):
    with pytest.raises(TypeError, match="'y' of 'AddV2' Op has type float32 that does not match"):
        tf.constant([1]) + tf.constant([1.0])
    with pytest.raises(TypeError, match="x and y must have the same dtype"):
        tf.constant([1]) / tf.constant([1.0])
    with pytest.raises(TypeError, match="not in list of allowed values"):
        tf.constant(["a"]) - tf.constant(["b"])


def test_an_operand_that_knows_better_is_asked(graph):
    class Stranger:
        def __radd__(self, other):
            return "mine"

    assert floats() + Stranger() == "mine"


def test_shapes_must_broadcast(graph):
    with pytest.raises(ValueError, match=r"Dimensions must be equal, but are 2 and 3 for 'add'"):
        tf.ones([2]) + tf.ones([3])
    x = tf.placeholder(tf.float32)
    with tf.Session() as session:
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"Incompatible shapes: \[3\] vs. \[2\]"
        ):
            session.run(x + tf.ones([2]), {x: np.ones(3)})
        assert session.run(x + tf.ones([2]), {x: 1.0}).tolist() == [2, 2]  # and goes on


def test_equality_is_identity(graph):
    x = floats()
    assert x == x
    assert x != tf.identity(x)
    assert len({x, x}) == 1
