"""Strategies that spread variables over parameter servers."""

import collections

import pytest

import weft as tf

training = tf.contrib.training
_CLUSTER = {"ps": ["a:1", "b:1"], "worker": ["c:1"]}
_Named = collections.namedtuple("_Named", "name")


def _task(variable):
    return int(variable.device.rpartition(":")[2])


def test_the_least_loaded_server_takes_the_next_variable():
    strategy = training.GreedyLoadBalancingStrategy(2, training.byte_size_load_fn)
    with tf.Graph().as_default():
        with tf.device(tf.train.replica_device_setter(cluster=_CLUSTER, ps_strategy=strategy)):
            sizes = ([2, 3], [1], [], [3], [4, 4])
            made = [tf.get_variable(f"v{i}", s) for i, s in enumerate(sizes)]
        assert [_task(v) for v in made] == [0, 1, 1, 1, 1]
        with tf.device(tf.train.replica_device_setter(cluster=_CLUSTER, ps_strategy=strategy)):
            assert _task(tf.get_variable("w", [1], use_resource=False)) == 0


def test_random_is_by_name():
    # The numbers are TensorFlow's.
    assert training.RandomStrategy(2, seed=0)(_Named("A unicode Ǝ string ñ")) == 1
    spread = [training.RandomStrategy(3, seed=7)(_Named(f"v{i}")) for i in range(30)]
    assert set(spread) == {0, 1, 2}


def test_a_load_needs_one_output_of_known_size():
    with tf.Graph().as_default():
        split = tf.split(tf.zeros([4]), 2)[0].op
        with pytest.raises(ValueError, match="single output"):
            training.byte_size_load_fn(split)
        with pytest.raises(ValueError):
            training.byte_size_load_fn(tf.placeholder(tf.float32, [None]).op)
