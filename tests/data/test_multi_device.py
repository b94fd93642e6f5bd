"""One walk over a dataset for several devices."""

from __future__ import annotations

import threading
import time

import pytest

import weft as tf


@pytest.fixture
def shards():
    """How to begin, and the next element of each of two shards."""
    with tf.Graph().as_default():
        dataset = tf.data.Dataset.range(20)
        attrs = {"output_types": [tf.int64], "output_shapes": [[]]}
        it = tf.raw_ops.MultiDeviceIterator(
            devices=["/cpu:0", "/cpu:0"], shared_name="", container="", **attrs
        )
        begin = tf.raw_ops.MultiDeviceIteratorInit(
            dataset=dataset._variant_tensor, multi_device_iterator=it, max_buffer_size=2
        )
        following = [
            tf.raw_ops.MultiDeviceIteratorGetNextFromShard(
                multi_device_iterator=it, shard_num=i, incarnation_id=1, **attrs
            )[0]
            for i in range(2)
        ]
        yield begin, following


def test_threads_take_the_elements_in_turn(shards):
    begin, following = shards
    found = [[], []]
    with tf.Session() as session:
        assert session.run(begin) == 1

        def take(i):
            while True:
                try:
                    found[i].append(int(session.run(following[i])))
                except tf.errors.OutOfRangeError:
                    return

        threads = [threading.Thread(target=take, args=[i]) for i in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
    assert found == [list(range(0, 20, 2)), list(range(1, 20, 2))]


def test_a_shard_that_nobody_reads_holds_the_others_up_until_the_step_or_the_session_ends(shards):
    begin, following = shards
    session = tf.Session()
    session.run(begin)
    assert [session.run(following[0]) for _ in range(3)] == [0, 2, 4]
    with pytest.raises(tf.errors.DeadlineExceededError):
        session.run(following[0], options=tf.RunOptions(timeout_in_ms=100))
    assert session.run(following[1]) == 1
    assert session.run(following[0]) == 6
    errors = []

    def take():
        try:
            session.run(following[0])
        except (tf.errors.CancelledError, RuntimeError) as e:
            errors.append(e)

    thread = threading.Thread(target=take)
    thread.start()
    time.sleep(0.1)
    session.close()
    thread.join(5)
    assert len(errors) == 1
