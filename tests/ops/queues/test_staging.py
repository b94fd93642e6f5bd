"""Staging areas and barriers: what waits, and what wakes it. Values are held by the conformance cases."""

import threading

import pytest

import weft as tf
from weft.framework import errors


@pytest.fixture
def session():
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        yield session


def started(session, fetch):
    found = []

    def run():
        try:
            found.append(session.run(fetch))
        except errors.OpError as error:
            found.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, found


def test_an_area_holds_so_many_and_waits(session):
    area = tf.contrib.staging.StagingArea([tf.int32], shapes=[[]], capacity=1)
    put, get, size = area.put(tf.constant(1)), area.get(), area.size()
    session.run(put)
    thread, found = started(session, put)
    thread.join(0.03)
    assert thread.is_alive()
    assert session.run(get) == [1]
    thread.join(10)
    assert found == [None]
    assert session.run(size) == 1


def test_the_next_step_computes_while_this_one_loads(session):
    """The usual pipeline: each step leaves its input for the next."""
    area = tf.contrib.staging.StagingArea([tf.float32], [[]], names=["x"])
    x = tf.placeholder(tf.float32, [])
    put, out = area.put({"x": x}), area.get()["x"] * 2
    session.run(put, {x: 1.0})
    assert [session.run([out, put], {x: float(i)})[0] for i in (2, 3, 4)] == [2.0, 4.0, 6.0]


def test_what_an_area_refuses(session):
    area = tf.contrib.staging.StagingArea([tf.float32], [[2]])
    with pytest.raises(ValueError, match="Datatypes do not match"):
        area.put([tf.constant([1, 2])])
    with pytest.raises(ValueError, match="must have names"):
        area.put({"x": tf.constant([1.0, 2.0])})
    with pytest.raises(ValueError, match="Unexpected number of inputs"):
        area.put([tf.constant([1.0, 2.0])] * 2)


def unstage(key):
    return tf.raw_ops.MapUnstage(key=key, indices=[0], dtypes=[tf.int32], shared_name="area")


def stage(key, value):
    return tf.raw_ops.MapStage(
        key=key, indices=[0], values=[value], dtypes=[tf.int32], shared_name="area"
    )


def test_who_waits_for_one_key_does_not_hold_up_another(session):
    first, second = unstage(tf.constant(1, tf.int64)), unstage(tf.constant(2, tf.int64))
    puts = [stage(tf.constant(k, tf.int64), k * 10) for k in (1, 2)]
    thread, found = started(session, first)
    session.run(puts[1])
    assert session.run(second) == [20]
    assert thread.is_alive()
    session.run(puts[0])
    thread.join(10)
    assert found == [[10]]


@pytest.mark.parametrize("kind", ["area", "map", "barrier"])
def test_closing_the_session_wakes_what_waits(kind):
    with tf.Graph().as_default() as graph:
        session = tf.Session(graph=graph)
        if kind == "area":
            fetch = tf.raw_ops.Unstage(dtypes=[tf.int32])
        elif kind == "map":
            fetch = unstage(tf.constant(1, tf.int64))
        else:
            handle = tf.raw_ops.Barrier(component_types=[tf.int32], shapes=[[]])
            fetch = tf.raw_ops.BarrierTakeMany(
                handle=handle, num_elements=1, component_types=[tf.int32]
            )
        thread, found = started(session, fetch)
        thread.join(0.03)
        assert thread.is_alive()
        session.close()
        thread.join(10)
        assert isinstance(found[0], errors.CancelledError)


def test_a_barrier_that_closes_tells_those_who_wait(session):
    handle = tf.raw_ops.Barrier(component_types=[tf.int32, tf.int32], shapes=[[], []])

    def insert(component):
        return tf.raw_ops.BarrierInsertMany(
            handle=handle, keys=["a"], values=[1], component_index=component
        )

    begin, complete = insert(0), insert(1)
    close = tf.raw_ops.BarrierClose(handle=handle)
    two = tf.raw_ops.BarrierTakeMany(handle=handle, num_elements=2, component_types=[tf.int32] * 2)
    session.run(begin)
    thread, found = started(session, two)
    thread.join(0.03)
    session.run(close)
    session.run(complete)  # only one will ever be whole
    thread.join(10)
    assert isinstance(found[0], errors.OutOfRangeError)
