"""Layers of features."""

from __future__ import annotations

import json

import numpy as np
import pytest

import weft as tf

fc = tf.feature_column


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def run(fetches):
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return sess.run(fetches)


def columns():
    ids = fc.categorical_column_with_identity("ids", 3)
    return [
        fc.numeric_column("a"),
        fc.embedding_column(ids, 2, initializer=tf.ones_initializer()),
        fc.indicator_column(fc.crossed_column([ids, "b"], 4)),
    ]


FEATURES = {"a": [[1.0], [5.0]], "ids": [[0, 1], [2, -1]], "b": [["x"], ["y"]]}


def features():
    return {key: tf.constant(value) for key, value in FEATURES.items()}


def test_dense_features_are_those_of_input_layer():
    layer = tf.keras.layers.DenseFeatures(columns())
    parts: dict = {}
    found = layer(features(), cols_to_output_tensors=parts)
    names = ["dense_features/ids_embedding/embedding_weights:0"]
    assert [v.name for v in layer.trainable_weights] == names
    assert len(parts) == 3 and found.shape.as_list() == [2, 7]
    first, second = run([found, fc.input_layer(features(), columns())])
    np.testing.assert_array_equal(first, second)
    layer(features())
    assert len(layer.weights) == 1
    assert not tf.keras.layers.DenseFeatures(columns(), trainable=False).trainable


def test_sequence_features():
    steps = fc.sequence_numeric_column("n", shape=(2,), default_value=-1.0)
    ids = fc.sequence_categorical_column_with_identity("c", 3)
    layer = tf.keras.experimental.SequenceFeatures([steps, fc.indicator_column(ids)])
    numbers = tf.SparseTensor(
        [[0, 0], [0, 1], [0, 2], [0, 3], [1, 0], [1, 1]], [1.0, 2, 3, 4, 5, 6], [2, 4]
    )
    chosen = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], tf.constant([2, 0, 1]), [2, 2])
    found, lengths = run(layer({"n": numbers, "c": chosen}))
    expected = [[[0, 0, 1, 1, 2], [1, 0, 0, 3, 4]], [[0, 1, 0, 5, 6], [0, 0, 0, -1, -1]]]
    np.testing.assert_array_equal(found, expected)
    assert lengths.tolist() == [2, 1]
    with pytest.raises(tf.errors.InvalidArgumentError):
        longer = tf.SparseTensor([[0, 0], [1, 0]], tf.constant([2, 0]), [2, 2])
        run(layer({"n": numbers, "c": longer}))


def test_a_layer_is_made_again_from_its_configuration():
    layer = tf.keras.layers.DenseFeatures(columns(), name="mine")
    config = json.loads(json.dumps(layer.get_config()))
    again = tf.keras.layers.DenseFeatures.from_config(config)
    assert again.name == "mine" and again.get_config() == layer.get_config()
    assert again._feature_columns[0] == columns()[0]
    config["feature_columns"][0]["config"]["more"] = 1
    with pytest.raises(ValueError, match="expected keys"):
        tf.keras.layers.DenseFeatures.from_config(config)
    config["feature_columns"][0]["class_name"] = "NoColumn"
    with pytest.raises(ValueError, match="NoColumn"):
        tf.keras.layers.DenseFeatures.from_config(config)


def test_what_is_refused():
    ids = fc.categorical_column_with_identity("ids", 3)
    with pytest.raises(ValueError, match="must be a DenseColumn"):
        tf.keras.layers.DenseFeatures([ids])
    with pytest.raises(ValueError, match="We expected a dictionary"):
        tf.keras.layers.DenseFeatures(columns())(tf.constant([1.0]))
    with pytest.raises(ValueError, match="must not be of type SequenceCategoricalColumn"):
        sequence = fc.sequence_categorical_column_with_identity("ids", 3)
        tf.keras.layers.DenseFeatures(fc.embedding_column(sequence, 2))(features())
    with pytest.raises(ValueError, match="must be of type SequenceCategoricalColumn"):
        tf.keras.experimental.SequenceFeatures(fc.embedding_column(ids, 2))(features())
