"""Learns what words mean from the company they keep: skip-grams and noise-contrastive estimation.

    weft run examples/word2vec.py

The text is the source of Python's own library, so the words are those of programs.
"""

import argparse
import collections
import re

import numpy as np
import python_source
import tensorflow as tf
from progress import Progress

WINDOW, BATCH, DIMENSIONS, NOISE = 3, 256, 64, 64
ASKED = ["self", "int", "if", "read", "key", "ValueError", "start", "False"]


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--steps", type=int, default=10000)
    options.add_argument("--characters", type=int, default=3000000, help="how much text to read")
    options.add_argument("--words", type=int, default=2000, help="how many words to know")
    options = options.parse_args()

    text = re.findall(r"[A-Za-z_]+", python_source.read(options.characters))
    counted = collections.Counter(text).most_common(options.words)  # most frequent first
    vocabulary = [word for word, _ in counted]
    ids = {word: i for i, word in enumerate(vocabulary)}
    corpus = np.array([ids[word] for word in text if word in ids])
    print("%d words, of which %d are different" % (len(corpus), len(ids)))

    # Of words that are everywhere, most occurrences are left out: they tell little.
    random = np.random.RandomState(1)
    share = np.bincount(corpus)[corpus] / len(corpus)
    corpus = corpus[random.rand(len(corpus)) < np.sqrt(1e-3 / share)]

    tf.set_random_seed(1)
    words = tf.placeholder(tf.int64, [None], name="words")
    neighbours = tf.placeholder(tf.int64, [None, 1], name="neighbours")
    spread = tf.random_uniform_initializer(-0.5 / DIMENSIONS, 0.5 / DIMENSIONS)
    embedding = tf.get_variable("embedding", [len(ids), DIMENSIONS], initializer=spread)
    weights = tf.get_variable("weights", [len(ids), DIMENSIONS], initializer=spread)
    biases = tf.get_variable("biases", [len(ids)], initializer=tf.zeros_initializer())
    vectors = tf.nn.embedding_lookup(embedding, words)
    losses = tf.nn.nce_loss(weights, biases, neighbours, vectors, NOISE, len(ids))
    loss = tf.reduce_mean(losses)
    train = tf.train.GradientDescentOptimizer(1.0).minimize(loss)

    # Words are near each other when their vectors point the same way.
    directions = tf.nn.l2_normalize(embedding, 1)
    likeness = tf.matmul(tf.gather(directions, words), directions, transpose_b=True)
    nearest = tf.nn.top_k(likeness, 6).indices

    mean = 0.0
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        with Progress(options.steps) as progress:
            for step in range(1, options.steps + 1):
                at = random.randint(WINDOW, len(corpus) - WINDOW, BATCH)
                away = random.randint(1, WINDOW + 1, BATCH) * random.choice([-1, 1], BATCH)
                batch = {words: corpus[at], neighbours: corpus[at + away][:, None]}
                error, _ = session.run([loss, train], batch)
                mean += (error - mean) / min(step, 100)
                progress.update(step, loss=mean)
        asked = [word for word in ASKED if word in ids]
        found = session.run(nearest, {words: [ids[word] for word in asked]})
    for word, row in zip(asked, found):
        print("%-10s is like %s" % (word, ", ".join(vocabulary[i] for i in row if i != ids[word])))


if __name__ == "__main__":
    main()
