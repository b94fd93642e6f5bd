"""Heads of several labels, and several heads."""

import numpy as np
import pytest

import weft as tf


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def evaluated(spec):
    """The metrics of a specification, in a session of the default graph."""
    with tf.Session() as session:
        session.run([tf.local_variables_initializer(), tf.tables_initializer()])
        session.run([update for _, update in spec.eval_metric_ops.values()])
        return session.run({k: v for k, (v, _) in spec.eval_metric_ops.items()})


LOGITS = np.array([[1.0, -1.0, 0.5], [-2.0, 3.0, 0.1]], np.float32)
ROWS = np.array([[1, 0, 0], [0, 1, 1]])
LOSSES = np.mean(np.log1p(np.exp(-np.where(ROWS == 1, LOGITS, -LOGITS))), axis=1)


@pytest.mark.parametrize("kind", ["rows", "ids", "words"])
def test_several_labels(kind):
    with tf.Graph().as_default():
        head = tf.estimator.MultiLabelHead(
            3,
            thresholds=[0.55],
            label_vocabulary=["a", "b", "c"] if kind == "words" else None,
            classes_for_class_based_metrics=["b"] if kind == "words" else [1],
        )
        indices, values = [[0, 0], [1, 0], [1, 1]], [0, 1, 2]
        labels = {
            "rows": tf.constant(ROWS),
            "ids": tf.SparseTensor(indices, tf.constant(values, tf.int64), [2, 2]),
            "words": tf.SparseTensor(indices, [b"a", b"b", b"c"], [2, 2]),
        }[kind]
        spec = head.create_estimator_spec({}, "eval", tf.constant(LOGITS), labels)
        results = evaluated(spec)
    np.testing.assert_allclose(results["average_loss"], LOSSES.mean(), rtol=1e-5)
    said = sigmoid(LOGITS) >= 0.55
    at = "positive_threshold_0.55"
    np.testing.assert_allclose(results[f"accuracy/{at}"], np.mean(said == ROWS), rtol=1e-5)
    np.testing.assert_allclose(results[f"recall/{at}"], said[ROWS == 1].mean(), rtol=1e-5)
    name = "b" if kind == "words" else "class1"
    mean = sigmoid(LOGITS[:, 1]).mean()
    np.testing.assert_allclose(results[f"probability_mean/{name}"], mean, rtol=1e-5)
    np.testing.assert_allclose(results[f"auc/{name}"], 1.0, rtol=1e-3)


def test_several_heads():
    with tf.Graph().as_default():
        tf.train.create_global_step()
        heads = [
            tf.estimator.RegressionHead(name="size"),
            tf.estimator.MultiLabelHead(3, name="kinds"),
        ]
        head = tf.estimator.MultiHead(heads, head_weights=[0.5, 2.0])
        assert (head.name, head.logits_dimension) == ("size_kinds", 4)
        logits = tf.constant(np.concatenate([[[1.0], [3.0]], LOGITS], 1), tf.float32)
        labels = {"size": tf.constant([[2.0], [1.0]]), "kinds": tf.constant(ROWS)}
        spec = head.create_estimator_spec({}, "eval", logits, labels)
        results = evaluated(spec)
        with tf.Session() as session:
            loss, predicted = session.run([spec.loss, spec.predictions])
        np.testing.assert_allclose(loss, 0.5 * 2.5 + 2.0 * LOSSES.mean(), rtol=1e-5)
        np.testing.assert_allclose(results["loss/size"], 2.5, rtol=1e-5)
        np.testing.assert_allclose(results["average_loss/kinds"], LOSSES.mean(), rtol=1e-5)
        np.testing.assert_allclose(predicted["kinds", "probabilities"], sigmoid(LOGITS), rtol=1e-5)
        served = head.create_estimator_spec({}, "infer", logits).export_outputs
        assert {"serving_default", "size", "kinds/classification", "predict"} <= set(served)
        assert "kinds/probabilities" in served["predict"].outputs
        with pytest.raises(ValueError, match="Could not split logits"):
            head.loss(labels, logits[:, :3])
        with pytest.raises(ValueError, match="labels has missing values"):
            head.loss({"size": labels["size"]}, logits)
