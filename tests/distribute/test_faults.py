"""A worker that is killed while all train together: the others wait for it, and all go on from the last checkpoint."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

from .test_multi_worker import cluster_of

WORKER = """
import json, os, sys
import numpy as np
import weft as tf

folder, last = sys.argv[1], int(sys.argv[2])
told = json.loads(os.environ["TF_CONFIG"])
strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()
config = strategy.update_config_proto(tf.ConfigProto())
index = told["task"]["index"]
server = tf.train.Server(told["cluster"], "worker", index, config=config)
with strategy.scope():
    x = np.linspace(-1, 1, 16).astype("f")[:, None]
    iterator = strategy.make_dataset_iterator(
        tf.data.Dataset.from_tensor_slices((x, 3 * x)).repeat().batch(16))
    step = tf.train.get_or_create_global_step()
    w = tf.get_variable("w", initializer=tf.random_normal([1, 1]))
    optimizer = tf.train.GradientDescentOptimizer(0.01)
    def replica(inputs):
        a, b = inputs
        loss = tf.reduce_sum(tf.square(tf.matmul(a, w) - b)) / 16
        with tf.control_dependencies([optimizer.minimize(loss, global_step=step)]):
            return tf.identity(loss)
    loss = strategy.reduce("SUM", strategy.experimental_run(replica, iterator), axis=None)
    scaffold = tf.train.Scaffold(
        local_init_op=tf.group(tf.train.Scaffold.default_local_init_op(), iterator.initialize()))
    hooks = [tf.train.StopAtStepHook(last_step=last)]
    if strategy.extended.should_checkpoint:
        hooks.append(tf.train.CheckpointSaverHook(folder, save_steps=5))
    creator = tf.train.ChiefSessionCreator(scaffold, server.target, config, folder)
    with tf.train.MonitoredSession(creator, hooks) as session:
        while not session.should_stop():
            value, at, weight = session.run([loss, step, w])
            print("step %d loss %.9f w %.9f" % (at, value, weight[0, 0]), flush=True)
"""


class Worker:
    """A process that trains, and what it has printed."""

    def __init__(self, cluster, index, folder, last):
        config = {"cluster": cluster, "task": {"type": "worker", "index": index}}
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER, str(folder), str(last)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "TF_CONFIG": json.dumps(config)},
            text=True,
        )
        self.lines, self.errors = [], []
        self.readers = [
            threading.Thread(target=self._read, args=pair)
            for pair in ((self.process.stdout, self.lines), (self.process.stderr, self.errors))
        ]
        for reader in self.readers:
            reader.start()

    @staticmethod
    def _read(stream, lines):
        with stream:
            for line in stream:
                lines.append(line)

    @property
    def steps(self):
        """(step, loss, weight) of each step that has been printed."""
        found = re.findall(r"step (\d+) loss (\S+) w (\S+)\n", "".join(self.lines))
        return [(int(n), loss, w) for n, loss, w in found]

    def wait_for(self, step, seconds=60):
        end = time.monotonic() + seconds
        while not any(n >= step for n, _, _ in self.steps):
            assert self.process.poll() is None, "".join(self.errors)
            assert time.monotonic() < end, "".join(self.errors)
            time.sleep(0.05)

    def end(self):
        self.process.kill()
        self.process.wait()
        for reader in self.readers:
            reader.join()


def test_training_goes_on_when_a_killed_worker_is_back(tmp_path):
    cluster = cluster_of(worker=2)
    last = 120
    workers = [Worker(cluster, i, tmp_path, last) for i in range(2)]
    chief, other = workers
    try:
        chief.wait_for(20)
        other.process.send_signal(signal.SIGKILL)
        other.process.wait()
        killed_at = chief.steps[-1][0]
        time.sleep(0.5)
        assert chief.process.poll() is None, "".join(chief.errors)
        assert chief.steps[-1][0] <= killed_at + 5  # it does not go on alone
        back = Worker(cluster, 1, tmp_path, last)
        workers.append(back)
        for worker in (chief, back):
            assert worker.process.wait(60) == 0, "".join(worker.errors)
        for reader in (*chief.readers, *back.readers):
            reader.join()
        # From the last checkpoint on both go the same way.
        course = {n: rest for n, *rest in chief.steps}
        assert back.steps and back.steps[-1][0] >= last - 1
        assert all(course[n] == rest for n, *rest in back.steps)
        assert back.steps[0][0] <= killed_at + 6
        assert float(chief.steps[-1][1]) < float(chief.steps[0][1]) / 2
    finally:
        for worker in workers:
            worker.end()
