"""Files that are not on this machine, through fsspec: everything that reads and writes files takes their paths."""

from __future__ import annotations

import itertools

import fsspec
import numpy as np
import pytest

import weft as tf
from weft import proto
from weft.testing import eager_mode

_numbers = itertools.count()


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def root():
    path = f"memory://weft-remote-{next(_numbers)}"
    tf.io.gfile.makedirs(path)
    yield path
    tf.summary.FileWriterCache.clear()  # of the hooks that wrote there
    tf.io.gfile.rmtree(path)


def walked(dataset):
    iterator = tf.data.make_initializable_iterator(dataset)
    element, found = iterator.get_next(), []
    with tf.Session() as session:
        session.run([*tf.get_collection(tf.GraphKeys.TABLE_INITIALIZERS), iterator.initializer])
        while True:
            try:
                found.append(session.run(element))
            except tf.errors.OutOfRangeError:
                return found


def test_gfile_knows_them(root):
    with tf.gfile.GFile(f"{root}/a/b.txt", "w") as file:
        file.write("one\ntwo\n")
    with tf.gfile.Open(f"{root}/a/b.txt", "a") as file:
        file.write("three\n")
    with tf.gfile.FastGFile(f"{root}/a/b.txt") as file:
        assert file.readline() == "one\n"
        assert file.readlines() == ["two\n", "three\n"]
        assert file.size() == 14
        file.seek(4)
        assert file.read(3) == "two" and file.tell() == 7
    tf.io.gfile.copy(f"{root}/a/b.txt", f"{root}/c.txt")
    tf.gfile.Rename(f"{root}/c.txt", f"{root}/d.txt")
    assert tf.gfile.Glob(f"{root}/*.txt") == [f"{root}/d.txt"]
    assert tf.gfile.Exists(f"{root}/a") and tf.gfile.IsDirectory(f"{root}/a")
    assert sorted(tf.io.gfile.listdir(root)) in (["a", "d.txt"], ["a/", "d.txt"])
    assert [(d, f) for _, d, f in tf.gfile.Walk(root)][0] == (["a"], ["d.txt"])
    assert tf.gfile.Stat(f"{root}/d.txt").length == 14
    with pytest.raises(tf.errors.NotFoundError):
        tf.gfile.GFile(f"{root}/nothing").read()
    with pytest.raises(tf.errors.AlreadyExistsError):
        tf.gfile.Copy(f"{root}/a/b.txt", f"{root}/d.txt")


def test_datasets_read_them(root):
    for i, compression in enumerate(("NONE", "GZIP", "ZLIB")):
        kind = getattr(tf.python_io.TFRecordCompressionType, compression)
        path = f"{root}/records{i}"
        with tf.python_io.TFRecordWriter(path, tf.python_io.TFRecordOptions(kind)) as writer:
            for record in (b"one", b"two", b"three"):
                writer.write(record)
        named = "" if compression == "NONE" else compression
        assert walked(tf.data.TFRecordDataset(path, named)) == [b"one", b"two", b"three"]
        options = tf.python_io.TFRecordOptions(kind)
        assert list(tf.python_io.tf_record_iterator(path, options)) == [b"one", b"two", b"three"]
    with tf.gfile.GFile(f"{root}/lines.csv", "w") as file:
        file.write("x,y\n1,a\n2,b\n")
    path = f"{root}/lines.csv"
    assert walked(tf.data.TextLineDataset(path).skip(1)) == [b"1,a", b"2,b"]
    assert walked(tf.data.FixedLengthRecordDataset(path, 4, 4)) == [b"1,a\n", b"2,b\n"]
    rows = walked(tf.data.experimental.CsvDataset(path, [tf.int32, tf.string], header=True))
    assert [(int(x), y) for x, y in rows] == [(1, b"a"), (2, b"b")]
    (batch,) = walked(tf.data.experimental.make_csv_dataset(path, 2, num_epochs=1, shuffle=False))
    assert batch["x"].tolist() == [1, 2]
    names = walked(tf.data.Dataset.list_files(f"{root}/records*", shuffle=False))
    assert names == [f"{root}/records{i}".encode() for i in range(3)]
    dataset = tf.data.Dataset.range(3).cache(f"{root}/cache")
    assert walked(dataset) == walked(dataset.map(lambda x: x)) == [0, 1, 2]
    assert tf.gfile.Exists(f"{root}/cache.index")
    gone = tf.data.TFRecordDataset(f"{root}/nothing")
    with pytest.raises(tf.errors.NotFoundError, match="nothing"):
        walked(gone)


def test_readers_and_file_ops_read_them(root):
    with tf.gfile.GFile(f"{root}/a.txt", "w") as file:
        file.write("one\ntwo\n")
    queue = tf.train.string_input_producer([f"{root}/a.txt"], num_epochs=1, shuffle=False)
    key, value = tf.TextLineReader().read(queue)
    found = tf.io.matching_files(f"{root}/*.txt")
    write = tf.io.write_file(f"{root}/new/b.txt", "three")
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        assert session.run([key, value]) == [f"{root}/a.txt:1".encode(), b"one"]
        assert session.run(value) == b"two"
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(value)
        coordinator.request_stop()
        coordinator.join(threads)
        assert session.run(found).tolist() == [f"{root}/a.txt".encode()]
        session.run(write)
        assert session.run(tf.io.read_file(f"{root}/new/b.txt")) == b"three"


def test_checkpoints_are_saved_there(root):
    v = tf.get_variable("v", initializer=[1.0, 2.0])
    saver = tf.train.Saver(max_to_keep=2)
    with tf.Session() as session:
        session.run(v.initializer)
        for step in range(4):
            path = saver.save(session, f"{root}/model.ckpt", step)
        session.run(v.assign([0.0, 0.0]))
        saver.restore(session, tf.train.latest_checkpoint(root))
        assert session.run(v).tolist() == [1.0, 2.0]
    assert path == f"{root}/model.ckpt-3" == tf.train.latest_checkpoint(root)
    assert tf.train.list_variables(root) == [("v", [2])]
    assert not tf.gfile.Exists(f"{root}/model.ckpt-0.index")
    assert tf.train.NewCheckpointReader(path).get_tensor("v").tolist() == [1.0, 2.0]
    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.import_meta_graph(f"{path}.meta").restore(session, path)
        assert session.run("v:0").tolist() == [1.0, 2.0]


def test_a_supervised_session_writes_its_checkpoints_and_summaries_there(root):
    def train():
        with tf.Graph().as_default():
            step = tf.train.get_or_create_global_step()
            tf.summary.scalar("step", step)
            more = tf.assign_add(step, 1)
            with tf.train.MonitoredTrainingSession(
                checkpoint_dir=root, save_checkpoint_steps=2, save_summaries_steps=1
            ) as session:
                return [session.run(more) for _ in range(3)]

    assert train() == [1, 2, 3]
    assert train() == [4, 5, 6]
    events = tf.gfile.Glob(f"{root}/events.out.tfevents.*")
    values = [
        value.simple_value
        for path in events
        for event in tf.train.summary_iterator(path)
        for value in event.summary.value
        if value.tag == "step"
    ]
    assert len(values) >= 6


def test_summaries_models_and_object_based_checkpoints_are_written_there(root):
    with tf.summary.FileWriter(f"{root}/log", tf.get_default_graph()) as writer:
        value = proto.Summary.Value(tag="x", simple_value=3)
        writer.add_summary(proto.Summary(value=[value]), 7)
    (path,) = tf.gfile.Glob(f"{root}/log/*")
    assert [e.step for e in tf.train.summary_iterator(path) if e.summary.value] == [7]
    x = tf.placeholder(tf.float32, [None])
    with tf.Session() as session:
        tf.saved_model.simple_save(session, f"{root}/model", {"x": x}, {"y": x * 2})
    with tf.Graph().as_default(), tf.Session() as session:
        tf.saved_model.load(session, ["serve"], f"{root}/model")
        assert session.run("mul:0", {"Placeholder:0": [3]}).tolist() == [6]
    with eager_mode():
        checkpoint = tf.train.Checkpoint(v=tf.Variable(5.0))
        path = checkpoint.save(f"{root}/objects")
        checkpoint.v.assign(1.0)
        checkpoint.restore(path)
        assert checkpoint.v.numpy() == 5
        manager = tf.train.CheckpointManager(checkpoint, f"{root}/managed", max_to_keep=1)
        manager.save(), manager.save()
        assert manager.latest_checkpoint == tf.train.latest_checkpoint(f"{root}/managed")


@pytest.mark.parametrize("scheme", ["s3", "gs"])
def test_an_object_store_without_its_package_says_which(scheme):
    try:
        fsspec.get_filesystem_class(scheme)
    except ImportError:
        with pytest.raises(
            tf.errors.UnimplementedError, match=f"'{scheme}' not implemented.*[Ii]nstall"
        ):
            tf.gfile.Exists(f"{scheme}://bucket/file")


def test_any_file_system_of_fsspec_serves(tmp_path):
    """As an object store does that has no directories: a file system under a scheme of its own."""
    from fsspec.implementations.dirfs import DirFileSystem

    class Store(DirFileSystem):
        protocol = "weftstore"

        def __init__(self, **_):
            super().__init__(str(tmp_path), fsspec.filesystem("file", auto_mkdir=True))

        @classmethod
        def _strip_protocol(cls, path):
            return str(path).removeprefix("weftstore://")

    fsspec.register_implementation("weftstore", Store, clobber=True)
    root = "weftstore://bucket"
    with tf.gfile.GFile(f"{root}/a/b.txt", "w") as file:
        file.write("text\n")
    assert (tmp_path / "bucket" / "a" / "b.txt").read_text() == "text\n"
    assert walked(tf.data.TextLineDataset(f"{root}/a/b.txt")) == [b"text"]
    v = tf.get_variable("v", initializer=np.float32(4))
    with tf.Session() as session:
        session.run(v.initializer)
        path = tf.train.Saver().save(session, f"{root}/ckpt/model")
    assert tf.train.load_variable(path, "v") == 4
    with pytest.raises(tf.errors.UnimplementedError, match="'nowhere' not implemented"):
        tf.gfile.Exists("nowhere://x")
