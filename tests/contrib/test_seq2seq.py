"""contrib.seq2seq: decoding with attention, helpers and beams; expected numbers are TensorFlow 1.15's."""

import numpy as np
import pytest

import weft as tf

s2 = tf.contrib.seq2seq


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


def numbers(*shape):
    """Fixed numbers between -1 and 1."""
    return np.sin(np.arange(np.prod(shape), dtype=np.float32)).reshape(shape)


def fixed(shape, dtype=None, partition_info=None):
    return tf.constant(numbers(*shape))


def run(fetches):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches)


def attending(mechanism, batch=2, **kwargs):
    lengths = [3, 5] * (batch // 2)
    memory = tf.constant(np.tile(numbers(2, 5, 4), (batch // 2, 1, 1)))
    made = mechanism(3, memory, memory_sequence_length=tf.constant(lengths))
    cell = tf.nn.rnn_cell.BasicRNNCell(3)
    return s2.AttentionWrapper(cell, made, attention_layer_size=3, **kwargs)


@pytest.mark.parametrize(
    "mechanism, total, places",
    [
        (s2.LuongAttention, 0.8390153, 11.948486),
        (s2.BahdanauAttention, 6.801472, 12.078439),
        (s2.LuongMonotonicAttention, 1.0826995, 7.227733),
        (s2.BahdanauMonotonicAttention, 4.771891, 7.018207),
    ],
)
def test_training_with_attention(mechanism, total, places):
    with tf.variable_scope("m", initializer=fixed):
        cell = attending(mechanism, alignment_history=True)
        helper = s2.TrainingHelper(tf.constant(numbers(2, 4, 3)), tf.constant([4, 2]))
        decoder = s2.BasicDecoder(cell, helper, cell.zero_state(2, tf.float32))
        outputs, state, lengths = s2.dynamic_decode(decoder, impute_finished=True)
        history = state.alignment_history.stack()
    names = [v.op.name for v in tf.global_variables()]
    assert names[0] == "m/memory_layer/kernel"
    assert names[-1] == "m/decoder/attention_wrapper/attention_layer/kernel"
    out, ids, lengths, history = run([outputs.rnn_output, outputs.sample_id, lengths, history])
    assert out.shape == (2, 4, 3) and not out[1, 2:].any() and history.shape == (4, 2, 5)
    assert lengths.tolist() == [4, 2] and ids.dtype == np.int32
    np.testing.assert_allclose(np.abs(out).sum(), total, rtol=1e-5)
    np.testing.assert_allclose((history * np.arange(5)).sum(), places, rtol=1e-5)


@pytest.mark.parametrize(
    "penalty, ids, log_probs",
    [
        (0.0, [[2, 1], [2, 1], [2, 2]], [-1.7565839, -5.1740837]),
        (0.7, [[1, 1], [0, 0], [5, 5], [3, 3], [1, 1], [3, 1]], [-10.460987, -10.461745]),
    ],
)
def test_beams(penalty, ids, log_probs):
    with tf.variable_scope("b", initializer=fixed):
        cell = attending(s2.LuongAttention, batch=4)
        decoder = s2.BeamSearchDecoder(
            cell,
            tf.constant(numbers(6, 3)),
            tf.constant([1, 1]),
            2,
            cell.zero_state(4, tf.float32),
            2,
            output_layer=tf.layers.Dense(6),
            length_penalty_weight=penalty,
            coverage_penalty_weight=penalty,
        )
        outputs, state, _ = s2.dynamic_decode(decoder, maximum_iterations=6)
    found, probs = run([outputs.predicted_ids, state.log_probs])
    assert found.tolist() == [ids, ids]
    np.testing.assert_allclose(probs, [log_probs] * 2, rtol=1e-5)


def test_greedy_and_sampled():
    table = tf.constant(10 * np.eye(4, dtype=np.float32))
    cell = tf.nn.rnn_cell.BasicRNNCell(4, activation=lambda x: x)
    kernel = np.vstack([np.roll(np.eye(4), 1, axis=1), np.zeros((4, 4))])  # after i comes i + 1
    for kind in (s2.GreedyEmbeddingHelper, s2.SampleEmbeddingHelper):
        start = tf.constant(kernel, tf.float32)
        with tf.variable_scope(
            "g",
            initializer=lambda shape, x=start, **_: x if len(shape) > 1 else tf.zeros(shape),
            reuse=tf.AUTO_REUSE,
        ):
            helper = kind(table, tf.constant([0, 2]), 3)
            decoder = s2.BasicDecoder(cell, helper, cell.zero_state(2, tf.float32))
            outputs, _, lengths = s2.dynamic_decode(decoder)
        ids, lengths = run([outputs.sample_id, lengths])
        assert ids[0].tolist() == [1, 2, 3] and ids[1, 0] == 3 and lengths.tolist() == [3, 1]


def test_scheduled_sampling_reads_all_or_nothing():
    inputs, lengths = tf.constant(numbers(2, 3, 4)), tf.constant([3, 3])
    table = tf.constant(numbers(4, 4) + 9)
    for probability, kept in ((0.0, True), (1.0, False)):
        for helper in (
            s2.ScheduledEmbeddingTrainingHelper(inputs, lengths, table, probability),
            s2.ScheduledOutputTrainingHelper(inputs, lengths, probability),
        ):
            outputs = tf.constant([[0.0, 0.0, 99.0, 0.0]] * 2)
            ids = helper.sample(tf.constant(0), outputs, ())
            _, following, _ = helper.next_inputs(tf.constant(0), outputs, (), ids)
            given = np.allclose(run(following), numbers(2, 3, 4)[:, 1])
            assert given == kept


def test_loss_and_arguments():
    logits, targets = tf.constant(numbers(2, 3, 4)), tf.constant([[0, 1, 2], [3, 0, 1]])
    weights = tf.constant([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]])
    mean = s2.sequence_loss(logits, targets, weights)
    steps = s2.sequence_loss(logits, targets, weights, average_across_timesteps=False)
    mean, steps = run([mean, steps])
    assert steps.shape == (3,) and np.isclose(mean, (steps * [2, 2, 1]).sum() / 5)
    with pytest.raises(ValueError, match="cannot be set to True at same time"):
        s2.sequence_loss(logits, targets, weights, sum_over_batch=True)
    with pytest.raises(TypeError, match="must be an AttentionMechanism"):
        s2.AttentionWrapper(tf.nn.rnn_cell.BasicRNNCell(3), "luong")
    tiled = run(s2.tile_batch((tf.constant([1, 2]), tf.constant([[3], [4]])), 2))
    assert tiled[0].tolist() == [1, 1, 2, 2] and tiled[1].tolist() == [[3], [3], [4], [4]]
    assert run(s2.hardmax([[1.0, 3.0, 2.0]])).tolist() == [[0, 1, 0]]
