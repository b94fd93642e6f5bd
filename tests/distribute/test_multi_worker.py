"""MultiWorkerMirroredStrategy and ParameterServerStrategy on a cluster: its tasks are servers of this process, each
with a thread that runs the program of a worker."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading

import numpy as np
import pytest

import weft as tf

from . import training


def free_ports(count):
    found = [socket.socket() for _ in range(count)]
    for s in found:
        s.bind(("localhost", 0))
    ports = [s.getsockname()[1] for s in found]
    for s in found:
        s.close()
    return ports


def cluster_of(**jobs):
    return {job: [f"localhost:{p}" for p in free_ports(n)] for job, n in jobs.items()}


def tell(monkeypatch, cluster, kind, index):
    config = {"cluster": cluster, "task": {"type": kind, "index": index}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))


def on_all(functions):
    """What functions give that run at the same time."""
    found = [None] * len(functions)

    def run(i):
        try:
            found[i] = functions[i]()
        except BaseException as e:
            found[i] = e

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(functions))]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    for value in found:
        if isinstance(value, BaseException):
            raise value
    return found


@pytest.fixture
def servers():
    started = []

    def start(cluster, job, index, config=None):
        started.append(tf.train.Server(cluster, job, index, config=config))
        return started[-1]

    yield start
    for server in started:
        server._stop()


@pytest.mark.parametrize(("optimizer", "devices"), [("adam", 1), ("momentum", 2)])
def test_training_is_that_of_one_process_with_the_same_batches(
    monkeypatch, servers, optimizer, devices
):
    cluster = cluster_of(worker=2)
    workers = []
    for i in range(2):
        tell(monkeypatch, cluster, "worker", i)
        strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()
        if devices == 2:
            task = f"/job:worker/replica:0/task:{i}"
            strategy.extended._local_devices = lambda task=task: tuple(
                f"{task}/device:CPU:{n}" for n in range(2)
            )
            strategy.extended._join(strategy.extended._task)
        assert strategy.num_replicas_in_sync == 2 * devices
        assert strategy.extended.should_checkpoint == (i == 0)
        config = tf.ConfigProto(device_count={"CPU": devices})
        config = strategy.update_config_proto(config)
        assert list(config.device_filters) == [f"/job:worker/task:{i}"]
        server = servers(cluster, "worker", i, config)

        def work(strategy=strategy, config=config, server=server):
            with tf.Graph().as_default():
                built = training.build(strategy, optimizer)
                with tf.Session(server.target, config=config) as session:
                    return training.train(session, built)

        workers.append(work)
    for losses, step in on_all(workers):
        np.testing.assert_allclose(losses, training.LOSSES[optimizer], rtol=1e-5)
        assert step == 6


def test_workers_start_with_what_the_chief_has(monkeypatch, servers):
    cluster = cluster_of(chief=1, worker=1)
    workers = []
    for job in ("chief", "worker"):
        tell(monkeypatch, cluster, job, 0)
        strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy(
            tf.distribute.experimental.CollectiveCommunication.RING
        )
        config = strategy.update_config_proto(tf.ConfigProto())
        server = servers(cluster, job, 0, config)

        def work(strategy=strategy, config=config, server=server, job=job):
            with tf.Graph().as_default(), strategy.scope():
                v = tf.get_variable("v", initializer=tf.random_normal([4]))
                b = tf.get_variable("b", initializer=job == "chief")
                optimizer = tf.train.GradientDescentOptimizer(1.0)

                def replica_fn():
                    rows = tf.gather(v, [0, 1 if job == "chief" else 2])
                    return optimizer.minimize(tf.reduce_sum(rows))

                train = strategy.group(strategy.experimental_run_v2(replica_fn))
                mean = strategy.reduce(
                    tf.distribute.ReduceOp.MEAN,
                    strategy.experimental_run_v2(
                        lambda: tf.constant(1.0 if job == "chief" else 3.0)
                    ),
                    axis=None,
                )
                with tf.Session(server.target, config=config) as session:
                    session.run(tf.global_variables_initializer())
                    first = session.run(v)
                    session.run(train)
                    return first, session.run(v), session.run(b), session.run(mean)

        workers.append(work)
    (first, after, flag, mean), (other, other_after, other_flag, other_mean) = on_all(workers)
    np.testing.assert_array_equal(first, other)
    np.testing.assert_array_equal(after, other_after)
    # Rows that both have looked up, and those that one has.
    np.testing.assert_allclose(first - after, [2, 1, 1, 0], atol=1e-6)
    assert flag and other_flag
    assert mean == other_mean == 2


def test_the_chief_saves_without_the_others(monkeypatch, servers, tmp_path):
    cluster = cluster_of(worker=2)
    workers = []
    for i in range(2):
        tell(monkeypatch, cluster, "worker", i)
        strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()
        config = strategy.update_config_proto(tf.ConfigProto())
        server = servers(cluster, "worker", i, config)

        def work(strategy=strategy, config=config, server=server, i=i):
            with tf.Graph().as_default(), strategy.scope():

                def replica_fn():
                    x = tf.constant([[2.0 + 4 * i]])
                    y = tf.layers.batch_normalization(x, training=True, momentum=0.5, name="bn")
                    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
                        return tf.identity(y)

                out = strategy.reduce("MEAN", strategy.experimental_run_v2(replica_fn), axis=None)
                mean = next(v for v in tf.global_variables() if "moving_mean" in v.name)
                saver = tf.train.Saver()
                read = strategy.extended.read_var(mean)
                with tf.Session(server.target, config=config) as session:
                    session.run(tf.global_variables_initializer())
                    session.run(out)
                    path = saver.save(session, str(tmp_path / "model")) if i == 0 else None
                    return path, session.run(read).tolist()

        workers.append(work)
    (path, mean), (_, other) = on_all(workers)
    assert mean == other == [2.0]  # of 1 and 3, at all workers
    assert tf.train.load_variable(path, "bn/moving_mean").tolist() == [1.0]  # the chief's


def test_parameter_servers(monkeypatch, servers):
    cluster = cluster_of(ps=2, worker=2)
    for i in range(2):
        servers(cluster, "ps", i)
    workers = []
    for i in range(2):
        tell(monkeypatch, cluster, "worker", i)
        strategy = tf.distribute.experimental.ParameterServerStrategy()
        extended = strategy.extended
        assert strategy.num_replicas_in_sync == 1 and extended.experimental_between_graph
        assert extended.should_checkpoint == extended.experimental_should_init == (i == 0)
        config = strategy.update_config_proto(tf.ConfigProto())
        assert list(config.device_filters) == [f"/job:worker/task:{i}", "/job:ps"]
        server = servers(cluster, "worker", i)

        def build(strategy=strategy, config=config, server=server):
            graph = tf.Graph()
            with graph.as_default():
                built = training.build(strategy, "sgd")
                devices = {v.device for v in tf.trainable_variables()}
                assert {d.replace("/replica:0", "").split("/device")[0] for d in devices} == {
                    f"/job:ps/task:{n}" for n in range(2)
                }
            return built, tf.Session(server.target, graph=graph, config=config)

        workers.append(build())
    (first, session), (second, other) = workers
    session.run(first[0])
    other.run(second[0][1])  # the other worker's iterator
    # Taking turns, each begins with the first batch.
    assert session.run(first[1]) == pytest.approx(training.LOSSES["sgd"][0], rel=1e-5)
    assert other.run(second[1]) < training.LOSSES["sgd"][0]
    assert other.run(second[2]) == 2
    session.close()
    other.close()


def test_a_resolver_tells_the_cluster():
    cluster = tf.train.ClusterSpec(cluster_of(ps=2, worker=1))
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        cluster, task_type="worker", task_id=0
    )
    extended = tf.distribute.experimental.ParameterServerStrategy(resolver).extended
    assert extended.parameter_devices == tuple(
        f"/job:ps/replica:0/task:{i}/device:CPU:0" for i in range(2)
    )
    assert extended.worker_devices == ("/job:worker/replica:0/task:0/device:CPU:0",)


def test_what_tf_config_says_is_checked(monkeypatch):
    cluster = cluster_of(worker=1, ps=1)
    make = tf.distribute.experimental.MultiWorkerMirroredStrategy
    monkeypatch.setenv("TF_CONFIG", "{")
    with pytest.raises(ValueError, match="TF_CONFIG is no JSON"):
        make()
    tell(monkeypatch, cluster, "worker", 7)
    with pytest.raises(ValueError, match="`task_id` 7"):
        make()
    tell(monkeypatch, cluster, "evaluator", 0)
    with pytest.raises(ValueError, match="'evaluator' not found"):
        make()
    tell(monkeypatch, cluster, "ps", 0)
    with pytest.raises(ValueError, match="takes no part"):
        make()
    tell(monkeypatch, {"worker": ["localhost:1"]}, "worker", 0)
    with pytest.raises(ValueError, match="`ps` jobs"):
        tf.distribute.experimental.ParameterServerStrategy()


EAGER = """
import numpy as np
import weft as tf

tf.enable_eager_execution()
strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()
with strategy.scope():
    v = tf.Variable(tf.random_normal([2]), aggregation=tf.VariableAggregation.SUM)
    optimizer = tf.train.GradientDescentOptimizer(0.5)
    dataset = tf.data.Dataset.from_tensor_slices(np.arange(8, dtype="f")).batch(4)

def replica(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(x) * v[0]
    optimizer.apply_gradients([(tape.gradient(loss, v), v)])
    return loss

run = lambda x: strategy.experimental_run_v2(replica, args=(x,))
before = v.numpy()
for n, x in enumerate(strategy.experimental_distribute_dataset(dataset)):
    (tf.function(run) if n else run)(x)
print("moved", (v.numpy() - before).tolist(), "to", v.numpy().tolist())
"""


def test_workers_train_eagerly():
    cluster = cluster_of(worker=2)
    processes = []
    for i in range(2):
        config = {"cluster": cluster, "task": {"type": "worker", "index": i}}
        processes.append(
            subprocess.Popen(
                [sys.executable, "-c", EAGER],
                env={**os.environ, "TF_CONFIG": json.dumps(config)},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
    found = [p.communicate(timeout=60) for p in processes]
    assert [p.returncode for p in processes] == [0, 0], found
    (first,), (second,) = [
        [line for line in out.splitlines() if line.startswith("moved")] for out, _ in found
    ]
    assert first == second
    moved = json.loads(first.partition("moved ")[2].partition(" to ")[0])
    assert moved == pytest.approx([-14, 0], abs=1e-4)
