"""Record files: what is written is read, by weft and as TensorFlow frames it; damage is told."""

import gzip
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft as tf

RECORDS = [b"first", b"", b"\0" * 70_000, b"last"]
KINDS = tf.python_io.TFRecordCompressionType
# One record, b"a", in TensorFlow's framing.
ONE = bytes.fromhex("01000000000000000175de4161786ee428")


def read(path, options=None):
    return list(tf.python_io.tf_record_iterator(str(path), options))


def write(path, records=RECORDS, options=None):
    with tf.python_io.TFRecordWriter(str(path), options) as writer:
        for record in records:
            writer.write(record)
    return path


@pytest.mark.parametrize("kind", [KINDS.NONE, KINDS.ZLIB, KINDS.GZIP, "", "ZLIB", "GZIP", None])
def test_what_is_written_is_read(tmp_path, kind):
    options = tf.python_io.TFRecordOptions(kind)
    assert read(write(tmp_path / "a", options=options), options) == RECORDS


def test_compression_is_the_usual_one(tmp_path):
    plain = write(tmp_path / "plain").read_bytes()
    assert gzip.decompress(write(tmp_path / "z", options="GZIP").read_bytes()) == plain
    assert zlib.decompress(write(tmp_path / "z", options="ZLIB").read_bytes()) == plain


def test_files_put_together(tmp_path):
    for kind in ("", "GZIP"):
        data = write(tmp_path / "one", [b"a", b"b"], kind).read_bytes()
        (tmp_path / "two").write_bytes(data + data)
        assert read(tmp_path / "two", kind) == [b"a", b"b", b"a", b"b"]


def test_zlib_settings_count(tmp_path):
    def size(**settings):
        options = tf.python_io.TFRecordOptions("ZLIB", **settings)
        path = write(tmp_path / "z", [b"weft %d" % i for i in range(3000)], options)
        assert len(read(path, options)) == 3000
        return path.stat().st_size

    usual = size()
    assert size(compression_level=0) > 3 * usual
    assert size(compression_strategy=zlib.Z_HUFFMAN_ONLY) > usual
    assert size(flush_mode=zlib.Z_FULL_FLUSH, input_buffer_size=20) > 3 * usual
    with pytest.raises(tf.errors.InvalidArgumentError):
        size(mem_level=77)


def test_a_closed_writer(tmp_path):
    writer = tf.python_io.TFRecordWriter(str(tmp_path / "a"))
    writer.write(b"text")
    writer.flush()
    assert read(tmp_path / "a") == [b"text"]
    writer.close()
    writer.close()
    with pytest.raises(TypeError, match="expected bytes, str found"):
        writer.write("text")
    with pytest.raises(tf.errors.FailedPreconditionError, match="closed"):
        writer.write(b"more")


def test_what_is_not_there(tmp_path):
    with pytest.raises(tf.errors.NotFoundError):
        read(tmp_path / "none")
    with pytest.raises(tf.errors.NotFoundError):
        tf.python_io.TFRecordWriter(str(tmp_path / "no" / "folder"))
    with pytest.raises(ValueError, match="compression_type"):
        tf.python_io.TFRecordOptions("LZ4")


@pytest.mark.parametrize("kind", ["", "ZLIB", "GZIP"])
def test_damage(tmp_path, kind):
    data = write(tmp_path / "a", [b"a" * 30, b"b" * 30], kind).read_bytes()
    for cut in range(1, len(data)):
        (tmp_path / "b").write_bytes(data[:cut])
        if kind:  # a compressed stream that breaks off is one that ends
            try:
                found = read(tmp_path / "b", kind)
            except tf.errors.DataLossError:
                continue
            assert found in ([], [b"a" * 30], [b"a" * 30, b"b" * 30])
        elif cut == len(data) // 2:
            assert read(tmp_path / "b") == [b"a" * 30]
        else:
            with pytest.raises(tf.errors.DataLossError, match="truncated record"):
                read(tmp_path / "b")
    for place in range(len(data)) if not kind else ():
        (tmp_path / "b").write_bytes(data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :])
        with pytest.raises(tf.errors.DataLossError):
            read(tmp_path / "b")


def test_framing_is_tensorflows(tmp_path):
    assert write(tmp_path / "a", [b"a"]).read_bytes() == ONE


@settings(max_examples=150, deadline=None)
@given(data=st.binary(max_size=200), kind=st.sampled_from(["", "ZLIB", "GZIP"]))
def test_bytes_that_are_no_record_file(tmp_path_factory, data, kind):
    path = tmp_path_factory.getbasetemp() / "any"
    path.write_bytes(data)
    try:
        assert kind or not data or read(path, kind)
    except tf.errors.DataLossError:
        pass
