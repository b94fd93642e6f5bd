"""A function on many rows at once gives what calls one by one give, or asks for these."""

import numpy as np
import pytest

import weft as tf
from weft.data.function import StructuredFunction
from weft.ops.datasets.block import OneByOne
from weft.runtime.function_rows import FunctionRows
from weft.testing import tier


class Called:
    """A function of elements like the first of some rows, to be called in both ways."""

    def __init__(self, session, function, *columns):
        self.columns = list(columns)
        spec = tuple(
            tf.TensorSpec(np.shape(c[0]), tf.string if c.dtype == object else c.dtype)
            for c in columns
        )
        traced = StructuredFunction(function, "Dataset_map", spec)
        captured = traced.captured
        self.resources = session.resources
        self.captured = session.run(captured) if captured else []
        name = traced.attribute.name
        self.one = session._functions.callable(name, self.resources)
        self.rows: FunctionRows = session._functions.on_rows(name, self.resources, len(captured))

    def one_by_one(self, n):
        found = []
        for i in range(n):
            row = [c[i : i + 1].reshape(c.shape[1:]) for c in self.columns]
            found.append(self.one([*row, *self.captured]))
        return found

    def at_once(self, n):
        columns = self.rows([c[:n] for c in self.columns], self.captured, n)
        return [[c[i] for c in columns] for i in range(n)]

    def counters(self):
        return [np.array(cell.value) for cell in self.resources.random.values()]


@pytest.fixture(scope="module")
def session():
    with tf.Graph().as_default(), tf.Session() as made:
        yield made


def same(rows, others):
    assert len(rows) == len(others)
    for row, other in zip(rows, others, strict=True):
        for value, wanted in zip(row, other, strict=True):
            assert np.shape(value) == np.shape(wanted)
            if np.asarray(wanted).dtype.kind == "f":
                np.testing.assert_allclose(value, wanted, rtol=3e-7)
            else:
                np.testing.assert_array_equal(value, wanted)


def texts(*values):
    column = np.empty(len(values), object)
    column[:] = values
    return column


X = np.random.RandomState(0).randn(9, 5, 3).astype(np.float32)
NUMBERS = np.arange(9)


@pytest.mark.parametrize(
    "function, columns",
    [
        (lambda x: tf.nn.softmax(tf.matmul(x, x, transpose_b=True)) + 1.0, [X]),
        (
            lambda x, i: (x[: 2 + 0 * i], tf.cast(i, tf.float32) / 3, tf.constant([7, 8])),
            [X, NUMBERS],
        ),
        (lambda i: tf.cond(i < 4, lambda: tf.range(6)[2:5] * 2, lambda: tf.range(3)), [NUMBERS]),
        (
            lambda i: tf.while_loop(lambda k: k < i, lambda k: k * 2 + 1, [tf.cast(0, tf.int64)]),
            [NUMBERS],
        ),
        (lambda s: (tf.decode_raw(s, tf.uint8), tf.strings.length(s)), [texts(b"ab", b"cd", b"")]),
        (
            lambda s: tf.cast(tf.decode_raw(s, tf.int16), tf.float32) / 2,
            [texts(b"ab", b"cd", b"ef")],
        ),
        (lambda s: tf.string_split([s]).values, [texts(b"a b", b"c", b"d e f")]),
        (lambda i: tf.reshape(tf.range(12), tf.stack([i + 1, -1])), [np.array([0, 1, 2, 3])]),
    ],
    ids="arithmetic several branches loop host joined ragged shapes".split(),
)
def test_rows_are_what_calls_give(session, function, columns):
    with session.graph.as_default(), tier("compile"):
        called = Called(session, function, *columns)
        n = len(columns[0])
        same(called.at_once(n), called.one_by_one(n))
        same(called.at_once(2), called.one_by_one(2))


def test_numbers_are_drawn_as_row_by_row(session):
    def draw(i):
        return (
            tf.random_uniform([2], seed=3),
            tf.random_normal([], seed=4),
            tf.random.shuffle([i, 0, 1], 5),
        )

    with session.graph.as_default(), tier("compile"):
        first, second = Called(session, draw, NUMBERS), Called(session, draw, NUMBERS)
        wanted = first.one_by_one(8)
        found = second.at_once(4) + second.one_by_one(1) + second.at_once(3)
        for row, other in zip(found, wanted, strict=True):
            same([row[:2]], [other[:2]])
        same(second.at_once(3), first.one_by_one(3))


def test_a_row_that_fails_leaves_everything_to_calls_one_by_one(session):
    def checked(i, s):
        noise = tf.random_uniform([], seed=5)
        with tf.control_dependencies([tf.assert_less(i, tf.cast(6, tf.int64))]):
            return noise + tf.cast(i, tf.float32), tf.decode_raw(s, tf.int32)

    bad = texts(*[b"four"] * 3, b"three", *[b"four"] * 5)
    with session.graph.as_default(), tier("compile"):
        for column, n in ((texts(*[b"four"] * 9), 9), (bad, 5)):
            called, other = (
                Called(session, checked, NUMBERS, column),
                Called(session, checked, NUMBERS, column),
            )
            called.at_once(2)
            other.one_by_one(2)
            before = called.counters()
            with pytest.raises(OneByOne):
                called.at_once(n)
            for value, wanted in zip(called.counters(), before, strict=True):
                np.testing.assert_array_equal(value, wanted)
            same(called.one_by_one(3), other.one_by_one(3))


def test_effects_are_not_called_on_rows(session):
    def python(i):
        return tf.py_func(lambda x: x, [i], tf.int64, stateful=True)

    with session.graph.as_default(), tier("compile"):
        counter = tf.get_variable(
            "counter", [], tf.int64, tf.zeros_initializer(), use_resource=True
        )
        session.run(counter.initializer)
        printed = Called(session, lambda i: tf.identity(tf.Print(i, [i])), NUMBERS)
        for called in (Called(session, python, NUMBERS), printed):
            assert called.rows.refused
            with pytest.raises(OneByOne):
                called.at_once(3)
        adding = Called(session, lambda i: counter.assign_add(i) + 0, NUMBERS)
        with pytest.raises(OneByOne):
            adding.at_once(3)
        assert session.run(counter) == 0
        reading = Called(session, lambda i: counter + i, NUMBERS)
        later = tf.get_variable("later", initializer=np.int64(4), use_resource=True)
        waiting = Called(session, lambda i: later * i, NUMBERS)
        with pytest.raises(OneByOne):
            waiting.at_once(3)
        session.run(later.initializer)
        same(waiting.at_once(3), [[0], [4], [8]])
        same(reading.at_once(3), [[0], [1], [2]])
        session.run(counter.assign(5))
        same(reading.at_once(3), [[5], [6], [7]])


def test_loops_are_compiled_once_it_pays_and_for_few_sizes(session):
    from weft.testing import compilations

    with session.graph.as_default():
        called = Called(session, lambda x: tf.nn.relu(x) * 2.0, X)
        with pytest.raises(OneByOne):
            called.at_once(9)
        called = Called(session, lambda x: tf.nn.relu(x) * 3.0, np.repeat(X, 12, 0))
        with tier("compile"):
            called.at_once(2)
            before = compilations()
            for n in range(2, 100):
                called.at_once(n)
            assert compilations() - before <= 12
        with tier("interpret"), pytest.raises(OneByOne):
            called.at_once(9)


def test_examples_are_parsed_together(session):
    def example(label, ids):
        feature = {
            "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
            "ids": tf.train.Feature(int64_list=tf.train.Int64List(value=ids)),
        }
        features = tf.train.Features(feature=feature)
        return tf.train.Example(features=features).SerializeToString()

    def parsed(record):
        found = tf.parse_single_example(
            record,
            {
                "label": tf.FixedLenFeature([], tf.int64),
                "ids": tf.VarLenFeature(tf.int64),
                "weight": tf.FixedLenFeature([2], tf.float32, [0.5, 0.25]),
            },
        )
        again = tf.parse_single_example(
            record, {"ids": tf.FixedLenSequenceFeature([], tf.int64, allow_missing=True)}
        )
        ids = found["ids"]
        return (
            found["label"],
            found["weight"],
            ids.indices,
            ids.values,
            ids.dense_shape,
            again["ids"],
        )

    good = texts(example(1, [4, 5]), example(2, []), example(3, [6]))
    with session.graph.as_default(), tier("compile"):
        called = Called(session, parsed, good)
        assert called.rows.every_operation_has_rows
        same(called.at_once(3), called.one_by_one(3))
        broken = Called(session, parsed, texts(good[0], b"\xff", good[2]))
        with pytest.raises(OneByOne):
            broken.at_once(3)
