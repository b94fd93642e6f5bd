"""Files as training sets."""

from __future__ import annotations

import numpy as np
import pytest

import weft as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def following(dataset, count=1):
    element = tf.data.make_one_shot_iterator(dataset).get_next()
    with tf.Session() as session:
        return [session.run(element) for _ in range(count)]


def test_a_table_with_names_types_and_a_label(tmp_path):
    (tmp_path / "a.csv").write_text("x,name,y\n1,first,0.5\n2,,3\n")
    (tmp_path / "b.csv").write_text('x,name,y\n3,"with, comma\nand line",\n')
    dataset = tf.data.experimental.make_csv_dataset(
        str(tmp_path / "*.csv"), 3, label_name="y", shuffle=False, num_epochs=1
    )
    features, label = following(dataset)[0]
    assert list(features) == ["x", "name"]
    assert features["x"].dtype == np.int32
    assert features["x"].tolist() == [1, 2, 3]
    assert features["name"].tolist() == [b"first", b"", b"with, comma\nand line"]
    assert label.tolist() == [0.5, 3.0, 0.0]


def test_bad_tables(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("1,2\n1\nx,2\n3,4\n")
    dataset = tf.data.experimental.CsvDataset(str(path), [tf.int32, tf.int32])
    element = tf.data.make_one_shot_iterator(dataset).get_next()
    with tf.Session() as session:
        assert session.run(element) == (1, 2)
        for why in ("Expect 2 fields but have 1", "not a valid int32: x"):
            with pytest.raises(tf.errors.InvalidArgumentError, match=why):
                session.run(element)
        assert session.run(element) == (3, 4)
    with pytest.raises(ValueError, match="different column names"):
        (tmp_path / "other.csv").write_text("p,q\n")
        tf.data.experimental.make_csv_dataset(str(tmp_path / "*.csv"), 2)


def test_examples_in_files_that_a_dataset_has_written(tmp_path):
    path = str(tmp_path / "some.tfrecord")
    examples = [
        tf.train.Example(
            features=tf.train.Features(
                feature={"x": tf.train.Feature(int64_list=tf.train.Int64List(value=[i]))}
            )
        ).SerializeToString()
        for i in range(4)
    ]
    writing = tf.data.experimental.TFRecordWriter(path).write(
        tf.data.Dataset.from_tensor_slices(examples)
    )
    with tf.Session() as session:
        session.run(writing)
    dataset = tf.data.experimental.make_batched_features_dataset(
        path, 2, {"x": tf.FixedLenFeature([], tf.int64)}, shuffle=False
    )
    assert [batch["x"].tolist() for batch in following(dataset, 3)] == [[0, 1], [2, 3], [0, 1]]


def test_classes_come_as_often_as_is_wanted():
    labels = tf.data.Dataset.from_tensor_slices(np.repeat([0, 1], [90, 10])).shuffle(100, seed=1)
    for initial in ([0.9, 0.1], None):
        even = labels.repeat().apply(
            tf.data.experimental.rejection_resample(
                lambda label: tf.cast(label, tf.int32), [0.5, 0.5], initial, seed=3
            )
        )
        (batch,) = following(even.map(lambda label, _: label).skip(100).batch(300))
        assert 0.3 < batch.mean() < 0.7
