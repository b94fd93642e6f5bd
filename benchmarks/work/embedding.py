"""Training an embedding of a million rows by 32, 4,096 ids a step, with SGD and with Adam."""

import numpy as np

from timing import per_call

ROWS, WIDTH, IDS = 1000000, 32, 4096


def step_with(tf, optimizer, seconds):
    with tf.Graph().as_default(), tf.Session() as session:
        ids = tf.placeholder(tf.int32, [None])
        table = tf.get_variable("table", [ROWS, WIDTH], initializer=tf.zeros_initializer())
        loss = tf.reduce_mean(tf.square(tf.nn.embedding_lookup(table, ids) - 1.0))
        train = optimizer.minimize(loss)
        session.run(tf.global_variables_initializer())
        chosen = np.random.RandomState(0).randint(0, ROWS, [16, IDS]).astype(np.int32)
        turn = iter(list(range(16)) * 10**6)
        run = lambda: session.run([loss, train], {ids: chosen[next(turn)]})  # noqa: E731
        return per_call(run, warm=16, seconds=seconds)


def measure(tf):
    return {
        "sgd": step_with(tf, tf.train.GradientDescentOptimizer(0.1), seconds=1),
        "adam": step_with(tf, tf.train.AdamOptimizer(1e-3), seconds=3),
    }
