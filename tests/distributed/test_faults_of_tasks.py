"""Tasks of a cluster that trains are killed with SIGKILL, and come back: each task is a process."""

import glob
import random
import signal
import time

import numpy as np
import pytest

import weft as tf
from tests.distributed.clusters import SOAK, Cluster


def _step_of_newest(folder):
    newest = tf.train.latest_checkpoint(str(folder))
    return int(newest.rpartition("-")[2]) if newest else None


def test_workers_and_parameter_servers_that_come_back(tmp_path):
    folder = tmp_path / "model"
    with Cluster(tmp_path, ps=1, worker=2) as cluster:
        cluster.start("ps")
        options = {"folder": str(folder), "save_steps": 20, "pause": 0.002}
        chief = cluster.start("worker", 0, **options)
        chief.next("step")
        other = cluster.start("worker", 1, **options)
        other.next("step")

        # A worker is killed: the other trains on without a pause, in the session that it has.
        other.kill()
        chief.skip()
        chief.until("step", chief.next("step") + 30, 15)
        other = cluster.start("worker", 1, **options)
        assert other.next("session") > 30
        other.until("step", other.next("step") + 30)
        assert not [t for t in chief.told[1:] if "session" in t][1:], (
            "the chief has lost its session"
        )

        # The parameter server is killed: both workers wait for it, and go on from the last checkpoint.
        cluster.kill("ps")
        newest = _step_of_newest(folder)
        reached = max(chief.last("step"), other.last("step"))
        assert newest >= 20 and reached - newest < 100  # a save takes its time
        cluster.start("ps")
        # The other worker may take steps between the name of a checkpoint and what is in it.
        assert newest <= chief.next("session") <= reached + 3
        back = chief.next("step")
        other.next("session")
        other.until("step", back + 100)
        for task in (chief, other):
            assert "An error was raised" in task.story(100_000)


def test_a_chief_that_is_killed_while_it_saves(tmp_path):
    rng = random.Random(7)
    folder = tmp_path / "model"
    # 8 MB in a checkpoint at every step: nearly all of the time goes into saving.
    options = {"folder": str(folder), "save_steps": 1, "ballast": 2_000_000}
    with Cluster(tmp_path, ps=1, worker=1) as cluster:
        cluster.start("ps")
        found = []
        for sharded in (False, True) * (5 if SOAK else 1):
            chief = cluster.start("worker", 0, sharded=sharded, **options)
            at = chief.next("session")
            if found:
                assert at >= found[-1]
            chief.until("step", at + 2)
            time.sleep(rng.uniform(0.0, 0.05))
            chief.kill()
            newest = tf.train.latest_checkpoint(str(folder))
            reader = tf.train.NewCheckpointReader(newest)
            assert reader.get_tensor("global_step") == int(newest.rpartition("-")[2])
            assert reader.get_tensor("ballast").shape == (2_000_000,)
            assert np.isfinite(reader.get_tensor("w")).all()
            found.append(_step_of_newest(folder))
        assert found == sorted(found) and found[0] >= 1
        # Where the parameter server has forgotten, a new chief begins where the last one has saved.
        cluster.kill("ps")
        cluster.start("ps")
        assert cluster.start("worker", 0, **options).next("session") == found[-1]
    assert len(glob.glob(str(folder / "model.ckpt-*.index"))) <= 12


def test_a_synchronous_worker_is_killed_where_there_is_one_to_spare(tmp_path):
    with Cluster(tmp_path, ps=1, worker=3) as cluster:
        cluster.start("ps")
        options = {"aggregate": 2, "rate": 0.5}
        workers = [cluster.start("worker", 0, **options)]
        workers[0].next("step")
        workers += [cluster.start("worker", i, **options) for i in (1, 2)]
        for w in workers:
            w.until("step", 20)
        workers[2].kill()
        workers[0].skip()
        at = workers[0].next("step")
        assert workers[0].until("step", at + 20) and workers[1].until("step", at + 20)
        # It comes back and takes its share.
        again = cluster.start("worker", 2, **options)
        again.until("step", again.next("step") + 10)


def test_steps_of_a_server_that_has_begun_anew_are_refused(tmp_path):
    with Cluster(tmp_path, ps=1, worker=1) as cluster:
        cluster.start("ps")
        server = tf.train.Server(cluster.addresses, "worker", 0)
        with tf.Graph().as_default():
            with tf.device("/job:ps"):
                v = tf.get_variable("v", initializer=1.0)
            with tf.device("/job:worker"):
                y = v + 1.0
            with tf.Session(server.target) as sess, tf.Session(server.target) as other:
                sess.run(v.initializer)
                assert sess.run(y) == other.run(y) == 2.0
                cluster.kill("ps")
                with pytest.raises(tf.errors.UnavailableError):
                    sess.run(y)
                cluster.start("ps").next("ready")
                # A session that met the server before does not reach its successor, whatever it runs.
                with pytest.raises(tf.errors.AbortedError, match="restarted"):
                    _until_reached(other, y)
                with pytest.raises(tf.errors.AbortedError, match="incarnation"):
                    _until_reached(other, y + 1.0)
            with tf.Session(server.target) as sess:
                with pytest.raises(tf.errors.FailedPreconditionError):
                    sess.run(y)
                sess.run(v.initializer)
                assert sess.run(y) == 2.0
        server._stop()


def _until_reached(session, fetch):
    end = time.monotonic() + 10
    while time.monotonic() < end:
        try:
            session.run(fetch)
        except tf.errors.UnavailableError:
            time.sleep(0.05)


SOAK_SECONDS, KILLED_EVERY = (600.0, 20.0) if SOAK else (11.0, 2.5)


def test_soak(tmp_path):
    """Tasks are killed again and again while three processes train: the model comes to what it can."""
    rng = random.Random(11)
    folder = tmp_path / "model"
    options = {"folder": str(folder), "save_steps": 50, "pause": 0.002, "rate": 0.2}
    with Cluster(tmp_path, ps=1, worker=2) as cluster:
        cluster.start("ps")
        cluster.start("worker", 0, **options).next("step")
        cluster.start("worker", 1, **options)
        end = time.monotonic() + SOAK_SECONDS
        kills = 0
        while time.monotonic() < end - KILLED_EVERY:
            time.sleep(KILLED_EVERY)
            job, index = rng.choice([("ps", 0), ("worker", 0), ("worker", 1)])
            cluster.kill(job, index)
            kills += 1
            # What is killed comes back at once, or after the others have noticed.
            time.sleep(rng.choice([0.0, 0.5]))
            cluster.start(job, index, **(options if job == "worker" else {}))
        tasks = [cluster.tasks["worker", i] for i in (0, 1)]
        for task in tasks:  # both train in the end
            task.skip()
            task.until("step", task.next("step") + 10)
            task.signal(signal.SIGTERM)
        accuracies = [task.next("accuracy") for task in tasks]
        assert [task.wait() for task in tasks] == [0, 0]
    assert kills >= 3 and min(accuracies) > 0.93, (kills, accuracies)
