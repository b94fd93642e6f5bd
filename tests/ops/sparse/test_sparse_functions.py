"""Functions on sparse tensors: against dense arrays; what they refuse; that a refusal loses nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft as tf

ROWS = [[0, 1], [0, 3], [2, 0], [2, 2], [2, 3]]


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def run(fetches, feeds=None):
    with tf.Session() as sess:
        return sess.run(fetches, feeds)


def sparse(values=(1.0, 2.0, 3.0, 4.0, 5.0), rows=ROWS, shape=(4, 5), dtype=tf.float32):
    return tf.SparseTensor(rows, tf.constant(values, dtype), shape)


def dense(value):
    """The array that a fetched sparse tensor stands for."""
    out = np.zeros(value.dense_shape, value.values.dtype)
    np.add.at(
        out, tuple(value.indices.T) or ..., value.values.sum() if not out.ndim else value.values
    )
    return out


def whole():
    return run(tf.sparse.to_dense(sparse()))


def test_every_public_name_of_sparse_tensors_is_there():
    names = (
        "add concat cross cross_hashed expand_dims eye fill_empty_rows from_dense mask matmul maximum merge "
        "minimum placeholder reduce_max reduce_max_sparse reduce_sum reduce_sum_sparse reorder "
        "reset_shape reshape retain segment_mean segment_sqrt_n segment_sum slice softmax "
        "sparse_dense_matmul split to_dense to_indicator transpose"
    ).split()
    for name in names:
        assert callable(getattr(tf.sparse, name))
    assert tf.sparse_tensor_to_dense is tf.sparse.to_dense
    assert tf.sparse_tensor_dense_matmul is tf.sparse.matmul


@pytest.mark.parametrize("perm", [None, [1, 0], [0, 1]])
def test_transpose(perm):
    expected = whole().transpose(perm)
    result = tf.sparse.transpose(sparse(), perm)
    assert result.shape.as_list() == list(expected.shape)
    found = run(result)
    np.testing.assert_array_equal(dense(found), expected)
    assert found.indices.tolist() == sorted(found.indices.tolist())


def test_transpose_of_an_unknown_shape():
    fed = tf.sparse.placeholder(tf.float32)
    value = run(sparse())
    np.testing.assert_array_equal(
        dense(run(tf.sparse.transpose(fed), {fed: value})), dense(value).T
    )


def test_reshape_knows_its_shape():
    result = tf.sparse.reshape(sparse(), [2, -1])
    assert result.shape.as_list() == [2, 10]
    np.testing.assert_array_equal(dense(run(result)), whole().reshape(2, 10))
    with pytest.raises(ValueError, match="Cannot reshape a tensor with 20 elements"):
        tf.sparse.reshape(sparse(), [3, 7])
    with pytest.raises(ValueError, match="At most one dimension"):
        tf.sparse.reshape(sparse(), [-1, -1])


def test_concat_of_different_sizes():
    other = sparse([7.0], [[0, 0]], [2, 2])
    result = tf.sparse.concat(0, [sparse(), other], expand_nonconcat_dim=True)
    expected = np.concatenate([whole(), np.pad([[7.0, 0], [0, 0]], [(0, 0), (0, 3)])])
    np.testing.assert_array_equal(dense(run(result)), expected)
    last = tf.sparse.concat(-1, [sparse(), other], expand_nonconcat_dims=True)
    assert run(last).dense_shape.tolist() == [4, 7]
    assert tf.sparse.concat(0, [other]) is other
    with pytest.raises(TypeError, match="list or tuple"):
        tf.sparse.concat(0, other)


def test_split_and_slice():
    parts = run(tf.sparse.split(sp_input=sparse(), num_split=2, axis=1))
    np.testing.assert_array_equal(np.concatenate([dense(p) for p in parts], 1), whole())
    part = run(tf.sparse.slice(sparse(), [0, 1], [3, 2]))
    np.testing.assert_array_equal(dense(part), whole()[:3, 1:3])
    with pytest.raises(ValueError, match="Keyword arguments"):
        tf.sparse.split(sparse(), 2, 1)


def test_merge_and_indicator():
    ids = sparse([1, 4, 0, 2, 2], dtype=tf.int32)
    merged = run(tf.sparse.merge(ids, sparse(), vocab_size=6))
    assert merged.indices.tolist() == [[0, 1], [0, 4], [2, 0], [2, 2], [2, 2]]
    flags = run(tf.sparse.to_indicator(ids, 6))
    assert flags.dtype == bool and np.argwhere(flags).tolist() == [[0, 1], [0, 4], [2, 0], [2, 2]]
    pair = run(tf.sparse.merge([ids, ids], sparse(), vocab_size=[6, 6]))
    assert pair.dense_shape.tolist() == [4, 6, 6]
    with pytest.raises(TypeError, match="vocab_size"):
        tf.sparse.merge(ids, sparse(), vocab_size=[6])
    with pytest.raises(ValueError, match="equal lengths"):
        tf.sparse.merge([ids, ids], sparse(), vocab_size=[6])


def test_retain_and_reset_shape():
    kept = run(tf.sparse.retain(sparse(), [True, False, False, True, False]))
    assert kept.values.tolist() == [1.0, 4.0]
    assert run(tf.sparse.reset_shape(sparse())).dense_shape.tolist() == [3, 4]
    assert run(tf.sparse.reset_shape(sparse(), [6, 5])).dense_shape.tolist() == [6, 5]
    with pytest.raises(ValueError, match="dimension sizes >="):
        tf.sparse.reset_shape(sparse(), [2, 5])
    fed = tf.sparse.placeholder(tf.float32)
    with pytest.raises(tf.errors.InvalidArgumentError):
        run(tf.sparse.reset_shape(fed, [2, 5]), {fed: run(sparse())})


def test_of_and_to_dense():
    array = np.array([[0, 2, 0], [3, 0, 0]])
    found = run(tf.sparse.from_dense(array))
    np.testing.assert_array_equal(dense(found), array)
    np.testing.assert_array_equal(dense(run(tf.sparse.eye(2, 3))), np.eye(2, 3))
    words = tf.sparse.to_dense(tf.SparseTensor([[1]], ["a"], [3]), default_value="-")
    assert run(words).tolist() == [b"-", b"a", b"-"]
    assert run(tf.sparse_to_dense([1, 3], [5], 1)).tolist() == [0, 1, 0, 1, 0]
    total = tf.sparse.reduce_sum_sparse(sparse())
    assert run(tf.sparse.to_dense(total)) == 15


@pytest.mark.parametrize("axis", [None, 0, 1, [0, 1], -1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions(axis, keepdims):
    along = tuple(axis) if isinstance(axis, list) else axis
    total = whole().sum(along, keepdims=keepdims)
    np.testing.assert_array_equal(run(tf.sparse.reduce_sum(sparse(), axis, keepdims)), total)
    found = run(tf.sparse.reduce_sum_sparse(sparse(), axis, keepdims))
    np.testing.assert_array_equal(dense(found), total)
    top = whole().max(along, keepdims=keepdims)
    np.testing.assert_array_equal(run(tf.sparse.reduce_max(sparse(), axis, keepdims)), top)
    found = run(tf.sparse.reduce_max_sparse(sparse(), reduction_axes=axis, keep_dims=keepdims))
    np.testing.assert_array_equal(dense(found), top)


def test_operators_with_dense_tensors():
    column = np.array([[1.0], [2.0], [3.0], [4.0]], np.float32)
    np.testing.assert_array_equal(dense(run(sparse() * column)), whole() * column)
    np.testing.assert_array_equal(dense(run(tf.constant(column) * sparse())), whole() * column)
    np.testing.assert_array_equal(dense(run(sparse() / column)), whole() / column)
    halves = run(sparse([1, 2, 3, 4, 5], dtype=tf.int32) / 2)
    assert halves.values.dtype == np.float64 and halves.values.tolist() == [0.5, 1, 1.5, 2, 2.5]


def test_sums_of_sparse_and_dense():
    array = np.arange(20, dtype=np.float32).reshape(4, 5)
    np.testing.assert_array_equal(run(tf.sparse.add(sparse(), array)), whole() + array)
    np.testing.assert_array_equal(run(tf.sparse.add(array, sparse())), whole() + array)
    both = tf.sparse.add(sparse(), sparse([-1.0, 2, 3, 4, 5]), threshold=0.5)
    assert both.shape.as_list() == [4, 5] and len(run(both).values) == 4
    with pytest.raises(TypeError, match=r"tf\.add"):
        tf.sparse.add(array, array)


def test_a_gradient_trains_elements_and_factors():
    """The derivative of a product, by both sides, in a compiled step."""
    values = tf.Variable([1.0, 2.0, 3.0, 4.0, 5.0])
    factor = tf.Variable(tf.ones([5, 2]))
    product = tf.sparse_tensor_dense_matmul(tf.SparseTensor(ROWS, values, [4, 5]), factor)
    to_values, to_factor = tf.gradients(tf.reduce_sum(product), [values, factor])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(20):
            first, second = sess.run([to_values, to_factor])
    np.testing.assert_array_equal(first, [2.0] * 5)
    np.testing.assert_array_equal(second, np.repeat(whole().sum(0)[:, None], 2, 1))


def test_a_refusal_names_the_op_and_loses_nothing():
    fed = tf.sparse.placeholder(tf.float32, [4, 5])
    out = tf.sparse.to_dense(fed, name="table")
    good = run(sparse())
    bad = {
        "out of order": ([[2, 0], [0, 1]], [1, 1], [4, 5]),
        "out of bounds": ([[0, 1], [0, 5]], [1, 1], [4, 5]),
        "repeated": ([[0, 1], [0, 1]], [1, 1], [4, 5]),
        "incorrect shape": ([[0, 1], [0, 2]], [1], [4, 5]),
    }
    with tf.Session() as sess:
        for what, (rows, values, shape) in bad.items():
            for _ in range(12):  # cold and compiled
                with pytest.raises(tf.errors.InvalidArgumentError, match=what) as error:
                    sess.run(out, {fed: (np.array(rows), np.array(values, np.float32), shape)})
                assert error.value.op.name == "table"
        np.testing.assert_array_equal(sess.run(out, {fed: good}), dense(good))


def test_embedding_of_sparse_ids_of_rank_three():
    table = tf.constant([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
    ids = tf.SparseTensor(
        [[0, 0, 0], [0, 0, 1], [1, 1, 0]], tf.constant([1, 2, -1], tf.int64), [2, 2, 2]
    )
    found = run(tf.nn.safe_embedding_lookup_sparse(table, ids, combiner="sum"))
    np.testing.assert_array_equal(found, [[[5, 50], [0, 0]], [[0, 0], [0, 0]]])
    found = run(tf.nn.safe_embedding_lookup_sparse(table, ids, default_id=2))
    np.testing.assert_array_equal(found, [[[2.5, 25], [3, 30]], [[3, 30], [3, 30]]])
    weights = tf.SparseTensor(ids.indices, [1.0, 3.0, 1.0], ids.dense_shape)
    found = run(tf.nn.safe_embedding_lookup_sparse([table], ids, weights))
    np.testing.assert_allclose(found[0, 0], [2.75, 27.5])


# -- what is serialized


@settings(max_examples=150, deadline=None)
@given(st.lists(st.binary(max_size=40), min_size=3, max_size=3), st.booleans())
def test_bytes_from_outside_are_a_sparse_tensor_or_refused(parts, many):
    with tf.Graph().as_default():
        fed = tf.placeholder(tf.string, [1, 3])
        op = tf.raw_ops.DeserializeManySparse if many else tf.raw_ops.DeserializeSparse
        out = op(serialized_sparse=fed, dtype=tf.float32)
        try:
            found = run(list(out), {fed: np.array([parts], object)})
        except tf.errors.InvalidArgumentError:
            return
    assert found[0].shape == (len(found[1]), len(found[2]))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_cut_or_changed_bytes(data):
    with tf.Graph().as_default():
        good = run(tf.serialize_sparse(sparse()))
        which = data.draw(st.integers(0, 2))
        end = data.draw(st.integers(0, len(good[which])))
        change = data.draw(st.binary(max_size=4))
        good[which] = good[which][:end] + change + good[which][end + len(change) :]
        out = tf.io.deserialize_many_sparse(good[None], tf.float32, rank=2)
        try:
            found = run(out)
        except tf.errors.InvalidArgumentError:
            return
    assert found.indices.shape == (len(found.values), 3)


def test_there_and_back():
    for value in (sparse(), sparse([b"a\0", b"", b"bc", b"d", b"e"], dtype=tf.string)):
        rows = tf.serialize_many_sparse(value)
        found = run(tf.deserialize_many_sparse(rows, value.dtype, rank=1))
        wanted = run(value)
        assert found.indices.tolist() == wanted.indices.tolist()
        assert found.values.tolist() == wanted.values.tolist()
