"""`tf.sets` against Python's sets."""

import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft as tf
from weft import testing
from weft.ops.sets.operations import dense_to_sparse_op, sparse_to_sparse_op

OPERATIONS = {
    "a-b": operator.sub,
    "b-a": lambda a, b: b - a,
    "intersection": operator.and_,
    "union": operator.or_,
}
rows = st.lists(st.lists(st.integers(-3, 3), max_size=4), min_size=3, max_size=3)


def sparse(rows):
    """The parts of a sparse [3, 5] with these elements in its rows."""
    indices = [[i, j] for i, row in enumerate(rows) for j in range(len(row))]
    values = [v for row in rows for v in row]
    return np.array(indices, np.int64).reshape(-1, 2), np.array(values, np.int32), np.array([3, 5])


def of(result):
    indices, values, shape = result
    found = [[] for _ in range(3)]
    for (i, j), value in zip(indices.tolist(), values.tolist()):
        assert j == len(found[i])
        found[i].append(value)
    assert shape.tolist() == [3, max(map(len, found))]
    return found


@given(rows, rows, st.sampled_from(sorted(OPERATIONS)))
def test_sets_are_pythons(a, b, operation):
    from weft.engine.namespace import numpy_namespace as xp

    how = {"set_operation": operation, "validate_indices": True}
    expected = [sorted(OPERATIONS[operation](set(x), set(y))) for x, y in zip(a, b)]
    assert of(sparse_to_sparse_op.kernel(xp, *sparse(a), *sparse(b), **how)) == expected
    padded = np.array([(row * 4)[:4] for row in a]) if all(a) else None
    if padded is not None:
        assert (
            of(dense_to_sparse_op.kernel(xp, padded.astype(np.int32), *sparse(b), **how))
            == expected
        )


def test_sparse_with_dense_in_either_order():
    dense = tf.constant([[1, 2], [3, 4]])
    other = tf.SparseTensor([[0, 0], [1, 0], [1, 1]], [2, 3, 9], [2, 2])
    with tf.Session() as session:
        found = session.run(
            [
                tf.sets.difference(dense, other),
                tf.sets.difference(other, dense),
                tf.sets.difference(other, dense, aminusb=False),
                tf.sets.intersection(other, dense),
                tf.sets.union([[b"a"]], [[b"b"]]),
                tf.sets.size(other),
            ]
        )
    assert [f.values.tolist() for f in found[:5]] == [[1, 4], [9], [1, 4], [2, 3], [b"a", b"b"]]
    assert found[5].tolist() == [1, 2]
    assert tf.sets.set_union is tf.sets.union


def test_what_is_no_set():
    with pytest.raises(TypeError, match="invalid dtype"):
        tf.sets.union([[1.0]], [[2.0]])
    with pytest.raises(TypeError, match="Types don't match"):
        tf.sets.union([[1]], [["a"]])
    with pytest.raises(TypeError, match="Expected `SparseTensor`"):
        tf.sets.size([[1]])


def test_unordered_elements_may_go_unchecked():
    unordered = tf.SparseTensor([[0, 1], [0, 0]], [1, 2], [1, 2])
    outside = tf.SparseTensor([[0, 7]], [1], [1, 2])
    with tf.Session() as session:
        assert session.run(tf.sets.size(unordered, validate_indices=False)).tolist() == [2]
        with pytest.raises(tf.errors.InvalidArgumentError, match="out of order"):
            session.run(tf.sets.size(unordered))
        with pytest.raises(tf.errors.InvalidArgumentError, match="out of bounds"):
            session.run(tf.sets.size(outside, validate_indices=False))


def test_eagerly():
    with testing.eager_mode():
        found = tf.sets.intersection([[1, 2, 3]], [[3, 1, 1]])
        assert found.values.numpy().tolist() == [1, 3]
