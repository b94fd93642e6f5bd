"""tf.metrics against TensorFlow 1.15.5, batch after batch."""

from __future__ import annotations

import json

import numpy as np
import pytest

import weft as tf
from weft.framework.export import exported
from weft.testing import eager_mode

from . import cases

with open(cases.EXPECTED) as _file:
    EXPECTED = json.load(_file)


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


@pytest.mark.parametrize("name", EXPECTED)
def test_values(name):
    found, wanted = cases.run(tf, name), EXPECTED[name]
    np.testing.assert_allclose(found["values"], wanted["values"], rtol=1e-6)
    np.testing.assert_allclose(found["update"], wanted["update"], rtol=1e-6)
    if "average_precision" not in name:  # numbered behind other operations of TensorFlow's
        assert found["variables"] == wanted["variables"]


def test_every_metric_has_a_case():
    assert callable(tf.metrics.average_precision_at_k)  # which loads them all
    names = set(exported("metrics"))
    known = {name.split()[0] for name in EXPECTED}
    assert names - known <= {"precision_at_top_k", "recall_at_top_k"}


def test_collections_and_variables(session):
    value, update = tf.metrics.mean(
        [1.0, 3.0], metrics_collections=["values"], updates_collections=["updates"], name="m"
    )
    assert tf.get_collection("values") == [value]
    assert tf.get_collection("updates") == [update]
    assert [v.name for v in tf.local_variables()] == ["m/total:0", "m/count:0"]
    assert tf.local_variables() == tf.get_collection(tf.GraphKeys.METRIC_VARIABLES)
    assert not tf.trainable_variables() and not tf.global_variables()
    with pytest.raises(tf.errors.FailedPreconditionError):
        session.run(value)
    session.run(tf.local_variables_initializer())
    assert session.run(value) == 0
    assert session.run([update, update])[0] == 2


def test_sparse_labels(session):
    scores = tf.constant([[0.1, 0.5, 0.3, 0.2], [0.7, 0.0, 0.2, 0.6]])
    sparse = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], tf.constant([1, 3, 2], tf.int64), [2, 2])
    precision = tf.metrics.precision_at_k(sparse, scores, 2)
    recall = tf.metrics.recall_at_k(sparse, scores, 2)
    average = tf.metrics.average_precision_at_k(sparse, scores, 3)
    session.run(tf.local_variables_initializer())
    found = session.run([m[1] for m in (precision, recall, average)])
    # Best are 1, 2, 3 and 0, 3, 2; the labels 1, 3 and 2.
    np.testing.assert_allclose(found, [1 / 4, 1 / 3, ((1 + 2 / 3) / 2 + 1 / 3) / 2])


def test_labels_of_one_class(session):
    labels = tf.placeholder_with_default(tf.constant([1, 0], tf.int64), None)
    best = tf.constant([[1, 2], [3, 1]])
    _, recall = tf.metrics.recall_at_top_k(labels, best)
    _, precision = tf.metrics.precision_at_top_k(tf.constant([1, 0], tf.int64), best)
    session.run(tf.local_variables_initializer())
    assert session.run([recall, precision]) == [0.5, 0.25]


def test_repeated_labels_count_once(session):
    labels = tf.constant([[1, 1, 2]], tf.int64)
    _, recall = tf.metrics.recall_at_top_k(labels, [[1, 1, 0]])
    _, precision = tf.metrics.precision_at_top_k(labels, [[1, 1, 0]])
    session.run(tf.local_variables_initializer())
    assert session.run([recall, precision]) == [0.5, 0.5]


def test_arguments_that_cannot_be(session):
    with pytest.raises(ValueError, match="curve must be"):
        tf.metrics.auc([1], [0.5], curve="other")
    with pytest.raises(ValueError, match="summation_method"):
        tf.metrics.auc([1], [0.5], summation_method="other")
    with pytest.raises(ValueError, match="specificity"):
        tf.metrics.sensitivity_at_specificity([1], [0.5], 1.5)
    with pytest.raises(ValueError, match="compatible"):
        tf.metrics.accuracy([1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="k=0"):
        tf.metrics.average_precision_at_k([[1]], [[0.5]], 0)
    with pytest.raises(ValueError, match="can not be broadcast"):
        tf.metrics.mean([[1.0, 2.0]], weights=[[1.0], [2.0]])
    with pytest.raises(ValueError, match="labels shape"):
        tf.metrics.precision_at_top_k(tf.constant(1, tf.int64), [[1]])
    out_of_range = tf.placeholder_with_default([1.5], [1])
    _, update = tf.metrics.auc([1], out_of_range)
    session.run(tf.local_variables_initializer())
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"in \[0, 1\]"):
        session.run(update)


def test_not_under_eager_execution():
    with eager_mode(), pytest.raises(RuntimeError, match="tf.metrics.accuracy is not supported"):
        tf.metrics.accuracy([1], [1])
