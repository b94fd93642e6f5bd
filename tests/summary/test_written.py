"""Summaries that operations write: in a session and eagerly, every so many steps, with which writer."""

import glob
import os

import pytest

import weft as tf
from weft import testing
from weft.summary.recording import current

contrib = tf.contrib.summary


@pytest.fixture(autouse=True)
def nothing_set():
    with tf.Graph().as_default():
        yield
    current.writer = current.condition = current.step = None


def events(folder):
    (path,) = glob.glob(os.path.join(str(folder), "events.out.tfevents.*"))
    return list(tf.train.summary_iterator(path))


def values(folder):
    return [(e.step, v.tag, v.simple_value) for e in events(folder) for v in e.summary.value]


def test_every_second_step(tmp_path):
    x = tf.placeholder(tf.float32, [])
    step = tf.train.get_or_create_global_step()
    writer = contrib.create_file_writer(str(tmp_path))
    with writer.as_default(), contrib.record_summaries_every_n_global_steps(2):
        with tf.name_scope("train"):
            contrib.scalar("loss", x)
        contrib.scalar("acc", x * 10, family="fam")
        written = contrib.all_summary_ops()
        assert len(written) == 2 and written == tf.summary.all_v2_summary_ops()
        forward = tf.assign_add(step, 1)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            tf.summary.initialize(graph=tf.get_default_graph(), session=session)
            for i in range(4):
                session.run(written, {x: i})
                session.run(forward)
            session.run(writer.flush())
            assert values(tmp_path) == [
                *((0, "train/loss", 0), (0, "fam/fam/acc", 0)),
                *((2, "train/loss", 2), (2, "fam/fam/acc", 20)),
            ]
            session.run(writer.close())
            with pytest.raises(tf.errors.NotFoundError):
                session.run(writer.flush())
    assert [e.WhichOneof("what") for e in events(tmp_path)][1] == "graph_def"


def test_nothing_is_written_without_a_writer_or_a_wish(tmp_path):
    assert contrib.scalar("a", 1.0).type == "NoOp"
    assert contrib.flush().type == "NoOp"
    with pytest.raises(RuntimeError, match="No default"):
        tf.summary.initialize()
    with contrib.create_file_writer(None).as_default(), contrib.always_record_summaries():
        assert contrib.scalar("a", 1.0).type == "NoOp"
    with contrib.create_file_writer(str(tmp_path)).as_default():
        with tf.Session() as session:
            session.run(contrib.summary_writer_initializer_op())
            assert session.run(contrib.scalar("a", 1.0, step=1)) == False  # noqa: E712
            with contrib.always_record_summaries():
                with contrib.never_record_summaries():
                    assert not session.run(contrib.scalar("b", 1.0, step=1))
                assert session.run(contrib.scalar("c", 1.0, step=1))
            session.run(contrib.flush())
    assert values(tmp_path) == [(1, "c", 1.0)]


def test_all_kinds_eagerly(tmp_path):
    with testing.eager_mode():
        writer = contrib.create_file_writer(str(tmp_path))
        with writer.as_default(), contrib.always_record_summaries():
            contrib.scalar("s", 3, step=1)
            contrib.histogram("h", [1.0, 2.0], step=2)
            contrib.image("i", tf.zeros([1, 2, 2, 3]), step=3)
            contrib.audio("a", tf.zeros([1, 4]), 8000.0, 1, step=4)
            contrib.generic("g", tf.zeros([2]), tf.SummaryMetadata(display_name="d"), step=5)
            contrib.graph(tf.Graph(), step=6)
            contrib.import_event(tf.Event(step=7).SerializeToString())
        writer.close()
    found = events(tmp_path)
    assert [e.step for e in found] == [0, 1, 2, 3, 4, 5, 6, 7]
    kinds = [v.WhichOneof("value") for e in found for v in e.summary.value]
    assert kinds == ["simple_value", "histo", "image", "audio", "tensor"]
    assert found[5].summary.value[0].metadata.display_name == "d"


def test_version_2_eagerly(tmp_path):
    summary = tf.compat.v2.summary
    with testing.eager_mode():
        assert not summary.write("a", 1.0, step=1)
        writer = summary.create_file_writer(str(tmp_path), filename_suffix=".end")
        with writer.as_default():
            with pytest.raises(ValueError, match="No step"):
                summary.write("a", 1.0)
            summary.experimental.set_step(tf.Variable(5, dtype=tf.int64))
            with summary.experimental.summary_scope("a b", values=[]) as (tag, _):
                assert summary.write(tag, tf.constant([1, 2]))
            with summary.record_if(lambda: False):
                assert not summary.write("c", 1.0)
            message = tf.Summary(value=[tf.Summary.Value(tag="raw", simple_value=4)])
            assert summary.experimental.write_raw_pb(message.SerializeToString(), step=6)
        writer.close()
        with pytest.raises(RuntimeError, match="already closed"):
            writer.set_as_default()
        assert writer.flush() is None
    assert [(s, t) for s, t, _ in values(tmp_path)] == [(5, "a b"), (6, "raw")]
    assert glob.glob(str(tmp_path / "*.end"))


def test_a_graph_has_to_be_a_tensor_in_a_graph(tmp_path):
    with contrib.create_file_writer(str(tmp_path)).as_default():
        with pytest.raises(TypeError, match="needs a tf.Tensor"):
            contrib.graph(tf.Graph())


def test_where_evaluations_go():
    assert contrib.eval_dir("model") == os.path.join("model", "eval")
    assert contrib.eval_dir("model", "x") == os.path.join("model", "eval_x")
