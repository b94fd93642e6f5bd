"""Links between processes of one host: what they carry, and how they end."""

import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft as tf
from tests.distributed.clusters import free_ports
from tests.distributed.test_cluster import Cluster
from weft.distributed import link_frames, links
from weft.distributed.links import HungUp, Link

pytestmark = pytest.mark.skipif(not links.enabled, reason="links need Linux")


def _pair():
    return [Link(s) for s in socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)]


def _sent_and_read(*frames):
    a, b = _pair()
    sender = threading.Thread(target=lambda: [a.send(*f) for f in frames])
    sender.start()
    found = [b.read() for _ in frames]
    sender.join()
    a.close()
    b.close()
    return found


def test_arrays_of_every_type_and_size_come_as_they_were_sent():
    values = [
        np.arange(6).reshape(2, 3).astype(t)
        for t in ("f4", "f8", "i1", "u2", "i4", "u4", "i8", "u8", "f2", "c8", "c16", "?")
    ]
    values += [
        np.asarray(2.5, tf.bfloat16.as_numpy_dtype),
        np.zeros((0, 3), "f4"),
        np.random.RandomState(0).rand(300, 1000),
        np.arange(20000, dtype="i4")[::2],  # not contiguous
        np.array([b"a\0b", b"", b"x" * 100000], object),
        np.array(b"one", object),
    ]
    kept = [("name %d" % i, v) for i, v in enumerate(values)]
    (first, second) = _sent_and_read(
        (links.RUN, "who", b"what", kept), (links.DONE, "", b"x" * 200000, [])
    )
    assert (first.kind, first.text, first.message) == (links.RUN, "who", b"what")
    assert [n for n, _ in first.tensors] == [n for n, _ in kept]
    for (_, came), value in zip(first.tensors, values):
        assert came.dtype == value.dtype and came.shape == value.shape
        np.testing.assert_array_equal(came, value)
    assert (second.kind, second.message, second.tensors) == (links.DONE, b"x" * 200000, [])


def test_both_sides_may_send_more_than_the_kernel_keeps():
    a, b = _pair()
    large = np.random.RandomState(0).rand(3 << 20)
    came = {}

    def side(mine, name):
        def read():
            came.setdefault(name, []).append(mine.read())
            return True

        mine.send(links.TENSOR, name, b"", [("", large)], read)
        while len(came.get(name, ())) < 1:
            read()

    threads = [threading.Thread(target=side, args=x, daemon=True) for x in ((a, "a"), (b, "b"))]
    for t in threads:
        t.start()
    for t in threads:
        t.join(20)
    assert came["a"][0].text == "b" and came["b"][0].text == "a"
    np.testing.assert_array_equal(came["a"][0].tensors[0][1], large)
    a.close()
    b.close()


_FRAME = b"".join(
    bytes(p)
    for p in link_frames.written(
        links.RUN, "who", b"what", [("n", np.ones(3, "f4")), ("m", np.ones(4000))]
    )
)


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(
        st.binary(max_size=200),
        st.tuples(
            st.integers(0, len(_FRAME) - 1), st.binary(min_size=1, max_size=8), st.booleans()
        ).map(lambda c: _FRAME[: c[0]] + c[1] + (b"" if c[2] else _FRAME[c[0] + len(c[1]) :])),
    )
)
def test_what_is_no_frame_ends_the_link_and_nothing_else(data):
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    link = Link(b)
    a.settimeout(5)
    a.sendall(data)
    a.close()
    frames = 0
    with pytest.raises(HungUp):
        while True:
            link.read()
            frames += 1
    assert frames <= 1
    link.close()


@pytest.fixture
def cluster(monkeypatch):
    monkeypatch.setattr("weft.distributed.server.directly", False)
    with tf.Graph().as_default():
        made = Cluster(1, 1)
        yield made
        for server in made.servers.values():
            server._stop()


def _idle_links(cluster):
    worker = cluster.servers["worker", 0].peers.worker("/job:ps/replica:0/task:0")
    return worker.links._idle


def _threads():
    return sum(t.name.startswith("weft") for t in threading.enumerate())


def test_steps_use_one_link_again_and_again(cluster):
    with tf.device("/job:ps"):
        v = tf.get_variable("v", initializer=np.zeros((500, 500), "f4"))
    with tf.device("/job:worker"):
        update = v.assign_add(v * 0.5 + 1.0)
    with tf.Session(cluster.target("worker", 0)) as sess:
        sess.run(v.initializer)
        for _ in range(5):
            sess.run(update.op)
        assert len(_idle_links(cluster)) == 1
        assert sess.run(v)[3, 4] == sum(1.5**i for i in range(5))
        assert not cluster.servers["ps", 0].worker._rendezvous


def test_a_queue_that_is_waited_for_does_not_hold_up_what_comes_over_a_link(cluster):
    with tf.device("/job:worker"):
        q = tf.FIFOQueue(1, tf.float32)
        got = q.dequeue()
        x = tf.placeholder(tf.float32, [])
        put = q.enqueue(x)
    with tf.device("/job:ps"):
        big = tf.random_uniform([2000, 2000])
        after = tf.identity(got)
    with tf.device("/job:worker"):
        total = tf.reduce_sum(big) + after
    with tf.Session(cluster.target("worker", 0)) as sess:
        found = []
        t = threading.Thread(target=lambda: found.append(sess.run([total, after])), daemon=True)
        t.start()
        time.sleep(0.1)
        sess.run(put, {x: 5.0})
        t.join(20)
        assert found[0][1] == 5.0 and found[0][0] > 1.9e6


@pytest.mark.parametrize("place", ["ps", "worker"])
def test_a_failed_or_late_step_leaves_no_link_and_no_thread(cluster, place):
    with tf.device("/job:ps"):
        v = tf.get_variable("v", initializer=[1.0])
    with tf.device("/job:" + place):
        bad = tf.check_numerics(v / 0.0, "here")
        q = tf.FIFOQueue(1, tf.float32)
        never = q.dequeue() + v
    with tf.device("/job:worker" if place == "ps" else "/job:ps"):
        worse, waits = bad + 1.0, never + 1.0
    with tf.Session(cluster.target("worker", 0)) as sess:
        sess.run(v.initializer)

        def fails():
            with pytest.raises(tf.errors.InvalidArgumentError, match="here"):
                sess.run(worse)
            with pytest.raises(tf.errors.DeadlineExceededError):
                sess.run(waits, options=tf.RunOptions(timeout_in_ms=20))

        for _ in range(3):
            fails()
        before, files = _threads(), len(os.listdir("/proc/self/fd"))
        for _ in range(15):
            fails()
        assert sess.run(v)[0] == 1.0
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline and len(os.listdir("/proc/self/fd")) > files + 2:
            time.sleep(0.01)
        assert len(os.listdir("/proc/self/fd")) <= files + 2
        assert _threads() <= before + 2


def test_a_step_that_fails_at_the_other_end_leaves_its_link(cluster):
    with tf.device("/job:ps"):
        bad = tf.check_numerics(tf.placeholder_with_default(np.nan, []), "no")
        v = tf.get_variable("v", initializer=np.ones((300, 300), "f4"))
    with tf.device("/job:worker"):
        y = bad + 1.0
        update = v.assign_add(v * 1.0)
    with tf.Session(cluster.target("worker", 0)) as sess:
        sess.run(v.initializer)
        for _ in range(5):
            with pytest.raises(tf.errors.InvalidArgumentError, match="no"):
                sess.run(y)
            with pytest.raises(tf.errors.InvalidArgumentError, match="no"):
                sess.run([update.op, bad])
            assert np.isfinite(sess.run(v)).all()
        assert len(_idle_links(cluster)) == 1


def test_a_server_that_stops_in_a_step_makes_it_unavailable(cluster):
    with tf.device("/job:ps"):
        q = tf.FIFOQueue(1, tf.float32)
        got = q.dequeue()
    with tf.device("/job:worker"):
        after = got + 1.0
    with tf.Session(cluster.target("worker", 0)) as sess:
        threading.Timer(0.2, cluster.stop, ("ps", 0)).start()
        with pytest.raises((tf.errors.UnavailableError, tf.errors.CancelledError)):
            sess.run(after)


def test_who_is_reached_by_another_port_than_its_own_has_no_link():
    from weft.distributed.peers import described, links_of

    told = described("weft-abc", "127.0.0.1:1000").split()
    assert links_of(told, "localhost:1000") == "weft-abc"
    assert links_of(told, "localhost:1001") == ""
    assert links_of(["weft"], "localhost:1000") == ""


def test_a_stranger_is_not_served(cluster):
    name = cluster.servers["ps", 0]._links.name
    for greeting in (b"", b"GET / HTTP/1.1\r\n"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
            s.connect("\0" + name)
            s.sendall(greeting)
            if greeting:
                s.settimeout(5)
                with pytest.raises(ConnectionError):
                    if not s.recv(1):
                        raise ConnectionError
    assert not select.select([], [], [], 0)[0]
    with tf.device("/job:ps"):
        y = tf.constant(1.0) + 1.0
    with tf.Session(cluster.target("worker", 0)) as sess:
        assert sess.run(y) == 2.0


_FROZEN = """
import sys, weft as tf
server = tf.train.Server({"ps": [sys.argv[1]], "worker": [sys.argv[2]]}, "ps", 0)
print("ready", flush=True)
sys.stdin.read()
"""


def test_who_is_frozen_at_the_other_end_is_given_up(monkeypatch):
    monkeypatch.setenv("WEFT_KEEPALIVE_SECONDS", "0.5")
    addresses = [f"localhost:{p}" for p in free_ports(2)]
    command = [sys.executable, "-c", _FROZEN, *addresses]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as ps:
        assert ps.stdout.readline() == b"ready\n"
        server = tf.train.Server({"ps": addresses[:1], "worker": addresses[1:]}, "worker", 0)
        try:
            with tf.Graph().as_default(), tf.Session(server.target) as sess:
                with tf.device("/job:ps"):
                    y = tf.constant(1.0) + 1.0
                for _ in range(2):
                    assert sess.run(y) == 2.0
                worker = server.peers.worker("/job:ps/replica:0/task:0")
                assert len(worker.links._idle) == 1
                ps.send_signal(signal.SIGSTOP)
                time.sleep(0.1)  # a step is quicker than a signal
                with pytest.raises(tf.errors.UnavailableError):
                    sess.run(y)
        finally:
            ps.kill()
            server._stop()
