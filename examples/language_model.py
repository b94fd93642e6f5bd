"""Learns to write, letter by letter, with an LSTM; what it reads is the source of Python's own library.

weft run examples/language_model.py
"""

import argparse

import numpy as np
import python_source
import tensorflow as tf
from progress import Progress

LENGTH, BATCH, UNITS = 50, 32, 128


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--steps", type=int, default=3000)
    options.add_argument("--characters", type=int, default=1000000, help="how much text to read")
    options.add_argument("--write", type=int, default=400, help="how many characters to write")
    options = options.parse_args()

    text = python_source.read(options.characters)
    alphabet = sorted(set(text))
    ids = {letter: i for i, letter in enumerate(alphabet)}
    # A row for each part of the batch: each goes on with its part of the text from step to step.
    rows = np.array([ids[letter] for letter in text[: len(text) // BATCH * BATCH]]).reshape(
        BATCH, -1
    )

    tf.set_random_seed(1)
    letters = tf.placeholder(tf.int32, [None, None], name="letters")  # batch, time
    targets = tf.placeholder(tf.int32, [None, None], name="targets")
    cell = tf.nn.rnn_cell.LSTMCell(UNITS)
    start = cell.zero_state(tf.shape(letters)[0], tf.float32)
    outputs, end = tf.nn.dynamic_rnn(cell, tf.one_hot(letters, len(ids)), initial_state=start)
    logits = tf.layers.dense(outputs, len(ids))
    loss = tf.losses.sparse_softmax_cross_entropy(targets, logits)
    optimizer = tf.train.AdamOptimizer(3e-3)
    gradients, variables = zip(*optimizer.compute_gradients(loss))
    gradients, _ = tf.clip_by_global_norm(gradients, 5.0)
    train = optimizer.apply_gradients(zip(gradients, variables))
    following = tf.multinomial(logits[:, -1] / 0.5, 1)  # 0.5: rather the likely ones

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        with Progress(options.steps) as progress:
            at, state = 0, None
            for step in range(1, options.steps + 1):
                if at + LENGTH >= rows.shape[1]:
                    at, state = 0, None
                batch = {
                    letters: rows[:, at : at + LENGTH],
                    targets: rows[:, at + 1 : at + LENGTH + 1],
                }
                if state is not None:
                    batch[start] = state  # a pair of tensors, fed with a pair of arrays
                error, state, _ = session.run([loss, end, train], batch)
                progress.update(step, loss=error)
                at += LENGTH

        written = "def "
        feed = {letters: [[ids[letter] for letter in written]]}
        for _ in range(options.write):
            letter, state = session.run([following, end], feed)
            written += alphabet[letter[0, 0]]
            feed = {letters: letter, start: state}
    print(written)


if __name__ == "__main__":
    main()
