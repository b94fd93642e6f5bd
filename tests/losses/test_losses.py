"""tf.losses against the values of TensorFlow 1.15.5, and how losses are collected."""

from __future__ import annotations

import numpy as np
import pytest

import weft as tf
from weft.losses.weights import assert_broadcastable, broadcast_weights
from weft.testing import eager_mode

CASES = [
    (
        "absolute_difference",
        {"labels": [[1, 9, 2], [-5, -2, 6]], "predictions": [[4, 8, 12], [8, 1, 3]]},
        5.5,
    ),
    (
        "absolute_difference",
        {
            "labels": [[1, 9, 2], [-5, -2, 6]],
            "predictions": [[4, 8, 12], [8, 1, 3]],
            "weights": [[1.2], [0.0]],
        },
        5.599999904632568,
    ),
    (
        "mean_squared_error",
        {
            "labels": [[1, 9, 2], [-5, -2, 6]],
            "predictions": [[4, 8, 12], [8, 1, 3]],
            "weights": [[3, 0, 5], [0, 0, 2]],
        },
        181.6666717529297,
    ),
    (
        "huber_loss",
        {"labels": [1.0, 2.0, 3.0], "predictions": [1.5, 5.0, 3.1], "delta": 0.7},
        0.6616666316986084,
    ),
    (
        "cosine_distance",
        {
            "labels": [[1.0, 0.0], [0.6, 0.8]],
            "predictions": [[0.8, 0.6], [0.0, 1.0]],
            "axis": 1,
            "weights": [[1.0], [3.0]],
        },
        0.3999999761581421,
    ),
    (
        "hinge_loss",
        {"labels": [[0.0, 1.0], [1.0, 0.0]], "logits": [[-0.5, 0.3], [2.0, 0.1]]},
        0.5750000476837158,
    ),
    (
        "log_loss",
        {"labels": [1.0, 0.0, 1.0], "predictions": [0.9, 0.2, 0.4], "weights": [1.0, 0.0, 2.0]},
        0.9689707159996033,
    ),
    (
        "sigmoid_cross_entropy",
        {
            "multi_class_labels": [[1, 0], [0, 1]],
            "logits": [[1.5, -2.0], [0.5, 3.0]],
            "label_smoothing": 0.1,
        },
        0.4127514362335205,
    ),
    (
        "softmax_cross_entropy",
        {
            "onehot_labels": [[1, 0, 0], [0, 0, 1]],
            "logits": [[2.0, 1.0, 0.1], [0.3, 2.5, 0.2]],
            "label_smoothing": 0.3,
            "weights": [1.0, 2.0],
        },
        2.6050124168395996,
    ),
    (
        "sparse_softmax_cross_entropy",
        {
            "labels": [[0], [2]],
            "logits": [[2.0, 1.0, 0.1], [0.3, 2.5, 0.2]],
            "weights": [[1.0], [2.0]],
        },
        2.700012445449829,
    ),
    (
        "mean_pairwise_squared_error",
        {
            "labels": [[1, 9, 2], [-5, -5, 7]],
            "predictions": [[4, 8, 12], [8, 1, 3]],
            "weights": [[1.0], [2.5]],
        },
        427.0,
    ),
    (
        "mean_pairwise_squared_error",
        {"labels": [[1, 9, 2], [-5, -5, 7]], "predictions": [[4, 8, 12], [8, 1, 3]]},
        208.0,
    ),
]
REDUCED = {
    "none": [[0.5, 1.0], [0.0, 0.0]],
    "weighted_sum": 1.5,
    "weighted_sum_over_batch_size": 0.375,
    "weighted_mean": 1.5,
    "weighted_sum_by_nonzero_weights": 0.75,
}


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


@pytest.mark.parametrize(("name", "arguments", "wanted"), CASES)
def test_values(session, name, arguments, wanted):
    loss = getattr(tf.losses, name)(**arguments)
    assert tf.losses.get_losses() == [loss]
    np.testing.assert_allclose(session.run(loss), wanted, rtol=1e-6)
    with eager_mode():
        np.testing.assert_allclose(getattr(tf.losses, name)(**arguments).numpy(), wanted, rtol=1e-6)


@pytest.mark.parametrize("reduction", REDUCED)
def test_reductions(session, reduction):
    for weights in ([[0.5], [0.0]], tf.placeholder_with_default([[0.5], [0.0]], None)):
        loss = tf.losses.compute_weighted_loss(
            [[1.0, 2.0], [3.0, 4.0]], weights, reduction=reduction
        )
        np.testing.assert_allclose(session.run(loss), REDUCED[reduction])


def test_no_weights_left(session):
    loss = tf.losses.mean_squared_error([1.0, 2.0], [3.0, 4.0], weights=0.0)
    assert session.run(loss) == 0
    gradient = tf.gradients(tf.losses.absolute_difference([1.0], tf.constant([3.0]), 0.0), [])
    assert gradient == []


def test_collections(session):
    first = tf.losses.absolute_difference([1.0], [3.0])
    with tf.name_scope("inner"):
        second = tf.losses.mean_squared_error([1.0], [3.0])
    tf.losses.mean_squared_error([1.0], [9.0], loss_collection=None)
    tf.losses.add_loss(tf.constant(10.0), "others")
    assert tf.losses.get_losses() == [first, second]
    assert tf.losses.get_losses("inner") == [second]
    assert session.run(tf.losses.get_losses(loss_collection="others")) == [10]
    assert session.run(tf.losses.get_regularization_loss()) == 0
    tf.add_to_collection(tf.GraphKeys.REGULARIZATION_LOSSES, tf.constant(0.5))
    assert session.run(tf.losses.get_regularization_loss()) == 0.5
    assert session.run(tf.losses.get_total_loss()) == 6.5
    assert session.run(tf.losses.get_total_loss(add_regularization_losses=False)) == 6


def test_arguments_that_cannot_be(session):
    with pytest.raises(ValueError, match="labels must not be None"):
        tf.losses.mean_squared_error(None, [1.0])
    with pytest.raises(ValueError, match="not compatible|incompatible"):
        tf.losses.mean_squared_error([1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match="Invalid Reduction"):
        tf.losses.compute_weighted_loss([1.0], reduction="other")
    with pytest.raises(ValueError, match="'axis'"):
        tf.losses.cosine_distance([1.0], [1.0])
    with pytest.raises(ValueError, match="can not be broadcast"):
        tf.losses.mean_squared_error([[1.0, 2.0]], [[1.0, 2.0]], weights=[1.0, 2.0])
    with pytest.raises(ValueError, match="Mismatch at dim 1"):
        assert_broadcastable([[1.0, 2.0]], [[1.0, 2.0, 3.0]])


@pytest.mark.parametrize(
    ("weights", "fits"),
    [(2.0, True), ([[2.0], [1.0]], True), ([[1.0, 2.0]], False), ([1.0, 2.0], False)],
)
def test_weights_of_unknown_shape(session, weights, fits):
    values = np.ones((2, 3), np.float32)
    fed = tf.placeholder(tf.float32)
    spread = broadcast_weights(fed, tf.placeholder_with_default(values, None))
    if fits:
        found = session.run(spread, {fed: weights})
        np.testing.assert_array_equal(found, values * np.array(weights))
    else:
        with pytest.raises(tf.errors.InvalidArgumentError, match="can not be broadcast"):
            session.run(spread, {fed: weights})


def test_a_gradient_step(session):
    """Labels get no gradient from softmax_cross_entropy; logits do."""
    labels, logits = tf.constant([[0.0, 1.0]]), tf.constant([[0.0, 0.0]])
    loss = tf.losses.softmax_cross_entropy(labels, logits)
    to_labels, to_logits = tf.gradients(loss, [labels, logits])
    assert to_labels is None
    np.testing.assert_allclose(session.run(to_logits), [[0.5, -0.5]])
