"""Steps that are run in parts over several tasks, reached through gRPC and directly."""

import pytest

import weft as tf
from tests.distributed.test_cluster import Cluster


@pytest.fixture(params=[False, True], ids=["remote", "direct"])
def cluster(request, monkeypatch):
    monkeypatch.setattr("weft.distributed.server.directly", request.param)
    made = Cluster(1, 2)
    with tf.Graph().as_default():
        yield made
    for server in made.servers.values():
        assert not server.worker._open and not server.worker._rendezvous
        server._stop()


def _chain():
    with tf.device("/job:ps"):
        a = tf.placeholder(tf.float32, [])
        v = tf.get_variable("v", initializer=2.0)
        scaled = a * v
    with tf.device("/job:worker/task:0"):
        b = tf.placeholder(tf.float32, [])
        first = scaled + 1.0
        second = first * b
    with tf.device("/job:worker/task:1"):
        c = tf.placeholder(tf.float32, [])
        third = second + c
        words = tf.constant("a") + tf.as_string(tf.cast(first, tf.int32))
    return v, (a, b, c), (first, second, third, words)


@pytest.mark.parametrize("task", [0, 1])
def test_feeds_and_fetches_come_in_parts(cluster, task):
    v, (a, b, c), (first, second, third, words) = _chain()
    with tf.Session(cluster.target("worker", task)) as sess:
        sess.run(v.initializer)
        for _ in range(2):
            handle = sess.partial_run_setup([first, second, third, words, b], [a, b, c])
            assert sess.partial_run(handle, first, {a: 3.0}) == 7.0
            with pytest.raises(tf.errors.InvalidArgumentError, match="feed"):
                sess.partial_run(handle, third)  # which loses nothing
            with pytest.raises(tf.errors.InvalidArgumentError, match="already been fed"):
                sess.partial_run(handle, second, {a: 1.0, b: 1.0})
            assert sess.partial_run(handle, [second, b], {b: 2.0}) == [14.0, 2.0]
            assert sess.partial_run(handle, [third, words], {c: 2.0}) == [16.0, b"a7"]
            with pytest.raises(tf.errors.InvalidArgumentError):
                sess.partial_run(handle, third)
        assert sess.run(third, {a: 1.0, b: 1.0, c: 1.0}) == 4.0


def test_an_error_ends_the_step_everywhere(cluster):
    with tf.device("/job:ps"):
        a = tf.placeholder(tf.int32, [])
        picked = tf.gather([1, 2, 3], a, name="picked")
    with tf.device("/job:worker/task:1"):
        b = tf.placeholder(tf.int32, [])
        total = picked + b
    with tf.Session(cluster.target("worker", 0)) as sess:
        handle = sess.partial_run_setup([picked, total], [a, b])
        with pytest.raises(tf.errors.InvalidArgumentError) as e:
            sess.partial_run(handle, picked, {a: 7})
        assert e.value.op is picked.op
        handle = sess.partial_run_setup([picked, total], [a, b])
        assert sess.partial_run(handle, picked, {a: 1}) == 2
        assert sess.partial_run(handle, total, {b: 1}) == 3


def test_what_is_left_open_ends_with_the_session(cluster):
    v, (a, b, c), (first, second, third, _) = _chain()
    with tf.Session(cluster.target("worker", 0)) as sess:
        sess.run(v.initializer)
        handle = sess.partial_run_setup([first, third], [a, b, c])
        assert sess.partial_run(handle, first, {a: 3.0}) == 7.0
