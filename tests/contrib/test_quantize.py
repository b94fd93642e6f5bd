"""Graphs rewritten for quantization: the same operations, variables and losses as in TensorFlow 1.15.5."""

import json
import os

import numpy as np
import pytest

import weft as tf
from tests.contrib import quantized_model

with open(os.path.join(os.path.dirname(__file__), "quantized_model.json")) as _file:
    EXPECTED = json.load(_file)


@pytest.mark.parametrize("name", quantized_model.CASES)
def test_what_tensorflow_makes_of_it(name):
    found = quantized_model.run(tf, **quantized_model.CASES[name])
    expected = EXPECTED[name]
    assert found["rounding"] == expected["rounding"]
    assert found["variables"] == expected["variables"]
    # A number between two that there are goes one way or the other; where norms stand apart TensorFlow reads moving
    # averages before they move or after, as it happens.
    loose = 0.04 if name in ("few bits", "separate") else 5e-4
    np.testing.assert_allclose(found["losses"], expected["losses"], rtol=loose)
    assert list(found["ranges"]) == list(expected["ranges"])
    for key, value in expected["ranges"].items():
        assert found["ranges"][key] == pytest.approx(value, rel=max(loose, 2e-3), abs=1e-3)


def test_folding_does_not_change_what_is_computed():
    def outputs(folded):
        with tf.Graph().as_default() as graph, tf.Session() as session:
            x = tf.constant(np.random.RandomState(1).randn(8, 6, 6, 3).astype(np.float32))
            y = quantized_model.model(tf, x, True, True, True, True)
            if folded:
                from weft.contrib.quantize.folding import fold_batch_norms

                fold_batch_norms(graph, True, None)
            session.run(tf.global_variables_initializer())
            return session.run([y, *tf.gradients(tf.reduce_sum(y * y), tf.trainable_variables())])

    for plain, folded in zip(outputs(False), outputs(True)):
        np.testing.assert_allclose(folded, plain, rtol=2e-3, atol=2e-3 * np.abs(plain).max())


def test_a_graph_with_gradients_is_refused():
    with tf.Graph().as_default() as graph:
        v = tf.get_variable("v", [2])
        tf.train.AdamOptimizer().minimize(tf.reduce_sum(v))
        with pytest.raises(ValueError, match="Training op found in graph"):
            tf.contrib.quantize.create_training_graph(graph)


def test_a_norm_without_moving_averages_is_refused():
    with tf.Graph().as_default():
        x = tf.layers.conv2d(tf.zeros([1, 4, 4, 2]), 3, 3, use_bias=False)
        ones, empty = tf.ones([3]), tf.constant([], tf.float32)
        normalized = tf.raw_ops.FusedBatchNormV3(
            x=x, scale=ones, offset=ones, mean=empty, variance=empty, is_training=True
        )
        tf.nn.relu(normalized[0])
        with pytest.raises(ValueError, match="no moving average takes in FusedBatchNormV3:1"):
            tf.contrib.quantize.create_training_graph()
