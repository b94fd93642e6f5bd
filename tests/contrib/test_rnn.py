"""tf.contrib.rnn: fused cells are the plain ones, with their variables; stacked networks."""

import numpy as np
import pytest

import weft as tf

rnn = tf.contrib.rnn
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


def both(plain, fused, size):
    """Outputs, and gradients by inputs and variables, of two cells with the same variables."""
    x = tf.constant(RNG.normal(size=[3, 4, 2]).astype(np.float32))
    results = []
    for cell, reuse in ((plain, None), (fused, True)):
        with tf.variable_scope("net", reuse=reuse):
            y, _ = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32, scope="rnn")
        results.append([y, *tf.gradients(tf.reduce_sum(y**2), [x, *tf.trainable_variables()])])
    with started() as session:
        return session.run(results)


@pytest.mark.parametrize("peephole", [False, True])
def test_lstm_block_cell(peephole):
    plain = tf.nn.rnn_cell.LSTMCell(3, use_peepholes=peephole, name="lstm_cell")
    one, other = both(plain, rnn.LSTMBlockCell(3, use_peephole=peephole), 3)
    for a, b in zip(one, other):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_gru_block_cell():
    one, other = both(tf.nn.rnn_cell.GRUCell(3, name="gru_cell"), rnn.GRUBlockCellV2(3), 3)
    for a, b in zip(one, other):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    rnn.GRUBlockCell(2)(tf.ones([1, 2]), tf.ones([1, 2]))
    assert names()[4:] == ["gru_cell/w_ru", "gru_cell/b_ru", "gru_cell/w_c", "gru_cell/b_c"]


def test_the_fused_lstm_is_the_loop():
    x = tf.constant(RNG.normal(size=[5, 3, 2]).astype(np.float32))
    lengths = tf.constant([5, 0, 3])
    fused = rnn.LSTMBlockFusedCell(4, name="lstm_cell")
    with tf.variable_scope("rnn"):
        y, state = fused(x, dtype=tf.float32, sequence_length=lengths)
    with tf.variable_scope("", reuse=True):
        cell = tf.nn.rnn_cell.LSTMCell(4, name="lstm_cell")
        z, last = tf.nn.dynamic_rnn(
            cell, x, dtype=tf.float32, sequence_length=lengths, time_major=True
        )
    wrt = [x, *fused.trainable_weights]
    loss = [tf.reduce_sum(o**2) + tf.reduce_sum(s.c * s.h) for o, s in ((y, state), (z, last))]
    with started() as session:
        for _ in range(3):  # interpreted, and then compiled
            one, other = session.run(
                [[y, state, tf.gradients(loss[0], wrt)], [z, last, tf.gradients(loss[1], wrt)]]
            )
            np.testing.assert_allclose(one[0], other[0], atol=1e-5)
            for a, b in zip([*one[1], *one[2]], [*other[1], *other[2]]):
                np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("peephole", [False, True])
def test_the_gradient_of_the_second_version(peephole):
    """TensorFlow 1.15's own is that of the first, whose gates stand in another order."""
    shapes = [(3, 2, 2), (2, 3), (2, 3), (5, 12), (3,), (3,), (3,), (12,)]
    values = [RNG.normal(size=s).astype(np.float32) * 0.5 for s in shapes]
    inputs = [tf.constant(v) for v in values]
    out = tf.raw_ops.BlockLSTMV2(
        seq_len_max=tf.constant(3, tf.int64),
        **dict(zip("x cs_prev h_prev w wci wcf wco b".split(), inputs)),
        use_peephole=peephole,
    )
    with tf.Session():
        for x, value in list(zip(inputs, values))[: 8 if peephole else 4]:
            error = tf.test.compute_gradient_error(
                x, value.shape, out.h, [3, 2, 3], x_init_value=value
            )
            assert error < 2e-3


def test_layer_normalized_cells():
    x = RNG.normal(size=[2, 5]).astype(np.float32)
    cell = rnn.LayerNormBasicLSTMCell(4)
    y, state = cell(x, cell.zero_state(2, tf.float32))
    assert names()[0] == "layer_norm_basic_lstm_cell/kernel"
    assert names()[1::2] == [
        f"layer_norm_basic_lstm_cell/{part}/gamma"
        for part in ("input", "transform", "forget", "output", "state")
    ]

    def norm(v):
        return (v - v.mean(1, keepdims=True)) / v.std(1, keepdims=True)

    def sigmoid(v):
        return 1 / (1 + np.exp(-v))

    with started() as session:
        out, kernel = session.run([y, tf.global_variables()[0]])
    i, j, _, o = (norm(g) for g in np.split(np.pad(x, ((0, 0), (0, 4))) @ kernel, 4, 1))
    c = norm(sigmoid(i) * np.tanh(j))
    np.testing.assert_allclose(out, np.tanh(c) * sigmoid(o), atol=1e-4)


def test_stacked_bidirectional_networks():
    x = tf.constant(RNG.normal(size=[2, 4, 3]).astype(np.float32))

    def cells():
        return [tf.nn.rnn_cell.BasicRNNCell(2) for _ in range(2)]

    forward, backward = cells(), cells()
    y, fw, bw = rnn.stack_bidirectional_dynamic_rnn(forward, backward, x, dtype=tf.float32)
    assert y.shape.as_list() == [2, 4, 4] and len(fw) == len(bw) == 2
    assert names()[::4] == [
        f"stack_bidirectional_rnn/cell_{i}/bidirectional_rnn/fw/basic_rnn_cell/kernel"
        for i in range(2)
    ]
    with tf.variable_scope("", reuse=True):
        z, _, _ = rnn.stack_bidirectional_rnn(
            forward, backward, tf.unstack(x, axis=1), dtype=tf.float32
        )
    with started() as session:
        np.testing.assert_allclose(*session.run([y, tf.stack(z, 1)]), atol=1e-6)
    with pytest.raises(ValueError, match="must have the same depth"):
        rnn.stack_bidirectional_dynamic_rnn(cells(), cells()[:1], x, dtype=tf.float32)
