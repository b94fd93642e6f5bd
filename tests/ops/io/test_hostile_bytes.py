"""Bytes from strangers: an op takes them or says what is wrong with them, and the session goes on."""

import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft as tf

REFUSED = (tf.errors.InvalidArgumentError, tf.errors.DataLossError, tf.errors.OutOfRangeError)
FEATURE = tf.train.Feature(int64_list=tf.train.Int64List(value=[3, 400]))
SEQUENCE = tf.train.SequenceExample(
    context=tf.train.Features(feature={"a": FEATURE}),
    feature_lists=tf.train.FeatureLists(
        feature_list={"b": tf.train.FeatureList(feature=[FEATURE, FEATURE])}
    ),
).SerializeToString()
SUMMARY = tf.Summary(value=[tf.Summary.Value(tag="t", simple_value=1.0)]).SerializeToString()


def altered(whole):
    """The bytes with one of them changed, cut off, or others in their place."""

    def change(place, byte):
        place %= len(whole)
        return whole[:place] + bytes([byte]) + whole[place + 1 :]

    return st.one_of(
        st.builds(change, st.integers(0, 999), st.integers(0, 255)),
        st.integers(0, len(whole)).map(lambda n: whole[:n]),
        st.binary(max_size=30),
    )


@pytest.fixture(scope="module")
def steps():
    with tf.Graph().as_default(), tf.Session() as session:
        data = tf.placeholder(tf.string, [])
        context = {"a": tf.VarLenFeature(tf.int64)}
        lists = {"b": tf.FixedLenSequenceFeature([2], tf.int64, allow_missing=True)}
        reader = tf.WholeFileReader()
        writer = tf.raw_ops.SummaryWriter(shared_name="w")
        made = {
            "sequence": tf.parse_single_sequence_example(data, context, lists),
            "sequences": tf.io.parse_sequence_example([data, SEQUENCE], context, lists),
            "summary": tf.summary.merge([data, ""]),
            "state": reader.restore_state(data),
            "ZLIB": tf.io.decode_compressed(data, "ZLIB"),
            "GZIP": tf.io.decode_compressed(data, "GZIP"),
            "raw": tf.decode_raw(data, tf.float32),
            "event": tf.raw_ops.ImportEvent(writer=writer, event=data),
        }
        yield lambda name, given: session.run(made[name], {data: given})


@pytest.mark.parametrize(
    ("name", "whole"),
    [
        ("sequence", SEQUENCE),
        ("sequences", SEQUENCE),
        ("summary", SUMMARY),
        ("state", b"\x08\x02\x10\x02\x18\x03"),
        ("ZLIB", zlib.compress(b"weft" * 20)),
        ("GZIP", zlib.compress(b"weft" * 20, wbits=31)),
        ("raw", b"12345678"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_altered_bytes(steps, name, whole):
    @settings(max_examples=60, deadline=None)
    @given(given=altered(whole))
    def check(given):
        try:
            steps(name, given)
        except REFUSED:
            pass
        steps(name, whole)

    check()


def test_events_for_a_writer_that_nobody_opened(steps):
    with pytest.raises(tf.errors.NotFoundError):
        steps("event", b"")


@settings(max_examples=60, deadline=None)
@given(data=st.binary(max_size=40), encoding=st.sampled_from(["", "ZLIB", "GZIP"]))
def test_files_of_any_bytes(tmp_path_factory, data, encoding):
    path = tmp_path_factory.getbasetemp() / "any reader"
    path.write_bytes(data)
    with tf.Graph().as_default(), tf.Session() as session:
        for reader in (
            tf.TFRecordReader(options=tf.python_io.TFRecordOptions(encoding)),
            tf.FixedLengthRecordReader(3, 1, 1, 2, encoding=encoding),
            tf.TextLineReader(1),
        ):
            names = tf.FIFOQueue(1, [tf.string], [[]])
            session.run(names.enqueue(str(path)))
            session.run(names.close())
            count = tf.constant(100, tf.int64)
            try:
                keys, values = session.run(reader.read_up_to(names, count))
                assert len(keys) == len(values) > 0
            except REFUSED:
                pass
