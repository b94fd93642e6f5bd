"""Messages as tensors: what is encoded is decoded, by types of this process, of a file, or of the attribute itself."""

import numpy as np
import pytest
from google.protobuf import descriptor_pb2
from hypothesis import given, settings
from hypothesis import strategies as st

import weft as tf
from weft import proto


def run(make):
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(make())


def described():
    """A type `own.Message` with a required default, an enum, a message within and a map."""
    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="own.proto", package="own")
    message = file.message_type.add(name="Message")
    message.field.add(name="n", number=1, label=1, type=kinds.TYPE_SINT64, default_value="-7")
    message.field.add(name="f", number=2, label=3, type=kinds.TYPE_FLOAT)
    message.field.add(name="b", number=3, label=1, type=kinds.TYPE_BOOL)
    message.field.add(name="t", number=4, label=1, type=kinds.TYPE_STRING, default_value="none")
    message.field.add(
        name="m", number=5, label=3, type=kinds.TYPE_MESSAGE, type_name=".own.Message"
    )
    return descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString()


@pytest.mark.parametrize("form", ["file", "bytes"])
def test_there_and_back(tmp_path, form):
    source = b"bytes://" + described()
    if form == "file":
        (tmp_path / "set").write_bytes(described())
        source = str(tmp_path / "set")
    names = ["t", "f", "n", "b", "m"]
    dtypes = [tf.string, tf.float32, tf.int64, tf.bool, tf.string]
    sizes = np.array([[1, 2, 1, 0, 0], [0, 0, 0, 1, 2]], np.int32)
    values = [
        np.array([["x"], [""]], object),
        np.array([[1.5, 2.5], [0, 0]], np.float32),
        np.array([[-3], [0]]),
        np.array([[False], [True]]),
        np.array([[b"", b""], [b"\x18\x01", b""]], object),
    ]

    def both():
        encoded = tf.io.encode_proto(sizes, values, names, "own.Message", source)
        return tf.io.decode_proto(encoded, "own.Message", names, dtypes, source)

    found_sizes, (t, f, n, b, m) = run(both)
    np.testing.assert_array_equal(found_sizes, sizes)
    assert t.tolist() == [[b"x"], [b"none"]] and n.tolist() == [[-3], [-7]]
    assert f.tolist() == [[1.5, 2.5], [0, 0]] and b.tolist() == [[False], [True]]
    assert m.tolist() == [[b"", b""], [b"\x18\x01", b""]]


def test_maps_are_entries():
    feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[1]))
    features = tf.train.Features(feature={"a": feature}).SerializeToString()

    def both():
        sizes, (entries,) = tf.io.decode_proto(
            [features], "tensorflow.Features", ["feature"], [tf.string]
        )
        return tf.io.encode_proto(sizes, [entries], ["feature"], "tensorflow.Features")

    assert proto.Features.FromString(run(both)[0]).feature["a"] == feature


def test_what_describes_no_types(tmp_path):
    for source in ("bytes://abc", str(tmp_path / "none")):
        with pytest.raises((tf.errors.InvalidArgumentError, tf.errors.NotFoundError)):
            run(lambda s=source: tf.io.decode_proto([b""], "a.B", ["c"], [tf.int32], s))


@settings(max_examples=60, deadline=None)
@given(data=st.binary(max_size=30), text=st.booleans())
def test_any_bytes(data, text):
    def decode():
        form = "text" if text else "binary"
        names, dtypes = ["producer", "bad_consumers"], [tf.int32, tf.int64]
        kind = "tensorflow.VersionDef"
        return tf.io.decode_proto([data], kind, names, dtypes, message_format=form)

    try:
        sizes, values = run(decode)
        assert sizes.shape == (1, 2) and len(values) == 2
    except tf.errors.DataLossError:
        pass
