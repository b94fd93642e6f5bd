"""Draws digits that nobody has written: two convolutional networks that play against each other.

weft run examples/dcgan.py
"""

import argparse
import os

import tensorflow as tf
from pictures import drawn
from progress import Progress
from tensorflow.examples.tutorials.mnist import input_data

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
NOISE = 32


def generator(noise):
    with tf.variable_scope("generator"):
        x = tf.reshape(tf.layers.dense(noise, 7 * 7 * 32), [-1, 7, 7, 32])
        x = tf.nn.relu(tf.layers.batch_normalization(x, training=True))
        x = tf.layers.conv2d_transpose(x, 16, 4, 2, padding="same")
        x = tf.nn.relu(tf.layers.batch_normalization(x, training=True))
        return tf.layers.conv2d_transpose(x, 1, 4, 2, padding="same", activation=tf.nn.tanh)


def discriminator(images, reuse):
    """How real images look: logits."""
    with tf.variable_scope("discriminator", reuse=reuse):
        x = tf.layers.conv2d(images, 16, 4, 2, padding="same", activation=tf.nn.leaky_relu)
        x = tf.layers.conv2d(x, 32, 4, 2, padding="same", activation=tf.nn.leaky_relu)
        return tf.layers.dense(tf.layers.flatten(x), 1)


def cross_entropy(logits, real):
    labels = tf.ones_like(logits) * real
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits))


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--steps", type=int, default=1500)
    options.add_argument("--logdir", default="/tmp/dcgan", help="for the images, in TensorBoard")
    options = options.parse_args()

    tf.set_random_seed(1)
    mnist = input_data.read_data_sets(DATA, reshape=False, validation_size=0, seed=1)
    real = tf.placeholder(tf.float32, [None, 28, 28, 1], name="real")
    noise = tf.random_normal([64, NOISE])
    fake = generator(noise)
    real_logits = discriminator(real * 2 - 1, reuse=False)
    fake_logits = discriminator(fake, reuse=True)
    judging = cross_entropy(real_logits, 0.9) + cross_entropy(fake_logits, 0.0)
    faking = cross_entropy(fake_logits, 1.0)
    # Each network learns with its own variables only.
    train_judge = tf.train.AdamOptimizer(5e-4, beta1=0.5).minimize(
        judging, var_list=tf.trainable_variables("discriminator")
    )
    train_faker = tf.train.AdamOptimizer(1e-3, beta1=0.5).minimize(
        faking, var_list=tf.trainable_variables("generator")
    )
    picture = tf.summary.image("digits", (fake + 1) / 2, max_outputs=8)
    # How far the faked images are from real ones in the mean: something that can be told in one number.
    distance = tf.reduce_mean(
        tf.abs(tf.reduce_mean(real, 0) - tf.reduce_mean((fake + 1) / 2, 0)), name="distance"
    )

    with tf.Session() as session, tf.summary.FileWriter(options.logdir) as writer:
        session.run(tf.global_variables_initializer())
        with Progress(options.steps) as progress:
            for step in range(1, options.steps + 1):
                batch = {real: mnist.train.next_batch(64)[0]}
                judge, _ = session.run([judging, train_judge], batch)
                faker, apart, _ = session.run([faking, distance, train_faker], batch)
                progress.update(step, judge=judge, faker=faker, distance=apart)
                if step % 250 == 0:
                    writer.add_summary(session.run(picture), step)
        print(drawn((session.run(fake)[:5] + 1) / 2))


if __name__ == "__main__":
    main()
