"""Elements that go from walk to walk in blocks are those that go one by one, and nothing is read too early."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft as tf
from weft.ops.datasets import saving
from weft.ops.datasets.dataset import End, Run
from weft.testing import tier


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


# -- any pipeline, asked for any numbers of elements -----------------------------------------------------


def checked(x):
    with tf.control_dependencies([tf.assert_none_equal(x % 11, np.int64(7))]):
        return x * 3 + 1


STEPS = {
    "map": lambda d: d.map(lambda x: x + 5),
    "checked": lambda d: d.map(checked),
    "forgiven": lambda d: d.map(checked).apply(tf.data.experimental.ignore_errors()),
    "parallel": lambda d: d.map(lambda x: x * 2 - 1, num_parallel_calls=3),
    "text": lambda d: (
        d.map(tf.as_string).map(tf.strings.length).map(lambda x: tf.cast(x, tf.int64))
    ),
    "filter": lambda d: d.filter(lambda x: tf.not_equal(x % 3, 1)),
    "shuffle": lambda d: d.shuffle(7, seed=3),
    "both": lambda d: d.apply(tf.data.experimental.shuffle_and_repeat(5, 2, seed=1)),
    "repeat": lambda d: d.repeat(2),
    "take": lambda d: d.take(13),
    "skip": lambda d: d.skip(4),
    "shard": lambda d: d.shard(3, 1),
    "zip": lambda d: tf.data.Dataset.zip((d, tf.data.Dataset.range(50))).map(lambda a, b: a * b),
    "concatenate": lambda d: d.concatenate(tf.data.Dataset.range(100, 105)),
    "interleave": lambda d: d.interleave(
        lambda x: tf.data.Dataset.range(3).map(lambda y: x + y), cycle_length=3, block_length=2
    ),
    "flat_map": lambda d: d.flat_map(lambda x: tf.data.Dataset.from_tensors(x).repeat(2)),
    "prefetch": lambda d: d.prefetch(4),
    "cache": lambda d: d.cache(),
    "batch": lambda d: d.batch(4).apply(tf.data.experimental.unbatch()),
    "padded": lambda d: d.padded_batch(3, []).apply(tf.data.experimental.unbatch()),
    "joined": lambda d: d.apply(
        tf.data.experimental.map_and_batch(lambda x: -x, 3, num_parallel_calls=2)
    ).apply(tf.data.experimental.unbatch()),
    "grouped": lambda d: d.apply(
        tf.data.experimental.group_by_window(
            lambda x: x % 3, lambda _, w: w.map(lambda x: x * 2), 2
        )
    ),
    "generated": lambda d: tf.data.Dataset.zip(
        (d, tf.data.Dataset.from_generator(lambda: iter(range(30)), tf.int64, []))
    ).map(lambda a, b: a - b),
}


def outcome(call):
    """What a call gives, or in which way it fails."""
    try:
        return call()
    except End:
        return "end"
    except tf.errors.OpError as e:
        return type(e).__name__


def one_by_one(walk):
    found = []
    while (element := outcome(walk)) != "end":
        found.append(element if isinstance(element, str) else [int(x) for x in element])
        assert len(found) < 500
    return found


def in_blocks(walk, sizes):
    found, i = [], 0
    while True:
        most = sizes[i % len(sizes)]
        block, i = outcome(lambda most=most: walk.some(most)), i + 1
        if block == "end":
            return found
        if isinstance(block, str):
            found.append(block)
        else:
            assert 1 <= block.count <= most and len(block.rows) == block.count
            found += [[int(x) for x in row] for row in block.rows]


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=4),
    st.lists(st.integers(1, 20), min_size=1, max_size=3),
    st.integers(0, 15),
)
def test_blocks_are_the_elements_one_by_one(steps, sizes, saved_after):
    with tf.Graph().as_default(), tf.Session() as session, tier("compile"):
        dataset = tf.data.Dataset.from_tensor_slices(np.arange(20))
        for step in steps:
            dataset = STEPS[step](dataset)

        def walk():
            made = session.run(dataset._variant_tensor)
            made = made.item() if isinstance(made, np.ndarray) else made
            return made.walk(Run(session._functions, session.resources)), made

        wanted = one_by_one(walk()[0])
        assert in_blocks(walk()[0], sizes) == wanted
        if "generated" in steps or "cache" in steps:
            return
        # Saved where some blocks are on their way, and restored.
        first, made = walk()
        found = []
        while len(found) < saved_after:
            block = outcome(lambda: first.some(sizes[0]))
            if block == "end":
                break
            found += [block] if isinstance(block, str) else block.rows
        state = saving.state_of(first)
        second = made.walk(Run(session._functions, session.resources))
        saving.restore(second, state)
        assert in_blocks(second, sizes) == wanted[len(found) :]


# -- what somebody could notice ---------------------------------------------------------------------------


def test_a_generator_is_asked_for_what_a_batch_needs_and_no_more():
    asked = []

    def numbers():
        for i in range(100):
            asked.append(i)
            yield i

    dataset = tf.data.Dataset.from_generator(numbers, tf.int64, []).map(lambda x: x + 1)
    element = dataset.filter(lambda x: x > 1).batch(4).make_one_shot_iterator().get_next()
    with tf.Session() as session, tier("compile"):
        for i in range(1, 4):
            assert session.run(element).tolist() == list(range(4 * i - 2, 4 * i + 2))
            assert len(asked) == 4 * i + 1


def test_python_functions_and_draws_take_turns_element_by_element():
    seen = []

    def note(x, y):
        seen.append((int(x), int(y)))
        return x

    dataset = tf.data.Dataset.range(6).map(lambda x: (x, tf.py_func(lambda v: v, [x], tf.int64)))
    dataset = dataset.map(lambda x, y: tf.py_func(note, [x, y], tf.int64)).batch(3)
    element = dataset.make_one_shot_iterator().get_next()
    with tf.Session() as session, tier("compile"):
        session.run(element)
        assert seen == [(0, 0), (1, 1), (2, 2)]


def test_an_element_that_is_there_does_not_wait_for_the_next_one():
    free = threading.Event()

    def slow():
        yield 1
        yield 2
        free.wait(20)
        yield 3

    dataset = tf.data.Dataset.from_generator(slow, tf.int64, []).map(lambda x: x * 10)
    element = dataset.prefetch(10).make_one_shot_iterator().get_next()
    with tf.Session() as session:
        assert [session.run(element), session.run(element)] == [10, 20]
        assert not free.is_set()
        free.set()
        assert session.run(element) == 30


@pytest.mark.parametrize("kind", ["lines", "records"])
def test_what_stands_in_a_pipe_does_not_wait_for_what_is_written_later(tmp_path, kind):
    path = str(tmp_path / "pipe")
    os.mkfifo(path)
    read = tf.data.TextLineDataset if kind == "lines" else tf.data.TFRecordDataset
    element = read(path).map(tf.identity).prefetch(5).make_one_shot_iterator().get_next()
    first_read = threading.Event()

    def write():
        with open(path, "wb", buffering=0) as pipe:
            for text in (b"one", b"two"):
                from weft.framework.record_format import framed

                pipe.write(text + b"\n" if kind == "lines" else framed(text))
                assert first_read.wait(20)

    writer = threading.Thread(target=write)
    writer.start()
    with tf.Session() as session:
        assert session.run(element) == b"one"
        first_read.set()
        assert session.run(element) == b"two"
    writer.join()


def test_numbers_are_drawn_for_the_same_elements():
    def drawn(batch):
        with tf.Graph().as_default(), tf.Session() as session:
            tf.set_random_seed(5)
            dataset = tf.data.Dataset.range(40).map(
                lambda x: (x, tf.random_uniform([2]), tf.random_normal([], seed=9))
            )
            dataset = dataset.batch(8) if batch else dataset
            element = dataset.make_one_shot_iterator().get_next()
            found = [session.run(element) for _ in range(5 if batch else 40)]
            return [np.concatenate(p) if batch else np.stack(p) for p in zip(*found)]

    with tier("compile"):
        together = drawn(batch=True)
    with tier("interpret"):
        alone = drawn(batch=False)
    np.testing.assert_array_equal(together[0], alone[0])
    np.testing.assert_array_equal(together[1], alone[1])
    np.testing.assert_allclose(together[2], alone[2], rtol=2e-5)


@pytest.mark.parametrize("together", [True, False])
def test_numbers_are_drawn_from_the_beginning_by_each_new_iterator(together):
    dataset = tf.data.Dataset.range(8).map(lambda x: tf.random_uniform([], seed=3))
    iterator = (dataset.batch(4) if together else dataset).make_initializable_iterator()
    element = iterator.get_next()
    found = []
    with tf.Session() as session, tier("compile"):
        for _ in range(2):
            session.run(iterator.initializer)
            found.append(np.stack([session.run(element) for _ in range(2)]))
    np.testing.assert_array_equal(*found)


def test_variables_and_tables_are_read_as_they_are():
    scale = tf.get_variable("scale", initializer=np.int64(2), use_resource=True)
    table = tf.contrib.lookup.MutableHashTable(tf.int64, tf.int64, -1)
    dataset = tf.data.Dataset.range(3).repeat().map(lambda x: (x * scale, table.lookup(x))).batch(3)
    iterator = dataset.make_initializable_iterator()
    element = iterator.get_next()
    insert = table.insert(np.array([1]), np.array([11]))
    with tf.Session() as session, tier("compile"):
        session.run(scale.initializer)
        session.run(iterator.initializer)
        scaled, found = session.run(element)
        assert scaled.tolist() == [0, 2, 4] and found.tolist() == [-1, -1, -1]
        session.run([scale.assign(7), insert])
        scaled, found = session.run(element)
        assert scaled.tolist() == [0, 7, 14] and found.tolist() == [-1, 11, -1]


def test_rows_of_different_shapes_are_mapped_and_cannot_be_batched():
    dataset = tf.data.Dataset.range(1, 6).map(lambda n: tf.fill([n], n))
    sums = dataset.map(tf.reduce_sum).batch(5).make_one_shot_iterator().get_next()
    padded = dataset.padded_batch(5, [None]).make_one_shot_iterator().get_next()
    uneven = dataset.batch(5).make_one_shot_iterator().get_next()
    with tf.Session() as session, tier("compile"):
        assert session.run(sums).tolist() == [1, 4, 9, 16, 25]
        assert session.run(padded)[1].tolist() == [2, 2, 0, 0, 0]
        with pytest.raises(tf.errors.InvalidArgumentError, match="different shapes in component 0"):
            session.run(uneven)


def test_a_batch_belongs_to_who_fetched_it_and_a_shuffle_keeps_no_blocks():
    dataset = tf.data.Dataset.from_tensor_slices(np.zeros((256, 100), np.float32))
    dataset = dataset.map(lambda x: x + 1.0)
    element = dataset.batch(64).make_one_shot_iterator().get_next()
    shuffled = dataset.shuffle(100, seed=1)
    with tf.Session() as session, tier("compile"):
        first = session.run(element)
        first[:] = 5
        assert (session.run(element) == 1).all()
        made = session.run(shuffled._variant_tensor)
        made = made.item() if isinstance(made, np.ndarray) else made
        walk = made.walk(Run(session._functions, session.resources))
        walk.some(20)
        for (row,) in walk.place.ring.values():
            assert row.base is None or row.base.nbytes == row.nbytes


def test_large_blocks_are_shared_by_threads(monkeypatch):
    from weft.runtime import function_rows

    monkeypatch.setattr(function_rows, "_LEAST_PART", 1.0)
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    seen = set()
    run = function_rows.FunctionRows.__call__

    def noted(self, columns, rest, count):
        seen.add(count)
        return run(self, columns, rest, count)

    monkeypatch.setattr(function_rows.FunctionRows, "__call__", noted)
    rows = np.random.RandomState(0).rand(64, 8, 8)
    dataset = tf.data.Dataset.from_tensor_slices(rows)
    dataset = dataset.map(lambda x: tf.matmul(x, x) + checked(np.int64(1)), num_parallel_calls=3)
    element = dataset.batch(32).make_one_shot_iterator().get_next()
    with tf.Session() as session, tier("compile"):
        found = np.concatenate([session.run(element) for _ in range(2)])
    np.testing.assert_allclose(found, rows @ rows + 4)
    assert {32, 11, 10} == seen
