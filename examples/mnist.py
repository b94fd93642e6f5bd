"""Trains a small convolutional network on a part of MNIST, as a TensorFlow 1 program does it.

    weft run examples/mnist.py

Nothing here is particular to weft: the program runs unchanged on TensorFlow 1.15.
"""

import argparse
import gzip
import os

import numpy as np
import tensorflow as tf
from progress import Progress

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")


def read_idx(name):
    """Reads an array from a gzipped IDX file: type and rank, the sizes, then the bytes."""
    with gzip.open(os.path.join(DATA, name)) as file:
        content = file.read()
    rank = content[3]
    shape = np.frombuffer(content, ">i4", rank, offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * rank).reshape(shape)


def read_mnist(part):
    images = read_idx(part + "-images-idx3-ubyte.gz")[..., np.newaxis]
    labels = read_idx(part + "-labels-idx1-ubyte.gz")
    return images.astype(np.float32) / 255, labels.astype(np.int64)


def convolution(x, filters, name):
    with tf.variable_scope(name):
        kernel = tf.get_variable("kernel", [5, 5, x.shape[-1], filters])
        bias = tf.get_variable("bias", [filters], initializer=tf.zeros_initializer())
        x = tf.nn.conv2d(x, kernel, strides=[1, 1, 1, 1], padding="SAME")
        x = tf.nn.relu(tf.nn.bias_add(x, bias))
        return tf.nn.max_pool(x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")


def dense(x, units, name):
    with tf.variable_scope(name):
        kernel = tf.get_variable("kernel", [x.shape[-1], units])
        bias = tf.get_variable("bias", [units], initializer=tf.zeros_initializer())
        return tf.matmul(x, kernel) + bias


def classifier(images, keep):
    x = convolution(images, 8, "conv1")
    x = convolution(x, 16, "conv2")
    x = tf.reshape(x, [-1, 7 * 7 * 16])
    x = tf.nn.relu(dense(x, 64, "hidden"))
    return dense(tf.nn.dropout(x, keep_prob=keep), 10, "logits")


def main():
    arguments = argparse.ArgumentParser(description="Train a small classifier on a part of MNIST.")
    arguments.add_argument("--epochs", type=int, default=3)
    arguments.add_argument("--batch", type=int, default=64)
    arguments.add_argument("--seed", type=int, default=1)
    options = arguments.parse_args()

    train_images, train_labels = read_mnist("train")
    test_images, test_labels = read_mnist("t10k")

    tf.set_random_seed(options.seed)
    images = tf.placeholder(tf.float32, [None, 28, 28, 1], name="images")
    labels = tf.placeholder(tf.int64, [None], name="labels")
    keep = tf.placeholder_with_default(1.0, [], name="keep")
    logits = classifier(images, keep)
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    )
    accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), labels), tf.float32))
    train = tf.train.AdamOptimizer(2e-3).minimize(loss)

    order = np.random.RandomState(options.seed)
    batches = len(train_labels) // options.batch
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        with Progress(options.epochs * batches) as progress:
            for epoch in range(options.epochs):
                shuffled = order.permutation(len(train_labels))
                for i in range(batches):
                    chosen = shuffled[i * options.batch : (i + 1) * options.batch]
                    feeds = {
                        images: train_images[chosen],
                        labels: train_labels[chosen],
                        keep: 0.75,
                    }
                    batch_loss, batch_accuracy, _ = session.run([loss, accuracy, train], feeds)
                    step = epoch * batches + i + 1
                    progress.update(step, loss=batch_loss, accuracy=batch_accuracy)

        correct = 0.0
        for i in range(0, len(test_labels), 500):
            part = {images: test_images[i : i + 500], labels: test_labels[i : i + 500]}
            correct += session.run(accuracy, part) * len(part[labels])
    print("test accuracy: %.2f %%" % (100 * correct / len(test_labels)))


if __name__ == "__main__":
    main()
