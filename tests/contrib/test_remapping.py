"""Initializers of tf.contrib.framework that take over rows and columns of a checkpoint by their words."""

import numpy as np
import pytest

import weft as tf
from weft.variables.partition_info import PartitionInfo

framework = tf.contrib.framework


@pytest.fixture(scope="module")
def old(tmp_path_factory):
    """A checkpoint of a matrix with three rows, and files of words."""
    folder = tmp_path_factory.mktemp("old")
    for name, words in (
        ("rows", "cat dog cow"),
        ("new_rows", "cow ant cat"),
        ("cols", "a b"),
        ("new_cols", "b c"),
    ):
        (folder / name).write_text("\n".join(words.split()) + "\n")
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("m", initializer=np.array([[1, 2], [3, 4], [5, 6]], np.float32))
        tf.get_variable("bias", initializer=np.array([[1], [2], [3]], np.float32))
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, str(folder / "model"))
    return lambda name: str(folder / name)


def values(make, shape, **how):
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(make(shape, **how)).tolist()


def nines(shape, dtype=None, partition_info=None):
    return tf.fill(shape, 9.0)


def test_rows_and_columns(old):
    make = framework.load_and_remap_matrix_initializer(
        old("model"),
        "m",
        3,
        2,
        old_row_vocab_file=old("rows"),
        new_row_vocab_file=old("new_rows"),
        old_col_vocab_file=old("cols"),
        new_col_vocab_file=old("new_cols"),
        num_row_oov_buckets=1,
        num_col_oov_buckets=1,
        initializer=nines,
    )
    assert values(make, [4, 3]) == [[6, 9, 9], [9, 9, 9], [2, 9, 9], [9, 9, 9]]


def test_embeddings(old):
    make = framework.load_embedding_initializer(
        old("model"), "m", 3, 2, old("rows"), old("new_rows"), old_vocab_size=2, initializer=nines
    )
    assert values(make, [3, 2]) == [[9, 9], [9, 9], [1, 2]]
    random = framework.load_embedding_initializer(
        old("model"), "m", 3, 2, old("rows"), old("new_rows")
    )
    assert values(random, [3, 2])[0] == [5, 6]


def test_biases(old):
    make = framework.load_linear_multiclass_bias_initializer(
        old("model"), "bias", 3, old("rows"), old("new_rows"), num_class_oov_buckets=1
    )
    assert values(make, [4, 1]) == [[3], [0], [1], [0]]


def test_slots_are_of_the_part_of_their_variable(old):
    make = framework.load_variable_slot_initializer(
        old("model"),
        "m",
        PartitionInfo([3, 2], [2, 0]),
        3,
        2,
        old_row_vocab_file=old("rows"),
        new_row_vocab_file=old("new_rows"),
        initializer=nines,
    )
    assert values(make, [1, 2]) == [[1, 2]]


def test_only_functions_initialize(old):
    with pytest.raises(TypeError, match="initializer must be callable"):
        framework.load_and_remap_matrix_initializer(old("model"), "m", 3, 2, initializer=3)
