"""Elements of all kinds, and what options, statistics and iterators do with them."""

from __future__ import annotations

import numpy as np
import pytest

import weft as tf
from weft import proto

experimental = tf.data.experimental


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def walked(dataset, session=None):
    """The elements of a dataset."""
    iterator = tf.data.make_initializable_iterator(dataset)
    element = iterator.get_next()
    found = []
    with session or tf.Session() as session:
        session.run(iterator.initializer)
        while True:
            try:
                found.append(session.run(element))
            except tf.errors.OutOfRangeError:
                return found


def test_ragged_tensors_are_elements_batches_and_rows():
    value = tf.ragged.constant_value([[[1]], [[2, 3], []], [[4, 5, 6]]])
    rows = tf.data.Dataset.from_tensor_slices(value)
    assert [r.to_list() for r in walked(rows)] == value.to_list()
    whole = tf.data.Dataset.from_tensors(value).repeat(2).batch(2).unbatch()
    assert [r.to_list() for r in walked(whole)] == [value.to_list()] * 2
    apart = tf.data.Dataset.from_tensors(value).unbatch()
    assert [r.to_list() for r in walked(apart)] == value.to_list()


def test_sparse_tensors_are_taken_apart_beside_dense_ones():
    sparse = tf.SparseTensor([[0, 0], [2, 1]], [1, 2], [3, 2])
    dataset = tf.data.Dataset.from_tensors((sparse, [7, 8, 9])).unbatch()
    dataset = dataset.map(lambda s, d: (tf.sparse.to_dense(s), d))
    found = walked(dataset)
    assert [(row.tolist(), int(d)) for row, d in found] == [([1, 0], 7), ([0, 0], 8), ([0, 2], 9)]


def test_tensor_arrays_go_from_map_to_map():
    def squares(i):
        n = tf.cast(i, tf.int32)
        return tf.TensorArray(tf.int32, size=n, element_shape=()).unstack(tf.range(n) ** 2)

    dataset = tf.data.Dataset.range(4).map(squares)
    assert isinstance(dataset.element_spec, tf.TensorArraySpec)
    found = walked(dataset.map(lambda array: array.stack()))
    assert [x.tolist() for x in found] == [[], [0], [0, 1], [0, 1, 4]]


def test_datasets_are_elements():
    inner = [tf.data.Dataset.range(n) for n in (1, 3)]
    dataset = tf.data.Dataset.from_tensor_slices(inner)
    assert walked(dataset.flat_map(lambda d: d)) == [0, 0, 1, 2]
    again = dataset.batch(2).unbatch()
    assert walked(again.flat_map(lambda d: d)) == [0, 0, 1, 2]


def test_batches_of_unlike_elements_say_which():
    dataset = tf.data.Dataset.range(5).map(lambda x: tf.fill([3 + x // 3], x)).batch(5)
    with pytest.raises(tf.errors.InvalidArgumentError) as error:
        walked(dataset)
    assert "component 0. First element had shape [3] and element 3 had shape [4]" in str(
        error.value
    )
    with pytest.raises(ValueError):
        tf.data.Dataset.from_tensors((np.zeros(2), np.zeros(3))).unbatch()
    with pytest.raises(tf.errors.InvalidArgumentError, match="component 0"):
        shape = tf.constant([2], tf.int64) * -1
        walked(tf.data.Dataset.range(2).batch(1).padded_batch(2, shape))


def test_padding_to_sizes_that_are_known_as_the_graph_runs():
    dataset = tf.data.Dataset.range(3).map(lambda x: tf.fill([x], x))
    size = tf.placeholder_with_default(np.array([5], np.int64), [1])
    padded = dataset.padded_batch(3, size)
    assert padded.output_shapes.as_list() == [None, None]
    iterator = tf.data.make_initializable_iterator(padded)
    with tf.Session() as session:
        session.run(iterator.initializer)
        assert session.run(iterator.get_next()).shape == (3, 5)


def test_seeded_functions_begin_anew_with_an_iterator_and_go_on_in_an_epoch():
    dataset = tf.data.Dataset.range(3).map(lambda x: tf.random_uniform([], seed=4)).repeat(2)
    iterator = tf.data.make_initializable_iterator(dataset)
    element = iterator.get_next()
    with tf.Session() as session:
        rounds = []
        for _ in range(3):
            session.run(iterator.initializer)
            rounds.append([session.run(element) for _ in range(6)])
    assert rounds[0] == rounds[1] == rounds[2]
    assert len(set(rounds[0])) == 6


def test_statistics_are_gathered_under_their_names():
    aggregator = experimental.StatsAggregator()
    dataset = tf.data.Dataset.from_tensor_slices(np.zeros((5, 3), np.float32))
    dataset = dataset.apply(experimental.bytes_produced_stats("bytes"))
    dataset = dataset.apply(experimental.latency_stats("time")).map(lambda x: x + 1)
    options = tf.data.Options()
    options.experimental_stats.aggregator = aggregator
    options.experimental_stats.prefix = "mine"
    options.experimental_stats.latency_all_edges = True
    dataset = dataset.with_options(options)
    summary = aggregator.get_summary()
    iterator = tf.data.make_initializable_iterator(dataset)
    with tf.Session() as session:
        session.run(iterator.initializer)
        for _ in range(5):
            session.run(iterator.get_next())
        values = {v.tag: v.histo for v in proto.Summary.FromString(session.run(summary)).value}
    assert values["mine::bytes"].num == 5 and values["mine::bytes"].sum == 60
    assert values["mine::time"].num == 5 and values["mine::time"].min > 0
    assert values["mine::record_latency::MapDataset"].num == 5


def test_options_are_of_their_types_and_do_not_contradict_each_other():
    options = tf.data.Options()
    with pytest.raises(TypeError, match="experimental_deterministic"):
        options.experimental_deterministic = 1
    with pytest.raises(AttributeError):
        options.deterministic = True
    options.experimental_deterministic = True
    other = tf.data.Options()
    other.experimental_deterministic = False
    dataset = tf.data.Dataset.range(3).with_options(options)
    with pytest.raises(ValueError, match="incompatible values"):
        dataset.with_options(other)
    other.experimental_deterministic = True
    other.experimental_optimization.autotune = False
    merged = dataset.with_options(other).options()
    assert merged.experimental_deterministic and not merged.experimental_optimization.autotune


def test_an_assertion_about_what_follows():
    asserted = tf.data.Dataset.range(3).apply(
        lambda d: d._made("AssertNextDataset", transformations=tf.constant(["Map", "BatchV2"]))
    )
    assert [x.tolist() for x in walked(asserted.map(lambda x: x).batch(3))] == [[0, 1, 2]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="offset 1 but encountered Prefetch"):
        walked(asserted.map(lambda x: x).prefetch(1))
    with pytest.raises(tf.errors.InvalidArgumentError, match="next 2 .* only 1"):
        walked(asserted.map(lambda x: x))


def test_a_generator_whose_leaves_are_tuples_and_lists():
    def rows():
        yield {"a": (1, 2), "b": [[3]]}

    types, shapes = {"a": tf.int32, "b": tf.int64}, {"a": [2], "b": [1, 1]}
    (row,) = walked(tf.data.Dataset.from_generator(rows, types, shapes))
    assert row["a"].tolist() == [1, 2] and row["b"].tolist() == [[3]]


def test_an_element_that_fails_takes_its_turn_among_datasets_that_are_read_ahead():
    def number(x):
        return tf.strings.to_number(tf.gather(["0", "1", "x", "3"], x), tf.int64)

    dataset = tf.data.Dataset.from_tensor_slices([1, 2, 3]).map(number)
    dataset = dataset.apply(
        experimental.parallel_interleave(lambda x: tf.data.Dataset.from_tensors(x).repeat(3), 2)
    )
    iterator = tf.data.make_initializable_iterator(dataset)
    element, found = iterator.get_next(), []
    with tf.Session() as session:
        session.run(iterator.initializer)
        while True:
            try:
                found.append(int(session.run(element)))
            except tf.errors.InvalidArgumentError:
                found.append("failed")
            except tf.errors.OutOfRangeError:
                break
    assert found == [1, "failed", 1, 1, 3, 3, 3]


def test_windows_and_batches_fail_only_for_what_is_in_them():
    def number(x):
        return tf.strings.to_number(tf.gather(["0", "x", "2", "3", "4"], x), tf.int64)

    dataset = tf.data.Dataset.range(5).map(number)
    windows = dataset.window(2, 2, 2, True).flat_map(lambda w: w.batch(2))
    assert [x.tolist() for x in walked(windows)] == [[0, 2], [2, 4]]
    batches = tf.data.Dataset.range(5).apply(experimental.map_and_batch(number, 2))
    whole = batches.apply(experimental.ignore_errors())
    assert [x.tolist() for x in walked(whole)] == [[2, 3], [4]]
