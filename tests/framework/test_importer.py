"""GraphDef in: names, maps, loops, and what is wrong with a message."""

import numpy as np
import pytest
from google.protobuf import text_format

import weft as tf


def graph_def(text):
    return text_format.Parse(text, tf.GraphDef())


CHAIN = """
node { name: 'a' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
node { name: 'b' op: 'Neg' input: 'a' attr { key: 'T' value { type: DT_FLOAT } } }
node { name: 'c' op: 'Add' input: 'b' input: 'a:0' input: '^b' attr { key: 'T' value { type: DT_FLOAT } } }
"""


@pytest.fixture
def graph():
    with tf.Graph().as_default() as g:
        yield g


def test_nodes_come_under_a_scope_and_are_returned(graph):
    b, c = tf.import_graph_def(graph_def(CHAIN), return_elements=["b", "c:0"], name="x")
    assert (b.name, c.name) == ("x/b", "x/c:0")
    assert [o.name for o in c.op.control_inputs] == ["x/b"]
    with tf.Session() as sess:
        assert sess.run(c, {"x/a:0": 3.0}) == 0.0


def test_inputs_can_be_mapped(graph):
    mine = tf.constant([1.0, 2.0])
    (c,) = tf.import_graph_def(graph_def(CHAIN), {"a": mine}, ["c:0"])
    assert c.op.inputs[1] is mine
    with pytest.raises(ValueError, match=r"not found in graph_def: \[nope:0\]"):
        tf.import_graph_def(graph_def(CHAIN), {"nope:0": mine})


def test_out_and_in_again_gives_the_same(graph):
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    with tf.device("/cpu:0"):
        y = tf.nn.softmax(tf.reshape(x, tf.stack([tf.shape(x)[0], -1])), name="y")
    message = graph.as_graph_def()
    with tf.Graph().as_default() as other:
        tf.import_graph_def(message, name="")
        assert other.as_graph_def() == message
        with tf.Session() as sess:
            got = sess.run("y:0", {"x:0": np.eye(3)})
    with tf.Session() as sess:
        np.testing.assert_array_equal(got, sess.run(y, {x: np.eye(3)}))


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("node { name: 'a' op: 'NoSuchOp' }", "Op type not registered 'NoSuchOp'"),
        ("node { name: 'a b' op: 'NoOp' }", "invalid characters"),
        ("node { name: 'a' op: 'NoOp' } node { name: 'a' op: 'NoOp' }", "is not unique"),
        ("node { name: 'a' op: 'Neg' input: 'z' }", "Unknown input node 'z'"),
        ("node { name: 'a' op: 'NoOp' input: '^a' }", "Cycle|Unknown"),
        (CHAIN.replace("'a:0'", "'a:1'"), "Connecting to invalid output 1"),
        (
            "node { name: 'a' op: 'NoOp' attr { key: 'x' value { i: 1 } } }",
            "mentions attr 'x' not in",
        ),
        ("node { name: 'a' op: 'Placeholder' }", "missing attr 'dtype'"),
        (
            "node { name: 'a' op: 'Placeholder' attr { key: 'dtype' value { i: 1 } } }",
            "another type",
        ),
        ("versions { min_consumer: 99999 }", "above current version"),
    ],
)
def test_a_malformed_graph_is_refused_and_nothing_is_lost(graph, text, match):
    kept = tf.constant(1.0)
    try:
        message = graph_def(text)
    except text_format.ParseError:
        pytest.skip("no message")
    with pytest.raises(ValueError, match=match):
        tf.import_graph_def(message)
    with tf.Session() as sess:
        assert sess.run(kept) == 1.0


def test_what_is_no_graph_def_is_refused(graph):
    with pytest.raises(TypeError, match="must be a GraphDef proto"):
        tf.import_graph_def("text")
    with pytest.raises(TypeError, match="return_elements must be a list of strings"):
        tf.import_graph_def(tf.GraphDef(), return_elements=[7])


NODE = "node { name: '%s' op: 'NoOp' %s }"
WITH_A = "attr { key: '_class' value { list { s: 'loc:@A' } } }"


def test_names_in_use_get_a_number(graph):
    with tf.name_scope("outer/inner"):
        tf.constant(1, name="c")
    names = ["outer", "inner", "outer/inner", "outer/inner/c", "outer_1"]
    ops = tf.import_graph_def(
        graph_def("".join(NODE % (n, "") for n in names)), return_elements=names, name=""
    )
    assert [op.name for op in ops] == [
        "outer_2",
        "inner",
        "outer/inner_1",
        "outer/inner/c_1",
        "outer_1",
    ]


@pytest.mark.parametrize(
    ("of_a", "of_b", "expected"),
    [("/device:CPU:0", "", ["/device:CPU:0"] * 2), ("", "/device:CPU:0", ["", ""])],
)
def test_what_is_colocated_has_the_device_of_the_other(graph, of_a, of_b, expected):
    text = NODE % ("A", f"device: '{of_a}' {WITH_A}") + NODE % ("B", f"device: '{of_b}' {WITH_A}")
    ops = tf.import_graph_def(graph_def(text), return_elements=["A", "B"], name="x")
    assert [op.device for op in ops] == expected
    assert [op.colocation_groups() for op in ops] == [[b"loc:@x/A"]] * 2


def test_device_functions_are_asked_of_what_is_colocated_with_nothing(graph):
    with tf.device(lambda op: "/device:CPU:1" if "B" in op.name else "/device:CPU:0"):
        ops = tf.import_graph_def(
            graph_def(NODE % ("A", WITH_A) + NODE % ("B", WITH_A)), return_elements=["A", "B"]
        )
    assert [op.device for op in ops] == ["/device:CPU:0"] * 2
