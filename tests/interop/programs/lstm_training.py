"""An LSTM written with `while_loop` and TensorArrays, trained with momentum."""

import numpy as np

UNITS, BATCH, INPUTS = 6, 3, 4


def build(tf):
    random = np.random.RandomState(0)
    x = tf.placeholder(tf.float32, [None, BATCH, INPUTS], name="x")
    weights = random.randn(INPUTS + UNITS, 4 * UNITS).astype(np.float32) * 0.3
    kernel = tf.get_variable("kernel", initializer=tf.constant(weights))
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
    loop = tf.while_loop(lambda i, *_: i < steps, body, (tf.constant(0), zeros, zeros, outputs))
    hidden = tf.identity(loop[3].stack(), name="hidden")
    loss = tf.reduce_mean(tf.square(tf.reduce_sum(hidden, 2) - 1.0), name="loss")
    tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss, name="train")
    tf.global_variables_initializer()

    data = random.randn(7, BATCH, INPUTS).astype(np.float32)
    runs = [({"x:0": data[:length]}, ["loss:0", "train"]) for length in (7, 3, 1, 5)]
    return {"init": "init", "runs": runs + [({"x:0": data}, ["hidden:0", "kernel:0"])]}
