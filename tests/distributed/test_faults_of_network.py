"""Networks that are cut, slow or half-open: time limits hold, and nothing is left behind."""

import contextlib
import socket
import threading
import time

import numpy as np
import pytest

import weft as tf
from tests.distributed.clusters import SOAK, free_ports
from tests.distributed.proxy import Proxy

BUSY = 0.05 if SOAK else 0.3  # seconds


@contextlib.contextmanager
def over_in(seconds):
    """Checks that the block ends after some seconds, or a tenth of them later, when the machine has time for it."""
    began = time.monotonic()
    yield
    took = time.monotonic() - began
    assert seconds - 0.01 <= took <= 1.1 * seconds + BUSY, (took, seconds)


@pytest.fixture
def pair(monkeypatch):
    """A parameter server and a worker, which reach each other through a network that can be cut."""
    monkeypatch.setattr("weft.distributed.server.directly", False)
    ports = [f"localhost:{p}" for p in free_ports(2)]
    with Proxy(ports[0]) as to_ps, Proxy(ports[1]) as to_worker:
        ps = tf.train.Server({"ps": [ports[0]], "worker": [to_worker.address]}, "ps", 0)
        worker = tf.train.Server({"ps": [to_ps.address], "worker": [ports[1]]}, "worker", 0)
        ps.network, worker.network = to_ps, to_worker
        with tf.Graph().as_default():
            yield ps, worker
        worker._stop()
        ps._stop()


def _cut(*servers):
    for s in servers:
        s.network.cut()


def _heal(*servers):
    for s in servers:
        s.network.heal()


def _nothing_left(*servers):
    """Waits until the tasks have forgotten all steps."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        left = [s.worker._rendezvous for s in servers]
        running = [p._steps for s in servers for p in s.worker._parts.values() if p._steps]
        if not any(left) and not running:
            return
        time.sleep(0.02)
    raise AssertionError((left, running))


def _limited(ms):
    return tf.RunOptions(timeout_in_ms=ms)


LATE = tf.errors.DeadlineExceededError


def test_a_cut_network(pair):
    ps, worker = pair
    with tf.device("/job:ps"):
        v = tf.get_variable("v", initializer=np.ones(100_000, np.float32))
        put = v.assign_add(tf.placeholder_with_default(v * 0.0 + 1.0, [100_000]))
    with tf.device("/job:worker"):
        y = tf.reduce_sum(v)
    with tf.Session(worker.target) as sess:
        sess.run(v.initializer)
        assert sess.run(y) == 100_000
        sess.run(put.op)
        _cut(ps, worker)
        for fetch in (y, put.op, y + 1.0):  # the last one is new: its parts must be registered
            with over_in(0.5), pytest.raises(LATE):
                sess.run(fetch, options=_limited(500))
        _heal(ps, worker)
        # What was cut off is the same session when the network is back.
        assert sess.run(y) >= 200_000
        _nothing_left(ps, worker)

        _cut(ps)  # half of it: the worker cannot ask, the parameter server could
        with over_in(0.3), pytest.raises(LATE):
            sess.run(y, options=_limited(300))
        _heal(ps)
        _cut(worker)
        with tf.device("/job:ps"):
            there = tf.reduce_sum(y * tf.ones([2]))
        with over_in(0.3), pytest.raises(LATE):
            sess.run(there, options=_limited(300))
        _heal(worker)
        assert sess.run(there) >= 400_000
        _nothing_left(ps, worker)


def test_a_session_begins_while_the_network_is_cut(pair):
    ps, worker = pair
    with tf.device("/job:ps"):
        v = tf.get_variable("v", initializer=1.0)
    _cut(ps)
    config = tf.ConfigProto(operation_timeout_in_ms=400)
    with tf.Session(worker.target, config=config) as sess:
        with over_in(0.4), pytest.raises(LATE, match="No answer from /job:ps/replica:0/task:0"):
            sess.run(v.initializer)
        with over_in(0.2), pytest.raises(LATE):
            sess.run(v.initializer, options=_limited(200))
        _heal(ps)
        sess.run(v.initializer, options=_limited(5000))
    # A session that is closed gives up waiting.
    _cut(ps)
    with tf.Session(worker.target) as sess:
        threading.Timer(0.2, sess.close).start()
        with over_in(0.2), pytest.raises(tf.errors.CancelledError):
            sess.run(v)
    _heal(ps)


def test_a_client_that_is_cut_off_from_its_master(pair):
    ps, worker = pair
    with tf.device("/job:ps"):
        queue = tf.FIFOQueue(3, tf.int32)
        item, put = queue.dequeue(), queue.enqueue(7)
    config = tf.ConfigProto(operation_timeout_in_ms=400)
    with tf.Session("grpc://" + worker.network.address, config=config) as sess:
        sess.run(put)
        assert sess.run(item) == 7
        with over_in(0.4), pytest.raises(LATE):
            sess.run(item)
        _cut(worker)
        with over_in(0.4), pytest.raises(LATE):
            sess.run(item)
        with over_in(0.2), pytest.raises(LATE):
            sess.run(put, options=_limited(200))
        _heal(worker)
        _nothing_left(ps, worker)
        if sess.run(queue.size()):  # the last one may have come through after its client gave it up
            sess.run(item)
        sess.run(put)  # nobody is left who would take it
        assert sess.run(item) == 7
    with tf.Session("grpc://" + worker.network.address, config=config) as sess:
        _cut(worker)
        with over_in(0.4), pytest.raises(LATE):
            sess.run(put)
        _heal(worker)


def test_the_limit_of_a_server_holds_for_its_sessions():
    config = tf.ConfigProto(operation_timeout_in_ms=300)
    server = tf.train.Server.create_local_server(config=config)
    through = tf.ConfigProto()
    through.rpc_options.use_rpc_for_inprocess_master = True
    with tf.Graph().as_default():
        item = tf.FIFOQueue(3, tf.int32).dequeue()
        for session_config in (None, through):
            with tf.Session(server.target, config=session_config) as sess:
                with over_in(0.3), pytest.raises(LATE):
                    sess.run(item)
                with over_in(0.1), pytest.raises(LATE):
                    sess.run(item, options=_limited(100))
    server._stop()


def test_a_slow_peer(pair):
    ps, worker = pair
    with tf.device("/job:ps"):
        v = tf.get_variable("v", initializer=1.0)
    with tf.device("/job:worker"):
        y = v + 1.0
    # Connections come about although each message takes long.
    ps.network.delay = worker.network.delay = 0.15
    with tf.Session(worker.target) as sess:
        sess.run(v.initializer)
        assert sess.run(y) == 2.0
        for _ in range(3):
            with over_in(0.1), pytest.raises(LATE):
                sess.run(y, options=_limited(100))
        assert sess.run(y, options=_limited(3000)) == 2.0
        _nothing_left(ps, worker)


def test_a_peer_that_accepts_and_never_answers(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent_address = "localhost:%d" % silent.getsockname()[1]
        worker = tf.train.Server(
            {"ps": [silent_address], "worker": [f"localhost:{free_ports(1)[0]}"]}, "worker", 0
        )
        with tf.Graph().as_default():
            x = tf.constant(1.0)
            with tf.Session(worker.target) as sess:
                with over_in(0.3), pytest.raises(LATE, match=silent_address):
                    sess.run(x, options=_limited(300))
            # Who does not need the task is not held up by it.
            config = tf.ConfigProto(device_filters=["/job:worker"])
            with tf.Session(worker.target, config=config) as sess:
                assert sess.run(x) == 1.0
            config = tf.ConfigProto(operation_timeout_in_ms=300)
            with tf.Session("grpc://" + silent_address, config=config) as sess:
                with over_in(0.3), pytest.raises(LATE):
                    sess.run(x)
            with over_in(0.3), pytest.raises(LATE):
                tf.Session.reset("grpc://" + silent_address, config=config)
        worker._stop()
