"""Event files: what a FileWriter is given, TensorBoard and summary_iterator find."""

import glob
import io
import os

import numpy as np
import pytest
from PIL import Image

import weft as tf
from weft import proto


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def events(folder):
    (path,) = glob.glob(os.path.join(str(folder), "events.out.tfevents.*"))
    return list(tf.train.summary_iterator(path))


def test_a_training_loop(tmp_path, graph):
    x = tf.placeholder(tf.float32, [None])
    tf.summary.scalar("loss", tf.reduce_sum(x))
    with tf.name_scope("layer"):
        tf.summary.histogram("weights", x)
    merged = tf.summary.merge_all()
    with tf.Session() as session, tf.summary.FileWriter(str(tmp_path), graph) as writer:
        for step in range(3):
            writer.add_summary(session.run(merged, {x: [step, 1.0]}), step)
        writer.add_run_metadata(tf.RunMetadata(), "step 2", 2)
        writer.add_session_log(tf.SessionLog(status=tf.SessionLog.STOP), 3)
    found = events(tmp_path)
    kinds = [e.WhichOneof("what") for e in found]
    assert kinds == [
        *("file_version", "graph_def", "meta_graph_def", "summary", "summary", "summary"),
        *("tagged_run_metadata", "session_log"),
    ]
    assert found[0].file_version == "brain.Event:2"
    assert tf.GraphDef.FromString(found[1].graph_def).node[0].name == graph.get_operations()[0].name
    for step, event in enumerate(found[3:6]):
        assert event.step == step
        loss, weights = event.summary.value
        assert (loss.tag, loss.simple_value) == ("loss", step + 1)
        assert (weights.tag, weights.histo.num, weights.histo.max) == (
            "layer/weights", 2, max(step, 1)
        )  # fmt: skip


def test_closing_and_reopening(tmp_path):
    writer = tf.summary.FileWriter(str(tmp_path / "new" / "folder"))
    assert writer.get_logdir() == str(tmp_path / "new" / "folder")
    event = tf.Event(step=1)
    writer.add_event(event)
    writer.flush()
    assert [e.step for e in events(writer.get_logdir())] == [0, 1]
    writer.close()
    with pytest.warns(UserWarning, match="closed FileWriter"):
        writer.add_event(event)
    with pytest.warns(UserWarning, match="closed FileWriter"):
        writer.add_summary(tf.Summary(), 1)
    writer.close()
    for path in glob.glob(writer.get_logdir() + "/*"):
        os.remove(path)  # two files of one second have one name
    writer.reopen()
    writer.add_event(tf.Event(step=2))
    writer.close()
    assert [e.step for e in events(writer.get_logdir())] == [0, 2]


def test_a_writer_that_waits_flushes_by_itself(tmp_path):
    writer = tf.summary.FileWriter(str(tmp_path), max_queue=1, flush_secs=0, filename_suffix=".end")
    for step in range(20):
        writer.add_event(tf.Event(step=step))
    writer.flush()
    (path,) = glob.glob(str(tmp_path / "*.end"))
    assert len(list(tf.train.summary_iterator(path))) == 21
    writer.close()


def test_a_file_that_is_gone_is_told(tmp_path):
    writer = tf.summary.FileWriter(str(tmp_path))
    writer.add_event(tf.Event(step=1))
    writer.flush()
    for path in glob.glob(str(tmp_path / "*")):
        os.remove(path)
    writer.add_event(tf.Event(step=2))
    with pytest.raises(tf.errors.UnknownError, match="disappeared"):
        writer.flush()
    writer.event_writer._file._unflushed = 0
    writer.close()


def test_metadata_of_a_tag_is_written_once(tmp_path):
    text = tf.summary.text("note", tf.constant(["a", "b"]))
    with tf.Session() as session, tf.summary.FileWriter(str(tmp_path)) as writer:
        for step in range(2):
            writer.add_summary(session.run(text), step)
    first, second = (e.summary.value[0] for e in events(tmp_path)[1:])
    assert first.metadata.plugin_data.plugin_name == "text"
    assert not second.HasField("metadata")
    assert tf.make_ndarray(second.tensor).tolist() == [b"a", b"b"]


def test_what_a_graph_may_be(tmp_path, graph):
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        writer.add_graph(graph.as_graph_def())
        writer.add_graph(None, graph_def=graph)
        writer.add_meta_graph(tf.MetaGraphDef())
        with pytest.raises(TypeError, match="Graph"):
            writer.add_graph("graph")
        with pytest.raises(ValueError, match="not both"):
            writer.add_graph(graph, graph_def=graph)
        with pytest.raises(TypeError, match="MetaGraphDef"):
            writer.add_meta_graph("graph")
        writer.add_run_metadata(tf.RunMetadata(), "a")
        with pytest.raises(ValueError, match="already"):
            writer.add_run_metadata(tf.RunMetadata(), "a")


def test_a_writer_by_session(tmp_path):
    with tf.Session() as session:
        writers = [tf.summary.FileWriter(str(tmp_path), session=session) for _ in range(2)]
        for step, writer in enumerate(writers):
            writer.add_summary(tf.Summary(), step + 1)
        writers[0].close()
    assert [e.step for e in events(tmp_path)] == [0, 1, 2]


def test_cache(tmp_path):
    cache = tf.summary.FileWriterCache
    assert cache.get(str(tmp_path)) is cache.get(str(tmp_path))
    cache.clear()
    assert [e.WhichOneof("what") for e in events(tmp_path)][1:] == ["graph_def", "meta_graph_def"]


def test_names_and_families():
    def tag(made):
        with tf.Session() as session:
            return tf.Summary.FromString(session.run(made)).value[0].tag

    assert tag(tf.summary.scalar("a b/c", 1.0)) == "a_b/c"
    assert tag(tf.summary.scalar("a b/c", 1.0)) == "a_b/c_1"
    with tf.name_scope("outer"):
        assert tag(tf.summary.scalar("x", 1.0, family="fam")) == "fam/outer/fam/x"
    assert tf.summary.merge_all(key="others") is None
    assert len(tf.get_collection(tf.GraphKeys.SUMMARIES)) == 3
    tf.summary.scalar("z", 1.0, collections=["others"])
    assert len(tf.get_collection(tf.GraphKeys.SUMMARIES)) == 3
    assert len(tf.get_collection("others")) == 1


def test_pictures():
    def pictures(tensor, **given):
        with tf.Session() as session:
            found = tf.Summary.FromString(session.run(tf.summary.image("i", tensor, **given)))
        for value in found.value:
            yield value.tag, np.array(Image.open(io.BytesIO(value.image.encoded_image_string)))

    image = np.arange(24, dtype=np.float32).reshape(1, 2, 4, 3)
    ((tag, found),) = pictures(tf.constant(image), max_outputs=1)
    assert tag == "i/image"
    np.testing.assert_array_equal(found, (image[0] * np.float32(255 / 23)).astype(np.uint8))
    image[0, 0, 0] = np.nan
    image[0, 0, 1] = -46
    ((tag, found),) = pictures(tf.constant(image))
    assert tag == "i_1/image/0"
    assert found[0, 0].tolist() == [255, 0, 0] and found[0, 1].tolist() == [1, 1, 1]
    plain = np.arange(8, dtype=np.uint8).reshape(1, 2, 4, 1)
    ((_, found),) = pictures(tf.constant(plain))
    np.testing.assert_array_equal(found, plain[0, :, :, 0])


def test_summary_description():
    node = tf.NodeDef(op="TensorSummary")
    node.attr["description"].s = b'{"typeHint": "scalar"}'
    assert tf.summary.get_summary_description(node) == proto.SummaryDescription(type_hint="scalar")
    with pytest.raises(ValueError, match="Const"):
        tf.summary.get_summary_description(tf.NodeDef(op="Const"))
