"""Losses over samples of classes: equal to the full ones where the samples are all classes."""

import numpy as np
import pytest

import weft as tf

CLASSES, WIDTH, BATCH = 7, 4, 5
RNG = np.random.RandomState(0)
WEIGHTS = RNG.normal(size=[CLASSES, WIDTH]).astype(np.float32)
BIASES = RNG.normal(size=[CLASSES]).astype(np.float32)
INPUTS = RNG.normal(size=[BATCH, WIDTH]).astype(np.float32)
LABELS = RNG.randint(CLASSES, size=[BATCH, 1])


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


def all_classes(true=1):
    return tf.nn.all_candidate_sampler(np.repeat(LABELS, true, 1), true, CLASSES, True)


def test_a_sample_of_all_classes_gives_the_full_softmax():
    loss = tf.nn.sampled_softmax_loss(
        WEIGHTS, BIASES, LABELS, INPUTS, CLASSES, CLASSES, sampled_values=all_classes()
    )
    logits = INPUTS @ WEIGHTS.T + BIASES
    shifted = logits - logits.max(1, keepdims=True)
    expected = np.log(np.exp(shifted).sum(1)) - shifted[np.arange(BATCH), LABELS[:, 0]]
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(loss), expected, rtol=1e-5)


@pytest.mark.parametrize("parts", [1, 3])
def test_noise_contrastive_estimation(parts):
    split = [WEIGHTS[i::parts] for i in range(parts)]
    biases = [BIASES[i::parts] for i in range(parts)]
    loss = tf.nn.nce_loss(
        [tf.constant(w) for w in split],
        [tf.constant(b) for b in biases],
        np.repeat(LABELS, 2, 1),
        INPUTS,
        CLASSES,
        CLASSES,
        num_true=2,
        sampled_values=all_classes(2),
    )
    logits = INPUTS @ WEIGHTS.T + BIASES

    def cross_entropy(x, z):
        return np.maximum(x, 0) - x * z + np.log1p(np.exp(-np.abs(x)))

    true = logits[np.arange(BATCH), LABELS[:, 0]]
    expected = 2 * cross_entropy(true, 0.5) + cross_entropy(logits, 0.0).sum(1)
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(loss), expected, rtol=1e-5)


def test_training_with_samples_lowers_the_full_loss():
    weights = tf.get_variable("w", initializer=tf.zeros([CLASSES, WIDTH]))
    biases = tf.get_variable("b", initializer=tf.zeros([CLASSES]))
    loss = tf.reduce_mean(
        tf.nn.sampled_softmax_loss(weights, biases, LABELS, INPUTS, 3, CLASSES, seed=3)
    )
    train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    full = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=LABELS[:, 0], logits=tf.matmul(INPUTS, weights, transpose_b=True) + biases
        )
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run(full)
        for _ in range(60):
            session.run(train)
        assert session.run(full) < before / 2


def test_learned_samplers_draw_what_was_true():
    true = tf.placeholder(tf.int64, [None, 1])
    samples = tf.nn.learned_unigram_candidate_sampler(true, 1, 100, False, 50, seed=1)[0]
    with tf.Session() as session:
        first = session.run(samples, {true: [[7]] * 5000})
        later = session.run(samples, {true: [[7]]})
    assert (first == 7).mean() < 0.2 < 0.9 < (later == 7).mean()
