"""`tf.contrib.estimator`: heads by functions, and estimators made of others."""

import numpy as np
import pytest

import weft as tf
from tests.estimator.linear_model import X, batches, made


def test_features_are_forwarded(tmp_path):
    estimator = made(tmp_path).train(batches(None), steps=1)
    inputs = tf.estimator.inputs.numpy_input_fn(
        {"x": X, "key": np.arange(20)}, batch_size=8, shuffle=False
    )
    more = tf.contrib.estimator.forward_features(estimator, "key")
    rows = list(more.predict(inputs))
    assert [int(row["key"]) for row in rows] == list(range(20))
    with pytest.raises(ValueError, match="not in features dict"):
        list(tf.contrib.estimator.forward_features(estimator, "other").predict(inputs))
    with pytest.raises(ValueError, match="does exist in predictions"):
        list(tf.contrib.estimator.forward_features(estimator, ["x"]).predict(inputs))


def test_gradients_are_clipped_together():
    with tf.Graph().as_default(), tf.Session() as session:
        a, b = tf.Variable(0.0), tf.Variable(0.0)
        optimizer = tf.contrib.estimator.clip_gradients_by_norm(
            tf.train.GradientDescentOptimizer(1.0), 1.0
        )
        train = optimizer.minimize(3.0 * a + 4.0 * b)
        session.run(tf.global_variables_initializer())
        session.run(train)
        np.testing.assert_allclose(session.run([a, b]), [-0.6, -0.8], rtol=1e-6)


def test_losses_are_divided_by_the_size_of_the_batch():
    head = tf.contrib.estimator.regression_head(label_dimension=1)
    with tf.Graph().as_default(), tf.Session() as session:
        loss = head.loss(tf.constant([[1.0], [2.0]]), tf.constant([[0.0], [0.0]]))
        assert session.run(loss) == pytest.approx(2.5)
    two = [tf.contrib.estimator.multi_class_head(3, name=n) for n in "ab"]
    assert tf.contrib.estimator.multi_head(two).logits_dimension == 6
