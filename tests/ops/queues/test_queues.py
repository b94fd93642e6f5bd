"""Queues: what waits, what wakes it, and that nothing is lost. Values are held by the conformance cases."""

import threading
import time
from collections import deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft as tf
from weft.framework import context, errors
from weft.ops.queues.contents import InOrder, Run, batch


@pytest.fixture
def session():
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        yield session


class Step(threading.Thread):
    """A step in a thread of its own."""

    def __init__(self, session, fetches, **named):
        super().__init__(daemon=True)
        self.session, self.fetches, self.named = session, fetches, named
        self.result = self.error = None
        self.start()

    def run(self):
        try:
            self.result = self.session.run(self.fetches, **self.named)
        except Exception as error:
            self.error = error

    def end(self):
        self.join(10)
        assert not self.is_alive(), "the step still waits"
        return self

    def waits(self):
        self.join(0.03)
        return self.is_alive()


def test_an_operation_that_waits_lets_the_rest_of_its_step_go_on(session):
    queue = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    taken = queue.dequeue() * 10  # made first, so that it would run first
    put = queue.enqueue(7)
    with tf.control_dependencies([put]):
        after = tf.identity(3)
    assert session.run([taken, after]) == [70, 3]
    session.run(put)
    more = queue.enqueue(8)
    assert session.run([more, queue.dequeue(), queue.dequeue()])[1:] in ([7, 8], [8, 7])


def test_the_same_while_the_step_is_traced(session):
    queue = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    fetches = [queue.dequeue() * 10, queue.enqueue(7)]
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, timeout_in_ms=5000)
    assert session.run(fetches, options=options, run_metadata=metadata)[0] == 70
    nodes = {n.node_name for d in metadata.step_stats.dev_stats for n in d.node_stats}
    assert {"fifo_queue_Dequeue", "fifo_queue_enqueue"} <= nodes


def test_what_is_behind_different_queues_does_not_wait_for_both(session):
    """Both results could be computed by one segment; then the second queue would never be filled."""
    first, second = (tf.FIFOQueue(1, tf.float32, shapes=[[]]) for _ in range(2))
    doubled = first.dequeue() * 2.0
    put = second.enqueue(doubled)
    halved = second.dequeue() / 2.0
    session.run(first.enqueue(3.0))
    assert session.run([halved, put], options=tf.RunOptions(timeout_in_ms=5000))[0] == 3.0


def test_two_that_wait_in_one_step_wait_together(session):
    a, b = (tf.FIFOQueue(1, tf.int32, shapes=[[]]) for _ in range(2))
    put_a, put_b = a.enqueue(1), b.enqueue(2)
    step = Step(session, [a.dequeue(), b.dequeue()])
    assert step.waits()
    session.run(put_b)
    assert step.waits()
    session.run(put_a)
    assert step.end().result == [1, 2]


def test_waiting_inside_of_a_branch(session):
    queue = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    put = queue.enqueue(5)
    step = Step(session, tf.cond(tf.constant(True), lambda: queue.dequeue(), lambda: 0))
    assert step.waits()
    session.run(put)
    assert step.end().result == 5


def test_first_come_first_served(session):
    queue = tf.FIFOQueue(10, tf.int32, shapes=[[]])
    three, one = queue.dequeue_many(3), queue.dequeue()
    many, last = queue.enqueue_many([[1, 2]]), queue.enqueue_many([[3, 4]])
    first = Step(session, three)
    assert first.waits()
    second = Step(session, one)
    session.run(many)
    assert first.waits()
    assert second.waits()
    session.run(last)
    assert first.end().result.tolist() == [1, 2, 3]
    assert second.end().result == 4


def test_more_than_fits_goes_in_as_room_comes(session):
    queue = tf.FIFOQueue(2, tf.int32, shapes=[[]])
    step = Step(session, queue.enqueue_many([list(range(7))]))
    assert step.waits()
    assert session.run(queue.dequeue_many(6)).tolist() == list(range(6))
    assert step.end().error is None
    assert session.run(queue.size()) == 1


def test_closing_waits_for_those_before(session):
    queue = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    put, close, closed, take = queue.enqueue(1), queue.close(), queue.is_closed(), queue.dequeue()
    session.run(put)
    waiting = Step(session, put)
    assert waiting.waits()
    closing = Step(session, close)
    assert closing.waits()
    assert not session.run(closed)
    assert session.run(take) == 1
    assert waiting.end().error is None
    assert closing.end().error is None
    assert session.run([take, closed]) == [1, True]


def test_closing_can_cancel_those_before(session):
    queue = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    put = queue.enqueue(1)
    session.run(put)
    waiting = Step(session, put)
    assert waiting.waits()
    session.run(queue.close(cancel_pending_enqueues=True))
    assert isinstance(waiting.end().error, errors.CancelledError)
    assert "Enqueue operation was cancelled" in str(waiting.error)
    assert session.run(queue.dequeue()) == 1


def test_closing_tells_those_who_wait_for_elements(session):
    queue = tf.FIFOQueue(5, tf.int32, shapes=[[]], name="q")
    session.run(queue.enqueue_many([[1, 2]]))
    close = queue.close()
    many = Step(session, queue.dequeue_many(3))
    assert many.waits()
    session.run(close)
    error = many.end().error
    assert isinstance(error, errors.OutOfRangeError)
    assert "'q' is closed and has insufficient elements (requested 1, current size 0)" in str(error)
    # What it had taken is there again.
    assert session.run(queue.dequeue_up_to(3)).tolist() == [1, 2]


def test_a_step_that_runs_out_of_time_gives_back_what_it_took(session):
    queue = tf.FIFOQueue(5, tf.int32, shapes=[[]])
    session.run(queue.enqueue_many([[1, 2]]))
    start = time.monotonic()
    with pytest.raises(errors.DeadlineExceededError, match="Timed out waiting for notification"):
        session.run(queue.dequeue_many(3), options=tf.RunOptions(timeout_in_ms=30))
    assert time.monotonic() - start < 5
    assert session.run(queue.dequeue_many(2)).tolist() == [1, 2]


@pytest.mark.parametrize("wait", ["dequeue", "enqueue"])
def test_closing_the_session_wakes_what_waits(wait):
    with tf.Graph().as_default() as graph:
        queue = tf.FIFOQueue(1, tf.int32, shapes=[[]])
        session = tf.Session(graph=graph)
        put = queue.enqueue(1)
        if wait == "enqueue":
            session.run(put)
        step = Step(session, put if wait == "enqueue" else queue.dequeue())
        assert step.waits()
        session.close()
        assert isinstance(step.end().error, errors.CancelledError)
        assert f"{wait.capitalize()} operation was cancelled" in str(step.error)


def test_an_error_elsewhere_in_the_step_ends_the_wait(session):
    queue = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    size = queue.size()
    wrong = tf.Assert(tf.constant(1) > tf.placeholder_with_default(2, []), ["no"])
    with pytest.raises(errors.InvalidArgumentError):
        session.run([queue.dequeue(), wrong])
    session.run(queue.enqueue(1))
    assert session.run(size) == 1  # nobody waits for it any longer


def test_the_queue_keeps_its_own_copy(session):
    queue = tf.FIFOQueue(5, tf.float32, shapes=[[2]])
    fed = tf.placeholder(tf.float32, [2])
    array = np.array([1, 2], np.float32)
    session.run(queue.enqueue(fed), {fed: array})
    array[:] = 9
    taken = session.run(queue.dequeue())
    assert taken.tolist() == [1, 2]


def test_sessions_have_queues_of_their_own(session):
    queue = tf.FIFOQueue(5, tf.int32, shared_name="shared")
    session.run(queue.enqueue(1))
    with tf.Session() as other:
        assert other.run(queue.size()) == 0
    assert session.run(queue.size()) == 1


def test_a_queue_out_of_several(session):
    queues = [tf.FIFOQueue(5, tf.int32, shapes=[[]]) for _ in range(3)]
    index = tf.placeholder(tf.int32, [])
    picked = tf.QueueBase.from_list(index, queues)
    put, take = picked.enqueue(index * 11), [q.dequeue() for q in queues]
    for i in range(3):
        session.run(put, {index: i})
    assert session.run(take) == [0, 11, 22]
    with pytest.raises(TypeError, match="matching component dtypes"):
        tf.QueueBase.from_list(index, [*queues, tf.FIFOQueue(5, tf.int64)])


def test_what_is_shown_of_an_older_handle(session):
    handle = tf.raw_ops.FIFOQueue(component_types=[tf.int32], shared_name="q")
    assert session.run(handle).tolist() == [b"localhost", b"q"]


def test_names(session):
    queue = tf.FIFOQueue(5, [tf.int32, tf.string], shapes=[[], []], names=["n", "text"])
    session.run(queue.enqueue_many({"text": ["a", "b"], "n": [1, 2]}))
    assert session.run(queue.dequeue()) == {"n": 1, "text": b"a"}
    with pytest.raises(ValueError, match="must enqueue a dictionary"):
        queue.enqueue([1, "a"])
    with pytest.raises(ValueError, match="do not match"):
        queue.enqueue({"n": 1})


def test_many_threads_lose_nothing(session):
    queue = tf.FIFOQueue(3, tf.int32, shapes=[[]])
    fed = tf.placeholder(tf.int32, [None])
    put, take = queue.enqueue_many([fed]), queue.dequeue()
    producers = [Step(session, put, feed_dict={fed: [i] * 50}) for i in range(4)]
    found = []

    def consume():
        for _ in range(40):
            found.append(int(session.run(take)))

    consumers = [threading.Thread(target=consume, daemon=True) for _ in range(5)]
    for thread in consumers:
        thread.start()
    for thread in consumers:
        thread.join(20)
    for step in producers:
        assert step.end().error is None
    assert sorted(found) == sorted([0, 1, 2, 3] * 50)


def test_a_function_may_wait():
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        queue = tf.FIFOQueue(1, tf.int32, shapes=[[]])
        taken = queue.dequeue()
        put = queue.enqueue(4)
        step = Step(session, tf.py_func(lambda: session.run(taken), [], tf.int32))
        session.run(put)
        assert step.end().result == 4


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-4, 4).filter(bool), max_size=25))
def test_in_order_whatever_the_sizes(sizes):
    """Runs of any length go in, runs of any other length come out."""
    contents, model, n = InOrder(), deque(), 0
    for size in sizes:
        if size > 0:
            rows = np.arange(n, n + size)
            contents.put(Run((rows,), 0, size) if size > 1 else Run((rows[0],)))
            model.extend(rows)
            n += size
        elif len(model) >= -size:
            runs = contents.take(-size)
            if size == -3:  # never mind
                contents.put_back(runs)
            else:
                assert batch(runs, 0).tolist() == [model.popleft() for _ in range(-size)]
        assert contents.size == len(model)


def test_eager():
    with context.execution_mode(True):
        queue = tf.queue.FIFOQueue(3, [tf.int32], shapes=[[]])
        queue.enqueue_many([[1, 2, 3]])
        assert queue.size().numpy() == 3
        assert queue.dequeue().numpy() == 1
        assert queue.dequeue_many(2).numpy().tolist() == [2, 3]
        thread = threading.Timer(0.03, lambda: _put(queue))
        thread.start()
        assert queue.dequeue().numpy() == 9
        queue.close()
        with pytest.raises(errors.OutOfRangeError, match="closed and has insufficient elements"):
            queue.dequeue()


def _put(queue):
    with context.execution_mode(True):
        queue.enqueue(9)
