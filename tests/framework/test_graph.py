"""Graphs: names, scopes, elements, control edges, devices, collections."""

import threading

import numpy as np
import pytest

import weft as tf
from weft.framework.operation import Operation


@pytest.fixture
def graph():
    with tf.Graph().as_default() as g:
        yield g


def names(graph):
    return [op.name for op in graph.get_operations()]


def test_names_are_unique_whatever_their_case(graph):
    for name in ("a", "a", "A", "a_1"):
        tf.constant(1.0, name=name)
    assert names(graph) == ["a", "a_1", "A_2", "a_1_1"]


def test_scopes_prefix_names_and_can_be_entered_again(graph):
    with tf.name_scope("s") as scope:
        tf.constant(1, name="a")
        with tf.name_scope(None):
            tf.constant(1, name="top")
    with tf.name_scope("s"):
        tf.constant(1, name="a")
    with tf.name_scope(scope):
        tf.constant(1, name="b")
    assert names(graph) == ["s/a", "top", "s_1/a", "s/b"]
    with pytest.raises(ValueError, match="not a valid scope name"):
        with tf.name_scope("_bad"):
            pass
    with pytest.raises(ValueError, match="not a valid operation name"):
        tf.constant(1, name="spaced out")


def test_constants_of_arguments_are_named_after_them(graph):
    x = tf.placeholder(tf.float32, name="x")
    y = x + 1.0
    assert y.op.name == "add"
    assert names(graph) == ["x", "add/y", "add"]


def test_elements_by_name_and_the_errors(graph):
    c = tf.constant(1.0, name="c")
    assert graph.as_graph_element("c:0") is c
    assert graph.get_operation_by_name("c") is c.op
    with pytest.raises(KeyError, match="does not exist"):
        graph.get_tensor_by_name("d:0")
    with pytest.raises(KeyError, match="only has 1 outputs"):
        graph.get_tensor_by_name("c:1")
    with pytest.raises(ValueError, match='you meant "c:0"'):
        graph.get_tensor_by_name("c")
    with pytest.raises(TypeError, match="Can not convert a float into a Tensor or Operation"):
        graph.as_graph_element(1.0)


def test_control_edges_nest_clear_and_skip_what_waits_already(graph):
    a, b = tf.constant(1, name="a"), tf.constant(2, name="b")
    with tf.control_dependencies([a]):
        with tf.control_dependencies([b]):
            c = tf.constant(3)
            d = tf.identity(c)
        with tf.control_dependencies(None):
            e = tf.constant(4)
    assert [o.name for o in c.op.control_inputs] == ["a", "b"]
    assert d.op.control_inputs == []
    assert e.op.control_inputs == []


def test_devices_merge_inside_out(graph):
    with tf.device("/job:ps/cpu:0"):
        with tf.device("/task:1/device:GPU:2"):
            a = tf.constant(1)
        with tf.device(None):
            b = tf.constant(1)
        with tf.device(lambda op: "/job:worker" if op.type == "Const" else ""):
            c = tf.constant(1)
    assert a.device == "/job:ps/task:1/device:GPU:2"
    assert b.device == ""
    assert c.device == "/job:worker/device:CPU:0"


def test_colocation_shares_group_and_device(graph):
    with tf.device("/cpu:1"):
        a = tf.constant(1, name="a")
    with tf.colocate_with(a.op):
        b = tf.constant(2)
    assert b.op.colocation_groups() == [b"loc:@a"]
    assert b.device == "/device:CPU:1"


def test_a_finalized_graph_refuses_changes(graph):
    a = tf.constant(1)
    graph.finalize()
    with pytest.raises(RuntimeError, match="finalized"):
        tf.constant(2)
    with pytest.raises(RuntimeError, match="finalized"):
        graph.add_to_collection("x", a)


def test_a_tensor_of_another_graph_is_refused(graph):
    a = tf.constant(1.0)
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="must be from the same graph"):
            tf.raw_ops.Neg(x=a)


def test_operations_know_the_line_that_made_them(graph):
    op = tf.constant(1).op
    file, _, function, text = op.traceback[-1]
    lines = [entry for entry in op.traceback if entry[0] == __file__]
    assert lines[-1][3] == "op = tf.constant(1).op"
    assert op.user_line.startswith(__file__)
    assert isinstance(op, Operation) and file and function and text is not None


def test_collections_filter_by_scope(graph):
    with tf.name_scope("s"):
        a = tf.constant(1)
    b = tf.constant(2)
    for t in (a, b):
        tf.add_to_collection("c", t)
    assert tf.get_collection("c") == [a, b]
    assert tf.get_collection("c", "s/") == [a]
    assert graph.get_all_collection_keys() == ["c"]


def test_attributes_read_as_tensorflow_gives_them(graph):
    x = tf.placeholder(tf.float32, [2, None])
    assert x.op.get_attr("dtype") is tf.float32
    assert [d.size for d in x.op.get_attr("shape").dim] == [2, -1]
    with pytest.raises(ValueError, match="has no attr named 'nope'"):
        x.op.get_attr("nope")
    y = tf.nn.bias_add(tf.zeros([1, 2]), [1.0, 2.0])
    assert y.op.get_attr("data_format") == b"NHWC"


def test_rewiring_ends_plans(graph):
    a, b = tf.constant(1.0), tf.constant(5.0)
    c = tf.identity(a)
    with tf.Session() as sess:
        assert sess.run(c) == 1.0
        c.op._update_input(0, b)
        assert sess.run(c) == 5.0


def test_an_operation_waits_for_the_others_of_a_block_that_its_input_belongs_to():
    with tf.Graph().as_default():
        a, b = tf.exp(1.0, name="a"), tf.exp(2.0, name="b")
        with tf.control_dependencies([a.op, b.op]):
            after = tf.identity(a)
            later = tf.identity(after)
        assert after.op.control_inputs == [b.op]
        assert later.op.control_inputs == []  # by way of its input


def test_threads_add_to_one_graph():
    """Scopes close in whatever order threads leave them, and a GraphDef is made while others add."""
    errors = []
    with tf.Graph().as_default() as graph:
        pass

    def build():
        try:
            with graph.as_default():
                before = graph.as_graph_def()
                for _ in range(3):
                    x = tf.placeholder(tf.float32)
                    with tf.colocate_with(x), tf.device("/cpu:0"):
                        y = tf.while_loop(lambda y: y < 10.0, lambda y: y + x, [x])  # noqa: B023
                    tf.gradients(y, x)
                    graph.as_graph_def()
                    tf.import_graph_def(before, name="copy")
        except Exception as e:
            errors.append(e)

    threads = [threading.Thread(target=build) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert not graph._devices


@pytest.mark.parametrize("value", [0.1, -0.0, np.nan, 7, True, 1 + 2j])
def test_a_constant_of_one_value_is_written_once(value):
    with tf.Graph().as_default() as graph:
        given = tf.constant(value, shape=[100, 100])
        other = tf.constant(np.arange(10_000) // 9_999)
    message = graph.as_graph_def()
    assert message.node[0].ByteSize() < 100 and message.node[1].ByteSize() > 10_000
    with tf.Graph().as_default(), tf.Session() as sess:
        back = tf.import_graph_def(message, return_elements=[given.name, other.name])
        found, varied = sess.run(back)
    wanted = np.full((100, 100), value, given.dtype.as_numpy_dtype)
    assert found.tobytes() == wanted.tobytes() and varied.sum() == 1
