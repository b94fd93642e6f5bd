"""Columns of features: what they make of features, what their variables are called, what they refuse.

Expected values are TensorFlow 1.15's.
"""

from __future__ import annotations

import copy

import numpy as np
import pytest

import weft as tf

fc = tf.feature_column


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def run(fetches, feeds=None):
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return sess.run(fetches, feeds)


def wire(**more):
    return fc.categorical_column_with_identity("wire", 4, **more)


def features():
    return {
        "price": [[1.0], [5.0]],
        "wire": tf.constant([[0, 1], [2, -1]]),
        "word": tf.constant([["a", ""], ["b", "a"]]),
    }


def ones(shape, dtype=None, partition_info=None):
    return tf.constant(np.arange(1, 1 + np.prod(shape)).reshape(shape), tf.float32)


def test_numbers_and_buckets():
    price = fc.numeric_column("price", normalizer_fn=lambda x: x / 2.0)
    bucket = fc.bucketized_column(fc.numeric_column("price"), [1.0, 5.0])
    found = run(fc.input_layer(features(), [bucket, price]))
    np.testing.assert_array_equal(found, [[0.5, 0, 1, 0], [2.5, 0, 0, 1]])


def test_counts_of_categories():
    found = run(fc.input_layer(features(), fc.indicator_column(wire())))
    np.testing.assert_array_equal(found, [[1, 1, 0, 0], [0, 0, 1, 0]])
    weighted = fc.weighted_categorical_column(wire(), "weight")
    inputs = dict(features(), weight=[[0.5, 2.0], [1.0, 0.0]])
    inputs["wire"] = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], tf.constant([0, 1, 2]), [2, 2])
    found = run(fc.input_layer(inputs, fc.indicator_column(weighted)))
    np.testing.assert_array_equal(found, [[0.5, 2, 0, 0], [0, 0, 1, 0]])


def test_embeddings_are_combined():
    for combiner, first in (("mean", [2, 3]), ("sum", [4, 6]), ("sqrtn", [4 / 2**0.5, 6 / 2**0.5])):
        column = fc.embedding_column(wire(), 2, combiner, initializer=ones)
        found = run(fc.input_layer(features(), [column]))
        np.testing.assert_allclose(found, [first, [5, 6]], rtol=1e-6)


def test_hashed_and_crossed_categories():
    word = fc.categorical_column_with_hash_bucket("word", 10)
    crossed = fc.crossed_column(["word", wire(default_value=0)], 7)
    order = [fc.indicator_column(crossed), fc.indicator_column(word)]
    found = run(fc.input_layer(features(), order))
    expected = np.zeros((2, 17))  # seven buckets of crosses, then ten of words
    expected[[0, 0, 0, 0, 0, 1, 1, 1, 1], [0, 1, 2, 5, 16, 2, 3, 9, 16]] = 1
    np.testing.assert_array_equal(found, expected)


def test_names_and_collections_of_variables():
    price = fc.numeric_column("price")
    embedding = fc.embedding_column(wire(), 2)
    found: dict = {}
    parts: dict = {}
    result = fc.input_layer(
        features(),
        [price, embedding],
        weight_collections=["mine"],
        cols_to_vars=found,
        cols_to_output_tensors=parts,
    )
    name = "input_layer/wire_embedding/embedding_weights"
    assert [v.op.name for v in found[embedding]] == [name] and found[price] == []
    assert [v.op.name for v in tf.get_collection("mine")] == [name]
    assert [v.op.name for v in tf.get_collection(tf.GraphKeys.MODEL_VARIABLES)] == [name]
    assert result.shape.as_list() == [2, 3] and parts[embedding].shape.as_list() == [2, 2]
    fc.input_layer(features(), [embedding], trainable=False)
    assert len(tf.global_variables()) == 2 and len(tf.trainable_variables()) == 1


def test_linear_model_learns():
    columns = [fc.numeric_column("price"), wire(), fc.embedding_column(wire(), 2)]
    variables: dict = {}
    logits = fc.linear_model(features(), columns, units=2, cols_to_vars=variables)
    assert logits.shape.as_list() == [2, 2]
    assert [v.op.name for v in variables["bias"]] == ["linear_model/bias_weights"]
    assert [v.op.name for v in variables[columns[1]]] == ["linear_model/wire/weights"]
    loss = tf.reduce_mean(tf.square(logits - [[1.0, 2.0], [3.0, 4.0]]))
    train = tf.train.GradientDescentOptimizer(0.02).minimize(loss)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        before = sess.run(loss)
        for _ in range(60):
            sess.run(train)
        assert sess.run(loss) < before / 20


def test_shared_embeddings_are_one_variable():
    other = fc.categorical_column_with_identity("other", 4)
    columns = fc.shared_embedding_columns([wire(), other], 2, initializer=ones)
    inputs = dict(features(), other=tf.constant([[3], [0]]))
    found = run(fc.input_layer(inputs, columns))
    np.testing.assert_array_equal(found, [[7, 8, 2, 3], [1, 2, 5, 6]])
    assert [v.op.name for v in tf.global_variables()] == [
        "input_layer/other_wire_shared_embedding/embedding_weights"
    ]
    v2 = tf.compat.v2.feature_column.shared_embeddings([wire(), other], 2)
    with pytest.raises(ValueError, match="not supported in `linear_model`"):
        fc.input_layer(inputs, v2)


def test_specs_of_examples():
    columns = [
        fc.numeric_column("price", shape=(2,), default_value=1.0),
        fc.indicator_column(fc.crossed_column(["a", "b"], 5)),
        fc.embedding_column(fc.weighted_categorical_column(wire(), "weight"), 2),
    ]
    assert fc.make_parse_example_spec(columns) == {
        "price": tf.io.FixedLenFeature((2,), tf.float32, (1.0, 1.0)),
        "a": tf.io.VarLenFeature(tf.string),
        "b": tf.io.VarLenFeature(tf.string),
        "wire": tf.io.VarLenFeature(tf.int64),
        "weight": tf.io.VarLenFeature(tf.float32),
    }
    again = fc.numeric_column("price")
    with pytest.raises(ValueError, match="different parse_spec for key price"):
        fc.make_parse_example_spec([*columns, again])


def test_columns_are_values():
    column = fc.embedding_column(wire(), 2, initializer=ones)
    same = copy.deepcopy(column)
    assert same.name == "wire_embedding" and same.categorical_column == wire()
    assert fc.numeric_column("a") == fc.numeric_column("a") != fc.numeric_column("b")


def test_ids_out_of_range_fail_as_the_step_runs():
    ids = tf.placeholder(tf.int32, [None, 1])
    layer = fc.input_layer({"wire": ids}, fc.indicator_column(wire()))
    with tf.Session() as sess:
        with pytest.raises(tf.errors.InvalidArgumentError, match="exceeds number of buckets"):
            sess.run(layer, {ids: [[4]]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="Negative bucket index"):
            sess.run(layer, {ids: [[-2]]})
        assert sess.run(layer, {ids: [[3]]}).tolist() == [[0, 0, 0, 1]]
    kept = run(fc.input_layer({"wire": [[9]]}, fc.indicator_column(wire(default_value=1))))
    assert kept.tolist() == [[0, 1, 0, 0]]


@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda: fc.numeric_column(3), ValueError, "key must be a string"),
        (lambda: fc.numeric_column("a", shape=(0,)), ValueError, "greater than 0"),
        (lambda: fc.numeric_column("a", shape=("b",)), TypeError, "must be integer"),
        (lambda: fc.numeric_column("a", default_value="x"), TypeError, "compatible with dtype"),
        (
            lambda: fc.numeric_column("a", shape=(2,), default_value=[1.0]),
            ValueError,
            "The shape of",
        ),
        (lambda: fc.numeric_column("a", dtype=tf.string), ValueError, "convertible to float"),
        (lambda: fc.numeric_column("a", normalizer_fn=1), TypeError, "must be a callable"),
        (lambda: fc.bucketized_column(fc.numeric_column("a"), [2, 1]), ValueError, "sorted list"),
        (lambda: fc.bucketized_column(fc.numeric_column("a"), []), ValueError, "not be empty"),
        (lambda: fc.categorical_column_with_hash_bucket("a", 0), ValueError, "at least 1"),
        (lambda: fc.categorical_column_with_vocabulary_list("a", []), ValueError, "non-empty"),
        (
            lambda: fc.categorical_column_with_vocabulary_list("a", ["x"] * 2),
            ValueError,
            "Duplicate",
        ),
        (lambda: fc.categorical_column_with_vocabulary_file("a", ""), ValueError, "Missing"),
        (lambda: fc.categorical_column_with_vocabulary_file("a", "no"), ValueError, "not exist"),
        (lambda: fc.crossed_column(["a"], 5), ValueError, "length > 1"),
        (lambda: fc.crossed_column(["a", 1], 5), ValueError, "Unsupported key type"),
        (lambda: fc.embedding_column(wire(), 0), ValueError, "Invalid dimension"),
        (lambda: fc.embedding_column(wire(), 2, initializer=3), ValueError, "must be callable"),
        (lambda: fc.input_layer({}, []), ValueError, "must not be empty"),
        (lambda: fc.input_layer({}, [wire()]), ValueError, "must be a _DenseColumn"),
        (lambda: fc.input_layer({}, [fc.numeric_column("a")] * 2), ValueError, "Duplicate"),
        (lambda: fc.input_layer({}, fc.numeric_column("a")), ValueError, "not in features"),
        (lambda: fc.input_layer({"a": 1.0}, fc.numeric_column("a")), ValueError, "rank 0"),
    ],
)
def test_what_is_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


VOCABULARIES = [
    [[0, 2], [0, 5], [1, 0], [2, 4], [2, 6]],
    [[0, 2], [0, 4], [1, 0], [2, 3]],
    [[0, 1], [0, 2], [1, 0], [2, 3], [2, 4]],
    [[0, 1], [0, 2], [1, 0], [2, 2]],
]


def test_vocabularies(tmp_path):
    """Ids of words and numbers that are known, and of those that are not: by hash, as TensorFlow's."""
    path = tmp_path / "names.txt"
    path.write_text("omar\nstringer\nmarlo\n")
    inputs = {
        "w": tf.constant([["marlo", "x"], ["omar", ""], ["yy", "zz z"]]),
        "i": tf.constant([[3, 4], [5, -1], [12345, 77]]),
    }
    by_file, by_list = (
        fc.categorical_column_with_vocabulary_file,
        fc.categorical_column_with_vocabulary_list,
    )
    layers = [
        fc.input_layer(inputs, fc.indicator_column(column))
        for column in (
            by_file("w", str(path), num_oov_buckets=4),
            by_list("w", ["omar", "stringer"], num_oov_buckets=3),
            by_list("i", [5, 4, 3], num_oov_buckets=3),
            by_list("i", [5, 4, 3], default_value=2, dtype=tf.int32),
        )
    ]
    with tf.Session() as sess:
        sess.run(tf.tables_initializer())
        found = [np.argwhere(layer).tolist() for layer in sess.run(layers)]
    assert found == VOCABULARIES
