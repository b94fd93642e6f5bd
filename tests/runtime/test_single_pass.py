"""What XLA is no quicker at is interpreted however often it runs, unless its state is on a device."""

import numpy as np
import pytest

import weft as tf
from weft.runtime.segment import Segment


def _segments(session, fetch, feeds=()):
    return [s for s in session.plan(fetch, feeds).steps if isinstance(s, Segment)]


@pytest.fixture
def model():
    with tf.Graph().as_default():
        v = tf.get_variable("v", initializer=np.ones((300, 300), "f4"))
        x = tf.placeholder(tf.float32, [300, 300])
        update = tf.train.GradientDescentOptimizer(0.5).apply_gradients([(x, v)])
        with tf.Session() as session:
            session.run(v.initializer)
            yield session, v, x, update


def test_an_update_alone_is_interpreted(model):
    session, v, x, update = model
    for _ in range(30):
        session.run(update, {x: np.ones((300, 300), "f4")})
    assert not any(s.ready for s in _segments(session, update, [x]))
    assert session.run(v)[7, 7] == -14.0


def test_state_that_compiled_work_has_on_a_device_stays_there(model):
    session, v, x, update = model
    y = tf.tanh(tf.tanh(v + x) * 0.5) - 1.0
    more = v.assign(tf.tanh(y) + v * 0.1)
    feed = {x: np.ones((300, 300), "f4")}
    for _ in range(30):
        session.run(more.op, feed)
        session.run(update, feed)
    assert any(s.ready for s in _segments(session, more.op, [x]))
    assert any(s.ready for s in _segments(session, update, [x]))
