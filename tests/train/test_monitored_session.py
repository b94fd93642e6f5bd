"""Monitored sessions: initialised or restored, hooks around each step, an end and a new beginning."""

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import weft as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


def counting():
    step = tf.train.get_or_create_global_step()
    loss = tf.cast(step, tf.float32) * 2.0
    tf.summary.scalar("loss", loss)
    return tf.assign_add(step, 1), loss


class Recorder(tf.train.SessionRunHook):
    def __init__(self, **asks):
        self.asks, self.calls = asks, []

    def begin(self):
        self.calls.append("begin")

    def after_create_session(self, session, coord):
        self.calls.append("created")

    def before_run(self, run_context):
        assert run_context.original_args.fetches is not None
        return tf.train.SessionRunArgs(**self.asks) if self.asks else None

    def after_run(self, run_context, run_values):
        self.calls.append(run_values.results)

    def end(self, session):
        self.calls.append("end")


def test_training_goes_on_where_it_stopped(tmp_path):
    def train(last_step):
        with tf.Graph().as_default():
            add, _ = counting()
            hooks = [tf.train.StopAtStepHook(last_step=last_step)]
            seen = []
            with tf.train.MonitoredTrainingSession(
                checkpoint_dir=str(tmp_path), hooks=hooks, save_checkpoint_steps=4
            ) as sess:
                while not sess.should_stop():
                    seen.append(int(sess.run(add)))
            return seen

    assert train(6) == [1, 2, 3, 4, 5, 6]
    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("model.ckpt-6")
    assert train(9) == [7, 8, 9]
    files = {p.name for p in tmp_path.iterdir()}
    assert {"checkpoint", "graph.pbtxt", "model.ckpt-4.index", "model.ckpt-6.meta"} <= files
    events = [p for p in tmp_path.iterdir() if p.name.startswith("events")]
    tags = {
        (value.tag, event.step)
        for path in events
        for event in tf.train.summary_iterator(str(path))
        for value in event.summary.value
    }
    assert ("loss", 1) in tags


def test_hooks_are_called_in_order_with_what_they_asked_for():
    add, loss = counting()
    hook = Recorder(fetches={"l": loss})
    other = Recorder()
    with tf.train.MonitoredSession(hooks=[hook, other]) as sess:
        sess.run(add)
        sess.run(add)
    assert hook.calls == ["begin", "created", {"l": 0.0}, {"l": 2.0}, "end"]
    assert other.calls == ["begin", "created", None, None, "end"]


def test_hooks_feed_and_must_not_feed_the_same():
    x = tf.placeholder(tf.float32, [])
    hook = tf.train.FeedFnHook(lambda: {x: 3.0})
    with tf.train.MonitoredSession(hooks=[hook]) as sess:
        assert sess.run(x) == 3.0
        with pytest.raises(RuntimeError, match="fed by a SessionRunHook and user"):
            sess.run(x, {x: 1.0})


def test_a_hook_that_fails_ends_the_session_without_end():
    add, loss = counting()

    class Fails(Recorder):
        def after_run(self, run_context, run_values):
            raise ValueError("from a hook")

    hook = Fails()
    with (
        pytest.raises(ValueError, match="from a hook"),
        tf.train.MonitoredSession(hooks=[hook]) as sess,
    ):
        sess.run(add)
    assert "end" not in hook.calls
    with pytest.raises(RuntimeError, match="closed Session"):
        sess.run(add)


def test_a_lost_task_makes_a_new_session(tmp_path):
    add, _ = counting()

    class Loses(tf.train.SessionRunHook):
        lost = False

        def after_run(self, run_context, run_values):
            if not self.lost:
                self.lost = True
                raise tf.errors.UnavailableError(None, None, "gone")

    hook = Recorder()
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=str(tmp_path), hooks=[hook, Loses()], save_checkpoint_steps=1
    ) as sess:
        assert sess.run(add) == 2  # the first step's checkpoint stands, and the step was repeated
    assert hook.calls.count("created") == 2


def test_the_end_of_the_input_is_no_error():
    counting()

    def step(step_context):
        step_context.request_stop()

    with tf.train.MonitoredSession() as sess:
        sess.run_step_fn(step)
    with tf.Graph().as_default(), tf.train.MonitoredSession() as sess:
        raise tf.errors.OutOfRangeError(None, None, "no more")
    with pytest.raises(ValueError, match="step_context"):
        with tf.Graph().as_default(), tf.train.MonitoredSession() as sess:
            sess.run_step_fn(lambda wrong: None)


def test_nan_ends_the_training():
    x = tf.placeholder(tf.float32, [])
    y = tf.log(x)
    with tf.train.MonitoredSession(hooks=[tf.train.NanTensorHook(y)]) as sess:
        sess.run(y, {x: 1.0})
        with pytest.raises(tf.train.NanLossDuringTrainingError):
            sess.run(y, {x: -1.0})
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        hook = tf.train.NanTensorHook(tf.log(x), fail_on_nan_loss=False)
        with tf.train.MonitoredSession(hooks=[hook]) as sess:
            sess.run(x, {x: -1.0})
            assert sess.should_stop()


def test_values_are_logged_with_their_tags(caplog):
    add, loss = counting()
    hook = tf.train.LoggingTensorHook({"the loss": loss}, every_n_iter=2)
    with caplog.at_level("INFO", "tensorflow"), tf.train.MonitoredSession(hooks=[hook]) as sess:
        for _ in range(4):
            sess.run(add)
    lines = [r.getMessage() for r in caplog.records if "the loss" in r.getMessage()]
    assert len(lines) == 2 and lines[0] == "the loss = 0.0" and "the loss = 4.0 (" in lines[1]


def test_a_model_that_is_not_initialised_is_refused():
    v = tf.get_variable("forgotten", [2], collections=[tf.GraphKeys.GLOBAL_VARIABLES])
    scaffold = tf.train.Scaffold(init_op=tf.no_op())
    with pytest.raises(RuntimeError, match="did not make model ready.*forgotten"):
        tf.train.MonitoredSession(tf.train.ChiefSessionCreator(scaffold))
    assert v is not None


def test_a_worker_waits_for_the_chief():
    counting()
    manager = tf.train.SessionManager(
        ready_op=tf.report_uninitialized_variables(), recovery_wait_secs=0.05
    )
    with pytest.raises(tf.errors.DeadlineExceededError, match="not ready"):
        manager.wait_for_session("", max_wait_secs=0)


def test_a_step_is_profiled(tmp_path):
    add, _ = counting()
    hook = tf.train.ProfilerHook(save_steps=2, output_dir=str(tmp_path))
    with tf.train.MonitoredSession(hooks=[hook]) as sess:
        for _ in range(5):
            sess.run(add)
    traces = list(tmp_path.glob("timeline-*.json"))
    assert traces and json.loads(traces[0].read_text())["traceEvents"]


def test_a_supervisor_saves_and_restores(tmp_path):
    def train(steps):
        with tf.Graph().as_default():
            add, _ = counting()
            sv = tf.train.Supervisor(logdir=str(tmp_path), save_model_secs=0, save_summaries_secs=0)
            with sv.managed_session() as sess:
                for _ in range(steps):
                    value = sess.run(add)
                sv.saver.save(sess, sv.save_path, global_step=sv.global_step)
            return int(value)

    assert train(3) == 3
    assert train(2) == 5
    with pytest.raises(ValueError, match="inside"), tf.Graph().as_default():
        counting()
        with tf.train.Supervisor().managed_session():
            raise ValueError("inside")


PROGRAM = """
import sys
import weft as tf
step = tf.train.get_or_create_global_step()
v = tf.get_variable("v", [1000], initializer=tf.zeros_initializer())
train = tf.group(tf.assign_add(v, tf.ones([1000])), tf.assign_add(step, 1))
with tf.train.MonitoredTrainingSession(checkpoint_dir=sys.argv[1], save_checkpoint_steps=2) as sess:
    print("from", sess.run(step), sess.run(v).tolist()[0], sess.run(v).tolist()[-1], flush=True)
    while True:
        sess.run(train)
"""


def test_a_killed_process_goes_on_from_its_last_checkpoint(tmp_path):
    began = []
    for wait in (0.6, 0.3, 0):
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(tmp_path)], stdout=subprocess.PIPE, text=True
        )
        line = process.stdout.readline().split()
        assert line[0] == "from"
        began.append([float(x) for x in line[1:]])
        time.sleep(wait)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
    steps = [b[0] for b in began]
    assert steps[0] == 0 and steps[1] > 0 and steps[2] > steps[1]
    for step, first, last in began:
        assert first == last == step  # the variable and the step are of one checkpoint
    assert np.isfinite(began).all()
