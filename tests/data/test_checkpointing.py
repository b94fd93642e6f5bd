"""Iterators in checkpoints: a walk goes on, in another session, where one was saved."""

from __future__ import annotations

import contextlib
import gzip
import os
import sqlite3
import types

import numpy as np
import pytest

import weft as tf
from weft import proto
from weft.testing import eager_mode

experimental = tf.data.experimental


def numbers(n=20):
    return tf.data.Dataset.range(n)


def files(folder, kind):
    """Two files of five records each."""
    paths = []
    for i in range(2):
        path = os.path.join(folder, f"{kind}{i}")
        lines = [f"{i}{j},line\n".encode() for j in range(5)]
        if kind == "records":
            with tf.python_io.TFRecordWriter(path) as writer:
                for line in lines:
                    writer.write(line * (1 + i))
        else:
            opened = gzip.open if kind == "zipped" else open
            with opened(path, "wb") as file:
                file.writelines(lines)
        paths.append(path)
    return paths


def database(folder):
    """A query over 5 rows."""
    path = os.path.join(folder, "db.sqlite3")
    with contextlib.closing(sqlite3.connect(path)) as base:
        base.execute("CREATE TABLE IF NOT EXISTS t (a, b)")
        if not base.execute("SELECT COUNT(*) FROM t").fetchone()[0]:
            base.executemany("INSERT INTO t VALUES (?, ?)", [(i, f"row {i}") for i in range(5)])
        base.commit()
    query = "SELECT b, a FROM t ORDER BY a DESC"
    return experimental.SqlDataset("sqlite", path, query, (tf.string, tf.int32))


def generated():
    """Resampled from a stateful source of numbers: what a restored random state has to give again."""
    return experimental.sample_from_datasets(
        [numbers(6).repeat(), numbers(60).skip(50).repeat()], [0.3, 0.7], seed=5
    )


def reduced():
    reducer = experimental.Reducer(lambda _: np.int64(0), lambda s, x: s + x, lambda s: s)
    return numbers().apply(experimental.group_by_reducer(lambda x: x % 3, reducer))


PIPELINES = {
    "tensors": lambda _: tf.data.Dataset.from_tensors([1, 2]),
    "slices": lambda _: tf.data.Dataset.from_tensor_slices(np.arange(6.0).reshape(3, 2)),
    "range": lambda _: numbers(),
    "random": lambda _: experimental.RandomDataset(seed=4).take(300),
    "map": lambda _: numbers().map(lambda x: (x, tf.strings.as_string(x))),
    "map ahead": lambda _: numbers().map(tf.strings.as_string, num_parallel_calls=3),
    "map and batch": lambda _: numbers().apply(experimental.map_and_batch(lambda x: x * x, 3)),
    "filter": lambda _: numbers().filter(lambda x: tf.equal(x % 3, 0)),
    "take while": lambda _: numbers().apply(experimental.take_while(lambda x: x < 7)),
    "scan": lambda _: numbers().apply(experimental.scan(np.int64(0), lambda s, x: (s + x, s * x))),
    "flat map": lambda _: numbers(5).flat_map(lambda x: tf.data.Dataset.range(x).skip(1)),
    "interleave": lambda _: numbers(5).interleave(
        lambda x: tf.data.Dataset.from_tensors(x).repeat(x), 3, 2
    ),
    "read ahead": lambda _: numbers(5).interleave(
        lambda x: tf.data.Dataset.from_tensors(x).repeat(x), 3, 2, num_parallel_calls=3
    ),
    "windows": lambda _: numbers().window(3, 2).flat_map(lambda w: w.batch(3)),
    "by window": lambda _: numbers().apply(
        experimental.group_by_window(lambda x: x % 3, lambda k, w: w.map(lambda x: x + k), 4)
    ),
    "by reducer": lambda _: reduced(),
    "batch": lambda _: numbers().batch(3),
    "batch of rows": lambda _: tf.data.Dataset.from_tensor_slices(np.arange(11)).batch(3),
    "padded": lambda _: numbers(7).map(lambda x: tf.fill([x], x)).padded_batch(2, [None]),
    "unbatch": lambda _: numbers().batch(3).unbatch(),
    "sparse": lambda _: (
        numbers(7)
        .map(lambda x: tf.fill([x], x))
        .apply(experimental.dense_to_sparse_batch(2, [8]))
        .shuffle(3, seed=2)
    ),
    "shuffle": lambda _: numbers().shuffle(7, seed=3).repeat(2),
    "shuffle rows": lambda _: (
        tf.data.Dataset.from_tensor_slices(np.arange(20)).shuffle(7, seed=3).repeat(2).batch(3)
    ),
    "one order": lambda _: numbers().shuffle(7, seed=3, reshuffle_each_iteration=False).repeat(2),
    "shuffle and repeat": lambda _: numbers().apply(experimental.shuffle_and_repeat(7, 2, seed=1)),
    "repeat": lambda _: numbers(3).repeat(4),
    "concatenate": lambda _: numbers(3).concatenate(numbers(4)).concatenate(numbers(2)),
    "zip": lambda _: tf.data.Dataset.zip((numbers(4), numbers(7).shuffle(3, seed=1))),
    "shard": lambda _: numbers().shard(3, 1).enumerate(),
    "unique": lambda _: numbers().map(lambda x: x % 7).apply(experimental.unique()),
    "sampled": lambda _: generated().take(40),
    "prefetch": lambda _: numbers().shuffle(5, seed=1).prefetch(4),
    "errors": lambda _: (
        numbers()
        .map(lambda x: tf.strings.to_number(tf.gather(["1", "x", "2", "3"], x % 4)))
        .prefetch(3)
        .apply(experimental.ignore_errors())
    ),
    "cache": lambda _: numbers(7).cache().repeat(2),
    "cache file": lambda folder: numbers(7).cache(os.path.join(folder, "cache")).repeat(2),
    "lines": lambda folder: tf.data.TextLineDataset(files(folder, "lines")),
    "zipped": lambda folder: tf.data.TextLineDataset(files(folder, "zipped"), "GZIP"),
    "records": lambda folder: tf.data.TFRecordDataset(files(folder, "records")).shuffle(2, seed=2),
    "of a length": lambda folder: tf.data.FixedLengthRecordDataset(files(folder, "lines"), 2, 1, 3),
    "csv": lambda folder: experimental.CsvDataset(
        files(folder, "lines"), [tf.int32, tf.string], header=True
    ),
    "query": database,
    "ragged": lambda _: (
        numbers(7)
        .map(lambda x: tf.RaggedTensor.from_tensor(tf.fill([x, 2], x)))
        .shuffle(3, seed=1)
        .map(lambda x: x.to_tensor())
    ),
    "file names": lambda folder: tf.data.Dataset.list_files(
        [os.path.join(folder, "lines*"), *files(folder, "lines")][:1], seed=3
    ),
}


class Walked:
    """A session with an iterator, which a Saver saves."""

    def __init__(self, dataset, prefix):
        self.prefix = prefix
        iterator = tf.data.make_initializable_iterator(dataset)
        self.saver = tf.train.Saver([experimental.make_saveable_from_iterator(iterator)])
        self.element = iterator.get_next()
        self.session = tf.Session()
        self.session.run(iterator.initializer)

    def take(self, count):
        found = []
        try:
            while len(found) < count:
                found.append(self.session.run(self.element))
        except tf.errors.OutOfRangeError:
            found.append("end")
        return found

    def save(self):
        self.saver.save(self.session, self.prefix, write_meta_graph=False)

    def restore(self):
        self.saver.restore(self.session, self.prefix)

    def close(self):
        self.session.close()


def ended(found):
    return isinstance(found[-1], str)


def with_breaks(make, folder, breaks):
    """The elements of a pipeline that is saved after so many elements each, and restored in a new session."""
    found = []
    for i, count in enumerate([*breaks, 1000]):
        with tf.Graph().as_default():
            tf.set_random_seed(7)
            walked = Walked(make(folder), os.path.join(folder, "ckpt", "iterator"))
            if i:
                walked.restore()
            found += walked.take(count)
            walked.save()
            walked.close()
            if found and ended(found):
                break
    return found


@pytest.mark.parametrize("name", PIPELINES)
def test_a_pipeline_goes_on_where_it_was_saved(name, tmp_path):
    (tmp_path / "whole").mkdir(), (tmp_path / "broken").mkdir()
    whole = with_breaks(PIPELINES[name], str(tmp_path / "whole"), [])
    broken = with_breaks(PIPELINES[name], str(tmp_path / "broken"), [0, 1, 2, 5])
    assert len(whole) > 1 and ended(whole)
    assert len(whole) == len(broken)
    for one, other in zip(whole, broken):
        tf.nest.map_structure(np.testing.assert_array_equal, one, renamed(other))


def renamed(value):
    if isinstance(value, bytes):
        return value.replace(b"/broken/", b"/whole/")
    return value


def test_an_end_that_was_reached_stays_one(tmp_path):
    with_breaks(lambda _: numbers(3).shuffle(2).prefetch(2), str(tmp_path), [])
    walked = Walked(numbers(3).shuffle(2).prefetch(2), str(tmp_path / "ckpt" / "iterator"))
    walked.restore()
    assert walked.take(5) == ["end"]


def test_the_files_of_a_cache_are_free_again_unless_they_are_part_of_a_checkpoint(tmp_path):
    def walked():
        with tf.Graph().as_default():
            return Walked(numbers(5).cache(str(tmp_path / "cache")), str(tmp_path / "iterator"))

    first = walked()
    first.take(2)
    with pytest.raises(tf.errors.AlreadyExistsError, match="concurrent caching iterator"):
        walked().take(1)
    first.close()
    del first
    second = walked()
    assert second.take(2) == [0, 1]
    second.save()
    second.close()
    del second
    with pytest.raises(tf.errors.AlreadyExistsError):
        walked().take(1)
    third = walked()
    third.restore()
    assert third.take(9) == [2, 3, 4, "end"]
    assert walked().take(9) == [0, 1, 2, 3, 4, "end"]


REFUSED = {
    "a generator": lambda: tf.data.Dataset.from_generator(lambda: iter([1]), tf.int32),
    "random numbers": lambda: numbers().map(lambda x: tf.random_uniform([], seed=1)),
    "a variable": lambda: numbers().map(
        lambda x: x + tf.get_variable("v", [], tf.int64, use_resource=True)
    ),
    "nested": lambda: numbers().flat_map(
        lambda x: tf.data.Dataset.from_tensors(x).map(lambda x: tf.random_uniform([]))
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_state_outside_of_the_iterator_is_refused(name, tmp_path):
    with tf.Graph().as_default():
        dataset = REFUSED[name]()
        iterator = tf.data.make_initializable_iterator(dataset)
        saver = tf.train.Saver([experimental.make_saveable_from_iterator(iterator)])
        with tf.Session() as session:
            session.run([v.initializer for v in tf.global_variables()])
            session.run(iterator.initializer)
            with pytest.raises(tf.errors.FailedPreconditionError, match="is stateful"):
                saver.save(session, str(tmp_path / "x"), write_meta_graph=False)
            assert not list(tmp_path.iterdir())
            session.run(iterator.get_next())  # the iterator is none the worse


def test_a_table_and_an_assertion_are_no_hindrance(tmp_path):
    def make(_):
        table = tf.contrib.lookup.index_table_from_tensor(["0", "1", "2"])

        def looked_up(x):
            with tf.control_dependencies([tf.debugging.assert_less(x, np.int64(9))]):
                return table.lookup(tf.strings.as_string(x))

        return numbers(3).map(looked_up)

    with tf.Graph().as_default():
        dataset = make(None)
        iterator = tf.data.make_initializable_iterator(dataset)
        saver = tf.train.Saver([experimental.make_saveable_from_iterator(iterator)])
        element = iterator.get_next()
        with tf.Session() as session:
            session.run(tf.tables_initializer())
            session.run(iterator.initializer)
            session.run(element)
            path = saver.save(session, str(tmp_path / "x"), write_meta_graph=False)
            assert [session.run(element), session.run(element)] == [1, 2]
            saver.restore(session, path)
            assert session.run(element) == 1


def test_an_iterator_that_has_not_begun_says_so(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        iterator = tf.data.make_initializable_iterator(numbers())
        saver = tf.train.Saver([experimental.make_saveable_from_iterator(iterator)])
        with pytest.raises(tf.errors.FailedPreconditionError, match=r"Save\(\) failed because"):
            saver.save(session, str(tmp_path / "x"), write_meta_graph=False)
        session.run(iterator.initializer)
        path = saver.save(session, str(tmp_path / "x"), write_meta_graph=False)
        with tf.Session() as other:
            with pytest.raises(tf.errors.FailedPreconditionError, match=r"Restore\(\) failed"):
                saver.restore(other, path)


def test_the_state_of_another_pipeline_is_refused_and_the_iterator_goes_on():
    with tf.Graph().as_default(), tf.Session() as session:
        one, other = (
            tf.data.make_initializable_iterator(d) for d in (numbers().batch(2), numbers().take(3))
        )
        session.run([one.initializer, other.initializer])
        state = tf.raw_ops.SerializeIterator(resource_handle=one._iterator_resource)
        restore = tf.raw_ops.DeserializeIterator(
            resource_handle=other._iterator_resource, serialized=state
        )
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="BatchDatasetV2 where .* FiniteTakeDa"
        ):
            session.run(restore)
        assert session.run(other.get_next()) == 0


@pytest.mark.parametrize(
    "metadata",
    [
        b"",
        b"{}",
        b"[1]",
        b'{"walk": 3}',
        b'{"walk": ["RangeDataset", null, {"row": {"array": 9}}]}',
        b'{"walk": ["RangeDataset", null, {"row": {"kept": 9}}]}',
        b'{"walk": ["RangeDataset", null, {"row": {"no": 9}}]}',
        b'{"walk": ["RangeDataset", null, {"row": {"walk": ["", 7, {}]}}]}',
        b'{"walk": ["RangeDataset", null, {"row": ' + b"[" * 100_000 + b"]" * 100_000 + b"}]}",
    ],
)
def test_a_damaged_state_is_refused_and_the_iterator_goes_on(metadata):
    message = proto.VariantTensorDataProto(type_name="weft.Iterator", metadata=metadata)
    tensor = proto.TensorProto(dtype=tf.variant.as_datatype_enum, variant_val=[message])
    with tf.Graph().as_default(), tf.Session() as session:
        iterator = tf.data.make_initializable_iterator(numbers())
        session.run(iterator.initializer)
        state = tf.io.parse_tensor(tensor.SerializeToString(), tf.variant)
        restore = tf.raw_ops.DeserializeIterator(
            resource_handle=iterator._iterator_resource, serialized=state
        )
        with pytest.raises(tf.errors.DataLossError, match="state of the iterator cannot be read"):
            session.run(restore)
        assert session.run(iterator.get_next()) == 0


def test_a_state_of_tensorflow_is_refused_by_name():
    message = proto.VariantTensorDataProto(type_name="tensorflow::Iterator", metadata=b"x")
    tensor = proto.TensorProto(dtype=tf.variant.as_datatype_enum, variant_val=[message])
    with tf.Graph().as_default(), tf.Session() as session:
        iterator = tf.data.make_initializable_iterator(numbers())
        session.run(iterator.initializer)
        state = tf.io.parse_tensor(tensor.SerializeToString(), tf.variant)
        with pytest.raises(tf.errors.InvalidArgumentError, match="tensorflow::Iterator"):
            session.run(
                tf.raw_ops.DeserializeIterator(
                    resource_handle=iterator._iterator_resource, serialized=state
                )
            )


def test_an_iterator_is_part_of_an_object_based_checkpoint_in_a_graph(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        iterator = tf.data.make_initializable_iterator(numbers().shuffle(5, seed=1))
        element = iterator.get_next()
        checkpoint = tf.train.Checkpoint(iterator=iterator)
        session.run(iterator.initializer)
        first = [session.run(element) for _ in range(4)]
        path = checkpoint.save(str(tmp_path / "x"), session=session)
        second = [session.run(element) for _ in range(4)]
        checkpoint.restore(path).run_restore_ops(session)
        assert [session.run(element) for _ in range(4)] == second != first


def test_an_iterator_is_part_of_an_object_based_checkpoint_under_eager_execution(tmp_path):
    with eager_mode():
        iterator = iter(numbers().shuffle(5, seed=1).batch(2))
        checkpoint = tf.train.Checkpoint(iterator=iterator, step=tf.Variable(0))
        next(iterator)
        path = checkpoint.save(str(tmp_path / "x"))
        following = [x.numpy().tolist() for x in iterator]
        other = iter(numbers().shuffle(5, seed=1).batch(2))
        tf.train.Checkpoint(iterator=other, step=tf.Variable(0)).restore(path)
        assert [x.numpy().tolist() for x in other] == following


def test_the_hook_takes_the_input_of_the_step_that_the_model_is_at(tmp_path):
    config = tf.estimator.RunConfig(save_checkpoints_steps=2)
    carrier = types.SimpleNamespace(model_dir=str(tmp_path), _config=config)

    def train(steps, back=None):
        with tf.Graph().as_default():
            iterator = tf.data.make_initializable_iterator(numbers(40).shuffle(9, seed=1))
            tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
            step = tf.train.get_or_create_global_step()
            fetches = iterator.get_next(), tf.assign_add(step, 1)
            hooks = [experimental.CheckpointInputPipelineHook(carrier)]
            if back is not None:
                tf.train.update_checkpoint_state(str(tmp_path), str(tmp_path / back))
            with tf.train.MonitoredTrainingSession(
                checkpoint_dir=str(tmp_path), save_checkpoint_steps=2, hooks=hooks
            ) as session:
                return [session.run(fetches)[0] for _ in range(steps)]

    first = train(4)
    second = train(3)
    assert (
        train(3, back="model.ckpt-4") == second != first[:3]
    )  # the input was saved at 6 and 7 too
