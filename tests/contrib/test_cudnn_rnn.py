"""Networks with all parameters in one vector compute what networks of compatible cells do, by the same checkpoints."""

import numpy as np
import pytest

import weft as tf

cudnn = tf.contrib.cudnn_rnn
LAYERS, UNITS, INPUTS, BATCH, TIME = 2, 5, 3, 4, 7
X = np.random.RandomState(0).randn(TIME, BATCH, INPUTS).astype(np.float32)
BIASES = tf.random_uniform_initializer(-1, 1)
KINDS = {
    "lstm": (cudnn.CudnnLSTM, cudnn.CudnnCompatibleLSTMCell),
    "gru": (cudnn.CudnnGRU, cudnn.CudnnCompatibleGRUCell),
    "tanh": (cudnn.CudnnRNNTanh, tf.nn.rnn_cell.BasicRNNCell),
    "relu": (
        cudnn.CudnnRNNRelu,
        lambda n: tf.nn.rnn_cell.BasicRNNCell(n, activation=tf.nn.relu),
    ),
}


def states_of(kind, state):
    """The states of cells, as the layer has them."""
    if kind == "lstm":
        return [np.stack([s.h for s in state]), np.stack([s.c for s in state])]
    return [np.stack(state)]


@pytest.mark.parametrize("kind", KINDS)
def test_one_direction(kind, tmp_path):
    layer_class, cell = KINDS[kind]
    with tf.Graph().as_default(), tf.Session() as session:
        layer = layer_class(LAYERS, UNITS, bias_initializer=BIASES)
        outputs, states = layer(X)
        assert outputs.shape.as_list() == [TIME, BATCH, UNITS]
        session.run(tf.global_variables_initializer())
        expected = session.run([outputs, *states])
        path = tf.train.Saver().save(session, str(tmp_path / "m"))
        kernel = session.run(layer.kernel)
        session.run(layer.kernel.assign(tf.zeros_like(layer.kernel)))
        tf.train.Saver([layer.saveable]).restore(session, path)
        again = session.run([outputs, *states])
    for a, b in zip(expected, again):
        np.testing.assert_allclose(a, b, atol=1e-6)
    assert kernel.shape == (
        sum(np.prod(s) for s in layer.canonical_weight_shapes + layer.canonical_bias_shapes),
    )
    with tf.Graph().as_default(), tf.Session() as session, tf.variable_scope(layer.scope_name):
        cells = tf.nn.rnn_cell.MultiRNNCell([cell(UNITS) for _ in range(LAYERS)])
        found, state = tf.nn.dynamic_rnn(cells, X, time_major=True, dtype=tf.float32)
        tf.train.Saver().restore(session, path)
        found, state = session.run([found, state])
    np.testing.assert_allclose(found, expected[0], atol=1e-5)
    for a, b in zip(states_of(kind, state), expected[1:]):
        np.testing.assert_allclose(a, b, atol=1e-5)


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_both_directions_and_lengths(kind, tmp_path):
    layer_class, cell = KINDS[kind]
    lengths = np.array([7, 1, 4, 6], np.int32)
    with tf.Graph().as_default(), tf.Session() as session:
        with tf.variable_scope("model"):
            layer = layer_class(
                LAYERS, UNITS, direction="bidirectional", bias_initializer=BIASES, dtype=tf.float32
            )
            outputs, states = layer(X, sequence_lengths=lengths)
        session.run(tf.global_variables_initializer())
        expected = session.run([outputs, *states])
        path = tf.train.Saver().save(session, str(tmp_path / "m"))
    assert layer.scope_name == f"model/cudnn_{kind}"
    with tf.Graph().as_default(), tf.Session() as session, tf.variable_scope(layer.scope_name):
        ways = [[cell(UNITS) for _ in range(LAYERS)] for _ in range(2)]
        found, forward, backward = tf.contrib.rnn.stack_bidirectional_dynamic_rnn(
            *ways, X.transpose(1, 0, 2), dtype=tf.float32, sequence_length=lengths
        )
        tf.train.Saver().restore(session, path)
        found, forward, backward = session.run([found, forward, backward])
    np.testing.assert_allclose(found.transpose(1, 0, 2), expected[0], atol=1e-5)
    both = [s for pair in zip(forward, backward) for s in pair]
    for a, b in zip(states_of(kind, both), expected[1:]):
        np.testing.assert_allclose(a, b, atol=1e-5)


def test_gradients_states_and_the_batch_first():
    with tf.Graph().as_default(), tf.Session() as session:
        layer = cudnn.CudnnLSTM(1, UNITS, dtype=tf.float64, name="net")
        x = tf.constant(X, tf.float64)
        h, c = (tf.random_normal([1, BATCH, UNITS], dtype=tf.float64, seed=i) for i in range(2))
        h, c = (tf.constant(v) for v in session.run([h, c]))
        outputs, (last_h, _) = layer(x, (h, c))
        swapped = (tf.transpose(s, [1, 0, 2]) for s in (h, c))
        batch_first, _ = layer(tf.transpose(x, [1, 0, 2]), tuple(swapped), time_major=False)
        assert layer.kernel.op.name == "net/opaque_kernel"
        assert layer.trainable_variables == [layer.kernel]
        session.run(tf.global_variables_initializer())
        a, b, last = session.run([outputs, batch_first, last_h])
        np.testing.assert_allclose(a, b.transpose(1, 0, 2), atol=1e-12)
        np.testing.assert_allclose(a[-1], last[0], atol=1e-12)
        params = session.run(layer.kernel)
        loss = tf.reduce_sum(outputs**2)
        gradient = session.run(tf.gradients(loss, layer.kernel)[0])
        direction = np.random.RandomState(3).randn(*params.shape)
        ends = []
        for sign in (1, -1):
            layer.kernel.load(params + sign * 1e-6 * direction, session)
            ends.append(session.run(loss))
        assert (ends[0] - ends[1]) / 2e-6 == pytest.approx(gradient @ direction, rel=1e-5)


def test_dropout_acts_between_layers_while_training():
    with tf.Graph().as_default(), tf.Session() as session:
        training = tf.placeholder(tf.bool, [])
        layer = cudnn.CudnnRNNTanh(2, UNITS, dropout=0.5, seed=1)
        outputs, _ = layer(X, training=training)
        session.run(tf.global_variables_initializer())
        run = lambda on: session.run(outputs, {training: on})  # noqa: E731
        np.testing.assert_array_equal(run(False), run(False))
        assert not np.allclose(run(True), run(True))


def test_what_there_is_not():
    with pytest.raises(ValueError, match="Invalid direction: sideways"):
        cudnn.CudnnLSTM(1, 2, direction="sideways")
    with pytest.raises(ValueError, match="Invalid input_mode: none"):
        cudnn.CudnnLSTM(1, 2, input_mode="none")
    with pytest.raises(tf.errors.UnimplementedError, match="leaves out the weights"):
        cudnn.CudnnLSTM(1, 2, input_mode="skip_input")
    with pytest.raises(ValueError, match="Only support float16"):
        cudnn.CudnnLSTM(1, 2, dtype=tf.int32)
    with pytest.raises(ValueError, match="should be defined"):
        cudnn.CudnnLSTM(1, 2)(tf.placeholder(tf.float32, [3, 4, None]))
