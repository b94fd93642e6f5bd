"""Readers: what steps of several threads read, what ends a wait, what a broken file leaves behind."""

import threading
import time

import pytest

import weft as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def record_files(folder, *contents):
    paths = []
    for i, records in enumerate(contents):
        paths.append(str(folder / f"file{i}"))
        with tf.python_io.TFRecordWriter(paths[-1]) as writer:
            for record in records:
                writer.write(record)
    return paths


def test_the_usual_pipeline(tmp_path):
    def example(i):
        value = tf.train.Int64List(value=[i])
        feature = {"n": tf.train.Feature(int64_list=value)}
        return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()

    paths = record_files(tmp_path, map(example, range(5)), map(example, range(5, 11)))
    names = tf.train.string_input_producer(paths, num_epochs=2, shuffle=False)
    _, serialized = tf.TFRecordReader().read(names)
    parsed = tf.parse_single_example(serialized, {"n": tf.FixedLenFeature([], tf.int64)})
    batch = tf.train.batch([parsed["n"]], 4, allow_smaller_final_batch=True)
    found = []
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        with pytest.raises(tf.errors.OutOfRangeError):
            while True:
                found += session.run(batch).tolist()
        coordinator.request_stop()
        coordinator.join(threads)
    assert found == 2 * list(range(11))


def test_many_threads_read_each_record_once(tmp_path):
    wanted = [b"%d" % i for i in range(300)]
    paths = record_files(tmp_path, wanted[:10], wanted[10:150], [], wanted[150:])
    names = tf.FIFOQueue(10, [tf.string], [[]])
    reader = tf.TFRecordReader()
    _, value = reader.read(names)
    _, values = reader.read_up_to(names, 7)
    found, lock = [], threading.Lock()
    with tf.Session() as session:

        def read(fetch):
            try:
                while True:
                    got = session.run(fetch)
                    with lock:
                        found.extend([got] if isinstance(got, bytes) else got.tolist())
            except tf.errors.OutOfRangeError:
                pass

        threads = [threading.Thread(target=read, args=(f,)) for f in [value, values] * 3]
        for thread in threads:
            thread.start()
        for path in paths:
            session.run(names.enqueue(path))
        session.run(names.close())
        for thread in threads:
            thread.join(30)
        assert session.run(reader.num_records_produced()) == 300
        assert session.run(reader.num_work_units_completed()) == 4
    assert sorted(found) == sorted(wanted)


def test_a_waiting_read_ends_with_the_session_and_with_its_time():
    names = tf.FIFOQueue(1, [tf.string], [[]])
    key, _ = tf.WholeFileReader().read(names)
    session = tf.Session()
    with pytest.raises(tf.errors.DeadlineExceededError):
        session.run(key, options=tf.RunOptions(timeout_in_ms=50))
    ended = []

    def wait():
        try:
            session.run(key)
        except tf.errors.CancelledError as e:
            ended.append(e)

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.1)
    session.close()
    thread.join(30)
    assert len(ended) == 1


def test_a_read_waits_for_what_its_own_step_puts_in():
    names = tf.FIFOQueue(1, [tf.string], [[]])
    key, _ = tf.IdentityReader().read(names)
    with tf.Session() as session:
        assert session.run([key, names.enqueue("work")])[0] == b"work"


def test_queues_that_hold_no_names():
    with tf.Session() as session:
        for dtypes in ([tf.int32], [tf.string, tf.string]):
            key, _ = tf.IdentityReader().read(tf.FIFOQueue(1, dtypes))
            with pytest.raises(tf.errors.InvalidArgumentError, match="single"):
                session.run(key)
        names = tf.FIFOQueue(1, [tf.string])
        session.run(names.enqueue([["a", "b"]]))
        with pytest.raises(tf.errors.InvalidArgumentError, match="one-element"):
            session.run(tf.IdentityReader().read(names))


def test_settings_that_no_reader_has():
    names = tf.FIFOQueue(1, [tf.string], [[]])
    with tf.Session() as session:
        for reader in (
            tf.TextLineReader(skip_header_lines=-1),
            tf.FixedLengthRecordReader(record_bytes=-1),
            tf.TFRecordReader(),
        ):
            if isinstance(reader, tf.TFRecordReader):
                count = tf.constant(0, tf.int64)
                with pytest.raises(tf.errors.InvalidArgumentError, match="num_records"):
                    session.run(reader.read_up_to(names, count))
                continue
            with pytest.raises(tf.errors.InvalidArgumentError, match="-1"):
                session.run(reader.read(names))
