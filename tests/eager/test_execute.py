"""Ops that run as they are called: results, errors, random numbers, names that graphs alone have."""

import gc
import threading

import numpy as np
import pytest

import weft as tf


def test_an_op_runs_at_once():
    assert tf.matmul([[1.0, 2.0]], [[3.0], [4.0]]).numpy() == [[11.0]]
    assert tf.raw_ops.Sum(input=tf.ones([2, 3]), axis=0, keep_dims=True).shape == [1, 3]
    parts = tf.split(tf.range(6), 3)
    assert [p.numpy().tolist() for p in parts] == [[0, 1], [2, 3], [4, 5]]


def test_the_second_call_converts_as_the_first():
    x = tf.constant([1.0, 2.0])
    for _ in range(2):
        assert (x * 2).dtype is tf.float32
        assert (2 * x).numpy().tolist() == [2.0, 4.0]
        assert tf.reduce_sum(x, 0).numpy() == 3.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="expected to be a int32 tensor"):
            tf.constant([1, 2]) * 2.5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: tf.matmul(tf.ones([2, 3]), tf.ones([2, 3])),
            r"Matrix size-incompatible.*\[Op:MatMul\]",
        ),
        (
            lambda: tf.ones([2]) + tf.ones([3]),
            r"Incompatible shapes: \[2\] vs. \[3\].*\[Op:AddV2\]",
        ),
        (lambda: tf.reshape(tf.ones([2]), [3]), "Input to reshape is a tensor with 2 values"),
        (lambda: tf.gather(tf.ones([2]), 7), r"is not in \[0, 2\)"),
    ],
)
def test_errors_are_those_of_the_run(call, message):
    for _ in range(2):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            call()


def test_what_eager_execution_refuses():
    with pytest.raises(RuntimeError, match="not compatible with eager execution"):
        tf.placeholder(tf.float32)
    with pytest.raises(RuntimeError, match="Use tf.GradientTape instead"):
        tf.gradients(tf.constant(1.0), tf.constant(1.0))
    with pytest.raises(tf.errors.UnimplementedError, match="reference"):
        tf.raw_ops.VariableV2(shape=[], dtype=tf.float32)


def test_seeds_give_the_numbers_of_tensorflow():
    tf.set_random_seed(1)
    first = [tf.random.uniform([2]).numpy().tolist() for _ in range(2)]
    # Of TensorFlow 1.15.
    np.testing.assert_allclose(
        first, [[0.16513085, 0.9014813], [0.51010704, 0.44353175]], rtol=1e-6
    )
    tf.set_random_seed(1)
    assert [tf.random.uniform([2]).numpy().tolist() for _ in range(2)] == first


def test_a_variable_of_eager_execution():
    v = tf.Variable([1.0, 2.0], name="v")
    assert v.assign_add([1.0, 1.0]).numpy().tolist() == [2.0, 3.0]
    other = tf.Variable([5.0], name="v")
    assert v.name == other.name == "v:0" and v.numpy().tolist() == [2.0, 3.0]
    before = v.read_value()
    v.scatter_update(tf.IndexedSlices([9.0], [0]))
    assert before.numpy()[0] == 2.0 and v.numpy()[0] == 9.0
    with pytest.raises(ValueError, match="are incompatible"):
        v.assign([1.0, 2.0, 3.0])


def test_a_variable_goes_with_its_last_reference():
    import weakref

    v = tf.Variable(np.ones(10))
    cell = weakref.ref(v.handle._array)
    del v
    gc.collect()
    assert cell() is None


def test_control_flow_is_pythons():
    assert tf.cond(tf.constant(True), lambda: 1, lambda: 2) == 1
    (i,) = tf.while_loop(
        lambda i: i < 5, lambda i: (i + 1,), [tf.constant(0)], return_same_structure=True
    )
    assert i.numpy() == 5
    assert tf.map_fn(lambda x: x * 2, tf.range(3)).numpy().tolist() == [0, 2, 4]


def test_overflow_says_nothing():
    with np.errstate(all="raise"):
        assert np.isinf((tf.constant(3e38) * 10.0).numpy())


def test_threads_start_in_graph_mode_unless_the_process_is_eager():
    seen = []
    thread = threading.Thread(target=lambda: seen.append(tf.executing_eagerly()))
    thread.start()
    thread.join()
    assert seen == [False]


def test_a_graph_within():
    with tf.Graph().as_default():
        assert not tf.executing_eagerly()
        x = tf.constant(1.0) + 1.0
        with tf.init_scope():
            assert not tf.executing_eagerly()
        with tf.Session() as sess:
            assert sess.run(x) == 2.0
    assert tf.executing_eagerly()


def test_plans_of_calls_stay_few():
    from weft.eager import execute
    from weft.framework import registry

    for i in range(2 * execute._MOST_KINDS):
        tf.random_uniform([1], seed=i)
    assert len(registry.get("RandomUniform")._eager_calls) <= execute._MOST_KINDS
