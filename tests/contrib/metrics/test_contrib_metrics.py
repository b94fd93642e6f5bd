"""tf.contrib.metrics against TensorFlow 1.15.5, batch after batch."""

from __future__ import annotations

import inspect
import json

import numpy as np
import pytest

import weft as tf
from weft.framework.export import exported

from . import contrib_cases as cases

with open(cases.EXPECTED) as _file:
    EXPECTED = json.load(_file)


@pytest.mark.parametrize("name", EXPECTED)
def test_values(name):
    found, wanted = cases.run(tf, name), EXPECTED[name]
    for a, b in zip(found["values"], wanted["values"]):
        for x, y in zip(a, b):
            np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)
    if "average_precision" not in name:  # numbered behind other operations of TensorFlow's
        assert found["variables"] == wanted["variables"]


def test_every_metric_has_a_case():
    assert callable(tf.contrib.metrics.streaming_accuracy)  # which loads them all
    known = {name.split()[0] for name in EXPECTED}
    others = {"accuracy", "aggregate_metric_map", "aggregate_metrics", "confusion_matrix"}
    sets = {"set_difference", "set_intersection", "set_size", "set_union"}
    assert set(exported("contrib.metrics")) - known == others | sets


def test_names_and_arguments():
    function = tf.contrib.metrics.streaming_auc
    assert function.__name__ == "streaming_auc"
    assert list(inspect.signature(function).parameters)[:4] == [
        "predictions",
        "labels",
        "weights",
        "num_thresholds",
    ]
    assert tf.contrib.slim.metrics is tf.contrib.metrics


def test_metrics_together():
    with tf.Graph().as_default(), tf.Session() as session:
        m = tf.contrib.metrics
        metrics = {
            "accuracy": m.streaming_accuracy(predictions=[1, 2, 3], labels=[1, 2, 4]),
            "mean": m.streaming_mean([1.0, 3.0]),
        }
        values, updates = m.aggregate_metric_map(metrics)
        session.run(tf.local_variables_initializer())
        session.run(updates)
        np.testing.assert_allclose(session.run(values)["accuracy"], 2 / 3)
        values, _ = m.aggregate_metrics(*metrics.values())
        np.testing.assert_allclose(session.run(values), [2 / 3, 2])
        with pytest.raises(ValueError, match="at least one"):
            m.aggregate_metrics()


def test_accuracy_of_a_batch():
    with tf.Graph().as_default(), tf.Session() as session:
        accuracy = tf.contrib.metrics.accuracy
        labels, predictions = tf.constant([1, 2, 3, 4]), tf.constant([1, 2, 4, 3])
        assert session.run(accuracy(predictions, labels)) == 0.5
        assert session.run(accuracy(predictions, labels, [3.0, 0.0, 1.0, 0.0])) == 0.75
        with pytest.raises(ValueError, match="dtype"):
            accuracy(tf.constant([1.0]), tf.constant([1.0]))
        with pytest.raises(ValueError, match="should match"):
            accuracy(tf.constant([1.0]), tf.constant([1]))
