"""contrib.eager and contrib.nn."""

import numpy as np
import pytest

import weft as tf
from weft.testing import eager_mode

tfe = tf.contrib.eager


def test_gradients_of_functions():
    with eager_mode():
        v = tfe.Variable(3.0)
        value, pairs = tfe.implicit_value_and_gradients(lambda x: v * v * x)(2.0)
        assert float(value) == 18.0
        assert [(float(g), w is v) for g, w in pairs] == [(12.0, True)]
        tf.train.GradientDescentOptimizer(0.5).apply_gradients(
            tfe.implicit_gradients(lambda: v * v)()
        )
        assert float(v.numpy()) == 0.0
        with pytest.raises(ValueError, match="No trainable variables"):
            tfe.implicit_gradients(lambda x: x)(tf.constant(1.0))

        def f(x, y):
            return x * y * y

        assert [float(g) for g in tfe.gradients_function(f)(2.0, 3.0)] == [9.0, 12.0]
        assert [float(g) for g in tfe.gradients_function(f, ["y"])(2.0, 3.0, dy=10.0)] == [120.0]
        value, (gradient,) = tfe.value_and_gradients_function(f, [0])(2.0, 3.0)
        assert float(value) == 18.0 and float(gradient) == 9.0
        with pytest.raises(ValueError, match="keyword arguments"):
            tfe.gradients_function(f)(x=1.0, y=2.0)
        with pytest.raises(ValueError, match="returns None"):
            tfe.gradients_function(lambda x: None)(1.0)


def test_names():
    with eager_mode():
        found = [int(x) for x in tfe.Iterator(tf.data.Dataset.range(3))]
        assert found == [0, 1, 2]
        assert float(tfe.defun(lambda x: x + 1)(tf.constant(1.0))) == 2.0
        assert tfe.list_devices() and tfe.in_eager_mode() and tfe.num_gpus() >= 0
        with tfe.execution_mode(tfe.ASYNC):
            pass
        with pytest.raises(ValueError, match="SYNC/ASYNC"), tfe.execution_mode(7):
            pass


def test_losses_the_other_way_round_and_dropout():
    nn = tf.contrib.nn
    with tf.Graph().as_default(), tf.Session() as session:
        logits, labels = tf.constant([[1.0, 2.0]]), tf.constant([[0.0, 1.0]])
        pairs = [
            nn.deprecated_flipped_sigmoid_cross_entropy_with_logits(logits, labels),
            tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits),
            nn.deprecated_flipped_sparse_softmax_cross_entropy_with_logits(
                logits, tf.constant([1])
            ),
            nn.deprecated_flipped_softmax_cross_entropy_with_logits(logits, labels),
        ]
        a, b, c, d = session.run(pairs)
        np.testing.assert_allclose(a, b)
        np.testing.assert_allclose(c, d, rtol=1e-6)
        x = tf.nn.selu(tf.random_normal([20000], seed=1))
        y = session.run(nn.alpha_dropout(x, 0.8, seed=2))
        assert abs(y.mean()) < 0.05 and abs(y.std() - 1) < 0.05
        assert nn.alpha_dropout(x, 1.0) is not None
        with pytest.raises(ValueError, match="keep_prob"):
            nn.alpha_dropout(x, 0.0)
        v = tf.constant([1.0, 2.0, 3.0])
        forward = nn.fwd_gradients([v * v], [v], grad_xs=[tf.constant([1.0, 0.0, 2.0])])
        assert session.run(forward)[0].tolist() == [2.0, 0.0, 12.0]
