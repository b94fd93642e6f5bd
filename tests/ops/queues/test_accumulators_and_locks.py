"""Accumulators, critical sections and session handles: who waits for whom, and what stays."""

import gc
import threading

import numpy as np
import pytest

import weft as tf
from weft.framework import errors


@pytest.fixture
def session():
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        yield session


def test_taking_waits_for_enough(session):
    accumulator = tf.ConditionalAccumulator(tf.float32, shape=[2])
    add = accumulator.apply_grad([2.0, 4.0])
    take = accumulator.take_grad(3)
    assert take.shape.as_list() == [2]
    found = []
    thread = threading.Thread(target=lambda: found.append(session.run(take)), daemon=True)
    thread.start()
    session.run(add)
    session.run(add)
    thread.join(0.03)
    assert thread.is_alive()
    session.run(add)
    thread.join(10)
    assert found[0].tolist() == [2.0, 4.0]
    assert session.run(accumulator.num_accumulated()) == 0


def test_a_step_may_add_what_it_takes(session):
    accumulator = tf.ConditionalAccumulator(tf.float32, shape=[])
    take = accumulator.take_grad(2) * 10  # before anything is there
    adds = [accumulator.apply_grad(float(i)) for i in (1, 3)]
    assert session.run([take, *adds])[0] == 20.0


def test_what_was_fed_may_change_afterwards(session):
    accumulator = tf.ConditionalAccumulator(tf.float32)
    fed = tf.placeholder(tf.float32, [2])
    array = np.array([1, 2], np.float32)
    session.run(accumulator.apply_grad(fed), {fed: array})
    array[:] = 9
    assert session.run(accumulator.take_grad(1)).tolist() == [1, 2]


def test_slices_with_repeated_indices_are_summed(session):
    accumulator = tf.SparseConditionalAccumulator(tf.float32, reduction_type="SUM")
    for indices in ([3, 1], [1, 1]):
        slices = tf.IndexedSlices(values=tf.ones([2, 1]), indices=tf.constant(indices))
        session.run(accumulator.apply_indexed_slices_grad(slices))
    taken = session.run(accumulator.take_indexed_slices_grad(2))
    assert taken.indices.tolist() == [1, 3]
    assert taken.values.tolist() == [[3.0], [1.0]]
    assert taken.dense_shape.tolist() == [-1, 1]


def test_executions_of_a_critical_section_exclude_each_other(session):
    section = tf.CriticalSection()
    v = tf.get_variable("v", initializer=0, use_resource=True)
    session.run(v.initializer)

    def increment():
        before = v.read_value()
        with tf.control_dependencies([tf.py_func(lambda: None, [], [])]):
            return v.assign(before + 1, read_value=True)

    several = [section.execute(increment) for _ in range(5)]
    assert sorted(session.run(several)) == [1, 2, 3, 4, 5]
    one = several[0]

    def run():
        for _ in range(10):
            session.run(one)

    threads = [threading.Thread(target=run, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert session.run(v) == 45


def test_a_failed_step_gives_its_lock_back(session):
    section = tf.CriticalSection()
    x = tf.placeholder(tf.int32, [])

    def fail():
        with tf.control_dependencies([tf.Assert(x > 0, ["no"])]):
            return tf.identity(x)

    out = section.execute(fail)
    kept = []
    for _ in range(3):
        with pytest.raises(errors.InvalidArgumentError) as failed:
            session.run(out, {x: 0})
        kept.append(failed)  # with its traceback, which refers to all values of the step
    assert session.run(out, {x: 3}) == 3


def test_sections_refuse_what_would_lock_up(session):
    section = tf.CriticalSection(shared_name="s")
    with pytest.raises(ValueError, match="illegal and would cause deadlocks"):
        section.execute(lambda: section.execute(lambda: tf.constant(1)))
    v = tf.get_variable("v", initializer=0, use_resource=True)
    section.execute(v.read_value)
    with pytest.raises(ValueError, match="requested exclusive resource access"):
        tf.CriticalSection(shared_name="t").execute(v.read_value)


def test_a_handle_keeps_a_tensor_until_it_goes(session):
    handle = session.run(tf.get_session_handle(tf.constant([1.0, 2.0])))
    assert handle.eval().tolist() == [1.0, 2.0]
    holder, tensor = tf.get_session_tensor(handle.handle, tf.float32)
    assert session.run(tensor * 2, {holder: handle.handle}).tolist() == [2.0, 4.0]
    x = tf.placeholder(tf.float32, [2])
    assert session.run(x + 1, {x: handle}).tolist() == [2.0, 3.0]
    name = handle.handle
    del handle
    gc.collect()
    with pytest.raises(errors.InvalidArgumentError, match="not in the session store"):
        session.run(tensor, {holder: name})


def test_a_handle_can_be_deleted(session):
    handle = session.run(tf.get_session_handle(tf.constant(1)))
    handle.delete()
    with pytest.raises(TypeError, match="may have already been deleted"):
        handle.eval()
    raw = session.run(tf.get_session_handle(tf.constant(2))).get_raw_handle()
    holder, deleter = tf.delete_session_tensor(raw)
    session.run(deleter, {holder: raw})
    with pytest.raises(errors.InvalidArgumentError, match="Failed to delete"):
        session.run(deleter, {holder: raw})
