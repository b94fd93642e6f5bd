"""Processes that are stopped, frozen or interrupted."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import weft as tf
from tests.distributed.clusters import ROOT, Cluster


def _wait_for(condition, seconds=10):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_task_that_freezes_is_given_up(tmp_path, monkeypatch):
    """A host that is gone says nothing: nobody waits for it without end, not even without a time limit."""
    monkeypatch.setenv("WEFT_KEEPALIVE_SECONDS", "0.5")
    with Cluster(tmp_path, ps=1, worker=1) as cluster:
        ps = cluster.start("ps")
        server = tf.train.Server(cluster.addresses, "worker", 0)
        with tf.Graph().as_default():
            with tf.device("/job:ps"):
                v = tf.get_variable("v", initializer=1.0)
                waits = tf.FIFOQueue(1, tf.int32).dequeue()
            with tf.device("/job:worker"):
                y = v + 1.0
            with tf.Session(server.target) as sess, tf.Session(cluster.target("ps")) as direct:
                sess.run(v.initializer)
                assert sess.run(y) == 2.0
                assert direct.run(tf.constant(1)) == 1
                # Who only waits is not given up.
                with pytest.raises(tf.errors.DeadlineExceededError):
                    sess.run(waits, options=tf.RunOptions(timeout_in_ms=2500))
                ps.signal(signal.SIGSTOP)
                for fetch in (y, v + 2.0):
                    began = time.monotonic()
                    # By then it may have been silent for too long already.
                    late = (tf.errors.DeadlineExceededError, tf.errors.UnavailableError)
                    with pytest.raises(late):
                        sess.run(fetch, options=tf.RunOptions(timeout_in_ms=300))
                    assert time.monotonic() - began < 1
                began = time.monotonic()
                for session, fetch in ((sess, y), (direct, tf.constant(2))):
                    with pytest.raises(tf.errors.UnavailableError):
                        session.run(fetch)
                assert time.monotonic() - began < 20
                ps.signal(signal.SIGCONT)
                _wait_for(lambda: _runs(sess, y, 2.0))
        server._stop()


def _runs(session, fetch, value):
    try:
        return session.run(fetch) == value
    except tf.errors.UnavailableError:
        return False


def test_a_client_that_freezes_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setenv("WEFT_KEEPALIVE_SECONDS", "0.5")
    server = tf.train.Server.create_local_server()
    program = """
        import sys
        import weft as tf
        item = tf.FIFOQueue(1, tf.int32, shared_name="never").dequeue()
        with tf.Session(sys.argv[1]) as sess:
            print(sess.run(tf.constant(7)), flush=True)
            sess.run(item)
    """
    with _python(program, server.target) as client:
        assert client.stdout.readline() == "7\n"
        session = next(iter(server.master._sessions.values())).session
        _wait_for(lambda: session._steps)
        client.send_signal(signal.SIGSTOP)
        _wait_for(lambda: not session._steps)
        client.kill()
        client.communicate()
    server._stop()


def _python(program, *args):
    """A process that runs a program. It heeds Ctrl-C also where this one, in the background, does not."""
    heeding = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    return subprocess.Popen(
        [sys.executable, "-c", heeding + textwrap.dedent(program), *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(os.environ, PYTHONPATH=str(ROOT)),
        text=True,
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_server_that_is_joined_ends_when_it_is_told_to(number):
    program = """
        import weft as tf
        server = tf.train.Server.create_local_server()
        print(server.target, flush=True)
        server.join()
    """
    with _python(program) as task:
        target = task.stdout.readline().strip()
        failed = []
        with tf.Graph().as_default():
            item = tf.FIFOQueue(1, tf.int32).dequeue()
            with tf.Session(target) as sess:
                assert sess.run(tf.constant(1)) == 1

                def wait():
                    with pytest.raises((tf.errors.UnavailableError, tf.errors.CancelledError)):
                        sess.run(item)
                    failed.append(True)

                waiting = threading.Thread(target=wait)  # a step in it does not keep it
                waiting.start()
                time.sleep(0.3)
                task.send_signal(number)
                began = time.monotonic()
                errors = task.communicate(timeout=20)[1]
                waiting.join(10)
        assert failed
        assert time.monotonic() - began < 20
        assert ("KeyboardInterrupt" in errors) == (number == signal.SIGINT)
        assert task.returncode in (-number, 1)


def test_ctrl_c_in_a_step_over_several_tasks(tmp_path):
    """A worker whose own step waits for the parameter server, and one where its own part waits."""
    program = """
        import json, sys, threading
        import weft as tf

        cluster = json.loads(sys.argv[1])
        server = tf.train.Server(cluster, "worker", 0)
        for device in ("/job:ps", "/job:worker"):
            with tf.device(device):
                item = tf.FIFOQueue(1, tf.int32).dequeue()
            with tf.device("/job:ps"):
                y = item + 1
            with tf.device("/job:worker"):
                z = y * 2
            with tf.Session(server.target) as sess:
                sess.run(tf.constant(1))
                threading.Timer(0.5, print, ["waits"], {"flush": True}).start()
                try:
                    sess.run(z)
                except KeyboardInterrupt:
                    print("interrupted", flush=True)
                assert sess.run(tf.constant(2)) == 2
        print("left", server.worker._rendezvous, flush=True)
    """
    with Cluster(tmp_path, ps=1, worker=1) as cluster:
        cluster.start("ps")
        with _python(program, json.dumps(cluster.addresses)) as client:
            for _ in range(2):
                assert client.stdout.readline() == "waits\n", client.stderr.read()
                client.send_signal(signal.SIGINT)
                assert client.stdout.readline() == "interrupted\n", client.stderr.read()
            assert client.stdout.read() == "left {}\n", client.stderr.read()
            assert client.wait(20) == 0


def test_a_stopped_server_lets_its_address_and_its_clients_go():
    server = tf.train.Server.create_local_server()
    address = server.target.removeprefix("grpc://")
    through = tf.ConfigProto()
    through.rpc_options.use_rpc_for_inprocess_master = True
    with tf.Graph().as_default():
        item = tf.FIFOQueue(1, tf.int32).dequeue()
        with tf.Session(server.target, config=through) as sess:
            threading.Timer(0.3, server._stop).start()
            with pytest.raises((tf.errors.UnavailableError, tf.errors.CancelledError)):
                sess.run(item)
    server.join()
    again = tf.train.Server({"local": [address]})
    with tf.Graph().as_default(), tf.Session(again.target, config=through) as sess:
        assert sess.run(tf.constant(3)) == 3
    with pytest.raises(tf.errors.UnknownError, match=f"Could not start gRPC server .*{address}"):
        tf.train.Server({"local": [address]})
    again._stop()


def test_members_that_disagree(tmp_path):
    with Cluster(tmp_path, ps=2, worker=1) as cluster:
        first, second = cluster.addresses["ps"]
        cluster.start("ps", 0)
        cluster.start("ps", 1)
        swapped = {"ps": [second, first], "worker": cluster.addresses["worker"]}
        server = tf.train.Server(swapped, "worker", 0)
        with tf.Graph().as_default(), tf.Session(server.target) as sess:
            with pytest.raises(
                tf.errors.InvalidArgumentError, match="disagree.*task:0 at .*task:1"
            ):
                sess.run(tf.constant(1))
        server._stop()
        twice = {"ps": [first], "worker": [first]}
        with pytest.raises(tf.errors.InvalidArgumentError, match="Two tasks .*claim " + first):
            tf.train.Server(twice, "worker", 0)
