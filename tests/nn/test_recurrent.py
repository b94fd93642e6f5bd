"""Recurrent networks: what cells compute, over sequences of several lengths, and the names of their variables."""

import numpy as np
import pytest

import weft as tf
from weft.framework import context

rnn_cell = tf.nn.rnn_cell
RNG = np.random.RandomState(0)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


def started():
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session


def names():
    return [v.op.name for v in tf.global_variables()]


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm(kernel, bias, x, c, h, forget_bias=1.0):
    i, j, f, o = np.split(np.concatenate([x, h], 1) @ kernel + bias, 4, 1)
    c = c * sigmoid(f + forget_bias) + sigmoid(i) * np.tanh(j)
    return c, np.tanh(c) * sigmoid(o)


def test_dynamic_rnn_stops_each_sequence_at_its_length():
    x = RNG.normal(size=[3, 5, 2]).astype(np.float32)
    lengths = np.array([5, 1, 3])
    fed = tf.placeholder(tf.int32, [None])
    cell = rnn_cell.BasicLSTMCell(4)
    y, state = tf.nn.dynamic_rnn(cell, x, sequence_length=fed, dtype=tf.float32)
    assert names() == ["rnn/basic_lstm_cell/kernel", "rnn/basic_lstm_cell/bias"]
    assert y.shape.as_list() == [3, 5, 4]
    with started() as session:
        out, last, kernel, bias = session.run(
            [y, state, cell.weights[0], cell.weights[1]], {fed: lengths}
        )
        c = h = np.zeros([3, 4], np.float32)
        for t in range(5):
            now = (t < lengths)[:, None]
            new_c, new_h = lstm(kernel, bias, x[:, t], c, h)
            np.testing.assert_allclose(out[:, t], np.where(now, new_h, 0), atol=1e-5)
            c, h = np.where(now, new_c, c), np.where(now, new_h, h)
        np.testing.assert_allclose(last.c, c, atol=1e-5)
        np.testing.assert_allclose(last.h, h, atol=1e-5)
        with pytest.raises(tf.errors.InvalidArgumentError, match="Expected shape for Tensor"):
            session.run(y, {fed: [1, 2]})


@pytest.mark.parametrize("with_lengths", [False, True])
def test_loops_and_unrolled_networks_agree_with_their_gradients(with_lengths):
    x = tf.constant(RNG.normal(size=[3, 4, 2]))
    lengths = tf.constant([4, 2, 0]) if with_lengths else None
    cell = rnn_cell.MultiRNNCell([rnn_cell.GRUCell(3), rnn_cell.LSTMCell(3, use_peepholes=True)])
    with tf.variable_scope("net"):
        y, state = tf.nn.dynamic_rnn(cell, x, sequence_length=lengths, dtype=tf.float64)
    with tf.variable_scope("net", reuse=True):
        z, last = tf.nn.static_rnn(
            cell, tf.unstack(x, axis=1), sequence_length=lengths, dtype=tf.float64
        )
    assert names()[:4] == [
        "net/rnn/multi_rnn_cell/cell_0/gru_cell/gates/kernel",
        "net/rnn/multi_rnn_cell/cell_0/gru_cell/gates/bias",
        "net/rnn/multi_rnn_cell/cell_0/gru_cell/candidate/kernel",
        "net/rnn/multi_rnn_cell/cell_0/gru_cell/candidate/bias",
    ]
    assert names()[6:] == [
        f"net/rnn/multi_rnn_cell/cell_1/lstm_cell/w_{gate}_diag" for gate in "fio"
    ]
    assert cell.trainable_weights == tf.trainable_variables()

    def gradients(outputs, end):
        loss = tf.reduce_sum(outputs**2) + tf.reduce_sum(end[1].c) * tf.reduce_sum(end[0])
        return tf.gradients(loss, [x, *tf.trainable_variables()])

    with started() as session:
        one, other = session.run([gradients(y, state), gradients(tf.stack(z, 1), last)])
        for a, b in zip(one, other):
            np.testing.assert_allclose(a, b, atol=1e-12)


def test_projection_and_clipping():
    x = RNG.normal(size=[3, 2]).astype(np.float32)
    cell = rnn_cell.LSTMCell(4, num_proj=2, cell_clip=0.2, proj_clip=0.1, num_unit_shards=2)
    m, state = cell(x, cell.zero_state(3, tf.float32))
    assert cell.state_size == rnn_cell.LSTMStateTuple(4, 2) and cell.output_size == 2
    assert names() == [
        "lstm_cell/kernel/part_0",
        "lstm_cell/kernel/part_1",
        "lstm_cell/bias",
        "lstm_cell/projection/kernel",
    ]
    with started() as session:
        first, second, bias, project, (c, out) = session.run([*tf.global_variables(), state])
        zeros = np.zeros([3, 4])
        i, j, f, o = np.split(x @ np.concatenate([first, second])[:2] + bias, 4, 1)
        memory = np.clip(sigmoid(f + 1) * zeros + sigmoid(i) * np.tanh(j), -0.2, 0.2)
        np.testing.assert_allclose(c, memory, atol=1e-6)
        expected = np.clip((sigmoid(o) * np.tanh(memory)) @ project, -0.1, 0.1)
        np.testing.assert_allclose(out, expected, atol=1e-6)


def test_bidirectional_networks():
    x = tf.constant(RNG.normal(size=[2, 4, 3]).astype(np.float32))
    cells = rnn_cell.BasicRNNCell(2), rnn_cell.BasicRNNCell(2)
    (fw, bw), (_, last) = tf.nn.bidirectional_dynamic_rnn(
        *cells, x, sequence_length=[4, 2], dtype=tf.float32
    )
    assert names()[::2] == [
        f"bidirectional_rnn/{way}/basic_rnn_cell/kernel" for way in ("fw", "bw")
    ]
    with tf.variable_scope("", reuse=True):
        joined, _, static_last = tf.nn.static_bidirectional_rnn(
            *cells, tf.unstack(x, axis=1), sequence_length=tf.constant([4, 2]), dtype=tf.float32
        )
    with started() as session:
        a, b, c, d = session.run([tf.concat([fw, bw], 2), tf.stack(joined, 1), last, static_last])
        np.testing.assert_allclose(a, b, atol=1e-6)
        np.testing.assert_allclose(c, d, atol=1e-6)
        np.testing.assert_array_equal(a[1, 2:], 0)


def test_raw_rnn_emits_what_the_loop_function_says():
    x = RNG.normal(size=[4, 2, 3]).astype(np.float32)
    inputs = tf.TensorArray(tf.float32, size=4).unstack(x)
    cell = rnn_cell.GRUCell(5)

    def loop(time, output, state, loop_state):
        finished = time >= tf.constant([4, 2])
        emit = None if output is None else output
        now = tf.cond(tf.reduce_all(finished), lambda: tf.zeros([2, 3]), lambda: inputs.read(time))
        state = cell.zero_state(2, tf.float32) if output is None else state
        return finished, now, state, emit, tf.constant(0) if output is None else loop_state + time

    emitted, state, total = tf.nn.raw_rnn(cell, loop)
    with tf.variable_scope("", reuse=True):
        y, last = tf.nn.dynamic_rnn(
            cell, x, sequence_length=[4, 2], time_major=True, dtype=tf.float32
        )
    with started() as session:
        a, b, c, d, n = session.run([emitted.stack(), y, state, last, total])
        np.testing.assert_allclose(a, b, atol=1e-6)
        np.testing.assert_allclose(c, d, atol=1e-6)
        assert n == 1 + 2 + 3 + 4


def test_variational_dropout_drops_the_same_at_each_step():
    class Same(rnn_cell.RNNCell):
        state_size = output_size = property(lambda self: 50)

        def call(self, inputs, state):
            return inputs, state

    cell = rnn_cell.DropoutWrapper(
        Same(), output_keep_prob=0.5, variational_recurrent=True, dtype=tf.float32, seed=3
    )
    y, _ = tf.nn.dynamic_rnn(cell, tf.ones([2, 6, 50]), dtype=tf.float32)
    free = rnn_cell.DropoutWrapper(Same(), output_keep_prob=tf.constant(0.5), seed=3)
    z, _ = tf.nn.dynamic_rnn(free, tf.ones([2, 6, 50]), dtype=tf.float32)
    with tf.Session() as session:
        same, other = session.run([y, z])
        assert set(np.unique(same)) == set(np.unique(other)) == {0, 2}
        np.testing.assert_array_equal(same, np.broadcast_to(same[:, :1], same.shape))
        assert (other != other[:, :1]).any()
    with pytest.raises(ValueError, match="must be between 0 and 1"):
        rnn_cell.DropoutWrapper(Same(), input_keep_prob=1.5)


def test_wrappers_and_their_configurations():
    x = tf.ones([2, 3])
    cell = rnn_cell.GRUCell(3, name="g")
    wrapped = rnn_cell.ResidualWrapper(
        rnn_cell.DeviceWrapper(cell, "/cpu:0"), residual_fn=lambda i, o: 2 * i + o
    )
    y, _ = wrapped(x, wrapped.zero_state(2, tf.float32))
    plain, _ = cell(x, cell.zero_state(2, tf.float32))
    assert wrapped.trainable_weights == cell.trainable_weights and names()[0] == "g/gates/kernel"
    again = rnn_cell.ResidualWrapper.from_config({**wrapped.get_config(), "cell": cell})
    z, _ = again(x, cell.zero_state(2, tf.float32))
    with started() as session:
        a, b, c = session.run([y, plain, z])
        np.testing.assert_allclose(a, b + 2, atol=1e-6)
        np.testing.assert_allclose(a, c)
    with pytest.raises(TypeError, match="is not an RNNCell: 'output_size' property is missing"):
        rnn_cell.ResidualWrapper(object())


def test_recurrent_networks_run_eagerly():
    x = RNG.normal(size=[2, 3, 4]).astype(np.float32)
    with context.execution_mode(True):
        cell = rnn_cell.BasicLSTMCell(2)
        y, state = tf.nn.dynamic_rnn(cell, x, sequence_length=[3, 2], dtype=tf.float32)
        kernel, bias = (v.numpy() for v in cell.weights)
        c = h = np.zeros([2, 2], np.float32)
        for t in range(2):
            c, h = lstm(kernel, bias, x[:, t], c, h)
            np.testing.assert_allclose(y[:, t], h, atol=1e-5)
        np.testing.assert_allclose(state.h[1], h[1], atol=1e-5)
