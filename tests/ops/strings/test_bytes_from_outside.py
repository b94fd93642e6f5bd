"""Kernels that take bytes as they come: for any bytes a result that is right, or InvalidArgumentError."""

import base64
import codecs

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from weft.framework import dtypes, errors
from weft.ops.strings import encodings
from weft.ops.strings.base64_text import decode_base64_op, encode_base64_op
from weft.ops.strings.elements import of
from weft.ops.strings.numbers import to_numbers
from weft.ops.strings.packed import pack
from weft.ops.strings.regex import _replaced
from weft.ops.strings.split import string_split_op, string_split_v2_op
from weft.ops.strings.substring import string_length_op, substr_op

texts = st.lists(st.binary(max_size=12), max_size=6)
some = texts.filter(bool)


def array(strings):
    return of(strings, (len(strings),))


@given(texts)
def test_packed_strings_are_where_they_are_said_to_be(strings):
    data, starts, lengths = pack(array(strings))
    found = [data[i : i + n].tobytes() for i, n in zip(starts.tolist(), lengths.tolist())]
    assert found == strings


@given(some)
def test_words_are_the_bytes_from_any_position(strings):
    packed = pack(array(strings))
    end = int((packed.starts + packed.lengths).max())
    data = packed.data.tobytes()
    for count in (1, 2):
        at = np.arange(end + 9 - 8 * count)  # the last word may begin where the last string ends
        for k, words in enumerate(packed.words(at, count)):
            for i, word in zip(at.tolist(), words.tolist()):
                there = data[i + 8 * k : i + 8 * k + 8]  # behind the slack anything
                assert word.to_bytes(8, "little")[: len(there)] == there


@given(texts, st.booleans())
def test_base64_comes_back(strings, pad):
    encoded = encode_base64_op.kernel(None, array(strings), pad=pad)
    assert decode_base64_op.kernel(None, encoded).tolist() == strings


@given(st.binary(max_size=16))
def test_what_is_no_base64_is_refused(data):
    try:
        (decoded,) = decode_base64_op.kernel(None, array([data]))
    except errors.InvalidArgumentError:
        return
    assert (
        base64.urlsafe_b64encode(decoded)[: max(0, len(data.rstrip(b"=")) - 1)]
        == data.rstrip(b"=")[:-1]
    )


@given(
    st.binary(max_size=16),
    st.sampled_from(["UTF-8", "UTF-16", "UTF-16-LE", "UTF-32-BE", "US-ASCII", "shift_jis"]),
)
@example(b"\xe0@\x85\x81\x00\x00", "shift_jis")  # a byte is known to be malformed by the next one
def test_any_bytes_decode(data, encoding):
    values, malformed, counts, starts = encodings.decode([data, b"", data], encoding)
    n = int(counts[0])
    assert counts.tolist() == [n, 0, n] and len(values) == len(starts) == 2 * n
    assert (np.diff(starts[:n]) > 0).all() and (starts[:n] < max(len(data), 1)).all()
    assert not malformed.any() or (values[malformed] == 0xFFFD).all()
    if not malformed.any() and encoding == "UTF-8":
        assert encodings.encode(values, counts, "UTF-8") == [data, b"", data]


@given(st.text(max_size=12))
def test_text_comes_back_from_each_encoding(text):
    values = np.array([ord(c) for c in text], np.int32)
    for name in ("UTF-8", "UTF-16-BE", "UTF-32-BE"):
        (data,) = encodings.encode(values, np.array([len(text)]), name)
        assert data == text.encode(name)
        found = encodings.decode([data], name)
        assert found.values.tolist() == values.tolist()
        sizes = [len(c.encode(name)) for c in text]
        assert found.starts.tolist() == np.cumsum([0, *sizes])[:-1].tolist()


@pytest.mark.parametrize(
    "name", ["hex", "rot13", "zlib", "idna", "unicode_escape", "utf-99", "a\0b", ""]
)
def test_what_is_no_character_set_is_refused(name):
    with pytest.raises(errors.InvalidArgumentError, match="Could not create converter"):
        encodings.codec_of(name)


def test_character_sets_go_by_several_names():
    assert {encodings.codec_of(n) for n in ("UTF-8", "utf8", "Utf_8")} == {
        codecs.lookup("utf-8").name
    }


@given(st.binary(max_size=10), st.sampled_from(["float32", "float64", "int32", "int64"]))
def test_numbers_of_any_bytes(data, name):
    dtype = dtypes.as_dtype(name)
    numbers, bad = to_numbers([data], dtype)
    assert (bad is None) == (len(numbers) == 1)
    if bad is None and dtype.is_integer:
        assert int(data) == numbers[0]


@given(st.floats(allow_nan=False, width=64))
def test_numbers_are_rounded_once(x):
    text = repr(x).encode()
    (double,), _ = to_numbers([text], dtypes.float64)
    assert double == x
    with np.errstate(over="ignore"):
        (single,), _ = to_numbers([text], dtypes.float32)
        assert single == np.float32(x)


def test_a_text_just_off_the_middle_of_two_floats():
    texts_ = [
        b"16777217",
        b"16777217.00000000000000001",
        b"16777216.99999999999999999",
        b"-16777217.0000000000000000001",
    ]
    numbers, bad = to_numbers(texts_, dtypes.float32)
    assert bad is None and numbers.tolist() == [16777216.0, 16777218.0, 16777216.0, -16777218.0]


def test_integers_of_thousands_of_digits():
    assert to_numbers([b"0" * 10000 + b"7"], dtypes.int32)[0].tolist() == [7]
    assert to_numbers([b"7" * 10000], dtypes.int64)[1] == 0


@given(texts, st.binary(max_size=3), st.booleans())
def test_parts_of_a_split(strings, delimiter, skip):
    indices, parts, shape = string_split_op.kernel(
        None, array(strings), array([delimiter]).reshape(()), skip_empty=skip
    )
    assert shape[0] == len(strings) and len(indices) == len(parts)
    rows = [
        [p for (i, _), p in zip(indices.tolist(), parts) if i == row] for row in range(len(strings))
    ]
    for string, row in zip(strings, rows):
        if not delimiter:
            assert row == [bytes([b]) for b in string]
            continue
        assert not any(set(p) & set(delimiter) for p in row)
        kept = bytes(b for b in string if b not in delimiter)
        assert b"".join(row) == kept
        assert not skip or all(row)


@given(texts, st.binary(max_size=2), st.integers(-1, 3))
def test_parts_of_a_split_by_text(strings, sep, most):
    _, parts, shape = string_split_v2_op.kernel(
        None, array(strings), array([sep]).reshape(()), maxsplit=most
    )
    if sep and most:
        assert parts.tolist() == [p for s in strings for p in s.split(sep, most)]
    assert shape[1] <= (most + 1 if most >= 0 else 100)


@given(some, st.integers(-5, 5), st.integers(0, 5))
def test_parts_in_bytes(strings, pos, length):
    inputs = array(strings), np.int32(pos).reshape(()), np.int32(length).reshape(())
    if any(not -len(s) <= pos <= len(s) for s in strings):
        with pytest.raises(errors.InvalidArgumentError, match=f"pos {pos} out of range"):
            substr_op.kernel(None, *inputs, unit="BYTE")
        return
    found = substr_op.kernel(None, *inputs, unit="BYTE").tolist()
    assert found == [s[pos if pos >= 0 else len(s) + pos :][:length] for s in strings]


@given(st.lists(st.text(max_size=8), min_size=1, max_size=4), st.integers(-4, 4), st.integers(0, 5))
def test_parts_in_characters(strings, pos, length):
    inputs = (
        array([s.encode() for s in strings]),
        np.int64(pos).reshape(()),
        np.int64(length).reshape(()),
    )
    assert string_length_op.kernel(None, inputs[0], unit="UTF8_CHAR").tolist() == [
        len(s) for s in strings
    ]
    if any(not -len(s) <= pos <= len(s) for s in strings):
        with pytest.raises(errors.InvalidArgumentError, match=f"pos {pos} out of range"):
            substr_op.kernel(None, *inputs, unit="UTF8_CHAR")
        return
    found = substr_op.kernel(None, *inputs, unit="UTF8_CHAR").tolist()
    assert found == [s[pos if pos >= 0 else len(s) + pos :][:length].encode() for s in strings]


@given(texts, st.binary(max_size=6), st.binary(max_size=6), st.booleans())
def test_any_bytes_as_a_regular_expression(strings, pattern, rewrite, everywhere):
    try:
        found = _replaced(array(strings), pattern, rewrite, everywhere)
    except errors.InvalidArgumentError as e:
        assert "Invalid pattern" in e.message
        return
    assert all(type(s) is bytes for s in found)
