"""Input through queues, as programs of TensorFlow 1 have it: from names to batches, and to the end of input."""

import threading

import numpy as np
import pytest

import weft as tf
from weft.framework import errors


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def run_to_the_end(fetch):
    """What a program's loop gets: every value of `fetch` until its input is used up."""
    found = []
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess=session, coord=coord)
        try:
            while not coord.should_stop():
                found.append(session.run(fetch))
        except errors.OutOfRangeError:
            pass
        finally:
            coord.request_stop()
        coord.join(threads, stop_grace_period_secs=10)
    assert not any(t.is_alive() for t in threads)
    return found


def test_names_in_order_for_some_epochs():
    queue = tf.train.string_input_producer(["a", "b", "c"], num_epochs=2, shuffle=False)
    assert run_to_the_end(queue.dequeue()) == [b"a", b"b", b"c"] * 2


def test_shuffled_differently_in_each_epoch_but_whole():
    queue = tf.train.range_input_producer(8, num_epochs=3, seed=3)
    numbers = run_to_the_end(queue.dequeue())
    epochs = [numbers[i : i + 8] for i in (0, 8, 16)]
    assert all(sorted(e) == list(range(8)) for e in epochs)
    assert len({tuple(e) for e in epochs}) > 1


def test_slices_of_several_tensors_stay_together():
    images = tf.constant(np.arange(12).reshape(6, 2))
    labels = tf.constant(np.arange(6) * 10)
    image, label = tf.train.slice_input_producer([images, labels], num_epochs=1)
    pairs = run_to_the_end([image, label])
    assert sorted(int(n) for _, n in pairs) == [0, 10, 20, 30, 40, 50]
    assert all(i[0] * 5 == n for i, n in pairs)


@pytest.mark.parametrize("smaller", [True, False])
def test_batches_and_the_last_one(smaller):
    number = tf.train.range_input_producer(7, num_epochs=1, shuffle=False).dequeue()
    batch = tf.train.batch([number, number * 2], 3, allow_smaller_final_batch=smaller)
    assert batch[0].shape.as_list() == [None if smaller else 3]
    sizes = [3, 3, 1] if smaller else [3, 3]
    found = run_to_the_end(batch)
    assert [len(a) for a, _ in found] == sizes
    assert all((b == a * 2).all() for a, b in found)
    assert np.concatenate([a for a, _ in found]).tolist() == list(range(sum(sizes)))


def test_padded_batches_of_dictionaries():
    number = tf.train.range_input_producer(4, num_epochs=1, shuffle=False).dequeue()
    example = {"n": number, "row": tf.ones([number], tf.int32)}
    first, second = run_to_the_end(tf.train.batch(example, 2, dynamic_pad=True))
    assert first["n"].tolist() == [0, 1]
    assert first["row"].tolist() == [[0], [1]]
    assert second["row"].tolist() == [[1, 1, 0], [1, 1, 1]]


def test_only_what_is_to_be_kept():
    number = tf.train.range_input_producer(10, num_epochs=1, shuffle=False).dequeue()
    even = tf.train.maybe_batch([number], tf.equal(number % 2, 0), 5)
    assert run_to_the_end(even)[0].tolist() == [0, 2, 4, 6, 8]


def test_shuffled_batches_from_several_sources():
    sources = [
        [tf.train.range_input_producer(n, num_epochs=1).dequeue() + start]
        for start, n in ((0, 6), (100, 6))
    ]
    batch = tf.train.shuffle_batch_join(sources, 4, capacity=20, min_after_dequeue=3)
    numbers = np.concatenate(run_to_the_end(batch))
    assert sorted(numbers) == [*range(6), *range(100, 106)]


def test_a_queue_runner_travels_in_a_meta_graph():
    queue = tf.train.range_input_producer(3, num_epochs=1, shuffle=False)
    batch = tf.identity(queue.dequeue_many(3), name="batch")
    wanted = run_to_the_end(batch)[0].tolist()
    meta_graph = tf.train.export_meta_graph()
    with tf.Graph().as_default():
        tf.train.import_meta_graph(meta_graph)
        (runner,) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
        assert runner.name == queue.name
        assert runner.queue_closed_exception_types == (errors.OutOfRangeError,)

    assert wanted == [0, 1, 2]


def test_an_error_in_the_input_reaches_the_main_thread():
    fed = tf.placeholder_with_default(-1, [])
    with tf.control_dependencies([tf.Assert(fed > 0, ["bad record"])]):
        number = tf.identity(fed)
    batch = tf.train.batch([number], 2)
    with tf.Session() as session:
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess=session, coord=coord)
        with pytest.raises(errors.OutOfRangeError):  # the queue was closed
            session.run(batch)
        with pytest.raises(errors.InvalidArgumentError, match="bad record"):
            coord.join(threads, stop_grace_period_secs=10)


def test_leaving_early_ends_the_threads():
    batch = tf.train.shuffle_batch(
        [tf.train.range_input_producer(100).dequeue()], 4, 20, 10, num_threads=3
    )
    session = tf.Session()
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess=session, coord=coord)
    session.run(batch)
    coord.request_stop()
    coord.join(threads, stop_grace_period_secs=10)
    session.close()
    assert not any(t.is_alive() for t in threads)


def test_a_looper_reports_what_goes_wrong():
    coord = tf.train.Coordinator()
    calls = []

    def call(n):
        calls.append(n)
        if len(calls) == 3:
            raise KeyError("third")

    tf.train.LooperThread.loop(coord, None, call, args=(7,))
    with pytest.raises(KeyError, match="third"):
        coord.join(stop_grace_period_secs=10)
    assert calls == [7, 7, 7]
    assert coord.joined


def test_those_who_do_not_stop_are_named():
    coord = tf.train.Coordinator()
    stay = threading.Event()
    thread = threading.Thread(target=stay.wait, name="stubborn", daemon=True)
    thread.start()
    coord.request_stop()
    with pytest.raises(RuntimeError, match="threads still running: stubborn"):
        coord.join([thread], stop_grace_period_secs=0.02)
    coord.join([thread], stop_grace_period_secs=0.02, ignore_live_threads=True)
    stay.set()
    thread.join(5)


def test_what_is_refused():
    with pytest.raises(ValueError, match="capacity 5 must be bigger"):
        tf.train.shuffle_batch([tf.constant(1)], 2, 5, 5)
    with pytest.raises(ValueError, match="Expected at least one tensor in batch"):
        tf.train.batch([], 2)
    with pytest.raises(ValueError, match="Cannot infer Tensor's rank"):
        tf.train.batch([tf.placeholder(tf.float32)], 2)
    with pytest.raises(TypeError, match="consistent"):
        tf.train.batch_join([[tf.constant(1)], [tf.constant(1.0)]], 2)
    with pytest.raises(ValueError, match="num_epochs must be > 0"):
        tf.train.limit_epochs(tf.constant(1), 0)
    with pytest.raises(ValueError, match="non-null input"):
        tf.train.string_input_producer([])
    with pytest.raises(ValueError, match="No default session"):
        tf.train.start_queue_runners()
