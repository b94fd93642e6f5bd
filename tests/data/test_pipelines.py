"""Input pipelines as programs write them: what they give, how they end, and what they say of bad input."""

from __future__ import annotations

import gc
import threading
import time

import numpy as np
import pytest

import weft as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def all_of(dataset, feed=None, most=100):
    """The elements of a dataset, walked in a session of its own."""
    iterator = dataset.make_initializable_iterator()
    element = iterator.get_next()
    found = []
    with tf.Session() as session:
        session.run(iterator.initializer, feed)
        while len(found) < most:
            try:
                found.append(session.run(element))
            except tf.errors.OutOfRangeError:
                return found
    return found


def test_from_slices_to_batches_of_a_structure():
    dataset = tf.data.Dataset.from_tensor_slices(
        {"x": np.arange(6.0).reshape(3, 2), "label": (np.array([1, 2, 3]), ["a", "b", "c"])}
    )
    dataset = dataset.map(lambda e: (e["x"] * 2.0, e["label"][1])).repeat(2).batch(4)
    assert dataset.output_types == (tf.float64, tf.string)
    assert [s.as_list() for s in dataset.output_shapes] == [[None, 2], [None]]
    (first, words), (second, _) = all_of(dataset)
    np.testing.assert_array_equal(first, [[0, 2], [4, 6], [8, 10], [0, 2]])
    assert words.tolist() == [b"a", b"b", b"c", b"a"]
    assert second.shape == (2, 2)


def test_a_shuffle_gives_each_element_once_an_epoch_and_another_order():
    dataset = tf.data.Dataset.range(50).shuffle(50, seed=3).batch(50).repeat(2)
    first, second = all_of(dataset)
    assert sorted(first) == sorted(second) == list(range(50))
    assert first.tolist() != second.tolist()


def test_a_map_reads_a_variable_as_it_is_now():
    scale = tf.get_variable("scale", initializer=2, use_resource=True)
    iterator = tf.data.Dataset.from_tensors(5).repeat().map(lambda x: x * scale)
    iterator = iterator.make_initializable_iterator()
    element = iterator.get_next()
    with tf.Session() as session:
        session.run([tf.global_variables_initializer()])
        session.run(iterator.initializer)
        assert session.run(element) == 10
        session.run(scale.assign(3))
        assert session.run(element) == 15
    with pytest.raises(ValueError, match="make_initializable_iterator"):
        tf.data.Dataset.from_tensors(5).map(lambda x: x * scale).make_one_shot_iterator()


def test_one_iterator_for_two_datasets_and_by_handle():
    train, test = tf.data.Dataset.range(3), tf.data.Dataset.range(10, 12)
    either = tf.data.Iterator.from_structure(train.output_types, train.output_shapes)
    element = either.get_next()
    one_shot = test.make_one_shot_iterator()
    fed = tf.placeholder(tf.string, [])
    by_handle = tf.data.Iterator.from_string_handle(fed, tf.int64, []).get_next()
    begin_train, begin_test = either.make_initializer(train), either.make_initializer(test)
    with tf.Session() as session:
        session.run(begin_train)
        assert session.run(element) == 0
        session.run(begin_test)
        assert session.run(element) == 10
        handle = session.run(one_shot.string_handle())
        assert [session.run(by_handle, {fed: handle}) for _ in range(2)] == [10, 11]
    with pytest.raises((TypeError, ValueError)):
        either.make_initializer(tf.data.Dataset.from_tensors("text"))


def test_a_generator_and_what_it_may_not_yield():
    def pairs():
        yield 1, [1.0, 2.0]
        yield 2, [3.0]

    found = all_of(
        tf.data.Dataset.from_generator(pairs, (tf.int64, tf.float32), ([], [None])).padded_batch(
            2, ([], [None])
        )
    )
    assert found[0][1].tolist() == [[1.0, 2.0], [3.0, 0.0]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected type"):
        all_of(tf.data.Dataset.from_generator(lambda: ["x"], tf.int64))


def test_an_element_that_does_not_fit_names_both_shapes_and_the_walk_goes_on():
    dataset = tf.data.Dataset.range(3).map(lambda n: tf.zeros([n]))
    iterator = dataset.batch(2).make_initializable_iterator()
    element = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[0\].*\[1\]"):
            session.run(element)
        assert session.run(element).shape == (1, 2)


def test_a_damaged_record_is_told_with_its_file(tmp_path):
    path = tmp_path / "some.tfrecord"
    with tf.python_io.TFRecordWriter(str(path)) as writer:
        writer.write(b"first")
        writer.write(b"second")
    data = bytearray(path.read_bytes())
    data[-6] ^= 1
    path.write_bytes(data)
    with pytest.raises(tf.errors.DataLossError, match="some.tfrecord"):
        all_of(tf.data.TFRecordDataset(str(path)))
    kept = tf.data.TFRecordDataset(str(path)).apply(tf.data.experimental.ignore_errors())
    assert all_of(kept) == [b"first"]


def test_errors_of_a_function_are_those_of_an_element():
    dataset = tf.data.Dataset.from_tensor_slices([1, 0, 4]).map(lambda x: 8 // x)
    assert all_of(dataset.apply(tf.data.experimental.ignore_errors())) == [8, 2]
    with pytest.raises(tf.errors.InvalidArgumentError):
        all_of(dataset)


def prefetching():
    return [t for t in threading.enumerate() if t.name.startswith("weft-prefetch")]


def until(condition):
    limit = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < limit
        gc.collect()
        time.sleep(0.01)


def test_threads_end_when_the_session_is_closed():
    before = len(prefetching())
    iterator = tf.data.Dataset.range(10**9).prefetch(2).make_initializable_iterator()
    element = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initializer)
        assert session.run(element) == 0
        assert len(prefetching()) == before + 1
    until(lambda: len(prefetching()) == before)


def test_closing_a_session_wakes_a_step_that_waits_for_an_element():
    go_on = threading.Event()

    def slow():
        yield 1
        go_on.wait(20)
        yield 2

    iterator = tf.data.Dataset.from_generator(slow, tf.int64, []).prefetch(1)
    iterator = iterator.make_initializable_iterator()
    element = iterator.get_next()
    session = tf.Session()
    session.run(iterator.initializer)
    assert session.run(element) == 1
    ended = []

    def wait():
        try:
            session.run(element)
        except tf.errors.OpError as e:
            ended.append(e)

    waiting = threading.Thread(target=wait)
    waiting.start()
    time.sleep(0.05)
    session.close()
    waiting.join(5)
    go_on.set()
    assert not waiting.is_alive()
    assert isinstance(ended[0], tf.errors.CancelledError)


def test_a_group_by_window_and_a_window():
    grouped = tf.data.Dataset.range(6).apply(
        tf.data.experimental.group_by_window(lambda x: x % 2, lambda _, w: w.batch(3), 3)
    )
    assert [e.tolist() for e in all_of(grouped)] == [[0, 2, 4], [1, 3, 5]]
    sums = tf.data.Dataset.range(7).window(3, drop_remainder=True)
    sums = sums.flat_map(lambda w: w.batch(3))
    assert [e.tolist() for e in all_of(sums)] == [[0, 1, 2], [3, 4, 5]]


def test_sparse_elements():
    rows = tf.data.Dataset.from_tensor_slices(
        tf.SparseTensorValue([[0, 1], [2, 0]], np.array([5, 6]), [3, 2])
    )
    (batch,) = all_of(rows.batch(3))
    np.testing.assert_array_equal(batch.indices, [[0, 1], [2, 0]])
    assert batch.dense_shape.tolist() == [3, 2]


def test_datasets_and_optionals_are_arguments_of_functions():
    @tf.function
    def first(dataset, otherwise):
        return tf.data.experimental.get_single_element(dataset.take(1)) + otherwise.get_value()

    sums = first(tf.data.Dataset.range(3, 9), tf.data.experimental.Optional.from_value(np.int64(4)))
    with tf.Session() as session:
        assert session.run(sums) == 7
