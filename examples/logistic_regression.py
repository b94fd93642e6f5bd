"""Reads digits with one layer, and writes summaries for TensorBoard.

weft run examples/logistic_regression.py
tensorboard --logdir /tmp/logistic_regression
"""

import argparse
import os

import tensorflow as tf
from progress import Progress
from tensorflow.examples.tutorials.mnist import input_data

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")

options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
options.add_argument("--steps", type=int, default=1000)
options.add_argument("--logdir", default="/tmp/logistic_regression")
options = options.parse_args()

tf.set_random_seed(1)
mnist = input_data.read_data_sets(DATA, one_hot=True, validation_size=0, seed=1)
images = tf.placeholder(tf.float32, [None, 784], name="images")
labels = tf.placeholder(tf.float32, [None, 10], name="labels")

weights = tf.get_variable("weights", [784, 10], initializer=tf.zeros_initializer())
biases = tf.get_variable("biases", [10], initializer=tf.zeros_initializer())
logits = tf.matmul(images, weights) + biases
loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits))
right = tf.equal(tf.argmax(logits, 1), tf.argmax(labels, 1))
accuracy = tf.reduce_mean(tf.cast(right, tf.float32))
train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)

tf.summary.scalar("loss", loss)
tf.summary.scalar("accuracy", accuracy)
tf.summary.histogram("weights", weights)
summaries = tf.summary.merge_all()

with tf.Session() as session, tf.summary.FileWriter(options.logdir, session.graph) as writer:
    session.run(tf.global_variables_initializer())
    with Progress(options.steps) as progress:
        for step in range(1, options.steps + 1):
            batch = dict(zip((images, labels), mnist.train.next_batch(100)))
            session.run(train, batch)
            if step % 10 == 0:
                error, score, summary = session.run([loss, accuracy, summaries], batch)
                writer.add_summary(summary, step)
                progress.update(step, loss=error, accuracy=score)
    test = {images: mnist.test.images, labels: mnist.test.labels}
    print("test accuracy: %.2f %%" % (100 * session.run(accuracy, test)))
