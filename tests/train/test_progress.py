"""Progress on a terminal: what is seen while programs train, and that nothing of it stays."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import textwrap

import pytest

import weft as tf
from weft.train.progress import ProgressHook

BEGIN = """
import time, sys
import weft as tf
from weft.train import progress
progress._FIRST_AFTER = progress._EVERY = 0.02

step = tf.train.get_or_create_global_step()
train = tf.assign_add(step, 1)
"""
MONITORED = """
with tf.train.MonitoredTrainingSession(hooks=[tf.train.StopAtStepHook(last_step=40)]) as session:
    while not session.should_stop():
        at = session.run(train)
        time.sleep(0.01)
        if at == 20:
            print("half")
            tf.logging.warning("a warning")
            print("a line", end="", flush=True)
        if at == 30:
            print(", and its rest")
print("done")
"""
ENDLESS = """
with tf.train.MonitoredTrainingSession() as session:
    for _ in range(20):
        session.run(train)
        time.sleep(0.01)
print("done")
"""
FAILS = """
with tf.train.MonitoredTrainingSession(hooks=[tf.train.StopAtStepHook(num_steps=40)]) as session:
    while True:
        if session.run(train) == 20:
            raise SystemExit("it failed")
        time.sleep(0.01)
"""
SLIM = """
def one(session, op, step, arguments):
    time.sleep(0.01)
    return tf.contrib.slim.learning.train_step(session, op, step, arguments)
tf.contrib.slim.learning.train(train, None, one, number_of_steps=40)
print("done")
"""
ESTIMATOR = """
def model(features, labels, mode):
    step = tf.train.get_or_create_global_step()
    pause = tf.py_func(lambda: time.sleep(0.01), [], [])
    with tf.control_dependencies([pause]):
        return tf.estimator.EstimatorSpec(mode, loss=tf.zeros([]), train_op=tf.assign_add(step, 1))
tf.estimator.Estimator(model).train(lambda: tf.data.Dataset.from_tensors(0.0).repeat(), max_steps=40)
print("done")
"""


def run_on_terminal(program):
    """What was written to a terminal of 90 columns, and what is seen on it in the end."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 90, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        env={**os.environ, "TERM": "xterm-256color"},
    )
    os.close(theirs)
    written = b""
    try:
        while chunk := os.read(ours, 1 << 16):
            written += chunk
    except OSError:  # the other end is closed
        pass
    finally:
        os.close(ours)
        process.wait(30)
    text = written.decode()
    return re.sub("\x1b\\[[0-9;]*m", "", text), [seen(line) for line in text.split("\n")]


def seen(line):
    """What is left of a line after the cursor went back and the line was erased."""
    shown, column = "", 0
    for part in re.split("(\r|\x1b\\[K|\x1b\\[[0-9;]*m)", line):
        if part == "\r":
            column = 0
        elif part == "\x1b[K":
            shown = shown[:column]
        elif not part.startswith("\x1b"):
            shown = shown[:column] + part + shown[column + len(part) :]
            column += len(part)
    return shown


def test_a_bar_makes_way_for_what_the_program_prints():
    written, screen = run_on_terminal(BEGIN + MONITORED)
    assert re.search(r"step \d+ of 40 .*━.* \d+ steps/s 0:00:0\d left", written)
    assert screen == ["half", "WARNING:tensorflow:a warning", "a line, and its rest", "done", ""]
    # Never within a line that the program has begun.
    assert "\x1b" not in written[written.index("a line") : written.index("and its rest")]


def test_without_a_known_end_steps_are_counted():
    written, screen = run_on_terminal(BEGIN + ENDLESS)
    assert re.search(r"step \d+ +\d+ steps/s 0:00:0\d", written) and " of " not in written
    assert screen == ["done", ""]


def test_a_training_that_fails_takes_its_bar_away():
    written, screen = run_on_terminal(BEGIN + FAILS)
    assert " of 40 " in written and screen == ["it failed", ""]


@pytest.mark.parametrize("program", [SLIM, ESTIMATOR], ids=["slim", "estimator"])
def test_other_loops_show_theirs(program):
    written, screen = run_on_terminal(BEGIN + program)
    assert re.search(r"step \d+ of 40 .* steps/s", written)
    assert screen[-2:] == ["done", ""] and not any("━" in line for line in screen)


@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_a_log_has_lines_only(term):
    process = subprocess.run(
        [sys.executable, "-c", BEGIN + MONITORED],
        env={**os.environ, "TERM": term},
        capture_output=True,
        check=True,
        text=True,
    )
    assert process.stdout == "half\na line, and its rest\ndone\n"
    assert process.stderr == "WARNING:tensorflow:a warning\n"


def test_where_nothing_is_shown_no_hook_costs_time():
    with tf.Graph().as_default():
        tf.train.get_or_create_global_step()
        stop = tf.train.StopAtStepHook(last_step=1)
        with tf.train.MonitoredTrainingSession(hooks=[stop]) as session:
            assert not any(isinstance(h, ProgressHook) for h in session._hooks)
