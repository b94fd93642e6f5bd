"""Plans: pruning, placement, segments, tiers, and how they are described."""

import numpy as np
import pytest

import weft as tf
from weft import testing
from weft.runtime.plan import Host


@pytest.fixture
def graph():
    with tf.Graph().as_default() as g:
        yield g


def plan_of(sess):
    return sess._plans.values()[-1]


def test_what_the_fetches_do_not_need_is_pruned(graph):
    a = tf.constant(1.0, name="a")
    tf.exp(a, name="unused")
    b = tf.add(a, 1.0, name="b")
    with tf.Session() as sess:
        sess.run(b)
        text = plan_of(sess).describe()
    assert "unused" not in text
    assert "1 pruned" in text


def test_a_session_tells_its_plan_before_and_after_it_ran(graph):
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.exp(x, name="y")
    with tf.Session() as sess:
        plan = sess.plan({"y": y}, [x])
        assert "not hot yet" in plan.describe()
        sess.run({"y": y}, {x: [0.0, 1.0]})
        assert sess.plan({"y": y}, {"x:0": None}) is plan
        with pytest.raises(TypeError, match="Cannot interpret"):
            sess.plan(y, ["no such tensor:0"])


def test_host_ops_part_segments_by_level(graph):
    x = tf.placeholder(tf.float32, [2])
    before = tf.exp(x, name="before")
    host = tf.py_func(lambda v: v + 1, [before], tf.float32, name="host")
    after = tf.multiply(host, 2.0, name="after")
    aside = tf.negative(x, name="aside")
    with tf.Session() as sess:
        sess.run([after, aside], {x: [0.0, 0.0]})
        steps = plan_of(sess).steps
    kinds = [
        s.node.op.name if isinstance(s, Host) else sorted(n.op.name for n in s.program.nodes)
        for s in steps
    ]
    assert kinds[0] == ["aside", "before"]
    assert kinds[1] == "host"
    assert "after" in kinds[2]


def test_an_explicit_device_is_kept_or_refused(graph):
    with tf.device("/cpu:1"):
        a = tf.constant(1.0, name="a") + 1.0
    two = tf.ConfigProto(device_count={"CPU": 2})
    with tf.Session(config=two) as sess:
        assert sess.run(a) == 2.0
        assert all(d.index == 1 for d in plan_of(sess).placed.values())
    with tf.Session() as sess:
        with pytest.raises(tf.errors.InvalidArgumentError, match="Cannot assign a device.*CPU:1"):
            sess.run(a)
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as sess:
        assert sess.run(a) == 2.0


def test_ops_stand_where_their_variable_stands(graph):
    with tf.device("/cpu:1"):
        v = tf.get_variable("v", initializer=1.0)
    add = tf.assign_add(v, 1.0)
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as sess:
        sess.run(v.initializer)
        sess.run(add)
        placed = plan_of(sess).placed
        assert placed[add.op].index == 1


def test_both_tiers_agree_and_say_which_they_are(graph):
    x = tf.placeholder(tf.float32, [None, 3])
    v = tf.get_variable("v", initializer=np.ones((3, 2), np.float32))
    y = tf.reduce_sum(tf.matmul(x, v), 1)
    step = v.assign_sub(0.1 * tf.gradients(y, v)[0])
    data = np.arange(6, dtype=np.float32).reshape(2, 3)
    results = {}
    for tier in ("interpret", "compile"):
        with testing.tier(tier), tf.Session() as sess:
            sess.run(v.initializer)
            results[tier] = [sess.run([y, step], {x: data}) for _ in range(3)]
            text = plan_of(sess).describe()
        assert ("compiled for" in text) == (tier == "compile")
    for a, b in zip(results["interpret"], results["compile"]):
        for p, q in zip(a, b):
            np.testing.assert_allclose(p, q, rtol=1e-6, atol=1e-6)


def test_the_second_run_compiles_nothing(graph):
    x = tf.placeholder(tf.float32, [None])
    y = tf.exp(x) * 2.0
    with testing.tier("compile"), tf.Session() as sess:
        sess.run(y, {x: [1.0]})
        before = testing.compilations()
        sess.run(y, {x: [2.0]})
        assert testing.compilations() == before
        sess.run(y, {x: [2.0, 3.0]})
        assert testing.compilations() == before + 1


def test_a_fed_shape_is_part_of_the_executable(graph):
    n = tf.placeholder(tf.int32, [])
    y = tf.reshape(tf.range(n * 2), tf.stack([n, -1]))
    with testing.tier("compile"), tf.Session() as sess:
        for size in (2, 3, 2):
            assert sess.run(y, {n: size}).shape == (size, 2)


def test_partition_graphs_are_given_on_request(graph):
    with tf.device("/cpu:0"):
        a = tf.constant(1.0)
    with tf.device("/cpu:1"):
        b = a + 1.0
    metadata = tf.RunMetadata()
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as sess:
        sess.run(b, options=tf.RunOptions(output_partition_graphs=True), run_metadata=metadata)
    assert len(metadata.partition_graphs) == 2
