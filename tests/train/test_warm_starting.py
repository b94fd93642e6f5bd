"""`tf.train.warm_start`: as the model was, and with words that moved."""

import numpy as np
import pytest

import weft as tf


@pytest.fixture
def model(tmp_path):
    """The prefix of a checkpoint with an embedding of four words, a matrix of four columns and a bias."""
    (tmp_path / "old").write_text("a\nb\nc\nd\n")
    (tmp_path / "new").write_text("d\nx\nb\n")
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("words", initializer=np.arange(8, dtype=np.float32).reshape(4, 2))
        tf.get_variable("classes", initializer=np.arange(8, dtype=np.float32).reshape(2, 4))
        tf.get_variable("bias", initializer=np.float32(7))
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, str(tmp_path / "model"))
    return tmp_path


def started(*variables):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return [v.tolist() for v in session.run(list(variables))]


def info(model, count=1, **how):
    ones = tf.ones_initializer()
    return tf.train.VocabInfo(
        str(model / "new"), 3, count, str(model / "old"), backup_initializer=ones, **how
    )


def test_words_that_moved(model):
    with tf.Graph().as_default():
        words = tf.get_variable("words", [4, 2])
        classes = tf.get_variable("classes", [2, 3])
        offset = tf.get_variable("offset", [])
        tf.train.warm_start(
            str(model / "model"),
            var_name_to_vocab_info={"words": info(model), "classes": info(model, 0, axis=1)},
            var_name_to_prev_var_name={"offset": "bias"},
        )
        found = started(words, classes, offset)
    assert found == [[[6, 7], [1, 1], [2, 3], [1, 1]], [[3, 1, 1], [7, 1, 5]], 7]


def test_words_of_a_partitioned_variable(model):
    with tf.Graph().as_default():
        cut = tf.fixed_size_partitioner(2)
        words = tf.get_variable("words", [4, 2], partitioner=cut)
        tf.train.warm_start(str(model), ["words"], var_name_to_vocab_info={"words": info(model)})
        (found,) = started(tf.convert_to_tensor(words))
    assert found == [[6, 7], [1, 1], [2, 3], [1, 1]]


def test_some_variables(model):
    with tf.Graph().as_default():
        bias = tf.get_variable("bias", [], initializer=tf.zeros_initializer())
        other = tf.get_variable("other", [], initializer=tf.zeros_initializer())
        tf.train.warm_start(str(model), [bias])
        assert started(bias, other) == [7, 0]


def test_names_that_do_not_exist(model):
    with tf.Graph().as_default():
        tf.get_variable("bias", [])
        for how in (
            {"var_name_to_prev_var_name": {"bais": "bias"}},
            {"var_name_to_vocab_info": {"bais": info(model)}},
        ):
            with pytest.raises(ValueError, match="bais"):
                tf.train.warm_start(str(model), **how)
        with pytest.raises(ValueError, match="not found in"):
            tf.train.warm_start(str(model), var_name_to_prev_var_name={"bias": "nothing"})
        with pytest.raises(ValueError, match="all `Variable` or all `str`"):
            tf.train.warm_start(str(model), ["bias", 3])
    with pytest.raises(ValueError, match="Provided axis: 2"):
        info(model, axis=2)


def test_from_a_checkpoint_of_objects(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", initializer=[1.0, 2.0])
        session.run(v.initializer)
        tf.train.Checkpoint(other_name=v).save(str(tmp_path / "c"))
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", initializer=[0.0, 0.0])
        tf.train.warm_start(str(tmp_path))
        session.run(v.initializer)
        assert session.run(v).tolist() == [1.0, 2.0]
        tf.get_variable("new", initializer=1.0)
        with pytest.raises(ValueError, match=r"following variables were missing: \['new'\]"):
            tf.train.warm_start(str(tmp_path))
