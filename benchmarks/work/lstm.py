"""Training an LSTM of 128 units over 20 to 60 steps, a new length at every step."""

import time

import numpy as np

UNITS, BATCH, INPUTS = 128, 32, 64
FIRST, LATER = 100, 200


def unrolled(tf, x):
    """Runs the cell along the first axis of `x` with a loop in the graph; gives the last output."""
    kernel = tf.get_variable("kernel", [INPUTS + UNITS, 4 * UNITS])
    bias = tf.get_variable("bias", [4 * UNITS], initializer=tf.zeros_initializer())
    steps = tf.shape(x)[0]
    inputs = tf.TensorArray(tf.float32, size=steps).unstack(x)
    outputs = tf.TensorArray(tf.float32, size=steps)

    def body(i, cell, hidden, outputs):
        gates = tf.matmul(tf.concat([inputs.read(i), hidden], 1), kernel) + bias
        new, keep, forget, out = tf.split(gates, 4, axis=1)
        cell = cell * tf.sigmoid(forget + 1.0) + tf.sigmoid(keep) * tf.tanh(new)
        hidden = tf.tanh(cell) * tf.sigmoid(out)
        return i + 1, cell, hidden, outputs.write(i, hidden)

    zeros = tf.zeros([BATCH, UNITS])
    state = (tf.constant(0), zeros, zeros, outputs)
    _, _, _, outputs = tf.while_loop(lambda i, *_: i < steps, body, state)
    hidden = outputs.stack()
    hidden.set_shape([None, BATCH, UNITS])
    return hidden


def measure(tf):
    x = tf.placeholder(tf.float32, [None, BATCH, INPUTS])
    target = tf.placeholder(tf.float32, [None, BATCH, 1])
    hidden = unrolled(tf, x)
    weights = tf.get_variable("out", [UNITS, 1])
    guess = tf.reshape(tf.matmul(tf.reshape(hidden, [-1, UNITS]), weights), tf.shape(target))
    loss = tf.reduce_mean(tf.square(guess - target))
    train = tf.train.AdamOptimizer(1e-3).minimize(loss)

    random = np.random.RandomState(0)
    lengths = random.randint(20, 61, FIRST + LATER)
    data = random.randn(60, BATCH, INPUTS).astype(np.float32)
    wanted = np.tanh(data.sum(-1, keepdims=True)).astype(np.float32)
    moments = [time.perf_counter()]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for length in lengths:
            session.run([loss, train], {x: data[:length], target: wanted[:length]})
            moments.append(time.perf_counter())
    first, later = moments[FIRST] - moments[0], moments[-1] - moments[FIRST]
    return {"first": first / FIRST, "later": later / LATER}
