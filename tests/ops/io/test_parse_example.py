"""Examples as tensors: the same as protobuf reads, however they are written; what is broken is named."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft as tf
from weft.framework import dtypes
from weft.ops.io.feature_columns import Unreadable, columns, examples

INT, FLOAT, TEXT = dtypes.int64, dtypes.float32, dtypes.string
VALUES = {
    INT: st.integers(-(2**63), 2**63 - 1),
    FLOAT: st.floats(width=32, allow_nan=False),
    TEXT: st.binary(max_size=300),
}


def feature(kind, values):
    if kind is INT:
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))
    if kind is FLOAT:
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))


def example(**features):
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


def run(fetches, feed=None):
    with tf.Session() as session:
        return session.run(fetches, feed)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


@settings(max_examples=150, deadline=None)
@given(data=st.data(), kind=st.sampled_from([INT, FLOAT, TEXT]))
def test_columns_are_what_protobuf_reads(data, kind):
    one = st.one_of(st.none(), st.lists(VALUES[kind], max_size=5))
    wanted = data.draw(st.lists(st.tuples(one, one), max_size=6))
    rows = [
        example(**{k: feature(kind, v) for k, v in zip("ab", pair) if v is not None})
        for pair in wanted
    ]
    maps = examples(rows)
    found = columns([[m[key] for m in maps] for key in "ab"], kind)
    for i, column in enumerate(found):
        lists = [pair[i] for pair in wanted]
        assert column.counts.tolist() == [len(x or ()) for x in lists]
        assert column.values.tolist() == [y for x in lists for y in x or ()]
        present = [x is not None for x in lists]
        assert all(present) if column.present is None else column.present.tolist() == present


@settings(max_examples=300, deadline=None)
@given(raw=st.binary(max_size=40), kind=st.sampled_from([INT, FLOAT, TEXT]), plain=st.booleans())
def test_bytes_that_are_no_feature(raw, kind, plain):
    """Either protobuf reads them too, and the same, or the row is named."""
    rows = [raw]
    if plain:
        rows = [feature(kind, []).SerializeToString(), raw]
    try:
        (found,) = columns([rows], kind)
    except Unreadable as e:
        assert e.row == len(rows) - 1
        return
    message = tf.train.Feature.FromString(raw)
    name = message.WhichOneof("kind")
    values = list(getattr(message, name).value) if name else []
    np.testing.assert_array_equal(found.values, np.array(values, found.values.dtype))


@settings(max_examples=50, deadline=None)
@given(data=st.binary(max_size=60), at=st.integers(0, 3))
def test_bytes_that_are_no_example(data, at):
    rows = [example(a=feature(INT, [1]))] * 4
    rows[at] = data
    with tf.Graph().as_default(), tf.Session() as session:
        parsed = tf.parse_example(rows, {"a": tf.VarLenFeature(tf.int64)})
        try:
            assert session.run(parsed)["a"].dense_shape[0] == 4
        except tf.errors.InvalidArgumentError as e:
            assert f"Index: {at}" in e.message


def test_the_whole_story():
    rows = [
        example(x=feature(FLOAT, [1, 2]), n=feature(INT, [3]), w=feature(TEXT, [b"a", b"b"])),
        example(x=feature(FLOAT, [3, 4])),
    ]
    features = {
        "x": tf.FixedLenFeature([2], tf.float32),
        "n": tf.FixedLenFeature((), tf.int64, default_value=-1),
        "w": tf.VarLenFeature(tf.string),
        "s": tf.FixedLenSequenceFeature([], tf.int64, allow_missing=True),
    }
    parsed = tf.parse_example(rows, features)
    assert {k: v.shape.as_list() for k, v in parsed.items()} == {
        "x": [2, 2], "n": [2], "w": [None, None], "s": [2, None]
    }  # fmt: skip
    found = run(parsed)
    np.testing.assert_array_equal(found["x"], [[1, 2], [3, 4]])
    np.testing.assert_array_equal(found["n"], [3, -1])
    assert found["w"].values.tolist() == [b"a", b"b"]
    assert found["w"].indices.tolist() == [[0, 0], [0, 1]]
    assert found["w"].dense_shape.tolist() == [2, 2]
    assert found["s"].shape == (2, 0)
    one = run(tf.parse_single_example(rows[0], features))
    np.testing.assert_array_equal(one["x"], [1, 2])
    assert one["n"] == 3 and one["w"].indices.tolist() == [[0], [1]]
    named = run(tf.parse_single_example(rows[0], features, example_names="its name"))
    np.testing.assert_array_equal(named["x"], [1, 2])


def test_errors_name_the_example_and_the_feature():
    rows = [example(n=feature(INT, [1])), example(n=feature(FLOAT, [1.0]))]
    wanted = {"n": tf.FixedLenFeature([], tf.int64)}
    parsed = tf.parse_example(rows, wanted, example_names=["one", "two"])
    with pytest.raises(tf.errors.InvalidArgumentError, match="Name: two, Key: n, Index: 1.*float"):
        run(parsed)
    parsed = tf.parse_example([rows[0], example()], wanted)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Feature: n .*required but could not"):
        run(parsed)


@pytest.mark.parametrize(
    "wanted, why",
    [
        ({}, "Missing"),
        ({"a": 3}, "Invalid feature"),
        ({"a": tf.FixedLenFeature([], None)}, "Missing type"),
        ({"a": tf.FixedLenFeature(None, tf.int64)}, "Missing shape"),
        ({"a": tf.FixedLenFeature([None], tf.int64)}, "First dimension"),
        ({"a": tf.FixedLenFeature([2, None], tf.int64)}, "All dimensions"),
        ({"a": tf.FixedLenSequenceFeature([], tf.int64)}, "allow_missing"),
        ({"a": tf.SparseFeature(None, "v", tf.int64, 3)}, "Missing index_key"),
    ],
)
def test_features_that_say_too_little(wanted, why):
    with pytest.raises(ValueError, match=why):
        tf.parse_example(["x"], wanted)


def test_json():
    text = '{"features": {"feature": {"a": {"int64List": {"value": ["7"]}}}}}'
    parsed = tf.parse_single_example(
        tf.decode_json_example(text), {"a": tf.FixedLenFeature([], tf.int64)}
    )
    assert run(parsed) == {"a": 7}


@settings(max_examples=50, deadline=None)
@given(data=st.binary(max_size=80))
def test_bytes_that_are_no_tensor_json_or_sound(data):
    with tf.Graph().as_default(), tf.Session() as session:
        for made in (
            tf.io.parse_tensor(data, tf.float32),
            tf.io.decode_json_example(data),
            tf.audio.decode_wav(data),
            tf.io.decode_compressed(data, "GZIP"),
        ):
            try:
                session.run(made)
            except (tf.errors.InvalidArgumentError, tf.errors.DataLossError):
                pass


def test_a_tensor_that_claims_to_be_huge():
    from weft import proto

    message = proto.TensorProto(dtype=1)
    for size in (1 << 31, 1 << 31):
        message.tensor_shape.dim.add().size = size
    for values in ([], [1.0]):
        message.float_val.extend(values)
        with pytest.raises(tf.errors.InvalidArgumentError):
            run(tf.io.parse_tensor(message.SerializeToString(), tf.float32))
