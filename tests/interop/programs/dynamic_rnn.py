"""Recurrent cells of TensorFlow 1 in `dynamic_rnn`, over sequences of several lengths, trained with Adam."""

import numpy as np


def build(tf):
    random = np.random.RandomState(0)
    tf.set_random_seed(11)
    words = tf.placeholder(tf.int32, [None, None], name="words")
    lengths = tf.placeholder(tf.int32, [None], name="lengths")
    table = tf.get_variable("table", [20, 5], initializer=tf.random_normal_initializer())
    cells = [
        tf.nn.rnn_cell.LSTMCell(6, use_peepholes=True, num_proj=4),
        tf.nn.rnn_cell.ResidualWrapper(tf.nn.rnn_cell.GRUCell(4)),
    ]
    outputs, state = tf.nn.dynamic_rnn(
        tf.nn.rnn_cell.MultiRNNCell(cells),
        tf.nn.embedding_lookup(table, words),
        lengths,
        dtype=tf.float32,
        scope="encoder",
    )
    both, _ = tf.nn.bidirectional_dynamic_rnn(
        tf.nn.rnn_cell.BasicLSTMCell(3),
        tf.nn.rnn_cell.BasicLSTMCell(3),
        outputs,
        lengths,
        dtype=tf.float32,
    )
    joined = tf.concat(both, 2, name="joined")
    logits = tf.layers.dense(joined, 20, name="logits")
    mask = tf.sequence_mask(lengths, tf.shape(words)[1], tf.float32)
    loss = tf.contrib.seq2seq.sequence_loss(logits, words, mask)
    loss = tf.identity(loss, name="loss")
    optimizer = tf.train.AdamOptimizer(0.05)
    grads, variables = zip(*optimizer.compute_gradients(loss))
    clipped, norm = tf.clip_by_global_norm(grads, 1.0)
    tf.identity(norm, name="norm")
    optimizer.apply_gradients(zip(clipped, variables), name="train")
    tf.identity(state[1], name="state")
    tf.global_variables_initializer()

    def feeds(batch, longest):
        return {
            "words:0": random.randint(0, 20, [batch, longest]).astype(np.int32),
            "lengths:0": random.randint(1, longest + 1, batch).astype(np.int32),
        }

    runs = [(feeds(3, n), ["loss:0", "norm:0", "train"]) for n in (5, 2, 7, 5)]
    return {
        "init": "init",
        "runs": runs + [(feeds(4, 6), ["joined:0", "state:0", "loss:0"])],
    }
