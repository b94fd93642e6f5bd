"""XLA clamps an index and turns 1 // 0 into a number; TensorFlow raises, and so does weft, with op and line."""

from __future__ import annotations

import numpy as np
import pytest

import weft as tf
from weft import testing

INVALID = tf.errors.InvalidArgumentError


def _gather(x):
    return tf.gather(tf.constant([1.0, 2.0, 3.0]), x, name="bad")


def _gather_nd(x):
    return tf.gather_nd(tf.constant([1.0, 2.0, 3.0]), x[:, None], name="bad")


def _divide(x):
    return tf.cast(tf.floordiv(tf.constant([6, 6]), x - 7, name="bad"), tf.float32)


def _labels(x):
    return tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=x, logits=tf.ones([2, 3]), name="bad"
    )


def _numerics(x):
    return tf.check_numerics(1.0 / tf.cast(x - 7, tf.float32), "what is not finite", name="bad")


def _assertion(x):
    with tf.control_dependencies([tf.Assert(tf.reduce_all(x < 5), [x], name="bad")]):
        return tf.cast(tf.identity(x), tf.float32)


def _one_hot_scatter(x):
    return tf.scatter_nd(x[:, None], [1.0, 1.0], [3], name="bad")


CHECKS = [
    (_gather, r"indices\[1\] = 7 is not in \[0, 3\)"),
    (_gather_nd, r"indices\[1\] = \[7\] does not index into"),
    (_divide, "Integer division by zero"),
    (_labels, r"(?s)label value.*7"),
    (_numerics, r"what is not finite : Tensor had Inf"),
    (_assertion, r"(?s)assertion failed: \[1 7\]|assertion failed: \[\[?1 7"),
    (_one_hot_scatter, r"indices\[1\] = \[7\] does not index into"),
]
checks = pytest.mark.parametrize("build, match", CHECKS, ids=lambda f: getattr(f, "__name__", ""))


def _plain(build, x):
    return build(x)


def _in_cond(build, x):
    return tf.cond(tf.reduce_sum(x) > 0, lambda: build(x), lambda: tf.zeros(build(x).shape))


def _in_while(build, x):
    total = build(x)
    return tf.while_loop(
        lambda i, _: i < 3, lambda i, t: (i + 1, t + build(x)), [0, tf.zeros_like(total)]
    )[1]


def _in_nested(build, x):
    def body(i, t):
        return i + 1, tf.cond(i > 1, lambda: t + build(x), lambda: t)

    return tf.while_loop(lambda i, _: i < 3, body, [0, tf.zeros(build(x).shape)])[1]


@checks
@pytest.mark.parametrize(
    "place", [_plain, _in_cond, _in_while, _in_nested], ids=lambda f: f.__name__
)
def test_a_bad_value_is_told_by_op_and_line(session, tier, build, match, place):
    x = tf.placeholder(tf.int32, [2])
    y = place(build, x)
    traced = testing.compilations()
    good = session.run(y, {x: [1, 2]})
    assert (testing.compilations() > traced) == (tier == "compile")
    with pytest.raises(INVALID, match=match) as caught:
        session.run(y, {x: [1, 7]})
    text = str(caught.value)
    assert "bad" in text.split("Original stack trace for ")[1].split(":")[0]
    assert f"in {build.__name__}" in text
    np.testing.assert_array_equal(session.run(y, {x: [1, 2]}), good)  # still usable


def test_nothing_is_written_by_a_step_whose_check_fails_in_a_compiled_loop():
    x = tf.placeholder(tf.int32, [])
    v = tf.get_variable("v", [], initializer=tf.zeros_initializer(), use_resource=True)

    def body(i):
        with tf.control_dependencies([v.assign_add(1.0)]):
            return i + tf.gather([1, 1, 1], i, name="bad")

    loop = tf.while_loop(lambda i: i < x, body, [0])
    with testing.tier("compile"), tf.Session() as session:
        session.run(v.initializer)
        assert session.run(loop, {x: 3}) == 3
        with pytest.raises(INVALID, match=r"bad|3 is not in \[0, 3\)"):
            session.run(loop, {x: 5})
        assert np.isfinite(session.run(v))
        assert session.run(loop, {x: 2}) == 2


def test_the_gradient_of_a_bad_index_is_told_too(session):
    x = tf.placeholder(tf.int32, [2])
    table = tf.get_variable("table", [3, 2], initializer=tf.ones_initializer())
    step = tf.train.GradientDescentOptimizer(0.1).minimize(
        tf.reduce_sum(tf.nn.embedding_lookup(table, x))
    )
    session.run(table.initializer)
    session.run(step, {x: [0, 2]})
    before = session.run(table)
    with pytest.raises(INVALID, match="indices"):
        session.run(step, {x: [0, 3]})
    np.testing.assert_array_equal(session.run(table), before)
    session.run(step, {x: [1, 1]})


def test_a_check_that_nothing_needs_is_pruned(session):
    x = tf.placeholder(tf.int32, [2])
    tf.gather([1.0], x, name="bad")
    assert session.run(x + 1, {x: [5, 6]}).tolist() == [6, 7]


def test_an_empty_gather_has_no_bad_index(session):
    x = tf.placeholder(tf.int32, [None])
    y = tf.gather(tf.zeros([0, 2]), x)
    assert session.run(y, {x: []}).shape == (0, 2)
    with pytest.raises(INVALID):
        session.run(y, {x: [0]})
