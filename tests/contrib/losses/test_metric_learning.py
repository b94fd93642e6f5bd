"""tf.contrib.losses.metric_learning against TensorFlow 1.15.5; gradients against differences."""

from __future__ import annotations

import numpy as np
import pytest

import weft as tf

X = ((np.arange(24).reshape(6, 4) * 7 % 11) / 5.0 - 1).astype(np.float32)
Y = ((np.arange(24).reshape(6, 4) * 5 % 13) / 6.0 - 1).astype(np.float32)
LABELS = [0, 1, 0, 2, 1, 0]
SEVERAL = [(0, 1), (1, 2), (0, 3), (2, 3), (0, 1), (1, 3)]


def several():
    return [tf.SparseTensor([[0, a], [0, b]], [1, 1], [1, 4]) for a, b in SEVERAL]


LOSSES = {
    "contrastive_loss": (lambda f, x: f([1, 0, 1, 0, 0, 1], x, Y, 1.5), 1.2627840042114258),
    "triplet_semihard_loss": (lambda f, x: f(tf.constant(LABELS), x, 0.7), 0.4374998),
    "lifted_struct_loss": (lambda f, x: f(tf.constant(LABELS), x, 1.2), 6.122986793518066),
    "npairs_loss": (lambda f, x: f(tf.constant(LABELS), x, Y), 2.070661783218384),
    "npairs_loss_multilabel": (lambda f, x: f(several(), x, Y, 0.01), 1.9935808181762695),
}


@pytest.mark.parametrize("name", LOSSES)
def test_values_and_gradients(name):
    call, wanted = LOSSES[name]
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, X.shape)
        loss = call(getattr(tf.contrib.losses.metric_learning, name), x)
        found, gradient = session.run([loss, tf.gradients(loss, x)[0]], {x: X})
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
        for place in ((0, 0), (2, 1), (5, 3)):
            step = np.zeros_like(X)
            step[place] = 0.01
            ahead, back = (session.run(loss, {x: X + s}) for s in (step, -step))
            np.testing.assert_allclose(gradient[place], (ahead - back) / 0.02, atol=2e-3)


def test_arguments_that_cannot_be():
    m = tf.contrib.losses.metric_learning
    with pytest.raises(ValueError, match="rank 1"):
        m.npairs_loss(tf.constant([LABELS]), X, Y)
    with pytest.raises(TypeError, match="SparseTensors"):
        m.npairs_loss_multilabel([tf.constant([1])], X, Y)
