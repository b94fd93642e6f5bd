"""`tensorflow.examples.tutorials.mnist.mnist`: the network of the tutorial `fully_connected_feed`."""

from __future__ import annotations

import math
from typing import Any

import weft as tf

NUM_CLASSES = 10
IMAGE_SIZE = 28
IMAGE_PIXELS = IMAGE_SIZE * IMAGE_SIZE


def inference(images: Any, hidden1_units: int, hidden2_units: int) -> Any:
    """The logits of two hidden layers and a linear one."""
    hidden = tf.nn.relu(_dense(images, IMAGE_PIXELS, hidden1_units, "hidden1"))
    hidden = tf.nn.relu(_dense(hidden, hidden1_units, hidden2_units, "hidden2"))
    return _dense(hidden, hidden2_units, NUM_CLASSES, "softmax_linear")


def _dense(x: Any, inputs: int, outputs: int, name: str) -> Any:
    with tf.name_scope(name):
        initial = tf.truncated_normal([inputs, outputs], stddev=1.0 / math.sqrt(inputs))
        weights = tf.Variable(initial, name="weights")
        biases = tf.Variable(tf.zeros([outputs]), name="biases")
        return tf.matmul(x, weights) + biases


def loss(logits: Any, labels: Any) -> Any:
    """The mean cross-entropy of the labels."""
    return tf.losses.sparse_softmax_cross_entropy(labels=tf.cast(labels, tf.int64), logits=logits)


def training(loss: Any, learning_rate: float) -> Any:
    """The op of one step of gradient descent, which counts the steps and writes the loss as a summary."""
    tf.summary.scalar("loss", loss)
    global_step = tf.Variable(0, name="global_step", trainable=False)
    return tf.train.GradientDescentOptimizer(learning_rate).minimize(loss, global_step=global_step)


def evaluation(logits: Any, labels: Any) -> Any:
    """How many of the batch are classified right."""
    return tf.reduce_sum(tf.cast(tf.nn.in_top_k(logits, labels, 1), tf.int32))
