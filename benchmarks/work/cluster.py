"""Clusters of processes on one machine: training with a parameter server, a remote call, large transfers.

Run as a program it is a task of such a cluster: python -m work.cluster IMPLEMENTATION JOB INDEX CLUSTER WORK
"""

import json
import os
import socket
import subprocess
import sys
import threading
import time

import numpy as np

IN_PROCESSES_OF_ITS_OWN = True

SIZES = {"small": (784, 100, 10), "large": (784, 1024, 1024, 10)}
BATCH = 128
MEGABYTES = 64
# Each kind of work with its number of workers.
WORK = {
    "small_1": 1,
    "large_1": 1,
    "small_2": 2,
    "large_2": 2,
    "sync_small": 2,
    "sync_large": 2,
    "transfers": 1,
    "transfers_tf": 1,  # of weft's worker with a parameter server of the later TensorFlow
}
WARM, WINDOW, WINDOWS = 2.0, 0.5, 8


def measure(implementation, work):
    """The figures of one kind of work, from a cluster of its own."""
    ports = _ports(1 + WORK[work])
    addresses = ["127.0.0.1:%d" % port for port in ports]
    cluster = {"ps": addresses[:1], "worker": addresses[1:]}
    tasks = []
    try:
        for job in ("ps", "worker"):
            for index in range(len(cluster[job])):
                mixed = work == "transfers_tf" and implementation == "weft"
                of = "tf2" if mixed and job == "ps" else implementation
                tasks.append(_task(of, job, index, cluster, work, of == implementation))
        out = tasks[1].stdout.read()  # of the chief, whose figures count
        if tasks[1].wait():
            raise RuntimeError("the chief of %s has failed" % work)
        return json.loads(out.decode().strip().splitlines()[-1])
    finally:
        for task in tasks:
            task.kill()
            task.wait()
            task.stdin.close()


def _ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def _task(implementation, job, index, cluster, work, own):
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    paths, python = [here, os.environ.get("PYTHONPATH", "")], sys.executable
    if not own:
        from tools import peers

        paths, python = [here], peers.interpreter(implementation)
    command = [python, "-m", "work.cluster", implementation, job, str(index)]
    chief = job == "worker" and not index
    return subprocess.Popen(
        [*command, json.dumps(cluster), work],
        stdin=subprocess.PIPE,  # a task ends with who started it
        stdout=subprocess.PIPE if chief else subprocess.DEVNULL,
        stderr=None if chief else subprocess.DEVNULL,
        env=dict(os.environ, PYTHONPATH=os.pathsep.join(p for p in paths if p)),
    )


# -- a task --------------------------------------------------------------------------------------------


def task(implementation, job, index, cluster, work):
    from worker import vocabulary

    tf = vocabulary(implementation)
    threading.Thread(target=_end_with_input, daemon=True).start()
    index, cluster = int(index), json.loads(cluster)
    server = tf.train.Server(cluster, job, index)
    if job == "ps":
        server.join()
    elif work.startswith("transfers"):
        print(json.dumps(_transfers(tf, server)))
    else:
        _train(tf, server, cluster, index, work)


def _end_with_input():
    sys.stdin.read()
    os._exit(1)


def _train(tf, server, cluster, index, work):
    kind, _, count = work.partition("_")
    sync = kind == "sync"
    sizes = SIZES[count if sync else kind]
    with tf.device(
        tf.train.replica_device_setter(cluster=cluster, worker_device="/job:worker/task:%d" % index)
    ):
        step = tf.train.get_or_create_global_step()
        x = tf.placeholder(tf.float32, [BATCH, sizes[0]])
        labels = tf.placeholder(tf.int32, [BATCH])
        y = x
        for i in range(1, len(sizes)):
            kernel = tf.get_variable("kernel_%d" % i, [sizes[i - 1], sizes[i]])
            bias = tf.get_variable("bias_%d" % i, [sizes[i]], initializer=tf.zeros_initializer())
            y = tf.matmul(y, kernel) + bias
            if i + 1 < len(sizes):
                y = tf.nn.relu(y)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=y)
        optimizer = tf.train.GradientDescentOptimizer(0.01)
        hooks = []
        if sync:
            workers = len(cluster["worker"])
            optimizer = tf.train.SyncReplicasOptimizer(optimizer, workers, workers)
        train = optimizer.minimize(tf.reduce_mean(losses), global_step=step)
        if sync:
            hooks.append(optimizer.make_session_run_hook(index == 0))
    random = np.random.RandomState(index)
    feeds = {
        x: random.rand(BATCH, sizes[0]).astype(np.float32),
        labels: random.randint(0, sizes[-1], BATCH).astype(np.int32),
    }
    with tf.train.MonitoredTrainingSession(server.target, index == 0, hooks=hooks) as session:

        def run_for(seconds):
            end = time.time() + seconds
            while time.time() < end:
                session.run(train, feeds)

        if index:
            run_for(3600)  # it is ended with the cluster
        # All workers take part before it counts.
        while session.run(step) < 100 * len(cluster["worker"]):
            run_for(0.1)
        run_for(WARM)
        best = 0.0
        for _ in range(WINDOWS):
            first, start = session.run(step), time.time()
            run_for(WINDOW)
            best = max(best, float(session.run(step) - first) / (time.time() - start))
        print(json.dumps({"step": 1 / best}))
        sys.stdout.flush()
        os._exit(0)  # in a synchronous step the others would be waited for


def _transfers(tf, server):
    from timing import per_call

    elements = MEGABYTES << 18
    with tf.device("/job:ps/task:0"):
        there = tf.get_variable("there", [elements], initializer=tf.zeros_initializer())
        x = tf.placeholder(tf.float32, [])
        tiny = x + 1.0
    with tf.device("/job:worker/task:0"):
        here = tf.get_variable("here", [elements], initializer=tf.ones_initializer())
        push = there.assign(here).op
        pull = here.assign(there).op
    with tf.Session(server.target) as session:
        session.run(tf.global_variables_initializer())
        return {
            "tiny": per_call(lambda: session.run(tiny, {x: 2.0}), warm=200),
            "push": per_call(lambda: session.run(push), warm=5, seconds=3.0),
            "pull": per_call(lambda: session.run(pull), warm=5, seconds=3.0),
        }


if __name__ == "__main__":
    task(*sys.argv[1:])
