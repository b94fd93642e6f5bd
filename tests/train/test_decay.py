"""Decayed learning rates, against their formulas."""

from __future__ import annotations

import numpy as np
import pytest

import weft as tf
from weft import testing
from weft.train import schedules

STEPS = np.array([0, 1, 5, 6, 15, 16, 30, 31, 44])


def rates(make):
    """The learning rates at STEPS, the step being fed."""
    with tf.Graph().as_default(), tf.Session() as session:
        step = tf.placeholder(tf.int64, [])
        rate = make(step)
        return np.array([session.run(rate, {step: n}) for n in STEPS])


def cosine(part):
    return 0.5 * (1 + np.cos(np.pi * part))


CAPPED = np.minimum(STEPS, 30) / 30
T = tf.train
FORMULAS = {
    "exponential": (lambda n: T.exponential_decay(0.1, n, 10, 0.5), 0.1 * 0.5 ** (STEPS / 10)),
    "staircase": (
        lambda n: T.exponential_decay(0.1, n, 10, 0.5, staircase=True),
        0.1 * 0.5 ** (STEPS // 10),
    ),
    "natural": (lambda n: T.natural_exp_decay(0.1, n, 10, 0.5), 0.1 * np.exp(-0.05 * STEPS)),
    "inverse time": (lambda n: T.inverse_time_decay(0.1, n, 10, 0.5), 0.1 / (1 + 0.05 * STEPS)),
    "inverse time in steps": (
        lambda n: T.inverse_time_decay(0.1, n, 10, 0.5, staircase=True),
        0.1 / (1 + 0.5 * (STEPS // 10)),
    ),
    "polynomial": (
        lambda n: T.polynomial_decay(0.1, n, 30, 0.01, power=2.0),
        0.09 * (1 - CAPPED) ** 2 + 0.01,
    ),
    "polynomial in cycles": (
        lambda n: T.polynomial_decay(0.1, n, 10, 0.01, cycle=True),
        0.09 * (1 - STEPS / (10 * np.maximum(np.ceil(STEPS / 10), 1))) + 0.01,
    ),
    "cosine": (
        lambda n: T.cosine_decay(0.1, n, 30, alpha=0.2),
        0.1 * (0.8 * cosine(CAPPED) + 0.2),
    ),
    "cosine with even restarts": (
        lambda n: T.cosine_decay_restarts(0.1, n, 10, t_mul=1.0, m_mul=0.5),
        0.1 * 0.5 ** (STEPS // 10) * cosine(STEPS % 10 / 10),
    ),
    "linear cosine": (
        lambda n: T.linear_cosine_decay(0.1, n, 30),
        0.1 * ((1 - CAPPED) * cosine(CAPPED) + 0.001),
    ),
    "noisy linear cosine without noise": (
        lambda n: T.noisy_linear_cosine_decay(0.1, n, 30, initial_variance=0.0),
        0.1 * ((1 - CAPPED) * cosine(CAPPED) + 0.001),
    ),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_formula(name):
    make, wanted = FORMULAS[name]
    np.testing.assert_allclose(rates(make), wanted, rtol=2e-5, atol=1e-8)


def test_restarts_grow():
    """Periods of 10, 20, 40 steps: each starts at the full rate and falls."""
    found = rates(lambda n: tf.train.cosine_decay_restarts(0.1, n, 10))
    start = np.where(STEPS < 10, 0, np.where(STEPS < 30, 10, 30))
    length = np.where(STEPS < 10, 10, np.where(STEPS < 30, 20, 40))
    np.testing.assert_allclose(found, 0.1 * cosine((STEPS - start) / length), rtol=1e-4, atol=1e-7)


def test_noise_differs_between_runs_and_shrinks():
    with tf.Graph().as_default(), tf.Session() as session:
        rate = tf.train.noisy_linear_cosine_decay(1.0, tf.constant(1), 100, variance_decay=0.0)
        found = [session.run(rate) for _ in range(5)]
    assert np.ptp(found) > 0.05


def test_piecewise_constant():
    found = rates(lambda n: tf.train.piecewise_constant(n, [5, 15, 30], [1.0, 0.5, 0.2, 0.1]))
    np.testing.assert_allclose(found, [1, 1, 1, 0.5, 0.5, 0.2, 0.2, 0.1, 0.1])


def test_piecewise_constant_of_doubtful_arguments():
    with tf.Graph().as_default():
        step = tf.Variable(0)
        with pytest.raises(ValueError, match="same dtype as x"):
            tf.train.piecewise_constant(step, [1.0, 2.0], [0.1, 0.2, 0.3])
        with pytest.raises(ValueError, match="all with the same dtype"):
            tf.train.piecewise_constant(step, [1, 2], [0.1, 2, 3])
        with pytest.raises(ValueError, match="1 less than the length"):
            tf.train.piecewise_constant(step, [1, 2], [0.1, 0.2])


def test_step_is_needed():
    with tf.Graph().as_default(), pytest.raises(ValueError, match="global_step is required"):
        tf.train.exponential_decay(0.1, None, 10, 0.5)


def test_name_is_that_of_the_rate():
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        assert tf.train.exponential_decay(0.1, step, 10, 0.5).op.name == "ExponentialDecay"
        assert tf.train.exponential_decay(0.1, step, 10, 0.5, name="rate").op.name == "rate"


def test_eager_decay_follows_the_step():
    with testing.eager_mode():
        step = tf.Variable(0)
        rate = tf.train.exponential_decay(0.1, step, 1, 0.5)
        before = float(rate())
        step.assign(2)
        np.testing.assert_allclose([before, float(rate())], [0.1, 0.025], rtol=1e-6)


def test_training_with_a_decayed_rate():
    """The optimizer sees the rate of the step that it makes."""
    with tf.Graph().as_default(), tf.Session() as session:
        step = tf.train.get_or_create_global_step()
        x = tf.Variable(0.0)
        rate = tf.train.exponential_decay(1.0, step, 1, 0.5)
        train = tf.train.GradientDescentOptimizer(rate).minimize(x * 1.0, step)
        session.run(tf.global_variables_initializer())
        found = []
        for _ in range(3):
            session.run(train)
            found.append(float(session.run(x)))
    np.testing.assert_allclose(found, [-1.0, -1.5, -1.75])


def test_config_makes_an_equal_schedule():
    schedule = schedules.PolynomialDecay(0.1, 30, 0.01, power=2.0, cycle=True, name="rate")
    again = schedules.PolynomialDecay.from_config(schedule.get_config())
    assert again.get_config() == schedule.get_config()
    assert again.power == 2.0
