"""Sessions: fetches, feeds, callables, partial runs, defaults, closing."""

import collections
import threading

import numpy as np
import pytest

import weft as tf


@pytest.fixture
def graph():
    with tf.Graph().as_default() as g:
        yield g


def test_fetch_structures_come_back_with_values(graph):
    a, b = tf.constant(1.0), tf.constant(2.0)
    op = tf.group(a)
    Pair = collections.namedtuple("Pair", ["x", "y"])
    with tf.Session() as sess:
        got = sess.run({"l": [a, (b, a)], "p": Pair(a, op), "n": "Const_1:0"})
    assert got == {"l": [1.0, (2.0, 1.0)], "p": Pair(1.0, None), "n": 2.0}


def test_a_fetch_of_nothing_or_of_another_graph_is_refused(graph):
    tf.constant(1.0)
    with tf.Graph().as_default():
        other = tf.constant(1.0)
    sess = tf.Session()
    with pytest.raises(TypeError, match="None has invalid type"):
        sess.run(None)
    with pytest.raises(ValueError, match="not an element of this graph"):
        sess.run(other)
    with pytest.raises(ValueError, match="cannot be interpreted as a Tensor"):
        sess.run("nope:0")


def test_any_tensor_may_be_fed_and_a_fed_one_fetched(graph):
    x = tf.constant(2.0) + 1.0
    y = x * 10.0
    with tf.Session() as sess:
        assert sess.run([x, y], {x: 5.0}) == [5.0, 50.0]
        assert sess.run(y) == 30.0


def test_feeds_are_checked(graph):
    x = tf.placeholder(tf.int32, [None, 2], name="x")
    y = x + 1
    with tf.Session() as sess:
        with pytest.raises(ValueError, match=r"Cannot feed value of shape \(3,\) for Tensor 'x:0'"):
            sess.run(y, {x: [1, 2, 3]})
        with pytest.raises(TypeError, match="cannot be a tf.Tensor object"):
            sess.run(y, {x: tf.constant(1)})
        with pytest.raises(tf.errors.InvalidArgumentError, match="must feed a value.*'x'") as e:
            sess.run(y)
        assert e.value.op.name == "x"
        graph.prevent_feeding(x)
        with pytest.raises(ValueError, match="may not be fed"):
            sess.run(y, {x: [[1, 2]]})


def test_a_fetched_array_belongs_to_the_caller(graph):
    x = tf.placeholder(tf.float32, [3])
    v = tf.get_variable("v", initializer=[1.0, 2.0, 3.0])
    fed = np.zeros(3, np.float32)
    with tf.Session() as sess:
        sess.run(v.initializer)
        same, value = sess.run([x, v], {x: fed})
        same[:] = 7
        value[:] = 7
        assert fed.tolist() == [0, 0, 0]
        assert sess.run(v).tolist() == [1, 2, 3]


def test_callables(graph):
    a, b = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    with tf.Session() as sess:
        f = sess.make_callable([a + b, a * b], [a, b])
        assert f(2.0, 3.0) == [5.0, 6.0]
        with pytest.raises(tf.errors.InvalidArgumentError, match="2 values are to be fed"):
            f(1.0)
    with pytest.raises(RuntimeError, match="closed Session"):
        f(1.0, 2.0)


def test_partial_runs_compute_each_op_once(graph):
    a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    calls = []
    seen = tf.py_func(lambda v: calls.append(v) or v, [a], tf.float32)
    c = seen + 1.0
    d = c * b
    with tf.Session() as sess:
        handle = sess.partial_run_setup([c, d], [a, b])
        assert sess.partial_run(handle, c, {a: 1.0}) == 2.0
        assert sess.partial_run(handle, d, {b: 3.0}) == 6.0
        assert len(calls) == 1
        with pytest.raises(tf.errors.InvalidArgumentError, match="already finished"):
            sess.partial_run(handle, d)


def test_defaults_nest_and_must_be_left_in_order(graph):
    s1, s2 = tf.Session(), tf.Session()
    with s1.as_default():
        with s2.as_default():
            assert tf.get_default_session() is s2
        assert tf.get_default_session() is s1
    assert tf.get_default_session() is None
    with pytest.raises(ValueError, match="No default session is registered"):
        tf.constant(1.0).eval()


def test_an_empty_graph_and_a_closed_session(graph):
    sess = tf.Session()
    with pytest.raises(RuntimeError, match="graph is empty"):
        sess.run([])
    tf.constant(1.0)
    sess.close()
    with pytest.raises(RuntimeError, match="closed Session"):
        sess.run("Const:0")


def test_a_growing_graph_keeps_its_plans(graph):
    a = tf.constant(1.0)
    with tf.Session() as sess:
        sess.run(a)
        plan = sess._plans.values()[0]
        tf.constant(2.0)
        sess.run(a)
        assert sess._plans.values() == [plan]


def test_many_plans_do_not_pile_up(graph):
    a = tf.constant(1.0)
    with tf.Session() as sess:
        with pytest.warns(RuntimeWarning, match="has grown before each"):
            for i in range(300):
                sess.run(a + float(i))
        assert len(sess._plans) <= 256


def test_threads_share_a_session(graph):
    v = tf.get_variable("v", initializer=0)
    add = v.assign_add(1, use_locking=True)
    with tf.Session() as sess:
        sess.run(v.initializer)

        def work():
            for _ in range(50):
                sess.run(add)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert 0 < sess.run(v) <= 200


def test_a_step_stops_when_its_time_is_up(graph):
    loops_forever = lambda i: tf.reshape(tf.py_func(lambda v: v, [i], tf.int32), [])  # noqa: E731
    i = tf.while_loop(lambda i: i >= 0, loops_forever, [1])
    options = tf.RunOptions(timeout_in_ms=100)
    with tf.Session() as sess:
        with pytest.raises(tf.errors.DeadlineExceededError):
            sess.run(i, options=options)
        assert sess.run(tf.constant(3)) == 3


def test_a_traced_step_tells_when_each_op_ran(graph):
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.exp(x, name="y")
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    with tf.Session() as sess:
        sess.run(y, {x: [1.0, 2.0]}, options, metadata)
    nodes = [n.node_name for d in metadata.step_stats.dev_stats for n in d.node_stats]
    assert "y" in nodes
    from weft.studio.timeline import Timeline

    assert '"name": "Exp"' in Timeline(metadata.step_stats).generate_chrome_trace_format()
