"""Variables within one step: when they are read, what a failing step leaves, what a sparse update touches."""

from __future__ import annotations

import time

import numpy as np
import pytest

import weft as tf
from weft import testing

both_kinds = pytest.mark.parametrize("use_resource", [False, True], ids=["reference", "resource"])


@both_kinds
def test_reads_before_and_after_an_assignment(session, use_resource):
    v = tf.get_variable("v", initializer=1.0, use_resource=use_resource)
    x = v + 0
    with tf.control_dependencies([x]):
        added = v.assign_add(1.0)
    with tf.control_dependencies([added]):
        y = v.read_value()
    session.run(v.initializer)
    assert session.run([x, y]) == [1, 2]
    assert session.run([y, x]) == [3, 2]
    assert session.run(v) == 3


def test_an_assignment_of_a_reference_returns_the_reference(session):
    v = tf.get_variable("v", initializer=1.0)
    first = v.assign_add(1.0)
    with tf.control_dependencies([first]):
        second = v.assign_add(10.0)
    with tf.control_dependencies([second]):
        late = tf.identity(first)  # of the reference: sees both
    session.run(v.initializer)
    assert session.run(late) == 12
    chained = tf.assign(tf.assign_add(v, 1.0), 5.0)
    assert session.run(chained) == 5


@both_kinds
def test_chains_of_assignments(session, use_resource):
    v = tf.get_variable("v", initializer=2.0, use_resource=use_resource)
    w = tf.get_variable("w", initializer=0.0, use_resource=use_resource)
    op = tf.no_op()
    for _ in range(5):
        with tf.control_dependencies([op]):
            twice = v.assign(v.read_value() * 2)
        with tf.control_dependencies([twice]):
            op = w.assign_add(v.read_value()).op
    session.run([v.initializer, w.initializer])
    session.run(op)
    assert session.run([v, w]) == [64, 4 + 8 + 16 + 32 + 64]


@both_kinds
def test_swapping_two_variables(session, use_resource):
    a = tf.get_variable("a", initializer=1.0, use_resource=use_resource)
    b = tf.get_variable("b", initializer=2.0, use_resource=use_resource)
    old = [tf.identity(a.read_value()) + 0, tf.identity(b.read_value()) + 0]
    with tf.control_dependencies(old):
        swap = tf.group(a.assign(old[1]), b.assign(old[0]))
    session.run([a.initializer, b.initializer])
    for _ in range(3):
        session.run(swap)
    assert session.run([a, b]) == [2, 1]


@both_kinds
def test_the_same_tensor_assigned_to_two_variables(session, use_resource):
    a = tf.get_variable("a", initializer=[0.0, 0.0], use_resource=use_resource)
    b = tf.get_variable("b", initializer=[0.0, 0.0], use_resource=use_resource)
    x = tf.placeholder(tf.float32, [2])
    session.run([a.initializer, b.initializer])
    session.run([a.assign(x).op, b.assign(x).op], {x: [1, 2]})
    session.run(tf.scatter_add(a, [0], [5.0]).op)
    session.run(b.assign_add([1.0, 1.0]).op)
    assert session.run(a).tolist() == [6, 2]
    assert session.run(b).tolist() == [2, 3]
    session.run(a.assign(b.read_value()).op)
    session.run(a.assign_add([1.0, 1.0]).op)
    session.run(tf.scatter_update(b, [0], [9.0]).op)
    assert [v.tolist() for v in session.run([a, b])] == [[3, 4], [9, 3]]


def test_an_assignment_that_changes_the_shape(session):
    v = tf.Variable([1.0, 2.0], validate_shape=False)
    x = tf.placeholder(tf.float32, [None])
    assign = tf.assign(v, x, validate_shape=False)
    session.run(v.initializer)
    for n in (3, 1, 0, 4):
        session.run(assign.op, {x: np.arange(n)})
        assert session.run(tf.shape(v)).tolist() == [n]
        assert session.run(v).tolist() == list(range(n))


@both_kinds
def test_a_step_that_fails_half_way_leaves_variables_readable(session, use_resource):
    v = tf.get_variable("v", [1000], initializer=tf.zeros_initializer(), use_resource=use_resource)
    w = tf.get_variable("w", [1000], initializer=tf.zeros_initializer(), use_resource=use_resource)
    x = tf.placeholder(tf.int32, [])

    def fail():
        raise ValueError("half-way")

    with tf.control_dependencies([v.assign_add(tf.ones([1000]))]):
        middle = tf.py_func(fail, [], tf.float32)
        middle.set_shape([])
    late = w.assign_add(tf.ones([1000]) * middle)
    checked = w.assign_add(tf.ones([1000]) * tf.gather([1.0], x))
    session.run([v.initializer, w.initializer])
    for _ in range(3):
        with pytest.raises(tf.errors.OpError, match="half-way"):
            session.run(late)
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run([checked, v.assign_add(tf.ones([1000]))], {x: 1})
    a, b = session.run([v, w])
    assert len(set(a.tolist())) == 1 and len(set(b.tolist())) == 1  # as they were, or as assigned
    assert b[0] == 0 and a[0] in (3, 4, 5, 6)
    session.run(checked.op, {x: 0})
    assert session.run(w)[0] == 1


@both_kinds
@pytest.mark.parametrize("which", ["interpret", "compile", "auto"])
def test_an_uninitialised_variable_is_named_before_anything_runs(use_resource, which, here):
    v = tf.get_variable("ready", initializer=0.0, use_resource=use_resource)
    with tf.control_dependencies([v.assign_add(1.0)]):
        line, w = here(), tf.get_variable("not_ready", initializer=1.0, use_resource=use_resource)
        line, y = (here(), tf.square(w)) if use_resource else (line, tf.square(w))
        y += v.read_value()
    with testing.tier(which), tf.Session() as session:
        session.run(v.initializer)
        with pytest.raises(tf.errors.FailedPreconditionError, match="not_ready") as caught:
            session.run(y)
        assert caught.value.op is not None
        assert f"line {line.number}" in str(caught.value)
        with pytest.raises(tf.errors.FailedPreconditionError, match="not_ready"):
            session.run(w)
        if which == "compile":
            assert session.run(v) == 0
        session.run(w.initializer)
        before = session.run(v)
        assert session.run(y) == before + 2


def test_a_branch_that_is_not_taken_may_read_what_is_not_initialised(session):
    x = tf.placeholder(tf.bool, [])
    v = tf.get_variable("v", initializer=1.0, use_resource=True)
    w = tf.get_variable("w", initializer=2.0, use_resource=True)
    y = tf.cond(x, lambda: v.read_value(), lambda: w.read_value())
    session.run(v.initializer)
    assert session.run(y, {x: True}) == 1
    with pytest.raises(tf.errors.FailedPreconditionError, match="w"):
        session.run(y, {x: False})
    session.run(w.initializer)
    assert session.run(y, {x: False}) == 2


@pytest.mark.parametrize("use_resource", [False, True], ids=["reference", "resource"])
@pytest.mark.parametrize(
    "optimizer",
    [
        lambda: tf.train.GradientDescentOptimizer(0.5),
        lambda: tf.train.AdagradOptimizer(0.5),
        lambda: tf.train.MomentumOptimizer(0.5, 0.9),
    ],
    ids=["sgd", "adagrad", "momentum"],
)
def test_a_sparse_update_touches_its_rows_only_and_in_place(use_resource, optimizer):
    rows = 1_000_000
    table = tf.get_variable(
        "table", [rows, 16], initializer=tf.zeros_initializer(), use_resource=use_resource
    )
    ids = tf.placeholder(tf.int32, [64])
    step = optimizer().minimize(tf.reduce_sum(tf.nn.embedding_lookup(table, ids)))
    some = tf.gather(table, ids)
    rng = np.random.RandomState(0)
    for which in ("interpret", "compile"):
        with testing.tier(which), tf.Session() as session:
            session.run(tf.global_variables_initializer())
            best = 1.0
            for _ in range(12):
                batch = rng.randint(0, rows, 64)
                start = time.perf_counter()
                session.run(step, {ids: batch})
                best = min(best, time.perf_counter() - start)
            assert (session.run(some, {ids: batch}) != 0).all()
            assert best < 0.008, f"{which}: {best}"  # a pass over 64 MB takes longer


def test_repeated_rows_add_up(session):
    for use_resource in (False, True):
        v = tf.get_variable(
            f"v{use_resource}",
            [4, 2],
            initializer=tf.zeros_initializer(),
            use_resource=use_resource,
        )
        session.run(v.initializer)
        session.run(tf.scatter_add(v, [1, 1, 3, 1], tf.ones([4, 2])).op)
        assert session.run(v)[:, 0].tolist() == [0, 3, 0, 1]
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[1\] = 4"):
            session.run(tf.scatter_add(v, [0, 4], tf.ones([2, 2])).op)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[0\] = -1"):
            session.run(tf.scatter_update(v, [-1], tf.ones([1, 2])).op)
        assert session.run(v)[1:, 0].tolist() == [3, 0, 1]


@both_kinds
def test_initialisation_is_not_compiled(use_resource):
    sizes = [3, 5, 7, 11] * 20
    for i, n in enumerate(sizes):
        tf.get_variable(f"v{i}", [n, n], use_resource=use_resource)
    first = tf.get_variable("first", initializer=2.0, use_resource=use_resource)
    second = tf.get_variable(
        "second", initializer=first.initialized_value() * 3, use_resource=use_resource
    )
    third = tf.get_variable(
        "third", initializer=second.initialized_value() + 1, use_resource=use_resource
    )
    init = tf.global_variables_initializer()
    with tf.Session() as session:
        traced = testing.compilations()
        session.run(init)
        assert testing.compilations() == traced
        assert session.run([first, second, third]) == [2, 6, 7]
        session.run(first.assign(10.0))
        session.run(third.initializer)
        assert session.run(third) == 7


def test_a_table_of_variables_is_initialised_in_time():
    for i in range(300):
        tf.get_variable(f"v{i}", [8, 8])
    init = tf.global_variables_initializer()
    with tf.Session() as session:
        start = time.perf_counter()
        session.run(init)
        assert time.perf_counter() - start < 2
