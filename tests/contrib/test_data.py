"""tf.contrib.data, as older programs use it."""

import pytest

import weft as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def all_of(dataset):
    element = dataset.make_one_shot_iterator().get_next()
    found = []
    with tf.Session() as session:
        while True:
            try:
                found.append(session.run(element).tolist())
            except tf.errors.OutOfRangeError:
                return found


def test_batches():
    numbers = tf.data.Dataset.range(7)
    data = tf.contrib.data
    dataset = numbers.apply(data.batch_and_drop_remainder(3))
    assert dataset.output_shapes.as_list() == [3]
    assert all_of(dataset) == [[0, 1, 2], [3, 4, 5]]
    mapped = numbers.apply(data.map_and_batch(lambda x: x * x, 4, num_parallel_batches=1))
    assert all_of(mapped) == [[0, 1, 4, 9], [16, 25, 36]]
    assert all_of(numbers.apply(data.sliding_window_batch(3, 2))) == [
        [0, 1, 2],
        [2, 3, 4],
        [4, 5, 6],
    ]
    read = numbers.apply(
        data.parallel_interleave(
            lambda x: tf.data.Dataset.from_tensors(x).repeat(2), cycle_length=2, sloppy=True
        )
    )
    assert sorted(all_of(read)) == sorted([*range(7)] * 2)


def test_shapes_that_are_expected():
    dataset = tf.data.Dataset.range(1, 3).map(lambda n: tf.fill([n], n))
    one = dataset.apply(tf.contrib.data.assert_element_shape([1]))
    assert one.output_shapes.as_list() == [1]
    with pytest.raises(tf.errors.InvalidArgumentError):
        all_of(one)
    with pytest.raises(ValueError):
        dataset.batch(2).apply(tf.contrib.data.assert_element_shape([2, 2, 2]))


def test_a_reducer():
    reducer = tf.contrib.data.Reducer(
        lambda _: tf.int64.as_numpy_dtype(0), lambda s, x: s + x, lambda s: s
    )
    with tf.Session() as session:
        assert session.run(tf.contrib.data.reduce_dataset(tf.data.Dataset.range(5), reducer)) == 10
