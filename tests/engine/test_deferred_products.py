"""Gradients of weights that loops use: summed up by one product after the loop, to the same numbers."""

import numpy as np
import pytest

import weft as tf
from weft import testing
from weft.engine import deferred_products

X = np.random.RandomState(0).randn(7, 4, 6).astype(np.float32)
W = np.random.RandomState(1).randn(6, 40).astype(np.float32) * 0.3
V = np.random.RandomState(2).randn(40, 6).astype(np.float32) * 0.3


def gradients(tier, build):
    with tf.Graph().as_default(), testing.tier(tier), tf.Session() as session:
        w, v = tf.get_variable("w", initializer=W), tf.get_variable("v", initializer=V)
        loss = build(w, v)
        first = tf.gradients(loss, [w, v])
        second = tf.gradients(tf.reduce_sum(first[0] ** 2), [v])
        session.run(tf.global_variables_initializer())
        return session.run([loss, *first, *second])


def known_length(w, v):
    def step(h, x):
        return tf.tanh(tf.matmul(tf.tanh(tf.matmul(x + h, w)), v))

    return tf.reduce_sum(tf.scan(step, X, initializer=tf.zeros([4, 6])) ** 2)


def ends_early(w, v):
    def go(i, h):
        return (i < 7) & (tf.reduce_max(tf.abs(h)) < 1.2)

    def step(i, h):
        return i + 1, h + tf.tanh(tf.matmul(tf.tanh(tf.matmul(tf.constant(X)[0] + h, w)), v))

    return tf.reduce_sum(tf.while_loop(go, step, [0, tf.zeros([4, 6])])[1] ** 2)


def none_at_all(w, v):
    def step(i, h):
        return i + 1, tf.matmul(tf.matmul(h, w), v)

    h = tf.reduce_sum(w) * tf.ones([4, 6])
    return tf.reduce_sum(tf.while_loop(lambda i, h: i < 0, step, [0, h])[1])


def the_sum_is_looked_at(w, v):
    """A sum of products that the loop itself depends on cannot wait."""

    def step(i, total, h):
        h = tf.tanh(tf.matmul(h, tf.matmul(total, v)))
        return i + 1, total + tf.matmul(h, w[:6], transpose_a=True), h

    start = [0, tf.zeros([6, 40]), tf.constant(X[:6, 0])]
    _, total, _ = tf.while_loop(lambda i, *_: i < 5, step, start)
    return tf.reduce_sum(total**2)


@pytest.mark.parametrize("build", [known_length, ends_early, none_at_all, the_sum_is_looked_at])
def test_both_tiers_agree(build):
    interpreted, compiled = gradients("interpret", build), gradients("compile", build)
    for a, b in zip(interpreted, compiled):
        np.testing.assert_allclose(b, a, rtol=2e-4, atol=1e-4)


def test_the_products_of_a_recurrent_network_wait(monkeypatch):
    found = []
    defer = deferred_products.defer

    def watched(closed, variables, bound):
        result = defer(closed, variables, bound)
        found.append((bound, len(result[1])))
        return result

    monkeypatch.setattr("weft.engine.traced_flow.defer", watched)
    with tf.Graph().as_default(), testing.tier("compile"), tf.Session() as session:
        cell = tf.nn.rnn_cell.BasicLSTMCell(32)
        _, state = tf.nn.dynamic_rnn(cell, X, time_major=True, dtype=tf.float32)
        train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(state.h))
        session.run(tf.global_variables_initializer())
        session.run(train)
    assert (7, 1) in found
