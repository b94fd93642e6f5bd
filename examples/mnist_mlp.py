"""Reads digits with two hidden layers, in a session that looks after itself.

    weft run examples/mnist_mlp.py

A `tf.data` pipeline feeds the network. `MonitoredTrainingSession` saves checkpoints and summaries, and goes
on where an interrupted run has stopped: run it twice with more --steps and see.
"""

import argparse
import os

import numpy as np
import tensorflow as tf
from progress import Progress
from tensorflow.examples.tutorials.mnist import input_data

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")


class ShowProgress(tf.train.SessionRunHook):
    """Hooks see each step of a monitored session: what they ask for is fetched along with it."""

    def __init__(self, progress, step, **tensors):
        self.progress, self.tensors = progress, dict(tensors, step=step)

    def before_run(self, run_context):
        return tf.train.SessionRunArgs(self.tensors)

    def after_run(self, run_context, run_values):
        values = dict(run_values.results)
        self.progress.update(values.pop("step"), **values)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--steps", type=int, default=1500)
    options.add_argument("--model_dir", default="/tmp/mnist_mlp")
    options = options.parse_args()

    tf.set_random_seed(1)
    mnist = input_data.read_data_sets(DATA, validation_size=0)
    pairs = (mnist.train.images, mnist.train.labels.astype(np.int64))
    dataset = tf.data.Dataset.from_tensor_slices(pairs).shuffle(10000).repeat().batch(64)
    images, labels = dataset.prefetch(1).make_one_shot_iterator().get_next()

    x = tf.layers.dense(images, 128, activation=tf.nn.relu, name="hidden1")
    x = tf.layers.dense(x, 64, activation=tf.nn.relu, name="hidden2")
    logits = tf.layers.dense(x, 10, name="logits")
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    right = tf.equal(tf.argmax(logits, 1), labels)
    accuracy = tf.reduce_mean(tf.cast(right, tf.float32))
    step = tf.train.get_or_create_global_step()
    train = tf.train.AdamOptimizer(1e-3).minimize(loss, global_step=step)
    tf.summary.scalar("loss", loss)

    with Progress(options.steps) as progress:
        hooks = [
            tf.train.StopAtStepHook(last_step=options.steps),
            ShowProgress(progress, step, loss=loss, accuracy=accuracy),
        ]
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=options.model_dir, hooks=hooks, save_checkpoint_secs=30
        ) as session:
            while not session.should_stop():
                session.run(train)

    # The last checkpoint, in a session of its own; any tensor can be fed, the pipeline's too.
    with tf.Session() as session:
        tf.train.Saver().restore(session, tf.train.latest_checkpoint(options.model_dir))
        test = {images: mnist.test.images, labels: mnist.test.labels}
        print("test accuracy: %.2f %%" % (100 * session.run(accuracy, test)))


if __name__ == "__main__":
    main()
