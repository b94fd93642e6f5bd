"""Quantized values in programs, and the ops that TensorFlow has kernels for with MKL only."""

from __future__ import annotations

import numpy as np
import pytest

import weft as tf
from weft import testing


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


@pytest.mark.parametrize("tier", ["interpret", "compile"])
def test_quantized_values_are_fed_and_fetched(session, tier):
    x = np.array([1, -2, 3], np.int8)
    fed = tf.placeholder(tf.qint8, [3])
    same = tf.identity(tf.reshape(fed, [3, 1]))
    with testing.tier(tier):
        found, plain = session.run(
            [same, tf.bitcast(fed, tf.int8) + 1], {fed: x.astype(tf.qint8.as_numpy_dtype)}
        )
    assert found.dtype == tf.qint8.as_numpy_dtype
    np.testing.assert_array_equal(found["qint8"][:, 0], x)
    np.testing.assert_array_equal(plain, x + 1)


@pytest.mark.parametrize("kind", [tf.qint8, tf.quint8, tf.qint16, tf.quint16])
@pytest.mark.parametrize("mode", ["MIN_COMBINED", "MIN_FIRST", "SCALED"])
def test_quantizing_and_back(session, kind, mode):
    """Off by half a step at most."""
    x = np.linspace(-3, 5, 41).astype(np.float32)
    if mode == "SCALED" and kind in (tf.quint8, tf.quint16):
        x = np.abs(x)
    q, low, high = tf.quantization.quantize(x, x.min(), x.max(), kind, mode=mode)
    back = tf.quantization.dequantize(q, low, high, mode=mode)
    step = 2 * 5 / (1 << 8 * kind.size) * 1.05
    np.testing.assert_allclose(session.run(back), x, atol=step)
    assert tf.quantize_v2(x, -1.0, 1.0, tf.qint8).output.dtype == tf.qint8


def test_one_range_for_all_channels(session):
    values = np.array([[1, -(2**30)], [3, 2**29], [-5, 7]], np.int32).reshape(1, 3, 1, 2)
    q = tf.bitcast(tf.constant(values), tf.qint32)
    low, high = np.float32([-8, -2]), np.float32([4, 2])
    ends = {"input_min": low, "input_max": high}
    for clip, most in ((1e9, 1.0), (0.25, 0.25)):
        found = tf.raw_ops.RequantizationRangePerChannel(input=q, clip_value_max=clip, **ends)
        assert session.run(found) == (-most, most)
    positive = tf.bitcast(tf.constant(np.abs(values)), tf.qint32)
    found = tf.raw_ops.RequantizationRangePerChannel(input=positive, clip_value_max=9.0, **ends)
    assert session.run(found) == (0, 1)


@pytest.mark.parametrize("kind", [tf.qint8, tf.quint8])
def test_channels_requantized(session, kind):
    """Each channel by its own range: the numbers that they stand for stay, but for rounding."""
    random = np.random.RandomState(2)
    values = random.randint(0, 2**30, (1, 3, 4, 2)).astype(np.int32)
    widest = np.float32([8, 2])
    numbers = values / 2.0**31 * widest
    q, low, high = tf.raw_ops.RequantizePerChannel(
        input=tf.bitcast(tf.constant(values), tf.qint32),
        input_min=-widest,
        input_max=widest,
        requested_output_min=-4.0,
        requested_output_max=4.0,
        out_type=kind,
    )
    plain = tf.bitcast(q, tf.int8 if kind == tf.qint8 else tf.uint8)
    levels, low, high = session.run([plain, low, high])
    assert (low, high) == (-4, 4)
    step = 4 / (127 if kind == tf.qint8 else 255)
    np.testing.assert_allclose(levels * step, numbers, atol=step / 2 * 1.01)


def test_wrong_ranges(session):
    q = tf.bitcast(tf.constant([[[[1]]]]), tf.qint32)
    ends = {"input_min": [-1.0], "input_max": [1.0]}
    found = tf.raw_ops.RequantizePerChannel(
        input=q, requested_output_min=1.0, requested_output_max=2.0, out_type=tf.qint8, **ends
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be negative"):
        session.run(found)
    with pytest.raises(ValueError):
        tf.raw_ops.RequantizationRangePerChannel(
            input=q, input_min=[1.0, 2.0], input_max=[3.0], clip_value_max=1.0
        )


@pytest.mark.parametrize("tier", ["interpret", "compile"])
def test_training_through_fake_quantization(session, tier):
    """The range is trained: what lies beyond it moves its ends."""
    x = tf.constant([-2.0, -0.5, 0.5, 3.0])
    low, high = tf.Variable(-1.0), tf.Variable(1.0)
    y = tf.quantization.fake_quant_with_min_max_vars(x, low, high, num_bits=4)
    train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(y))
    session.run(tf.global_variables_initializer())
    with testing.tier(tier):
        session.run(train)
    np.testing.assert_allclose(session.run([low, high]), [-1.1, 0.9], rtol=1e-6)
