"""Loops over datasets and iterators in functions that become graphs."""

from __future__ import annotations

import pytest

import weft as tf
from weft.testing import eager_mode


@pytest.fixture(autouse=True)
def eager():
    with eager_mode():
        yield


@tf.function
def total(elements):
    found = tf.constant(0, tf.int64)
    for x in elements:
        found += x
    return found


@tf.function
def up_to(elements, most):
    found = tf.constant(0, tf.int64)
    for x in elements:
        if x >= most:
            break
        if tf.equal(x % 2, 1):
            continue
        found += x
    return found


@tf.function
def first_above(elements, least):
    for x in elements:
        if x > least:
            return x
    return tf.constant(-1, tf.int64)


def test_all_elements_of_a_dataset_and_of_an_iterator():
    numbers = tf.data.Dataset.range(5)
    assert total(numbers).numpy() == 10
    iterator = iter(numbers)
    next(iterator)
    assert total(iterator).numpy() == 10 and total(iterator).numpy() == 0


def test_a_loop_that_is_left_takes_no_element_more_than_it_saw():
    numbers = tf.data.Dataset.range(10)
    assert up_to(numbers, 7).numpy() == 12 and up_to(numbers, 100).numpy() == 20
    iterator = iter(numbers)
    assert up_to(iterator, 5).numpy() == 6
    assert next(iterator).numpy() == 6
    assert first_above(iterator, 7).numpy() == 8
    assert next(iterator).numpy() == 9
    assert first_above(iterator, 0).numpy() == -1


def test_structures_and_datasets_that_the_function_makes():
    @tf.function
    def weighted():
        found = 0.0
        rows = tf.data.Dataset.from_tensor_slices({"x": [1.0, 2.0, 3.0], "w": [4.0, 5.0, 6.0]})
        for row in rows.shuffle(3):
            found += row["x"] * row["w"]
            if found > 1000:
                break
        return found

    assert weighted().numpy() == 32

    @tf.function
    def pairs(a, b):
        found = tf.constant(0, tf.int64)
        for x in a:
            for y in b:
                if y > x:
                    break
                found += x * y
        return found

    want = sum(x * y for x in range(4) for y in range(6) if y <= x)
    assert pairs(tf.data.Dataset.range(4), tf.data.Dataset.range(6)).numpy() == want


def test_one_element_at_each_call():
    @tf.function
    def step(iterator):
        return next(iterator) * 10, iterator.get_next()

    iterator = iter(tf.data.Dataset.range(6))
    assert [[v.numpy() for v in step(iterator)] for _ in range(2)] == [[0, 1], [20, 3]]
    with pytest.raises(tf.errors.OutOfRangeError):
        step(iterator), step(iterator)
