"""AutoGraph: Python control flow on tensors."""

import pytest

import weft as tf
from weft.eager.autograph.needs import needs_conversion


def test_branches():
    @tf.function
    def f(x):
        if x > 0.0:
            return x
        y = -x
        return y * 10.0

    assert [f(tf.constant(v)).numpy() for v in (3.0, -3.0)] == [3.0, 30.0]
    assert f.experimental_get_tracing_count() == 1


def test_loops_with_break_and_continue():
    def total(values):
        t = tf.constant(0.0)
        for v in values:
            if v < 0.0:
                continue
            if v > 3.0:
                break
            t += v
        return t

    f = tf.function(lambda x: total(x))
    assert f(tf.constant([1.0, -1.0, 2.0, 4.0, 5.0])).numpy() == 3.0


def test_while_and_range():
    @tf.function
    def f(n):
        i, s = 0, 0
        while i < n and s < 100:
            s += i
            i += 1
        for j in range(n):
            s += j
        return s, i

    assert [t.numpy() for t in f(tf.constant(5))] == [20, 5]


def test_return_from_a_loop():
    @tf.function
    def find(x):
        for i in tf.range(4):
            if x[i] > 2.0:
                return i
        return -1

    assert find(tf.constant([0.0, 1.0, 3.0, 4.0])).numpy() == 2
    assert find(tf.zeros([4])).numpy() == -1


def test_gradients_flow_through():
    @tf.function
    def f(x):
        y = x
        while y < 10.0:
            y = y * x
        return y

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert y.numpy() == 27.0 and tape.gradient(y, x).numpy() == 27.0


def test_what_must_be_defined_is_named():
    @tf.function
    def f(x):
        if x > 0.0:
            y = x
        return y

    with pytest.raises((ValueError, UnboundLocalError), match="y"):
        f(tf.constant(1.0))


def test_switched_off_it_is_an_error_to_branch_on_a_tensor():
    def f(x):
        return 1 if x > 0.0 else 2

    with pytest.raises(TypeError, match="not allowed"):
        tf.function(f, autograph=False)(tf.constant(1.0))
    kept = tf.autograph.experimental.do_not_convert(f)
    with pytest.raises(TypeError, match="not allowed"):
        tf.function(lambda x: kept(x))(tf.constant(1.0))


def test_only_what_branches_is_converted():
    assert not needs_conversion(lambda x: tf.nn.relu(x) * 2.0)
    assert needs_conversion(lambda x: x if x else 0)

    def helper(x):
        return [v + 1 for v in x]

    assert needs_conversion(lambda x: helper(x))
