"""Steps that wait for an element: they end with their time limit and with the session, and lose nothing."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import weft as tf


def held_up(how):
    """A pipeline whose second element waits for an event, in a thread or in a call of a function."""
    go = threading.Event()

    def wait(x):
        if x == 1:
            go.wait(20)
        return x

    def slow(x):
        return tf.py_func(wait, [x], tf.int64)

    dataset = tf.data.Dataset.range(4)
    if how == "prefetch":
        return dataset.map(slow).prefetch(2), go
    return dataset.map(slow, num_parallel_calls=2), go


@pytest.mark.parametrize("how", ["prefetch", "calls"])
def test_a_step_that_is_out_of_time_leaves_the_element_to_the_next(how):
    with tf.Graph().as_default(), tf.Session() as session:
        dataset, go = held_up(how)
        iterator = tf.data.make_initializable_iterator(dataset)
        element = iterator.get_next()
        session.run(iterator.initializer)
        assert session.run(element) == 0
        began = time.monotonic()
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(element, options=tf.RunOptions(timeout_in_ms=150))
        assert time.monotonic() - began < 5
        go.set()
        assert [session.run(element) for _ in range(3)] == [1, 2, 3]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(element)


@pytest.mark.parametrize("how", ["prefetch", "calls"])
def test_closing_the_session_wakes_all_who_wait(how):
    with tf.Graph().as_default():
        dataset, go = held_up(how)
        iterator = tf.data.make_initializable_iterator(dataset)
        element = iterator.get_next()
        session = tf.Session()
        session.run(iterator.initializer)
        session.run(element)
        errors = []

        def run():
            try:
                session.run(element)
            except (tf.errors.CancelledError, RuntimeError) as e:
                errors.append(e)

        threads = [threading.Thread(target=run) for _ in range(3)]
        for thread in threads:
            thread.start()
        time.sleep(0.2)
        session.close()
        for thread in threads:
            thread.join(5)
        assert not any(thread.is_alive() for thread in threads)
        assert len(errors) == 3
        go.set()


def test_a_new_beginning_does_not_wait_for_a_step_that_waits():
    with tf.Graph().as_default(), tf.Session() as session:
        dataset, go = held_up("prefetch")
        iterator = tf.data.make_initializable_iterator(dataset)
        element = iterator.get_next()
        session.run(iterator.initializer)
        session.run(element)
        found = []
        waiting = threading.Thread(target=lambda: found.append(session.run(element)))
        waiting.start()
        time.sleep(0.1)
        session.run(iterator.initializer)
        assert session.run(element) == 0
        assert not found
        go.set()
        waiting.join(5)
        assert found == [np.int64(1)]
        assert [session.run(element) for _ in range(3)] == [1, 2, 3]
