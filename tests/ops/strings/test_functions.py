"""Public functions on strings: their arguments, and what only a session or eager execution shows."""

import numpy as np
import pytest

import weft as tf
from weft import testing


def run(*fetches, **feeds):
    with tf.Session() as session:
        values = session.run(fetches, feeds.get("feeds"))
    return values if len(fetches) > 1 else values[0]


def test_arguments_by_old_and_new_names():
    assert run(tf.string_to_number(["1"]), tf.strings.to_number(input=["1"]))[0] == 1.0
    assert run(tf.strings.to_hash_bucket(input=["a"], num_buckets=1)).tolist() == [0]
    assert run(tf.reduce_join([["a", "b"]], reduction_indices=1, keep_dims=True)).tolist() == [
        [b"ab"]
    ]
    with pytest.raises(ValueError, match="Cannot specify both"):
        tf.string_to_number(["1"], input=["2"])
    assert tf.strings.join is tf.string_join and tf.compat.v1.strings.substr is tf.substr


def test_reduce_join_of_all_dimensions_is_in_order():
    x = tf.placeholder(tf.string, None)
    known = tf.strings.reduce_join([["a", "b"], ["c", "d"]], separator="-")
    unknown = tf.strings.reduce_join(x, separator="-")
    assert run(known, unknown, feeds={x: [["a", "b"], ["c", "d"]]}) == (b"a-b-c-d",) * 2
    assert known.shape == () and unknown.shape.ndims is None


def test_static_patterns_are_attributes():
    with tf.Graph().as_default():
        assert tf.strings.regex_replace(["a"], "a", "b").op.type == "StaticRegexReplace"
        assert tf.strings.regex_replace(["a"], tf.constant("a"), "b").op.type == "RegexReplace"
        assert tf.strings.regex_full_match(["a"], b"a").op.type == "StaticRegexFullMatch"


def test_a_bad_pattern_leaves_the_session_usable():
    pattern = tf.placeholder(tf.string, [])
    matches = tf.strings.regex_full_match(["ab"], pattern)
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Invalid pattern: a\(b, error: "):
            session.run(matches, {pattern: "a(b"})
        assert session.run(matches, {pattern: "a.?"}).tolist() == [True]


def test_strings_keep_their_zero_bytes():
    x = tf.constant([b"a\0", b"\0"])
    lower = tf.strings.lower([b"A\0B\0"], encoding="utf-8")
    assert run(tf.strings.length(x), tf.strings.strip(x), lower)[2].tolist() == [b"a\0b\0"]
    assert run(tf.strings.length(x)).tolist() == [2, 1]


def test_fingerprint_of_rows():
    rows = np.arange(12, dtype=np.int32).reshape(3, 4)
    found = run(tf.fingerprint(rows), tf.fingerprint(rows[1:2]), tf.fingerprint(np.zeros((0, 3))))
    assert found[0].shape == (3, 8) and found[0][1].tolist() == found[1][0].tolist()
    assert found[2].shape == (0, 8)


def test_split_into_a_sparse_matrix():
    parts = tf.string_split(["a b", "", "c"], delimiter=" ")
    value = run(parts)
    assert value.values.tolist() == [b"a", b"b", b"c"]
    assert value.dense_shape.tolist() == [3, 2] and parts.shape.as_list() == [None, None]
    assert run(tf.strings.split(["a,b"], ",")).values.tolist() == [b"a", b"b"]
    with pytest.raises(ValueError, match="result_type"):
        tf.string_split(["a"], result_type="list")
    with pytest.raises(ValueError, match="Cannot specify both"):
        tf.string_split(["a"], sep=" ", delimiter=" ")


def test_dense_code_points_as_strings():
    assert run(tf.strings.unicode_encode([[72, 228], [0x20AC, 33]], "UTF-8")).tolist() == [
        "Hä".encode(),
        "€!".encode(),
    ]
    assert run(tf.strings.unicode_encode([[[97], [98]]], "UTF-16-BE")).tolist() == [
        [b"\0a", b"\0b"]
    ]
    assert (
        run(tf.strings.unicode_encode(tf.placeholder_with_default([97], [None]), "UTF-8")) == b"a"
    )
    with pytest.raises(ValueError, match="at least 1"):
        tf.strings.unicode_encode(97, "UTF-8")


def test_one_string_as_characters():
    codes, starts = tf.strings.unicode_decode_with_offsets("aé€", "UTF-8")
    parts = tf.strings.unicode_split("aé€", "UTF-8")
    found = run(codes, starts, parts, tf.strings.bytes_split("ab"))
    assert [x.tolist() for x in found] == [
        [97, 233, 8364],
        [0, 1, 3],
        [b"a", "é".encode(), "€".encode()],
        [b"a", b"b"],
    ]


def test_ngrams_of_dense_rows():
    rows = [["a", "b", "c"], ["d", "e", "f"]]
    assert run(tf.strings.ngrams(rows, 2)).tolist() == [[b"a b", b"b c"], [b"d e", b"e f"]]
    padded = tf.strings.ngrams(["a", "b"], [1, 2], "|", pad_values=("<", ">"))
    assert run(padded).tolist() == [b"a", b"b", b"<|a", b"a|b", b"b|>"]
    for wrong, error, match in (
        ({"ngram_width": 0}, ValueError, "greater than 0"),
        ({"ngram_width": 2, "padding_width": 1}, ValueError, "pad_values must be provided"),
        ({"ngram_width": 2, "pad_values": 3}, TypeError, "pad_values must be"),
        ({"ngram_width": 2, "pad_values": "x", "padding_width": 0}, ValueError, "padding_width"),
    ):
        with pytest.raises(error, match=match):
            tf.strings.ngrams(rows, **wrong)


@pytest.mark.parametrize(
    ("splits", "widths", "match"),
    [
        ([0, 3], [1], "Invalid split value 3"),
        ([-1, 1], [1], "Invalid split value -1"),
        ([0, 2, 1], [1], "must not decrease"),
        ([0, 2], [0], "positive"),
    ],
)
def test_ngrams_of_wrong_rows(splits, widths, match):
    how = {
        "separator": "",
        "left_pad": "",
        "right_pad": "",
        "pad_width": 0,
        "preserve_short_sequences": False,
    }
    found = tf.raw_ops.StringNGrams(
        data=["a", "b"], data_splits=tf.constant(splits, tf.int64), ngram_widths=widths, **how
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match=match):
        run(found.ngrams)


@pytest.mark.parametrize("splits", [[0, 3], [0, 2, 1], []])
def test_encoding_of_wrong_rows(splits):
    x = tf.placeholder(tf.int64, None)
    encoded = tf.raw_ops.UnicodeEncode(
        input_values=[97, 98], input_splits=x, output_encoding="UTF-8"
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match="plits"):
        run(encoded, feeds={x: np.array(splits, np.int64)})


def test_eagerly():
    with testing.eager_mode():
        assert tf.strings.join(["a", "b"], "-").numpy() == b"a-b"
        assert tf.as_string(2.5, precision=1).numpy() == b"2.5"
        assert tf.string_split(["a b"]).values.numpy().tolist() == [b"a", b"b"]
