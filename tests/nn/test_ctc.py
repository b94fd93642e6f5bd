"""CTC: the loss is that of all paths, decoders find the best ones; edit distances."""

import itertools

import numpy as np
import pytest

import weft as tf

RNG = np.random.RandomState(1)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


def sparse(rows):
    indices = [[i, j] for i, row in enumerate(rows) for j in range(len(row))]
    values = np.array([x for row in rows for x in row], np.int32)
    return tf.SparseTensor(indices, values, [len(rows), max(map(len, rows))])


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def labelings(probabilities):
    """The probability of each sequence of labels, by going over all paths; the last class is the blank."""
    steps, classes = probabilities.shape
    found = {}
    for path in itertools.product(range(classes), repeat=steps):
        labels = tuple(k for k, _ in itertools.groupby(path) if k != classes - 1)
        p = np.prod(probabilities[np.arange(steps), list(path)])
        found[labels] = found.get(labels, 0) + p
    return found


def test_the_loss_counts_all_paths():
    logits = RNG.normal(size=[5, 2, 4])
    labels = [[1, 1], [0, 2, 1]]
    inputs = tf.constant(logits)
    loss = tf.nn.ctc_loss(sparse(labels), inputs, [5, 4])
    dense = tf.nn.ctc_loss_v2(
        tf.constant([[1, 1, 0], [0, 2, 1]]),
        inputs,
        [2, 3],
        [5, 4],
        blank_index=-1,
    )
    moved = tf.nn.ctc_loss_v2(
        tf.constant([[2, 2, 0], [1, 3, 2]]),
        tf.concat([inputs[:, :, 3:], inputs[:, :, :3]], 2),
        [2, 3],
        [5, 4],
        unique=tf.nn.ctc_unique_labels(tf.constant([[2, 2, 0], [1, 3, 2]])),
    )
    y = softmax(logits)
    expected = [-np.log(labelings(y[:n, b])[tuple(labels[b])]) for b, n in enumerate([5, 4])]
    with tf.Session() as session:
        for found in session.run([loss, dense, moved]):
            np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_the_gradient_of_the_loss():
    logits = RNG.normal(size=[5, 1, 4])
    inputs = tf.placeholder(tf.float64, [5, 1, 4])
    loss = tf.nn.ctc_loss(sparse([[1, 1, 0]]), inputs, [5])
    gradient = tf.gradients(3 * loss, inputs)[0]
    with tf.Session() as session:
        found = session.run(gradient, {inputs: logits})
        for place in [(0, 0, 1), (2, 0, 3), (4, 0, 0)]:
            step = np.zeros_like(logits)
            step[place] = 1e-5
            up, down = (session.run(loss, {inputs: logits + s})[0] for s in (step, -step))
            np.testing.assert_allclose(found[place], 3 * (up - down) / 2e-5, rtol=1e-6)


def test_a_wide_beam_finds_the_best_labelings():
    logits = RNG.normal(size=[5, 1, 4]) * 2
    (first, second), scores = tf.nn.ctc_beam_search_decoder(
        logits, [5], beam_width=500, top_paths=2, merge_repeated=False
    )
    best = sorted(labelings(softmax(logits)[:, 0]).items(), key=lambda x: -x[1])[:2]
    with tf.Session() as session:
        a, b, found = session.run([first, second, scores])
    assert [tuple(a.values), tuple(b.values)] == [labels for labels, _ in best]
    np.testing.assert_allclose(found[0], np.log([p for _, p in best]), rtol=1e-6)


def test_greedy_decoding():
    best = np.array([[2, 2, 3, 2, 0], [3, 1, 1, 0, 0]])
    logits = np.log(np.eye(4)[best.T] * 0.9 + 0.025)
    (decoded,), score = tf.nn.ctc_greedy_decoder(logits.astype(np.float32), [5, 3])
    with tf.Session() as session:
        found, total = session.run([decoded, score])
    assert found.values.tolist() == [2, 2, 0, 1] and found.dense_shape.tolist() == [2, 3]
    np.testing.assert_allclose(total[:, 0], -np.log(0.925) * np.array([5, 3]), rtol=1e-5)


def test_collapsed_labels():
    labels, lengths = tf.nn.collapse_repeated([[1, 1, 2, 2, 1], [3, 3, 3, 0, 0]], [5, 3])
    with tf.Session() as session:
        rows, counts = session.run([labels, lengths])
    assert rows.tolist() == [[1, 2, 1], [3, 0, 0]] and counts.tolist() == [3, 1]


def test_edit_distances():
    truth = sparse([[1, 2, 3], [1, 2, 3, 4], [5]])
    said = sparse([[1, 3], [2, 1, 3, 4, 4], [5]])
    with tf.Session() as session:
        counts = session.run(tf.edit_distance(said, truth, normalize=False))
        assert counts.tolist() == [1, 3, 0]
        shares = session.run(tf.edit_distance(said, truth))
        np.testing.assert_allclose(shares, [1 / 3, 3 / 4, 0], rtol=1e-6)
    with pytest.raises(TypeError, match="Truth must be a SparseTensor"):
        tf.edit_distance(said, [1])
