"""A small transformer that learns to sort: attention finds the next letter that is due.

    weft run examples/transformer.py

It sees a word and writes its letters in the alphabet's order, all at once.
"""

import argparse

import numpy as np
import tensorflow as tf
from progress import Progress

LETTERS, LENGTH = 26, 8
WIDTH, HEADS, LAYERS = 64, 4, 2


def attention(x):
    """Every position asks all others: what they answer counts by how well key and question agree."""
    asked, keys, answers = tf.split(tf.layers.dense(x, 3 * WIDTH, use_bias=False), 3, axis=-1)

    def heads(y):
        y = tf.reshape(y, [-1, LENGTH, HEADS, WIDTH // HEADS])
        return tf.transpose(y, [0, 2, 1, 3])

    scores = tf.matmul(heads(asked), heads(keys), transpose_b=True)
    weights = tf.nn.softmax(scores / np.sqrt(WIDTH / HEADS))
    y = tf.transpose(tf.matmul(weights, heads(answers)), [0, 2, 1, 3])
    return tf.layers.dense(tf.reshape(y, [-1, LENGTH, WIDTH]), WIDTH)


def normalized(x, name):
    """Layer normalization."""
    with tf.variable_scope(name):
        scale = tf.get_variable("scale", [WIDTH], initializer=tf.ones_initializer())
        offset = tf.get_variable("offset", [WIDTH], initializer=tf.zeros_initializer())
    mean, variance = tf.nn.moments(x, [-1], keep_dims=True)
    return tf.nn.batch_normalization(x, mean, variance, offset, scale, 1e-6)


def transformer(words):
    embedding = tf.get_variable("embedding", [LETTERS, WIDTH])
    positions = tf.get_variable("positions", [LENGTH, WIDTH])
    x = tf.nn.embedding_lookup(embedding, words) + positions
    for i in range(LAYERS):
        with tf.variable_scope("layer%d" % i):
            x += attention(normalized(x, "norm1"))
            y = tf.layers.dense(normalized(x, "norm2"), 4 * WIDTH, activation=tf.nn.relu)
            x += tf.layers.dense(y, WIDTH)
    return tf.layers.dense(normalized(x, "norm"), LETTERS)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--steps", type=int, default=1500)
    options = options.parse_args()

    tf.set_random_seed(1)
    words = tf.placeholder(tf.int32, [None, LENGTH], name="words")
    targets = tf.placeholder(tf.int32, [None, LENGTH], name="targets")
    logits = transformer(words)
    best = tf.argmax(logits, -1, output_type=tf.int32)
    loss = tf.losses.sparse_softmax_cross_entropy(targets, logits)
    accuracy = tf.reduce_mean(tf.cast(tf.equal(best, targets), tf.float32))
    step = tf.train.get_or_create_global_step()
    # The rate rises for a while and then falls, as transformers like it.
    rate = 2e-3 * tf.minimum(
        tf.cast(step, tf.float32) / 100, tf.sqrt(100 / (tf.cast(step, tf.float32) + 1))
    )
    train = tf.train.AdamOptimizer(rate).minimize(loss, global_step=step)

    random = np.random.RandomState(1)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        with Progress(options.steps) as progress:
            for i in range(1, options.steps + 1):
                batch = random.randint(0, LETTERS, [64, LENGTH])
                feeds = {words: batch, targets: np.sort(batch)}
                error, score, _ = session.run([loss, accuracy, train], feeds)
                progress.update(i, loss=error, accuracy=score)
        batch = random.randint(0, LETTERS, [500, LENGTH])
        score, found = session.run([accuracy, best], {words: batch, targets: np.sort(batch)})
    for word, answer in zip(batch[:3], found):
        print("%s -> %s" % tuple("".join(chr(97 + i) for i in row) for row in (word, answer)))
    print("letters in their place: %.1f %%" % (100 * score))


if __name__ == "__main__":
    main()
