"""Training an LSTM of 128 units over 50 steps with `dynamic_rnn`."""

import numpy as np

from timing import per_call

UNITS, BATCH, STEPS, INPUTS = 128, 32, 50, 64


def lstm_cell(tf):
    try:
        return tf.nn.rnn_cell.BasicLSTMCell(UNITS)
    except AttributeError:  # TensorFlow 2 has hidden it since it comes with Keras 3
        from tensorflow.python.keras.layers.legacy_rnn import rnn_cell_impl

        return rnn_cell_impl.BasicLSTMCell(UNITS)


def measure(tf):
    x = tf.placeholder(tf.float32, [BATCH, STEPS, INPUTS])
    labels = tf.placeholder(tf.int64, [BATCH])
    _, state = tf.nn.dynamic_rnn(lstm_cell(tf), x, dtype=tf.float32)
    logits = tf.matmul(state.h, tf.get_variable("out", [UNITS, 10]))
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    train = tf.train.AdamOptimizer(1e-3).minimize(loss)
    random = np.random.RandomState(0)
    feeds = {
        x: random.randn(BATCH, STEPS, INPUTS).astype(np.float32),
        labels: random.randint(0, 10, BATCH),
    }
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return {"step": per_call(lambda: session.run([loss, train], feeds), seconds=3)}
