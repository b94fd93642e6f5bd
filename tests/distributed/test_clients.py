"""Several clients at one server, one client at several servers, and state in containers."""

import threading

import pytest

import weft as tf
from tests.distributed.test_cluster import Cluster


@pytest.fixture(params=[False, True], ids=["remote", "direct"])
def cluster(request, monkeypatch):
    monkeypatch.setattr("weft.distributed.server.directly", request.param)
    made = Cluster(1, 2)
    yield made
    for server in made.servers.values():
        server._stop()


def _through_grpc():
    config = tf.ConfigProto()
    config.rpc_options.use_rpc_for_inprocess_master = True
    return config


def test_many_clients_at_one_server(cluster):
    """Each with a graph of its own; they share what is on the parameter server."""
    failed = []

    def client(n):
        try:
            with tf.Graph().as_default():
                with tf.device("/job:ps"):
                    total = tf.get_variable("total", initializer=0, dtype=tf.int32)
                    add = tf.assign_add(total, 1, use_locking=True)
                with tf.device("/job:worker/task:1"):
                    own = tf.placeholder(tf.int32, [])
                    y = own * tf.constant(n)
                with tf.Session(cluster.target("worker", 0), config=_through_grpc()) as sess:
                    for i in range(20):
                        sess.run(add.op)
                        assert sess.run(y, {own: i}) == i * n
        except BaseException as e:
            failed.append(e)

    with tf.Graph().as_default(), tf.device("/job:ps"):
        total = tf.get_variable("total", initializer=0, dtype=tf.int32)
        with tf.Session(cluster.target("worker", 1)) as sess:
            sess.run(total.initializer)
            threads = [threading.Thread(target=client, args=(n,)) for n in range(6)]
            for t in threads:
                t.start()
            for t in threads:
                t.join(60)
            assert not failed
            assert sess.run(total) == 120


def test_one_client_at_several_servers(cluster):
    with tf.Graph().as_default():
        with tf.device("/job:ps"):
            v = tf.get_variable("v", initializer=1.0)
        here = tf.identity(v) * 2.0  # on the task of the session's master
        jobs = [("worker", 0), ("worker", 1), ("ps", 0)]
        sessions = [tf.Session(cluster.target(*task), config=_through_grpc()) for task in jobs]
        sessions[0].run(v.initializer)
        for i, sess in enumerate(sessions):
            assert sess.run(here) == 2.0 * (i + 1)
            metadata = tf.RunMetadata()
            sess.run(here, options=tf.RunOptions(trace_level=3), run_metadata=metadata)
            names = {d.device for d in metadata.step_stats.dev_stats if d.node_stats}
            assert "/job:%s/replica:0/task:%d/device:CPU:0" % jobs[i] in names
            sess.run(v.assign_add(1.0).op)
        for sess in sessions:
            sess.close()


def test_containers_are_reset_alone(cluster):
    with tf.Graph().as_default():
        with tf.device("/job:ps"):
            with tf.container("first"):
                a = tf.get_variable("a", initializer=1.0, use_resource=False)
                queue = tf.FIFOQueue(3, tf.int32, shapes=[[]], shared_name="q")
            with tf.container("second"):
                b = tf.get_variable("b", initializer=2.0, use_resource=True)
            c = tf.get_variable("c", initializer=3.0)
        target = cluster.target("worker", 0)
        with tf.Session(target) as sess:
            sess.run(tf.global_variables_initializer())
            sess.run(queue.enqueue(1))
            assert sess.run([a, b, c, queue.size()]) == [1.0, 2.0, 3.0, 1]
        tf.Session.reset(target, ["first"])
        with tf.Session(target) as sess:
            assert sess.run([b, c, queue.size()]) == [2.0, 3.0, 0]
            with pytest.raises(tf.errors.FailedPreconditionError):
                sess.run(a)
        tf.Session.reset(target)
        with tf.Session(target) as sess:
            for x in (a, b, c):
                with pytest.raises(tf.errors.FailedPreconditionError):
                    sess.run(x)


def test_isolated_sessions_have_state_of_their_own(cluster):
    with tf.Graph().as_default():
        with tf.device("/job:ps"):
            v = tf.get_variable("v", initializer=1.0)
            add = v.assign_add(1.0).op
        with tf.device("/job:worker/task:1"):
            y = v * 10.0
        alone = tf.ConfigProto(isolate_session_state=True)
        target = cluster.target("worker", 0)
        with tf.Session(target) as shared, tf.Session(target, config=alone) as own:
            shared.run(v.initializer)
            with pytest.raises(tf.errors.FailedPreconditionError):
                own.run(y)
            own.run(v.initializer)
            own.run(add)
            own.run(add)
            assert (shared.run(y), own.run(y)) == (10.0, 30.0)
            handle = own.partial_run_setup([y], [])
            assert own.partial_run(handle, y) == 30.0
        with tf.Session(target, config=alone) as own:
            with pytest.raises(tf.errors.FailedPreconditionError):
                own.run(y)
