"""Several workers that take each step together, and where the pieces of a replica's graph are placed."""

import socket
import threading

import numpy as np
import pytest

import weft as tf

# The thread of the chief that is left waiting says so when its session is gone.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")


def _address():
    with socket.socket() as s:
        s.bind(("localhost", 0))
        return f"localhost:{s.getsockname()[1]}"


@pytest.fixture(scope="module")
def servers():
    spec = tf.train.ClusterSpec({"ps": [_address()], "worker": [_address(), _address()]})
    parameter_server = tf.train.Server(spec, "ps", 0)
    return [parameter_server, *(tf.train.Server(spec, "worker", i) for i in range(2))]


def replica(index, server):
    """A worker's session, its step, and the variable."""
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            step = tf.train.get_or_create_global_step()
            v = tf.get_variable("v", [2], initializer=tf.zeros_initializer())
        with tf.device(f"/job:worker/task:{index}"):
            rows = tf.IndexedSlices(tf.fill([1], 1.0 + 2 * index), [index], [2])
            optimizer = tf.train.SyncReplicasOptimizer(
                tf.train.GradientDescentOptimizer(0.5), 2, total_num_replicas=2
            )
            train = optimizer.apply_gradients([(rows, v)], global_step=step)
        hook = optimizer.make_session_run_hook(index == 0, num_tokens=0)
        # The chief's runner waits for gradients that will not come: it is left when the session is closed.
        session = tf.train.MonitoredTrainingSession(
            server.target, index == 0, hooks=[hook], stop_grace_period_secs=0.2
        )
        return session, train, v, step


def test_workers_take_each_step_together(servers):
    workers = [replica(i, servers[1 + i]) for i in range(2)]

    def run(session, train):
        for _ in range(3):
            session.run(train)

    threads = [threading.Thread(target=run, args=w[:2], daemon=True) for w in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    session, _, v, step = workers[1]
    assert session.run(step) == 3
    # Each row had a gradient from one worker only: 1 and 3, of which the mean over that one is taken.
    np.testing.assert_allclose(session.run(v), [-1.5, -4.5])
    for session, *_ in workers:
        session.close()


def test_use_before_gradients_were_applied_is_refused():
    optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(1.0), 2)
    with pytest.raises(ValueError, match="after apply_gradients"):
        optimizer.get_chief_queue_runner()
    with pytest.raises(ValueError, match="after apply_gradients"):
        optimizer.get_init_tokens_op()
    with pytest.raises(ValueError, match="Global step"):
        optimizer.apply_gradients([(1.0, None)])


def test_what_holds_state_goes_to_parameter_servers_in_turn():
    with tf.Graph().as_default():
        cluster = {"ps": ["a:1", "b:1"], "worker": ["c:1"]}
        with tf.device(tf.train.replica_device_setter(cluster=cluster)):
            v = [tf.get_variable(f"v{i}", [], use_resource=i == 1) for i in range(3)]
            with tf.device("/cpu:0"):
                y = tf.add(v[0], 1.0)
        assert [x.device for x in v] == [f"/job:ps/task:{i}" for i in (0, 1, 0)]
        assert y.device == "/job:worker/device:CPU:0"
    assert tf.train.replica_device_setter() is None
    assert tf.train.replica_device_setter(cluster={"worker": ["c:1"]}) is None
    with pytest.raises(TypeError, match="callable"):
        tf.train.replica_device_setter(1, ps_strategy="no")
