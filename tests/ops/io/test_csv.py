"""DecodeCSV: what the csv module writes is read; errors name the record and the field."""

import csv
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft as tf

FIELD = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)


def decode(records, defaults, **options):
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(tf.decode_csv(records, defaults, **options))


def written(rows, **options):
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\0", **options)
    writer.writerows(rows)
    return [line.encode() for line in out.getvalue().split("\0")[:-1]]


@settings(max_examples=50, deadline=None)
@given(
    rows=st.lists(st.tuples(FIELD, FIELD, FIELD), min_size=1, max_size=4),
    delimiter=st.sampled_from(",;\t "),
)
def test_what_the_csv_module_writes(rows, delimiter):
    lines = written(rows, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    found = decode(lines, [[""]] * 3, field_delim=delimiter)
    assert [tuple(row) for row in zip(*(c.tolist() for c in found))] == [
        tuple(field.encode() for field in row) for row in rows
    ]
    some = decode(lines, [[""]], field_delim=delimiter, select_cols=[1])
    assert some[0].tolist() == found[1].tolist()


@settings(max_examples=80, deadline=None)
@given(records=st.lists(st.binary(max_size=12), max_size=3), quotes=st.booleans())
def test_any_bytes(records, quotes):
    """Either there are two columns, or the error says why not."""
    with tf.Graph().as_default(), tf.Session() as session:
        made = tf.decode_csv(
            tf.constant(records, tf.string, [len(records)]), [[0.5], [""]], use_quote_delim=quotes
        )
        try:
            assert [c.shape for c in session.run(made)] == [(len(records),)] * 2
        except tf.errors.InvalidArgumentError as e:
            assert "ecord" in e.message


def test_errors_name_the_place():
    wanted = [
        (["1,2", "3"], "Expect 2 fields but have 1 in record 1"),
        (["1,2", "3,"], "Field 1 is required but missing in record 1!"),
        (["1,2", "x,4"], "Field 0 in record 1 is not a valid int32: x"),
        (["1,2", '3,"4"5'], "escaped by another quote.*record 1"),
    ]
    for records, message in wanted:
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            decode(records, [np.array([], np.int32)] * 2)


@pytest.mark.parametrize(
    "columns, why", [([1, 0], "increasing"), ([-1, 0], "negative"), ([0], "do not match")]
)
def test_columns_that_cannot_be_selected(columns, why):
    with tf.Graph().as_default(), pytest.raises(ValueError, match=why):
        tf.decode_csv(["1,2"], [[0], [0]], select_cols=columns)
