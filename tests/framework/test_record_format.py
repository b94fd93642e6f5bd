"""Record framing: bytes as TensorFlow's TFRecordWriter wrote them, and what is wrong with a file."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft as tf
from weft.framework import record_format

# tf.python_io.TFRecordWriter of TensorFlow 1.15.5 wrote b"hello".
HELLO = bytes.fromhex("0500000000000000eab2043e68656c6c6fbb1f1c19")


def test_bytes_are_those_of_tensorflow():
    assert record_format.framed(b"hello") == HELLO
    stream = io.BytesIO(HELLO * 2 + record_format.framed(b""))
    assert list(record_format.read_records(stream, "f")) == [b"hello", b"hello", b""]


@given(st.data())
def test_every_changed_or_missing_byte_is_noticed(data):
    record = data.draw(st.binary(max_size=40))
    framed = record_format.framed(record)
    at = data.draw(st.integers(0, len(framed) - 1))
    changed = bytearray(framed)
    changed[at] ^= 1 << data.draw(st.integers(0, 7))
    for broken in (bytes(changed), framed[: max(at, 1)]):
        with pytest.raises(tf.errors.DataLossError, match="at 0"):
            list(record_format.read_records(io.BytesIO(broken), "f"))
