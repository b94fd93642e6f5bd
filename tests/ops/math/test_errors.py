"""What the math ops refuse, in both tiers; the session stays usable."""

from __future__ import annotations

import numpy as np
import pytest

import weft as tf
from weft import testing


@pytest.fixture(params=["interpret", "compile"])
def session(request):
    with tf.Graph().as_default(), testing.tier(request.param), tf.Session() as session:
        yield session


@pytest.mark.parametrize(
    "divide",
    [tf.floordiv, tf.truncatediv, tf.floormod, tf.truncatemod, tf.div],
    ids=lambda f: f.__name__,
)
def test_integer_division_by_zero(session, divide):
    x = tf.placeholder(tf.int32, [2])
    quotient = divide(tf.constant([7, 8]), x, name="quotient")
    with pytest.raises(tf.errors.InvalidArgumentError, match="Integer division by zero") as caught:
        session.run(quotient, {x: [1, 0]})
    assert caught.value.op is quotient.op
    assert session.run(quotient, {x: [1, 2]}).shape == (2,)


def test_integer_to_a_negative_power(session):
    y = tf.placeholder(tf.int32, [])
    power = tf.constant(2) ** y
    with pytest.raises(tf.errors.InvalidArgumentError, match="negative integer powers"):
        session.run(power, {y: -1})
    assert session.run(power, {y: 3}) == 8


def test_ids_of_segments(session):
    ids = tf.placeholder(tf.int32, [3])
    data = tf.constant([1.0, 2.0, 3.0])
    ordered, free = tf.segment_sum(data, ids), tf.unsorted_segment_sum(data, ids, 2)
    for bad, message in (
        ([0, 1, 0], "not increasing"),
        ([0, 0, -1], "must be >= 0"),
        ([-1, 0, 0], r"Segment id -1 out of range \[0, 1\)"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            session.run(ordered, {ids: bad})
    with pytest.raises(tf.errors.InvalidArgumentError, match="out of range"):
        session.run(free, {ids: [0, 1, 2]})
    np.testing.assert_array_equal(session.run(ordered, {ids: [0, 0, 2]}), [3, 0, 3])
    np.testing.assert_array_equal(session.run(free, {ids: [1, -1, 1]}), [0, 4])


def test_indices_of_sparse_segments(session):
    indices = tf.placeholder(tf.int32, [2])
    total = tf.sparse_segment_sum(tf.ones([3, 2]), indices, [0, 0], num_segments=2)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"indices\[1\] == 3 out of range \[0, 3\)"
    ):
        session.run(total, {indices: [0, 3]})
    np.testing.assert_array_equal(session.run(total, {indices: [0, 2]}), [[2, 2], [0, 0]])


def test_axes(session):
    axis = tf.placeholder(tf.int32, [])
    x = tf.ones([2, 3])
    for build, message in (
        (lambda: tf.reduce_sum(x, axis), "Invalid reduction dimension"),
        (lambda: tf.argmax(x, axis), "Expected dimension in the range"),
        (lambda: tf.cumsum(x, axis), r"Expected scan axis in the range \[-2, 2\)"),
    ):
        result = build()
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            session.run(result, {axis: 2})
        session.run(result, {axis: -1})
    with pytest.raises(ValueError, match="Invalid reduction dimension 2 for input with 2"):
        tf.reduce_sum(x, 2)


def test_ranges(session):
    delta = tf.placeholder(tf.int32, [])
    numbers = tf.range(0, 6, delta)
    for bad in (0, -1):
        with pytest.raises(tf.errors.InvalidArgumentError, match="Requires"):
            session.run(numbers, {delta: bad})
    assert session.run(numbers, {delta: 4}).tolist() == [0, 4]
    with pytest.raises(ValueError, match="Requires delta != 0"):
        tf.range(0, 6, 0)


def test_products(session):
    with pytest.raises(ValueError, match="Dimensions must be equal, but are 3 and 2 for 'MatMul'"):
        tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))
    x = tf.placeholder(tf.float32)
    product = tf.matmul(x, tf.ones([2, 3]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Matrix size-incompatible"):
        session.run(product, {x: np.ones((2, 3))})
    assert session.run(product, {x: np.ones((1, 2))}).shape == (1, 3)
    with pytest.raises(ValueError, match="Only one of transpose_a and adjoint_a"):
        tf.matmul(x, x, transpose_a=True, adjoint_a=True)


def test_counts(session):
    values = tf.placeholder(tf.int32, [None])
    counts = tf.bincount(values)
    with pytest.raises(tf.errors.InvalidArgumentError, match="non-negative"):
        session.run(counts, {values: [1, -1]})
    assert session.run(counts, {values: []}).shape == (0,)
    with pytest.raises(ValueError, match="Requires nbins > 0"):
        tf.histogram_fixed_width([1.0], [0.0, 1.0], nbins=-5)


def test_casts_that_are_not():
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(tf.errors.UnimplementedError, match="Cast string to int32"):
            session.run(tf.cast(tf.constant(["1"]), tf.int32))
