"""Squeezes digits into a few numbers and draws them again from those.

weft run examples/autoencoder.py
"""

import argparse
import os

import tensorflow as tf
from pictures import drawn
from progress import Progress
from tensorflow.examples.tutorials.mnist import input_data

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--steps", type=int, default=2000)
    options.add_argument("--code", type=int, default=16, help="how many numbers stand for a digit")
    options = options.parse_args()

    tf.set_random_seed(1)
    mnist = input_data.read_data_sets(DATA, validation_size=0, seed=1)
    images = tf.placeholder(tf.float32, [None, 784], name="images")
    x = tf.layers.dense(images, 128, activation=tf.nn.relu, name="encoder")
    code = tf.layers.dense(x, options.code, name="code")
    x = tf.layers.dense(code, 128, activation=tf.nn.relu, name="decoder")
    logits = tf.layers.dense(x, 784, name="pixels")
    again = tf.nn.sigmoid(logits)
    loss = tf.losses.sigmoid_cross_entropy(images, logits)
    error = tf.losses.mean_squared_error(images, again, loss_collection=None)
    train = tf.train.AdamOptimizer(2e-3).minimize(loss)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        with Progress(options.steps) as progress:
            for step in range(1, options.steps + 1):
                batch, _ = mnist.train.next_batch(100)
                value, _ = session.run([loss, train], {images: batch})
                progress.update(step, loss=value)
        print("error per pixel: %.4f" % session.run(error, {images: mnist.test.images}))
        some = mnist.test.images[:4]
        print(drawn(some))
        print("drawn again from %d numbers:" % options.code)
        print(drawn(session.run(again, {images: some})))


if __name__ == "__main__":
    main()
