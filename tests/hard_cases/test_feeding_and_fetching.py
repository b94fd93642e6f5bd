"""Any tensor may be fed, a fetch may be nearly anything, and what is fetched belongs to the caller."""

from __future__ import annotations

import collections

import numpy as np
import pytest

import weft as tf


def test_any_tensor_may_be_fed_and_what_lies_above_does_not_run(session):
    calls = []
    source = tf.py_func(lambda: calls.append(1) or np.float32(1), [], tf.float32, name="source")
    middle = tf.identity(source, name="middle")
    y = middle * 2
    assert session.run(y, {middle: 5.0}) == 10
    assert session.run([middle, y], {"middle:0": 6.0}) == [6, 12]
    assert not calls
    assert session.run(y) == 2
    assert calls == [1]


def test_a_constant_and_one_of_several_outputs_may_be_fed(session):
    two = tf.constant(2.0)
    parts = tf.split(two * [1.0, 2.0, 3.0], 3)
    total = tf.add_n(parts)
    assert session.run(total, {two: 1.0}).tolist() == [6]
    assert session.run(total, {parts[1]: [100.0]}).tolist() == [108]
    assert session.run(parts[1], {parts[1]: [7.0]}).tolist() == [7]
    assert session.run(total).tolist() == [12]


def test_a_variable_may_be_fed(session):
    for use_resource in (False, True):
        v = tf.get_variable(f"v{use_resource}", initializer=3.0, use_resource=use_resource)
        y = v * 2
        session.run(v.initializer)
        if not use_resource:
            assert session.run([v, y], {v: 10.0}) == [10, 20]
        else:
            assert session.run(y, {v.value(): 10.0}) in (6, 20)
        assert session.run([v, y]) == [3, 6]


def test_control_edges_into_what_is_fed_do_not_run(session):
    v = tf.get_variable("v", initializer=0.0)
    with tf.control_dependencies([v.assign_add(1.0)]):
        x = tf.identity(1.0)
    session.run(v.initializer)
    assert session.run(x + 1, {x: 4.0}) == 5
    assert session.run(v) == 0
    assert session.run(x + 1) == 2
    assert session.run(v) == 1


def test_fetches_repeat_and_nest(session):
    Pair = collections.namedtuple("Pair", "first second")
    a, b = tf.constant(1.0, name="a"), tf.constant([2, 3])
    v = tf.get_variable("v", initializer=5.0)
    sparse = tf.SparseTensor([[0, 1]], [1.5], [2, 2])
    slices = tf.IndexedSlices(tf.constant([1.0]), tf.constant([4]), tf.constant([9]))
    session.run(v.initializer)
    got = session.run(
        {
            "x": [a, (a, "a:0")],
            "y": Pair(b, [v, a.op]),
            "z": collections.OrderedDict(s=sparse),
            "e": [],
            "i": slices,
        }
    )
    assert got["x"] == [1, (1, 1)] and type(got["x"][1]) is tuple
    assert type(got["y"]) is Pair and got["y"].first.tolist() == [2, 3]
    assert got["y"].second == [5, None]
    assert type(got["z"]) is collections.OrderedDict
    assert type(got["z"]["s"]) is tf.SparseTensorValue
    assert got["z"]["s"].dense_shape.tolist() == [2, 2]
    assert got["e"] == []
    assert type(got["i"]) is tf.compat.v1.IndexedSlicesValue or got["i"].indices.tolist() == [4]
    assert session.run([]) == []
    assert session.run(()) == ()


def test_what_is_fetched_belongs_to_the_caller(session):
    x = tf.placeholder(tf.float32, [3])
    const = tf.constant([1.0, 2.0, 3.0])
    v = tf.get_variable("v", initializer=[1.0, 2.0, 3.0])
    r = tf.get_variable("r", initializer=[1.0, 2.0, 3.0], use_resource=True)
    fetches = [x, tf.identity(x), x + 0, const, tf.reshape(const, [3, 1]), v, v.read_value(), r]
    session.run([v.initializer, r.initializer])
    fed = np.array([1, 2, 3], np.float32)
    for _ in range(3):
        for array in session.run(fetches, {x: fed}):
            assert array.ravel().tolist() == [1, 2, 3]
            array += 100
        assert fed.tolist() == [1, 2, 3]


def test_fetches_of_one_run_do_not_share_memory(session):
    x = tf.placeholder(tf.float32, [3])
    arrays = session.run(
        [x, tf.identity(x), tf.reshape(x, [3]), tf.reshape(x, [1, 3])], {x: np.ones(3, "f")}
    )
    for i, a in enumerate(arrays):
        for b in arrays[i + 1 :]:
            assert not np.shares_memory(a, b)


def test_what_was_fed_may_change_afterwards(session):
    v = tf.get_variable("v", initializer=[0.0, 0.0])
    r = tf.get_variable("r", initializer=[0.0, 0.0], use_resource=True)
    x = tf.placeholder(tf.float32, [2])
    keep = [v.assign(x), r.assign(x)]
    session.run([v.initializer, r.initializer])
    fed = np.array([1, 2], np.float32)
    session.run([k.op for k in keep], {x: fed})
    fed[:] = -1
    assert session.run([v, r])[0].tolist() == [1, 2]
    assert session.run([v, r])[1].tolist() == [1, 2]


def test_a_variable_fetched_before_stays_as_it_was(session):
    v = tf.get_variable("v", initializer=np.zeros(1000, "f"))
    r = tf.get_variable("r", initializer=np.zeros(1000, "f"), use_resource=True)
    rows = [
        tf.scatter_add(v, [1], [5.0]).op,
        tf.scatter_add(r, [1], [5.0]).op,
        v.assign_add(tf.ones([1000])).op,
        r.assign_add(tf.ones([1000])).op,
    ]
    session.run([v.initializer, r.initializer])
    before = session.run([v, r])
    for op in rows:
        session.run(op)
    assert [b.sum() for b in before] == [0, 0]
    assert [a.sum() for a in session.run([v, r])] == [1005, 1005]


def test_lists_scalars_and_strided_arrays_are_fed(session):
    x = tf.placeholder(tf.float32, [None, 2])
    s = tf.placeholder(tf.int64, [])
    y = tf.reduce_sum(x, 0) * tf.cast(s, tf.float32)
    big = np.arange(24, dtype=np.float64).reshape(4, 6)
    for value in (
        [[1, 2], [3, 4]],
        ((1, 2), (3, 4)),
        np.array([[1, 2], [3, 4]], "int8"),
        big[::2, ::3],
        big.T[1:3, :2],
    ):
        np.testing.assert_allclose(session.run(y, {x: value, s: 2}), 2 * np.asarray(value).sum(0))
    assert session.run(y, {x: np.zeros((0, 2)), s: np.int8(1)}).tolist() == [0, 0]


def test_a_feed_of_the_other_byte_order(session):
    x = tf.placeholder(tf.float32, [2])
    assert session.run(x + 1, {x: np.array([1, 2], ">f4")}).tolist() == [2, 3]


def test_a_read_only_feed(session):
    fed = np.ones(4, np.float32)
    fed.flags.writeable = False
    x = tf.placeholder(tf.float32, [4])
    out = session.run(x, {x: fed})
    out += 1
    assert fed.sum() == 4


def test_feeding_sparse_and_tuple_keys(session):
    s = tf.sparse_placeholder(tf.float32)
    dense = tf.scatter_nd(s.indices, s.values, s.dense_shape)
    value = tf.SparseTensorValue(np.array([[0, 1]]), np.array([7.0], "f"), np.array([1, 2]))
    assert session.run(dense, {s: value}).tolist() == [[0, 7]]
    assert session.run(dense, {s: ([[0, 0]], [2.0], [1, 1])}).tolist() == [[2]]


def test_an_operation_and_its_error_in_one_run(session):
    x = tf.placeholder(tf.int32, [])
    v = tf.get_variable("v", initializer=1)
    bad = tf.gather([1], x)
    session.run(v.initializer)
    with pytest.raises(tf.errors.InvalidArgumentError):
        session.run([v, bad], {x: 4})
    assert session.run([v, bad], {x: 0}) == [1, 1]
