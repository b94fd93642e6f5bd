"""Servers of one process: sessions at their targets share devices and state."""

import pytest

import weft as tf


def test_sessions_at_one_server_share_variables():
    server = tf.train.Server.create_local_server()
    with tf.Graph().as_default():
        v = tf.get_variable("v", initializer=1.0)
        one, two = tf.Session(server.target), tf.Session(server.target)
        one.run(v.initializer)
        assert two.run(v) == 1.0
        two.run(v.assign(5.0))
        one.close()
        assert two.run(v) == 5.0
        tf.Session.reset(server.target)
        with pytest.raises(tf.errors.AbortedError, match="reset"):
            two.run(v)
        with tf.Session(server.target) as three, pytest.raises(tf.errors.FailedPreconditionError):
            three.run(v)


def test_a_propagated_cluster_has_state_of_its_own():
    servers = [tf.train.Server.create_local_server() for _ in range(2)]
    spec = tf.train.ClusterSpec({"worker": [s.target[len("grpc://") :] for s in servers]})
    config = tf.ConfigProto(cluster_def=spec.as_cluster_def())
    with tf.Graph().as_default():
        with tf.device("/job:worker/task:1"):
            v = tf.get_variable("v", initializer=1.0)
        one, two = (tf.Session(servers[0].target, config=config) for _ in range(2))
        one.run(v.initializer)
        assert one.run(v) == 1.0
        with pytest.raises(tf.errors.FailedPreconditionError):
            two.run(v)
        names = [d.name for d in one.list_devices()]
    assert names == [f"/job:worker/replica:0/task:{i}/device:CPU:0" for i in range(2)]


def test_an_unknown_target_is_refused():
    with tf.Graph().as_default():
        with pytest.raises(tf.errors.NotFoundError, match="No session factory registered"):
            tf.Session("nowhere")


def test_cluster_specs():
    spec = tf.train.ClusterSpec({"ps": ["a:1"], "worker": {1: "b:2", 3: "c:3"}})
    assert spec.as_dict() == {"ps": ["a:1"], "worker": {1: "b:2", 3: "c:3"}}
    assert tf.train.ClusterSpec(spec.as_cluster_def()) == spec
    assert spec.job_tasks("worker") == [None, "b:2", None, "c:3"]
    with pytest.raises(ValueError, match="No such job"):
        spec.num_tasks("chief")
