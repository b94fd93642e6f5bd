"""`tf.contrib.training`: batches of examples that belong together, drawn by chance; hyperparameters as messages."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

import weft as tf

training = tf.contrib.training


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(3)
        yield graph


@contextlib.contextmanager
def running():
    """A session whose queues are filled."""
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        yield session
        coordinator.request_stop()
        coordinator.join(threads, stop_grace_period_secs=5)


def counted(n, limit=None):
    """A number that grows with each example."""
    return tf.train.range_input_producer(n, num_epochs=limit, shuffle=False).dequeue()


def test_examples_of_a_bucket_come_together_until_the_input_ends():
    number = counted(12, 1)
    which, batch = training.bucket(
        {"x": number, "row": tf.fill([2], number)}, number % 3, 2, 3, num_threads=1
    )
    assert batch["x"].shape.as_list() == [2] and batch["row"].shape.as_list() == [2, 2]
    seen = []
    with running() as session:
        with pytest.raises(tf.errors.OutOfRangeError):
            while True:
                bucket, found = session.run([which, batch])
                assert (found["x"] % 3 == bucket).all()
                assert (found["row"] == found["x"][:, None]).all()
                seen += found["x"].tolist()
    assert sorted(seen) == list(range(12))


def test_buckets_of_sizes_of_their_own_and_a_smaller_last_batch():
    number = counted(7, 1)
    _, batch = training.bucket(
        [number], number % 2, [2, 3], 2, allow_smaller_final_batch=True, bucket_capacities=[4, 4]
    )
    sizes = []
    with running() as session:
        with pytest.raises(tf.errors.OutOfRangeError):
            while True:
                found = session.run(batch)
                sizes.append((int(found[0] % 2), len(found)))
    assert sorted(sizes) == [(0, 2), (0, 2), (1, 3)]
    for bad in ({"batch_size": [1]}, {"bucket_capacities": [1]}):
        with pytest.raises(ValueError):
            training.bucket([number], 0, **{"batch_size": 1, "num_buckets": 2, **bad})


def test_sequences_are_padded_to_the_longest_of_their_bucket():
    length = counted(9, 1) + 1
    lengths, batch = training.bucket_by_sequence_length(
        length, [tf.fill([length], length)], 3, [4, 7], dynamic_pad=True
    )
    found = []
    with running() as session:
        with pytest.raises(tf.errors.OutOfRangeError):
            while True:
                found.append(session.run([lengths, batch]))
    assert sorted(n.tolist() for n, _ in found) == [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    for n, (rows,) in found:
        assert rows.shape == (3, n.max())
        assert ((rows > 0).sum(1) == n).all()
    for bad, error in (
        (3, TypeError),
        ([], ValueError),
        ([2, 1], ValueError),
        ([1.0, 2], TypeError),
    ):
        with pytest.raises(error):
            training.bucket_by_sequence_length(length, [length], 3, bad)


def test_only_examples_that_are_to_be_kept_are_bucketed():
    number = counted(12, 1)
    _, batch = training.bucket([number], 0, 2, 1, keep_input=number % 3 > 0)
    seen = []
    with running() as session:
        with pytest.raises(tf.errors.OutOfRangeError):
            while True:
                seen += session.run(batch).tolist()
    assert sorted(seen) == [n for n in range(12) if n % 3]


@pytest.mark.parametrize("known", [True, False])
def test_classes_come_in_the_wanted_proportions(known):
    labels = tf.cast(tf.random_uniform([20], seed=5) < 0.2, tf.int32)
    values = tf.cast(labels, tf.float32) * 10
    (batch,), found = training.stratified_sample(
        [values],
        labels,
        [0.4, 0.6],
        50,
        init_probs=[0.8, 0.2] if known else None,
        enqueue_many=True,
    )
    with running() as session:
        for _ in range(3):  # what is estimated settles
            session.run(found)
        rounds = [session.run([batch, found]) for _ in range(4)]
    assert all((values == 10 * labels).all() for values, labels in rounds)
    share = np.mean([labels.mean() for _, labels in rounds])
    assert abs(share - 0.6) < 0.12


def test_impossible_proportions_and_labels_are_refused():
    with pytest.raises(ValueError, match="same length"):
        training.stratified_sample([tf.zeros([1])], 0, [0.5, 0.5], 2, init_probs=[1.0])
    with pytest.raises(ValueError):
        training.stratified_sample(
            [tf.zeros([2])], [0, 1, 1], [0.5, 0.5], 2, [0.5, 0.5], enqueue_many=True
        )


def test_examples_are_kept_with_the_chance_of_a_function():
    value = tf.random_uniform([], seed=2)
    (batch,) = training.rejection_sample([value], lambda x: x[0], 200, runtime_checks=True)
    with running() as session:
        found = session.run(batch)
    assert found.shape == (200,) and abs(found.mean() - 2 / 3) < 0.07


def test_rows_are_resampled_at_their_rates():
    names, rates = tf.constant([0, 1, 2]), tf.constant([0.0, 0.5, 2.0])
    (again,) = training.resample_at_rate([names], rates, seed=4)
    (weighted,), used = training.weighted_resample(
        [names], tf.constant([0.0, 1.0, 2.0]), 1.0, seed=4
    )
    with running() as session:
        counts = np.zeros(3)
        for _ in range(300):
            counts += np.bincount(session.run(again), minlength=3)
        assert np.allclose(counts / 300, [0, 0.5, 2], atol=0.2)
        rows, rates = session.run([weighted, used])
        assert rows.shape == rates.shape and set(rows.tolist()) <= {1, 2}


def test_hyperparameters_as_messages():
    given = {
        "n": 3,
        "rate": 0.5,
        "name": "adam",
        "flag": True,
        "sizes": [1, 2],
        "names": ["a", "b"],
        "on": [True],
    }
    message = training.HParams(**given).to_proto()
    assert message.hparam["sizes"].int64_list.value == [1, 2]
    assert message.hparam["name"].bytes_value == b"adam"
    again = training.HParams(hparam_def=type(message).FromString(message.SerializeToString()))
    assert again.values() == given
    with pytest.raises(ValueError, match="Unsupported parameter type"):
        training.HParams(x=object()).to_proto()
