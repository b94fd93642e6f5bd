"""Reads digits with convolutions from tf.layers: batch normalization, dropout, and a Saver.

weft run examples/mnist_cnn.py
"""

import argparse
import os

import tensorflow as tf
from progress import Progress
from tensorflow.examples.tutorials.mnist import input_data

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")


def network(images, training):
    x = images
    for filters in (16, 32):
        x = tf.layers.conv2d(x, filters, 3, padding="same", use_bias=False)
        x = tf.nn.relu(tf.layers.batch_normalization(x, training=training, momentum=0.9))
        x = tf.layers.max_pooling2d(x, 2, 2)
    x = tf.layers.dense(tf.layers.flatten(x), 64, activation=tf.nn.relu)
    return tf.layers.dense(tf.layers.dropout(x, 0.3, training=training), 10)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--steps", type=int, default=600)
    options.add_argument("--checkpoint", default="/tmp/mnist_cnn/model")
    options = options.parse_args()

    tf.set_random_seed(1)
    mnist = input_data.read_data_sets(DATA, reshape=False, validation_size=0, seed=1)
    images = tf.placeholder(tf.float32, [None, 28, 28, 1], name="images")
    labels = tf.placeholder(tf.int64, [None], name="labels")
    training = tf.placeholder_with_default(False, [], name="training")
    logits = network(images, training)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), labels), tf.float32))
    # Batch normalization updates its averages in ops that nothing else asks for.
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        train = tf.train.AdamOptimizer(1e-3).minimize(loss)
    saver = tf.train.Saver()

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        with Progress(options.steps) as progress:
            for step in range(1, options.steps + 1):
                batch = dict(zip((images, labels), mnist.train.next_batch(64)))
                batch[training] = True
                error, score, _ = session.run([loss, accuracy, train], batch)
                progress.update(step, loss=error, accuracy=score)
        path = saver.save(session, options.checkpoint)
    print("saved " + path)

    # TensorFlow reads the checkpoint as well, and weft reads TensorFlow's.
    with tf.Session() as session:
        saver.restore(session, path)
        scores = []
        for i in range(0, mnist.test.num_examples, 500):
            part = {images: mnist.test.images[i : i + 500], labels: mnist.test.labels[i : i + 500]}
            scores.append(session.run(accuracy, part))
        print("test accuracy: %.2f %%" % (100 * sum(scores) / len(scores)))


if __name__ == "__main__":
    main()
