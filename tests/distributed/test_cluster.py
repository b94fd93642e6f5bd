"""Clusters whose tasks reach each other through gRPC only, though they are of one process here."""

import socket
import threading
import time

import numpy as np
import pytest

import weft as tf


def _ports(n):
    """Ports that are free now."""
    sockets = [socket.socket() for _ in range(n)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Cluster:
    """Servers by job and task."""

    def __init__(self, ps, workers):
        ports = [f"localhost:{p}" for p in _ports(ps + workers)]
        self.spec = tf.train.ClusterSpec({"ps": ports[:ps], "worker": ports[ps:]})
        self.servers = {}
        for job in self.spec.jobs:
            for task in self.spec.task_indices(job):
                self.start(job, task)

    def start(self, job, task):
        self.servers[job, task] = tf.train.Server(self.spec, job, task)

    def stop(self, job, task):
        self.servers.pop((job, task))._stop()

    def target(self, job, task):
        return self.servers[job, task].target


@pytest.fixture(params=["links", "grpc"])
def make(monkeypatch, request):
    monkeypatch.setattr("weft.distributed.server.directly", False)
    if request.param == "grpc":
        monkeypatch.setattr("weft.distributed.links.enabled", False)
    made = []

    def cluster(ps=1, workers=1):
        made.append(Cluster(ps, workers))
        return made[-1]

    yield cluster
    for c in made:
        for server in c.servers.values():
            server._stop()


@pytest.fixture
def cluster(make):
    with tf.Graph().as_default():
        yield make()


def _left(cluster):
    """What steps have left behind; a worker is told of a step's end a moment after the client."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        if not any(s.worker._rendezvous for s in cluster.servers.values()):
            return 0
        time.sleep(0.01)
    return sum(len(s.worker._rendezvous) for s in cluster.servers.values())


def test_values_cross_and_nothing_is_left(cluster):
    with tf.device("/job:ps"):
        v = tf.get_variable("v", initializer=[1.0, 2.0])
        words = tf.constant(["a\0b", ""]) + tf.constant("!")
    with tf.device("/job:worker"):
        x = tf.placeholder(tf.float32, [2])
        y = v * x + tf.constant([10.0, 10.0])
        loud = words + "?"
        with tf.control_dependencies([v.assign_add(x)]):
            after = tf.identity(v.read_value())
    with tf.device("/job:ps"):
        back = tf.reduce_sum(y) + tf.reduce_sum(
            x
        )  # a cycle between the tasks, not between operations
    with tf.Session(cluster.target("worker", 0)) as sess:
        sess.run(v.initializer)
        feed = {x: [3.0, 4.0]}
        given = sess.run([y, back, loud, x], feed)
        np.testing.assert_array_equal(given[0], [13.0, 18.0])
        assert given[1] == 38.0
        assert list(given[2]) == [b"a\0b!?", b"!?"]
        np.testing.assert_array_equal(given[3], [3.0, 4.0])
        np.testing.assert_array_equal(sess.run(after, feed), [4.0, 6.0])
        assert sess.run(y + x, {y: [1.0, 1.0], x: [2.0, 2.0]}).tolist() == [3.0, 3.0]
        given[0][0] = 0.0  # the caller's own
    assert cluster.servers["ps", 0].store.items()
    assert _left(cluster) == 0


def test_a_client_without_a_task_has_the_same_steps(cluster):
    config = tf.ConfigProto()
    config.rpc_options.use_rpc_for_inprocess_master = True
    with tf.device("/job:ps"):
        v = tf.get_variable("v", initializer=1.0)
    with tf.device("/job:worker"):
        y = v + 1.0
    with tf.Session(cluster.target("worker", 0), config=config) as sess:
        sess.run(v.initializer)
        assert sess.run(y) == 2.0
        names = [d.name for d in sess.list_devices()]
    assert names == [f"/job:{j}/replica:0/task:0/device:CPU:0" for j in ("worker", "ps")]


def _model(task, sync=False, replicas=1):
    """A linear model whose variables are on the parameter server."""
    with tf.device(tf.train.replica_device_setter(1, worker_device=f"/job:worker/task:{task}")):
        x = tf.placeholder(tf.float32, [None, 3])
        y = tf.placeholder(tf.float32, [None, 1])
        w = tf.get_variable("w", [3, 1], initializer=tf.zeros_initializer())
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
        step = tf.train.get_or_create_global_step()
        optimizer = tf.train.GradientDescentOptimizer(0.1)
        hooks = []
        if sync:
            optimizer = tf.train.SyncReplicasOptimizer(
                optimizer, replicas_to_aggregate=replicas, total_num_replicas=replicas
            )
            hooks.append(optimizer.make_session_run_hook(task == 0))
        train = optimizer.minimize(loss, global_step=step)
    return x, y, w, loss, step, train, hooks


def _train(cluster, task, steps, sync=False, replicas=1, ready=None):
    rng = np.random.RandomState(task)
    rows = rng.randn(32, 3).astype(np.float32)
    wanted = rows @ np.array([[1.0], [-2.0], [0.5]], np.float32)
    with tf.Graph().as_default():
        x, y, w, loss, step, train, hooks = _model(task, sync, replicas)
        filters = ["/job:ps", f"/job:worker/task:{task}"]
        with tf.train.MonitoredTrainingSession(
            cluster.target("worker", task),
            is_chief=task == 0,
            hooks=[*hooks, tf.train.StopAtStepHook(last_step=steps)],
            config=tf.ConfigProto(device_filters=filters),
            stop_grace_period_secs=1,
        ) as sess:
            if ready is not None:
                ready.set()
            last = None
            while not sess.should_stop():
                last = sess.run([loss, w, step, train], {x: rows, y: wanted})
    return last


def test_training_with_variables_on_a_parameter_server(make):
    loss, w, step, _ = _train(make(), 0, 60)
    assert loss < 0.01 and step == 60
    np.testing.assert_allclose(w[:, 0], [1.0, -2.0, 0.5], atol=0.1)


@pytest.mark.parametrize("sync", [False, True])
def test_two_workers(make, sync):
    cluster = make(workers=2)
    found, failed, ready = {}, [], threading.Event()

    def work(task):
        try:
            if task:  # who finds nothing initialised looks again after half a minute
                ready.wait(20)
            found[task] = _train(cluster, task, 60, sync, 2, ready)
        except BaseException as e:
            failed.append(e)

    threads = [threading.Thread(target=work, args=(t,), daemon=True) for t in (0, 1)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert not failed and len(found) == 2
    np.testing.assert_allclose(found[0][1][:, 0], [1.0, -2.0, 0.5], atol=0.3)


def test_errors_tell_the_task_and_the_operation(cluster):
    with tf.device("/job:ps"):
        x = tf.placeholder(tf.int32, [])
        picked = tf.gather([1, 2, 3], x, name="picked")
        v = tf.get_variable("v", [2])
    with tf.device("/job:worker"):
        y, z = picked * 2, v * 2.0
    with tf.Session(cluster.target("worker", 0)) as sess:
        for _ in range(3):
            with pytest.raises(
                tf.errors.InvalidArgumentError, match="From /job:ps/replica:0/task:0"
            ) as e:
                sess.run(y, {x: 7})
            assert e.value.op is picked.op
            with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value v"):
                sess.run(z)
        assert sess.run(y, {x: 2}) == 6
    assert _left(cluster) == 0


def test_a_step_over_its_time_stops_everywhere(cluster):
    with tf.device("/job:ps"):
        queue = tf.FIFOQueue(3, tf.int32)
        item, put = queue.dequeue(), queue.enqueue(7)
    with tf.device("/job:worker"):
        y = item + 1
    with tf.Session(cluster.target("worker", 0)) as sess:
        began = time.monotonic()
        with pytest.raises(tf.errors.DeadlineExceededError):
            sess.run(y, options=tf.RunOptions(timeout_in_ms=200))
        assert time.monotonic() - began < 2
        sess.run(put)  # nobody is left who would take it
        assert sess.run(y) == 8


def test_a_parameter_server_that_comes_back(cluster):
    with tf.device("/job:ps"):
        v = tf.get_variable("v", initializer=1.0)
    with tf.device("/job:worker"):
        y = v + 1.0
    lost = (tf.errors.UnavailableError, tf.errors.AbortedError)
    with tf.Session(cluster.target("worker", 0)) as sess:
        sess.run(v.initializer)
        assert sess.run(y) == 2.0
        cluster.stop("ps", 0)
        with pytest.raises(lost):
            sess.run(y)
        cluster.start("ps", 0)
        with pytest.raises(lost):  # the parts that it had are gone with it
            for _ in range(100):
                sess.run(y)
                time.sleep(0.02)
    with tf.Session(cluster.target("worker", 0)) as sess:
        with pytest.raises(tf.errors.FailedPreconditionError):
            sess.run(y)
        sess.run(v.initializer)
        assert sess.run(y) == 2.0


def test_training_goes_on_when_the_parameter_server_is_back(make, tmp_path):
    cluster = make()
    with tf.Graph().as_default():
        x, y, w, loss, step, train, _ = _model(0)
        feed = {x: np.ones((1, 3), np.float32), y: np.ones((1, 1), np.float32)}
        with tf.train.MonitoredTrainingSession(
            cluster.target("worker", 0),
            checkpoint_dir=str(tmp_path),
            save_checkpoint_steps=5,
            save_checkpoint_secs=None,
            save_summaries_steps=None,
            log_step_count_steps=None,
        ) as sess:
            for _ in range(10):
                before = sess.run([step, train], feed)[0]
            cluster.stop("ps", 0)
            cluster.start("ps", 0)
            after = sess.run([step, train], feed)[0]
    assert before >= 9 and 5 <= after <= before + 2


def test_what_cannot_be_cut_is_refused(cluster):
    with tf.device("/job:ps"):
        v = tf.get_variable("v", initializer=1.0, use_resource=True)
    with tf.device("/job:worker"):
        x = tf.placeholder(tf.float32, [])
        doubled = tf.identity(v.read_value()) * x
    with tf.Session(cluster.target("worker", 0)) as sess:
        sess.run(v.initializer)
        assert sess.run(doubled, {x: 3.0}) == 3.0
        with tf.device("/job:worker/task:5"):
            nowhere = x + 1.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="task:5"):
            sess.run(nowhere, {x: 1.0})
        assert sess.run(doubled, {x: 4.0}) == 4.0


def test_failed_steps_leave_no_threads(cluster):
    with tf.device("/job:ps"):
        bad = tf.check_numerics(tf.placeholder_with_default(np.nan, []), "no")
    with tf.device("/job:worker"):
        y = bad + 1.0
    with tf.Session(cluster.target("worker", 0)) as sess:

        def fail(n):
            for _ in range(n):
                with pytest.raises(tf.errors.InvalidArgumentError):
                    sess.run(y)

        fail(10)
        before = threading.active_count()
        fail(100)
        # A few more may have been made to wait for work; a leak would be of a hundred.
        assert threading.active_count() <= before + 20
    assert _left(cluster) == 0
