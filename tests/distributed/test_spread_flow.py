"""Branches, loops and functions whose operations are on several tasks."""

import numpy as np
import pytest

import weft as tf
from tests.distributed.test_cluster import Cluster
from weft.distributed.frames import frame_id

PS, FIRST, SECOND = "/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"


@pytest.fixture(scope="module", params=[False, True], ids=["remote", "direct"])
def session(request):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("weft.distributed.server.directly", request.param)
        cluster = Cluster(1, 2)
        config = tf.ConfigProto(operation_timeout_in_ms=20_000)

        def open_session():
            return tf.Session(cluster.target("worker", 0), config=config)

        yield open_session
        for server in cluster.servers.values():
            assert not server.worker._rendezvous
            server._stop()


@pytest.fixture
def run(session):
    """Runs fetches twice, after initialisation, for each of some feeds."""

    def run(fetches, *feeds):
        with session() as sess:
            sess.run(tf.global_variables_initializer())
            for feed in feeds or ({},):
                sess.run(fetches, feed)
            return [sess.run(fetches, feed) for feed in feeds or ({},)]

    with tf.Graph().as_default(), tf.device(FIRST):
        yield run


def on(device, function):
    def place(*args):
        with tf.device(device):
            return function(*args)

    return place


def test_a_branch_on_each_of_two_tasks(run):
    x = tf.placeholder(tf.float32, [])
    y = tf.cond(x > 0, on(PS, lambda: x * 2), on(SECOND, lambda: x - 1))
    assert run(y + 1, {x: 3.0}, {x: -3.0}) == [7, -3]


@pytest.mark.parametrize("resource", [False, True])
def test_only_the_branch_that_is_taken_has_effects(session, resource):
    with tf.Graph().as_default():
        with tf.device(PS):
            v = tf.get_variable("v", initializer=2.0, use_resource=resource)
        p = tf.placeholder(tf.bool, [])
        with tf.device(FIRST):
            change = tf.cond(p, lambda: v.assign_add(1) + 0, lambda: v.assign_sub(1) + 0)
        with session() as sess:
            sess.run(v.initializer)
            given = [(sess.run(change, {p: take}), sess.run(v)) for take in (True, False)]
        assert given == [(3, 3), (2, 2)]


def test_the_gradient_of_a_branch_reaches_another_task(run):
    with tf.device(PS):
        v = tf.get_variable("v", initializer=2.0, use_resource=True)
    x = tf.placeholder(tf.float32, [])
    y = tf.cond(x > 0, lambda: v * v * x, lambda: -v)
    assert run(tf.gradients(y, v)[0], {x: 3.0}, {x: -3.0}) == [12, -1]


def test_one_of_several_branches(run):
    i = tf.placeholder(tf.int32, [])
    branches = [
        on(device, lambda k=k: tf.constant(1.0) * k) for k, device in enumerate((PS, SECOND, FIRST))
    ]
    y = tf.switch_case(i, branches)
    assert run(y, *({i: k} for k in (0, 1, 2, 7))) == [0, 1, 2, 2]


def test_a_loop_over_three_tasks_and_its_gradient(run):
    with tf.device(PS):
        v = tf.get_variable("v", initializer=2.0, use_resource=True)
        r = tf.get_variable("r", initializer=1.0, use_resource=False)
    x = tf.placeholder(tf.float32, [])

    def body(i, a):
        b = on(PS, lambda: a * v * r)()
        return i + 1, on(SECOND, lambda: b * x)()

    i, a = tf.while_loop(lambda i, a: i < 3, body, [0, 1.0])
    assert run([i, a, *tf.gradients(a, [v, x])], {x: 3.0}) == [[3, 216, 324, 216]]


def test_loops_and_branches_in_each_other(run):
    p = tf.placeholder(tf.bool, [])

    def inner(i, a):
        return tf.while_loop(lambda j, b: j < i, on(PS, lambda j, b: (j + 1, b + 1)), [0, a])[1]

    def body(i, a):
        b = tf.cond(tf.equal(i % 2, 0), on(PS, lambda: a + 10), lambda: a + 1)
        return i + 1, on(SECOND, lambda: inner(i, b) * 1)()

    def loop():
        return tf.while_loop(lambda i, a: i < 4, body, [0, 0.0])[1]

    y = tf.cond(p, loop, lambda: tf.constant(-1.0))
    assert run(y, {p: True}, {p: False}) == [22 + 6, -1]


def test_a_loop_that_does_not_run(run):
    n = tf.placeholder(tf.int32, [])
    y = tf.while_loop(
        lambda i, a: i < n, on(PS, lambda i, a: (i + 1, a * 2)), [0, tf.identity(1.0)]
    )
    z = on(SECOND, lambda: y[1] + 1)()
    assert run(z, {n: 0}, {n: 2}) == [2, 5]


def test_a_function_over_tasks_keeps_the_order_of_its_effects(session):
    with tf.Graph().as_default(), tf.device(FIRST):
        with tf.device(PS):
            v = tf.get_variable("v", initializer=2.0, use_resource=True)

        @tf.function
        def f(x):
            y = on(SECOND, lambda: x * 3)()
            v.assign_add(y)
            return v + 1.0, y

        results = f(tf.constant(2.0))
        with session() as sess:
            sess.run(v.initializer)
            assert sess.run(results) == (9, 6)
            assert sess.run(results[0]) == 15 and sess.run(v) == 14


def test_map_fn_with_a_part_elsewhere(run):
    x = tf.placeholder(tf.float32, [None])
    y = tf.map_fn(on(PS, lambda e: e * e), x)
    (given,) = run([y, tf.gradients(y, x)[0]], {x: [1, 2, 3]})
    np.testing.assert_array_equal(given, [[1, 4, 9], [2, 4, 6]])


def test_an_error_in_a_loop_on_another_task(run):
    n = tf.placeholder(tf.int32, [])
    words = tf.constant([5, 6, 7])
    y = tf.while_loop(
        lambda i, a: i < n, on(PS, lambda i, a: (i + 1, a + tf.gather(words, i))), [0, 0]
    )
    assert run(y[1], {n: 3}) == [18]
    with pytest.raises(tf.errors.InvalidArgumentError, match="3") as e:
        run(y[1], {n: 5})
    assert e.value.op is not None and e.value.op.type == "GatherV2"


def test_the_numbers_of_frames_are_those_of_tensorflow():
    # As TensorFlow 1.15 and 2 send them for a loop "f", and a loop "g" in its second iteration.
    assert frame_id(((0, "f"),), False) != frame_id(((0, "f"),), True)
    assert len({frame_id(((0, "f"), (i, "g")), late) for i in (0, 1) for late in (0, 1)}) == 4


def test_what_is_between_branches_is_planned_as_ever(monkeypatch):
    """Only what may not run is run by data flow; the rest compiles, and the branches do not wait for each other."""
    from weft.engine.dataflow import RegionOp

    monkeypatch.setattr("weft.distributed.server.directly", False)
    cluster = Cluster(1, 1)
    with tf.Graph().as_default(), tf.device(FIRST):
        train = tf.placeholder(tf.bool, [])
        h = x = tf.placeholder(tf.float32, [3, 4])
        for i in range(2):
            with tf.device(PS):
                v = tf.get_variable(f"v{i}", initializer=1.0, use_resource=False)
            mean = tf.reduce_mean(h)

            def update(v=v, mean=mean):
                with tf.control_dependencies([tf.assign(v, v * 0.5 + mean).op]):
                    return tf.identity(mean)

            h = h - tf.cond(train, update, lambda v=v: v + 0.0)
        y = tf.reduce_sum(tf.matmul(h, h, transpose_b=True, name="product"))
        with tf.Session(cluster.target("worker", 0)) as sess:
            sess.run(tf.global_variables_initializer())
            ones = np.ones((3, 4), "f")
            given = [sess.run(y, {x: ones, train: t}) for t in (False, True, False)]
            assert given == [36, 0, 36]
            assert sess.run(["v0:0", "v1:0"]) == [1.5, 0.5]
            (plan,) = [
                part.plan
                for part in cluster.servers["worker", 0].worker._parts.values()
                if "product" in part._graph._ops
            ]
    for server in cluster.servers.values():
        server._stop()
    regions = [s.node.op for s in plan.steps if hasattr(s, "node") and type(s.node.op) is RegionOp]
    inside = {op.name for r in regions for op in r.region.items}
    compiled = {n.op.name for s in plan.steps if hasattr(s, "program") for n in s.program.nodes}
    assert len(regions) >= 2 and not {"product", "sub", "Mean", "Mean_1"} & inside, inside
    assert {"product", "sub", "Mean", "Mean_1"} <= compiled, compiled
