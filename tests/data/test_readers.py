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


# -- files that are not as they should be ---------------------------------------------------------------


def outcome(dataset):
    """How many elements come, and the error behind them."""
    iterator = tf.data.make_initializable_iterator(dataset)
    element, count = iterator.get_next(), 0
    with tf.Session() as session:
        session.run(iterator.initializer)
        while True:
            try:
                session.run(element)
            except tf.errors.OpError as e:
                return count, type(e), e.message
            count += 1


RECORDS = [b"record %d" % i for i in range(100)]


def written(path, compression):
    options = tf.python_io.TFRecordOptions(
        getattr(tf.python_io.TFRecordCompressionType, compression)
    )
    with tf.python_io.TFRecordWriter(str(path), options) as writer:
        for record in RECORDS:
            writer.write(record)
    return path.read_bytes()


@pytest.mark.parametrize("compression", ["GZIP", "ZLIB"])
def test_compressed_files_that_break_off_or_were_altered(tmp_path, compression):
    path = tmp_path / "file"
    whole = written(path, compression)

    def read(contents):
        path.write_bytes(contents)
        return outcome(tf.data.TFRecordDataset(str(path), compression))

    assert read(whole)[:2] == (100, tf.errors.OutOfRangeError)
    assert read(b"")[:2] == (0, tf.errors.OutOfRangeError)
    count, kind, why = read(whole[:-4])
    assert count == 100 and kind is tf.errors.DataLossError
    assert f"{path}: the compressed data breaks off (record 100)" in why
    count, kind, why = read(whole[: len(whole) // 2])
    assert 0 < count < 100 and kind is tf.errors.DataLossError and f"(record {count})" in why
    altered = whole[:-2] + bytes([whole[-2] ^ 1]) + whole[-1:]
    count, kind, why = read(altered)
    assert kind is tf.errors.DataLossError and f"{path}: inflate() failed" in why
    count, kind, why = read(b"no compressed file")
    assert (count, kind) == (0, tf.errors.DataLossError) and str(path) in why
    lines = tmp_path / "lines"
    lines.write_bytes(whole[:-6])
    assert outcome(tf.data.TextLineDataset(str(lines), compression))[1] is tf.errors.DataLossError


def test_an_altered_or_truncated_record_is_named(tmp_path):
    path = tmp_path / "file"
    whole = written(path, "NONE")
    starts = np.cumsum([0, *(len(r) + 16 for r in RECORDS)]).tolist()

    def read(contents):
        path.write_bytes(contents)
        return outcome(tf.data.TFRecordDataset(str(path)))

    for at in (1, 9, 14, 21):  # in the length, in its checksum, in the record, in its checksum
        where = starts[3] + at
        altered = whole[:where] + bytes([whole[where] ^ 4]) + whole[where + 1 :]
        assert read(altered) == (
            3,
            tf.errors.DataLossError,
            f"{path}: corrupted record at {starts[3]} (record 3)",
        )
    for at in (5, 14, 21):
        why = f"{path}: truncated record at {starts[3]} (record 3)"
        assert read(whole[: starts[3] + at]) == (3, tf.errors.DataLossError, why)


def test_a_file_that_shrinks_while_it_is_read(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes(400 * 4096))
    dataset = tf.data.FixedLengthRecordDataset(str(path), 4096)
    iterator = tf.data.make_initializable_iterator(dataset)
    element = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initializer)
        session.run(element)
        with open(path, "r+b") as file:
            file.truncate(200 * 4096 + 3)
        with pytest.raises(
            tf.errors.DataLossError, match=r"truncated record at \d+ \(record \d+\)"
        ):
            while True:
                session.run(element)


@pytest.mark.parametrize(
    "contents, count, why",
    [
        ("1,2\n3,x\n5,6\n", 1, "Field 1 in record is not a valid int32: x (record 1 of {})"),
        ("1,99999999999\n", 0, "not a valid int32: 99999999999 (record 0 of {})"),
        ("1,2\n3\n", 1, "Expect 2 fields but have 1 in record (record 1 of {})"),
        ("1,2\n3,4\n5,6,7\n", 2, "have more in record (record 2 of {})"),
        ("1,\n", 0, "Field 1 is required but missing in record! (record 0 of {})"),
        ('1,"2\n', 0, "without closing quoted field in record (record 0 of {})"),
        ('1,2\n1,a"b\n', 1, "Unquoted fields cannot have quotes inside (record 1 of {})"),
    ],
)
def test_a_bad_field_is_named_with_record_and_file(tmp_path, contents, count, why):
    path = tmp_path / "file.csv"
    path.write_text(contents)
    found = outcome(tf.data.experimental.CsvDataset(str(path), [tf.int32, tf.int32]))
    assert found[:2] == (count, tf.errors.InvalidArgumentError)
    assert why.format(path) in found[2]


def test_a_file_of_the_wrong_length_and_one_that_is_missing(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"x" * 10)
    count, kind, why = outcome(tf.data.FixedLengthRecordDataset(str(path), 3, 1, 2))
    assert (count, kind) == (0, tf.errors.InvalidArgumentError)
    assert f'input file "{path}" has body length 7 bytes' in why
    for kind in (tf.data.TextLineDataset, tf.data.TFRecordDataset):
        found = outcome(kind([str(path / "no"), str(tmp_path / "no")]))
        assert found[1] in (tf.errors.NotFoundError, tf.errors.FailedPreconditionError)
        assert "no" in found[2]
