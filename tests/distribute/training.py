"""A small model that is trained with and without strategies. TensorFlow 1.15.5 gives the same losses, without a
strategy, with MirroredStrategy over two devices, and with MultiWorkerMirroredStrategy over two processes."""

from __future__ import annotations

import numpy as np

import weft as tf

# Of six steps; measured with TensorFlow 1.15.5.
LOSSES = {
    "sgd": [1.1645968, 1.4393661, 1.0914797, 1.2194449, 1.0885385, 1.3447335],
    "adam": [1.1645968, 1.4092913, 1.1117773, 1.2605991, 0.9087384, 1.0882938],
    "momentum": [1.1645968, 1.4393661, 1.0937920, 1.2254703, 0.9796052, 1.1820678],
}
OPTIMIZERS = {
    "sgd": lambda: tf.train.GradientDescentOptimizer(0.1),
    "adam": lambda: tf.train.AdamOptimizer(0.05),
    "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
}


def data():
    rng = np.random.RandomState(0)
    return rng.randn(64, 10).astype("f"), rng.randint(0, 3, 64).astype("i4")


def start(*shape):
    values = np.random.RandomState(sum(shape)).randn(*shape).astype("f") * 0.3
    return tf.constant_initializer(values)


def loss_of(x, y, replicas=1):
    h = tf.layers.dense(x, 8, tf.nn.relu, kernel_initializer=start(10, 8), name="a")
    logits = tf.layers.dense(h, 3, kernel_initializer=start(8, 3), name="b")
    return tf.losses.sparse_softmax_cross_entropy(y, logits) / replicas


def build(strategy, optimizer):
    """The operations that initialise, and the loss of a step that trains."""
    dataset = tf.data.Dataset.from_tensor_slices(data()).repeat().batch(16)
    with strategy.scope():
        iterator = strategy.make_dataset_iterator(dataset)
        step = tf.train.get_or_create_global_step()
        made = OPTIMIZERS[optimizer]()

        def run(inputs):
            loss = loss_of(*inputs, strategy.num_replicas_in_sync)
            with tf.control_dependencies([made.minimize(loss, global_step=step)]):
                return tf.identity(loss)

        losses = strategy.experimental_run(run, iterator)
        loss = strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)
        return [tf.global_variables_initializer(), iterator.initialize()], loss, step


def train(session, built, steps=6):
    """The losses of some steps, and the global step after them."""
    init, loss, step = built
    session.run(init)
    return [session.run(loss) for _ in range(steps)], session.run(step)
