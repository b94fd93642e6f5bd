"""Steps that fail, and clients that go without a word, leave no thread and no memory behind, in any task."""

import contextlib
import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import weft as tf
from tests.distributed.clusters import ROOT, SOAK, Cluster
from tests.distributed.proxy import Proxy

STEPS = 1000 if SOAK else 70
WARM = 40  # steps until what is run often is compiled, which takes memory and threads once
SIZE = 250_000  # numbers, 1 MB: what is forgotten at each step shows


class Use:
    """The threads and the memory of a process."""

    def __init__(self, pid=None):
        self._folder = f"/proc/{pid or os.getpid()}"

    def threads(self):
        return len(os.listdir(self._folder + "/task"))

    def megabytes(self):
        with open(self._folder + "/status") as lines:
            return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def _leaves_nothing(processes, act, times, warm=WARM, threads=6, megabytes=50):
    """Checks what the processes use after `act` was done some times: soon it is what they used before."""
    for _ in range(warm):
        act()
    time.sleep(0.3)
    gc.collect()
    before = [(p.threads(), p.megabytes()) for p in processes]
    for _ in range(times):
        act()
    end = time.monotonic() + 10
    while True:
        gc.collect()
        after = [(p.threads(), p.megabytes()) for p in processes]
        grown = [(a[0] - b[0], a[1] - b[1]) for a, b in zip(after, before)]
        if all(t <= threads and m <= megabytes for t, m in grown):
            return
        assert time.monotonic() < end, grown
        time.sleep(0.1)


class Linked:
    """What two tasks of one machine have between them: there is nothing to cut, but the other may stop."""

    def __init__(self, address, task):
        self.address, self._task = address, task

    def cut(self):
        self._task.signal(signal.SIGSTOP)

    def heal(self):
        self._task.signal(signal.SIGCONT)

    def hang_up(self):
        pass


@pytest.fixture(scope="module")
def cluster(tmp_path_factory, request):
    """A parameter server in a process of its own; the worker is here."""
    with Cluster(tmp_path_factory.mktemp("leaks"), ps=1, worker=1) as cluster:
        ps = cluster.start("ps")
        with contextlib.ExitStack() as stack:
            at = cluster.addresses["ps"][0]
            linked = getattr(request, "param", "network") == "link"
            cluster.network = Linked(at, ps) if linked else stack.enter_context(Proxy(at))
            seen = {"ps": [cluster.network.address], "worker": cluster.addresses["worker"]}
            cluster.server = tf.train.Server(seen, "worker", 0)
            ps.next("ready")
            cluster.processes = [Use(), Use(ps.process.pid)]
            with tf.Graph().as_default():
                yield cluster
            cluster.server._stop()


both_ways = pytest.mark.parametrize("cluster", ["network", "link"], indirect=True)


@both_ways
def test_steps_that_fail(cluster):
    with tf.device("/job:ps"):
        x = tf.placeholder(tf.float32, [SIZE])
        there = tf.fill([SIZE], 1.0) + x
        with tf.control_dependencies([there]):
            bad = tf.check_numerics(x / 0.0, "bad")
        item = tf.FIFOQueue(1, tf.float32).dequeue()
    with tf.device("/job:worker"):
        y = tf.reduce_sum(there) + tf.reduce_sum(bad)
        z = tf.reduce_sum(there) + item
    feed = {x: np.ones(SIZE, np.float32)}
    with tf.Session(cluster.server.target) as sess:

        def fail():
            with pytest.raises(tf.errors.InvalidArgumentError):
                sess.run(y, feed)

        def be_late():
            with pytest.raises(tf.errors.DeadlineExceededError):
                sess.run(z, feed, options=tf.RunOptions(timeout_in_ms=20))

        def be_cut_off():
            cluster.network.cut()
            with pytest.raises(tf.errors.DeadlineExceededError):
                sess.run(z, feed, options=tf.RunOptions(timeout_in_ms=20))
            cluster.network.heal()

        def lose():
            cluster.network.hang_up()
            with pytest.raises((tf.errors.UnavailableError, tf.errors.DeadlineExceededError)):
                sess.run(z, feed, options=tf.RunOptions(timeout_in_ms=50))

        _leaves_nothing(cluster.processes, fail, STEPS)
        _leaves_nothing(cluster.processes, be_late, STEPS)
        _leaves_nothing(cluster.processes, be_cut_off, STEPS, 10)
        _leaves_nothing(cluster.processes, lose, STEPS // 4, 5)
        assert not cluster.server.worker._rendezvous


def test_graphs_that_grow_and_sessions_that_come_and_go(cluster):
    with tf.device("/job:ps"):
        v = tf.get_variable("grows", initializer=np.ones(SIZE // 10, np.float32))

    def come_and_go():
        with tf.Graph().as_default() as graph:
            with tf.device("/job:ps"):
                there = tf.constant(np.ones(SIZE // 10, np.float32)) * 2.0
                there += tf.random_uniform([1], 0.0, 1e-6)
            with tf.device("/job:worker"):
                total = tf.reduce_sum(there) + tf.random_uniform([], 0.0, 1e-6)
            with tf.Session(cluster.server.target, graph=graph) as sess:
                assert sess.run(total) == pytest.approx(SIZE // 10 * 2, rel=1e-3)

    _leaves_nothing(cluster.processes, come_and_go, STEPS // 2)
    gc.collect()
    assert not cluster.server.store.random  # nor anything that is known of the graphs
    with tf.Session(cluster.server.target) as sess:
        sess.run(v.initializer)
        grown = tf.reduce_sum(v)

        def grow():
            nonlocal grown
            with tf.device("/job:worker"):
                grown = tf.reduce_sum(v) + len(v.graph._ops)
            sess.run(grown)

        for _ in range(40):
            grow()
        assert len(cluster.server.worker._parts) >= 40
    assert not cluster.server.worker._parts


@both_ways
def test_steps_that_go_well(cluster):
    with tf.device("/job:ps"):
        w = tf.get_variable("steps", initializer=np.ones(SIZE // 10, np.float32))
    with tf.device("/job:worker"):
        step = tf.assign_sub(w, w * 0.001 + tf.reduce_sum(w) * 0.0).op
    with tf.Session(cluster.server.target) as sess:
        sess.run(w.initializer)
        _leaves_nothing(cluster.processes, lambda: sess.run(step), 10 * STEPS, 10 * WARM)


CLIENT = """
    import signal
    import sys
    import weft as tf

    # What a shell starts in the background is deaf to Ctrl-C, and so are its children.
    signal.signal(signal.SIGINT, signal.default_int_handler)

    with tf.device("/job:ps"):
        item = tf.FIFOQueue(1, tf.int32, shared_name="never").dequeue()
        big = tf.fill([250000], 1.0)
    with tf.device("/job:worker"):
        waits = tf.reduce_sum(big) + tf.cast(item, tf.float32)
    sess = tf.Session(sys.argv[1])
    print(sess.run(tf.reduce_sum(big)), flush=True)
    sess.run(waits)
"""


def _client(target):
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(CLIENT), target],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(os.environ, PYTHONPATH=str(ROOT)),
        text=True,
    )


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_client_that_goes_in_the_middle_of_a_step(cluster, number):
    worker = cluster.server.worker
    with _client(cluster.server.target) as client:
        assert client.stdout.readline().startswith("250000")
        _wait_for(lambda: any(p._steps for p in worker._parts.values()))
        client.send_signal(number)
        try:
            client.wait(3)
        finally:
            client.kill()  # or leaving the block would wait for it
        if number == signal.SIGINT:
            assert "KeyboardInterrupt" in client.stderr.read()
    # Its step ends here and at the parameter server.
    _wait_for(lambda: not any(p._steps for p in worker._parts.values()))
    _wait_for(lambda: not worker._rendezvous)


def _wait_for(condition, seconds=10):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_threads_end_that_were_needed_for_a_while(cluster, monkeypatch):
    with tf.device("/job:ps"):
        queue = tf.FIFOQueue(100, tf.int32)
        item, fill = queue.dequeue(), queue.enqueue_many([list(range(60))])
    here = threading.active_count()
    with tf.Session(cluster.server.target) as sess:
        threads = [threading.Thread(target=sess.run, args=(item,)) for _ in range(60)]
        for t in threads:
            t.start()
        time.sleep(0.3)
        sess.run(fill)
        for t in threads:
            t.join(20)
    _wait_for(lambda: threading.active_count() <= here + 6, 15)
    _wait_for(lambda: cluster.processes[1].threads() <= 40, 15)
