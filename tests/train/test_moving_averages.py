"""Exponential moving averages."""

from __future__ import annotations

import numpy as np
import pytest

import weft as tf
from weft import testing
from weft.train import moving_averages


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


@pytest.mark.parametrize("use_resource", [False, True])
def test_averages_of_variables(session, use_resource):
    v = tf.get_variable("v", initializer=[1.0, 2.0], use_resource=use_resource)
    ema = tf.train.ExponentialMovingAverage(0.9)
    move = ema.apply([v])
    session.run(tf.global_variables_initializer())
    wanted = np.array([1.0, 2.0])
    for i in range(3):
        session.run(v.assign_add([1.0, 10.0]))
        session.run(move)
        wanted = 0.9 * wanted + 0.1 * np.array([2.0 + i, 12.0 + 10 * i])
    np.testing.assert_allclose(session.run(ema.average(v)), wanted, rtol=1e-6)


def test_young_averages_move_faster(session):
    step = tf.Variable(0.0, trainable=False)
    v = tf.Variable(0.0)
    ema = tf.train.ExponentialMovingAverage(0.99, step)
    move = ema.apply([v])
    session.run(tf.global_variables_initializer())
    session.run(v.assign(1.0))
    session.run(move)
    assert session.run(ema.average(v)) == pytest.approx(0.9)
    session.run(step.assign(1e9))
    session.run(move)
    assert session.run(ema.average(v)) == pytest.approx(0.9 + 0.01 * 0.1)


def test_average_of_a_tensor_without_bias(session):
    x = tf.placeholder(tf.float32, [2])
    ema = tf.train.ExponentialMovingAverage(0.9, zero_debias=True)
    y = x * 1.0
    move = ema.apply([y])
    session.run(tf.global_variables_initializer())
    fed = [[1.0, 4.0], [3.0, 0.0], [5.0, 2.0]]
    for row in fed:
        session.run(move, {x: row})
    weights = 0.1 * 0.9 ** np.arange(2, -1, -1)
    wanted = weights @ np.array(fed) / (1 - 0.9**3)
    np.testing.assert_allclose(session.run(ema.average(y)), wanted, rtol=1e-5)


def test_names(session):
    v, w = tf.Variable(1.0, name="v"), tf.Variable(2.0, name="w")
    other = tf.Variable(3.0, name="other", trainable=False)
    ema = tf.train.ExponentialMovingAverage(0.9, name="mean")
    assert ema.average(v) is None
    assert ema.average_name(v) == "v/mean"
    move = ema.apply([v])
    assert move.name == "mean"
    assert ema.average(v).op.name == ema.average_name(v) == "v/mean"
    assert tf.moving_average_variables() == [v]
    restored = ema.variables_to_restore()
    assert restored == {"v/mean": v, "w/mean": w, "other": other}


def test_only_floats(session):
    with pytest.raises(TypeError, match="half, float, or double"):
        tf.train.ExponentialMovingAverage(0.9).apply([tf.Variable(1, name="n")])


def test_eager_averages():
    with testing.eager_mode():
        v = tf.Variable(1.0)
        ema = tf.train.ExponentialMovingAverage(0.5)
        ema.apply([v])
        v.assign(3.0)
        ema.apply([v])
        assert float(ema.average(v).numpy()) == pytest.approx(2.0)
        with pytest.raises(TypeError, match="eager"):
            ema.apply([tf.constant(1.0)])


def test_weighted_moving_average(session):
    value, weight = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    mean = moving_averages.weighted_moving_average(value, 0.5, weight)
    session.run(tf.global_variables_initializer())
    assert session.run(mean, {value: 2.0, weight: 1.0}) == pytest.approx(2.0)
    assert session.run(mean, {value: 5.0, weight: 3.0}) == pytest.approx((1 + 15) / (0.5 + 3))


def test_debiased_average_of_a_variable(session):
    v = tf.get_variable("v", [], initializer=tf.zeros_initializer())
    x = tf.placeholder(tf.float32, [])
    move = moving_averages.assign_moving_average(v, x, 0.9)
    session.run(tf.global_variables_initializer())
    session.run(move, {x: 2.0})
    session.run(move, {x: 4.0})
    assert session.run(v) == pytest.approx((0.9 * 2 + 4) * 0.1 / (1 - 0.81), rel=1e-5)
    assert [u.op.name for u in tf.global_variables()] == ["v", "v/biased", "v/local_step"]
