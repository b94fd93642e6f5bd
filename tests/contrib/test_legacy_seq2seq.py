"""contrib.legacy_seq2seq: unrolled encoders and decoders; expected numbers are TensorFlow 1.15's."""

import numpy as np
import pytest

import weft as tf

legacy = tf.contrib.legacy_seq2seq


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


def fixed(shape, dtype=None, partition_info=None):
    return tf.constant(np.sin(np.arange(np.prod(shape), dtype=np.float32)).reshape(shape))


def totals(model, feed_previous, **kwargs):
    """The sum of all outputs' sizes, and the names of the variables."""
    encoder = [tf.constant([1, 2]), tf.constant([3, 0])]
    decoder = [tf.constant([1, 1]), tf.constant([2, 3]), tf.constant([0, 4])]
    cell = tf.nn.rnn_cell.GRUCell(3)
    with tf.variable_scope("m", initializer=fixed):
        outputs, state = model(
            encoder, decoder, cell, embedding_size=2, feed_previous=feed_previous, **kwargs
        )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        outputs, state = session.run([outputs, state])
    assert len(outputs) == 3 and outputs[0].shape == (2, 5) and state.shape == (2, 3)
    return np.abs(outputs).sum(), [v.op.name for v in tf.global_variables()]


SYMBOLS = {"num_encoder_symbols": 4, "num_decoder_symbols": 5}


@pytest.mark.parametrize(
    "name, given, fed, arguments",
    [
        ("embedding_rnn_seq2seq", 6.0951424, 5.8058877, SYMBOLS),
        ("embedding_tied_rnn_seq2seq", 6.0951424, 5.8058877, {"num_symbols": 5}),
        ("embedding_attention_seq2seq", 18.795141, 14.509112, {**SYMBOLS, "num_heads": 2}),
    ],
)
def test_embedded(name, given, fed, arguments):
    model = getattr(legacy, name)
    for feed_previous, total in ((False, given), (True, fed), (tf.constant(True), fed)):
        with tf.Graph().as_default():
            if not isinstance(feed_previous, bool):
                feed_previous = tf.constant(True)
            found, names = totals(model, feed_previous, **arguments)
        np.testing.assert_allclose(found, total, rtol=1e-5)
        assert all(n.startswith(f"m/{name}/") for n in names)


def test_buckets_share_variables_and_losses_are_weighted():
    steps = [tf.constant([i % 3, 1]) for i in range(4)]
    weights = [tf.constant([1.0, 0.0]) for _ in range(4)]

    def model(source, target):
        cell = tf.nn.rnn_cell.GRUCell(3)
        return legacy.embedding_rnn_seq2seq(source, target, cell, 3, 3, 2)

    buckets = [(1, 2), (2, 3)]
    outputs, losses = legacy.model_with_buckets(steps, steps, steps, weights, buckets, model)
    each = legacy.sequence_loss_by_example(outputs[0], steps[:2], weights[:2])
    count = len(tf.global_variables())  # of one model
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        losses, each = session.run([losses, each])
    assert [len(o) for o in outputs] == [2, 3] and count == 12
    assert each[1] == 0 and np.isclose(losses[0], each[0] / 2)
    with pytest.raises(ValueError, match="at least that of last bucket"):
        legacy.model_with_buckets(steps, steps, steps, weights, [(5, 1)], model)
    with pytest.raises(ValueError, match="Lengths of logits"):
        legacy.sequence_loss_by_example(steps[:1], steps, weights)
