"""What TensorBoard's own reader finds in our event files."""

import importlib.util
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import weft as tf

READER = os.path.join(os.path.dirname(__file__), "read_with_tensorboard.py")
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("tensorboard") is None, reason="TensorBoard is not installed"
)


def read(folder):
    process = subprocess.run(
        [sys.executable, "-W", "ignore", READER, str(folder)], capture_output=True, text=True
    )
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


def test_all_kinds_are_read(tmp_path):
    values = np.array([1.0, 2.0, 2.5, -3.0], np.float32)
    with tf.Graph().as_default() as graph:
        x = tf.placeholder_with_default(values, [4], name="x")
        step = tf.placeholder(tf.float32, [], name="step")
        merged = [
            tf.summary.scalar("loss", step * 2),
            tf.summary.histogram("weights", x),
            tf.summary.image("picture", tf.zeros([2, 5, 7, 3])),
            tf.summary.audio("tone", tf.zeros([1, 100, 2]), 8000),
            tf.summary.text("note", tf.as_string(step, precision=0)),
            tf.summary.tensor_summary("tensor", x),
        ]
        merged = tf.summary.merge(merged)
        with tf.Session() as session, tf.summary.FileWriter(str(tmp_path), graph) as writer:
            writer.add_meta_graph(tf.train.export_meta_graph())
            writer.add_session_log(tf.SessionLog(status=tf.SessionLog.START), 0)
            for i in range(3):
                metadata = tf.RunMetadata()
                options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
                writer.add_summary(session.run(merged, {step: i}, options, metadata), i)
                writer.add_run_metadata(metadata, f"step{i}")
    found = read(tmp_path)
    assert found["scalars"] == {"loss": [[0, 0.0], [1, 2.0], [2, 4.0]]}
    for i, (at, least, greatest, count, total, squares, filled) in enumerate(
        found["histograms"]["weights"]
    ):
        assert (at, least, greatest, count, total, filled) == (i, -3, 2.5, 4, 2.5, 4)
        assert squares == pytest.approx(20.25)
    assert found["images"]["picture/image/1"] == [[i, 7, 5, "PNG"] for i in range(3)]
    assert found["audio"]["tone/audio/0"][0] == [0, 8000, 100, "audio/wav"]
    assert found["tensors"]["note"] == [[i, str(i)] for i in range(3)]
    assert found["tensors"]["tensor"][2] == [2, *values.tolist()]
    assert found["plugins"]["note"] == "text"
    assert found["nodes"] == [n.name for n in graph.as_graph_def().node]
    assert found["meta_graph"] is True
    assert list(found["run_metadata"]) == ["step0", "step1", "step2"]
    assert found["run_metadata"]["step1"] == ["/job:localhost/replica:0/task:0/device:CPU:0"]


def test_a_run_that_broke_off_is_read_as_far_as_it_goes(tmp_path):
    with tf.Graph().as_default():
        writer = tf.summary.FileWriter(str(tmp_path))
        for i in range(5):
            value = tf.Summary.Value(tag="loss", simple_value=i)
            writer.add_summary(tf.Summary(value=[value]), i)
        writer.close()
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-7])
    assert read(tmp_path)["scalars"] == {"loss": [[i, i] for i in range(4)]}
    with pytest.raises(tf.errors.DataLossError, match=f"{path.name}.*truncated record at \\d+"):
        list(tf.train.summary_iterator(str(path)))
