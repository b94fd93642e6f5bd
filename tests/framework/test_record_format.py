"""Record framing: bytes as TensorFlow's TFRecordWriter wrote them, and what is wrong with a file."""

import io
import itertools

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
    assert list(record_format.Records(stream)) == [b"hello", b"hello", b""]


@given(st.data())
def test_every_changed_or_missing_byte_is_noticed(data):
    record = data.draw(st.binary(max_size=40))
    framed = record_format.framed(record)
    at = data.draw(st.integers(0, len(framed) - 1))
    changed = bytearray(framed)
    changed[at] ^= 1 << data.draw(st.integers(0, 7))
    for broken in (bytes(changed), framed[: max(at, 1)]):
        with pytest.raises(tf.errors.DataLossError, match="at 0"):
            list(record_format.Records(io.BytesIO(broken)))


@given(
    st.lists(st.binary(max_size=300), max_size=30),
    st.integers(1, 9),
    st.integers(1, 400),
    st.data(),
)
def test_blocks_of_records_break_off_where_the_file_is_damaged(records, most, block, data):
    framed = [record_format.framed(r) for r in records]
    whole = b"".join(framed)
    ends = [0, *itertools.accumulate(map(len, framed))]
    broken = data.draw(st.integers(0, len(whole)))  # the file ends here
    reader = record_format.Records(io.BytesIO(whole[:broken]))
    reader._BLOCK = block
    found, offsets = [], []
    complete = max(i for i, end in enumerate(ends) if end <= broken)
    try:
        while some := reader.some(most):
            assert len(some) <= most
            found += some
            offsets.append(reader.offset)
    except tf.errors.DataLossError as e:
        assert broken not in ends
        assert e.message == f"truncated record at {ends[complete]}"
    else:
        assert broken in ends
    assert found == records[:complete]
    assert reader.offset == ends[complete] and set(offsets) <= set(ends)
    # Another reader goes on from there.
    rest = record_format.Records(io.BytesIO(whole[reader.offset :]), reader.offset)
    assert list(rest) == records[complete:]
