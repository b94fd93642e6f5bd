"""Finds the line through noisy points: the smallest program that trains.

weft run examples/linear_regression.py
"""

import argparse

import numpy as np
import tensorflow as tf
from progress import Progress

options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
options.add_argument("--steps", type=int, default=300)
options = options.parse_args()

# A hundred points near the line y = 3 x + 2.
random = np.random.RandomState(1)
xs = random.uniform(-1, 1, 100)
ys = 3 * xs + 2 + 0.1 * random.randn(100)

# The graph says what is to be computed. Nothing is computed yet.
x = tf.placeholder(tf.float32, name="x")
y = tf.placeholder(tf.float32, name="y")
slope = tf.Variable(0.0, name="slope")
offset = tf.Variable(0.0, name="offset")
loss = tf.reduce_mean(tf.square(slope * x + offset - y))
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)

# A session computes: what is asked for, and all that it needs.
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    with Progress(options.steps) as progress:
        for step in range(1, options.steps + 1):
            error, _ = session.run([loss, train], {x: xs, y: ys})
            progress.update(step, loss=error)
    print("y = %.2f x + %.2f" % tuple(session.run([slope, offset])))
