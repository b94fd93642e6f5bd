"""`tf.strings` where rows of different lengths come out."""

import pytest

import weft as tf
from weft import testing


def run(*fetches):
    with tf.Session() as session:
        return [value.to_list() for value in session.run(fetches)]


def test_parts_of_strings_of_any_rank():
    ragged = {"result_type": "RaggedTensor"}
    rows = tf.ragged.constant([["a b", "c"], []])
    assert run(
        tf.strings.split(["a b", "", "c"], **ragged),
        tf.strings.split([["a,b", "c"]], ",", **ragged),
        tf.strings.split(rows, **ragged),
        tf.string_split(["a b", "c"], **ragged),
    ) == [
        [[b"a", b"b"], [], [b"c"]],
        [[[b"a", b"b"], [b"c"]]],
        [[[b"a", b"b"], [b"c"]], []],
        [[b"a", b"b"], [b"c"]],
    ]
    with tf.Session() as session:
        assert session.run(tf.strings.split("a b", **ragged)).tolist() == [b"a", b"b"]
        sparse = session.run(tf.strings.split([["a b", "c"]]))
    assert sparse.values.tolist() == [b"a", b"b", b"c"] and sparse.dense_shape.tolist() == [1, 2, 2]


def test_bytes_and_characters():
    words = ["aé", "", "€"]
    codes, starts = tf.strings.unicode_decode_with_offsets(words, "UTF-8")
    assert run(
        tf.strings.bytes_split(["ab", ""]),
        codes,
        starts,
        tf.strings.unicode_decode([words], "UTF-8"),
        tf.strings.unicode_split(words, "UTF-8"),
    ) == [
        [[b"a", b"b"], []],
        [[97, 233], [], [8364]],
        [[0, 1], [], [0]],
        [[[97, 233], [], [8364]]],
        [[b"a", "é".encode()], [], ["€".encode()]],
    ]
    encoded = tf.strings.unicode_encode(tf.strings.unicode_decode([words], "UTF-8"), "UTF-16-BE")
    assert run(encoded) == [[[w.encode("utf-16-be") for w in words]]]


def test_ngrams_of_ragged_rows():
    rows = tf.ragged.constant([["a", "b", "c"], ["d"], []])
    assert run(
        tf.strings.ngrams(rows, 2),
        tf.strings.ngrams(rows, [1, 3], "", pad_values="-", padding_width=1),
        tf.strings.ngrams(rows, 2, preserve_short_sequences=True),
    ) == [
        [[b"a b", b"b c"], [], []],
        [[b"a", b"b", b"c", b"-ab", b"abc", b"bc-"], [b"d", b"-d-"], []],
        [[b"a b", b"b c"], [b"d"], []],
    ]


def test_functions_of_each_element_take_ragged_tensors():
    rows = tf.ragged.constant([["A b"], [], [" c", "d"]])
    assert run(tf.strings.strip(rows), tf.strings.length(rows), tf.strings.join([rows, rows])) == [
        [[b"A b"], [], [b"c", b"d"]],
        [[3], [], [2, 1]],
        [[b"A bA b"], [], [b" c c", b"dd"]],
    ]


def test_ranks_must_be_known():
    unknown = tf.placeholder(tf.string, None)
    for function in (
        lambda: tf.strings.unicode_decode(unknown, "UTF-8"),
        lambda: tf.strings.bytes_split(unknown),
        lambda: tf.strings.ngrams(unknown, 2),
    ):
        with pytest.raises(ValueError, match="[Rr]ank"):
            function()


def test_eagerly():
    with testing.eager_mode():
        found = tf.strings.split(["a b", "c"], result_type="RaggedTensor")
        assert found.to_list() == [[b"a", b"b"], [b"c"]]
