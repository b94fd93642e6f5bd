"""Public functions that are more than one op: their values, against NumPy or TensorFlow's own."""

from __future__ import annotations

import numpy as np
import pytest

import weft as tf
from weft import testing


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def run(fetches, feeds=None):
    with tf.Session() as sess:
        return sess.run(fetches, feeds)


def strings(*values):
    return np.array(values, object)


def equal(found, expected, dtype=None):
    np.testing.assert_array_equal(found, expected)
    if dtype is not None:
        assert np.asarray(found).dtype == dtype


def test_lists_with_tensors_in_them_are_packed():
    one = tf.constant(1)
    packed = tf.convert_to_tensor([1.5, tf.constant(2.0)])
    assert packed.op.type == "Pack" and packed.op.name == "packed"
    equal(run(tf.convert_to_tensor([[0, one], [one + 1, 3]])), [[0, 1], [2, 3]], np.int32)
    equal(run(tf.convert_to_tensor([tf.constant(1), 2], dtype=tf.float32)), [1, 2], np.float32)
    with pytest.raises(TypeError, match="containing a tensor of dtype"):
        tf.convert_to_tensor([tf.constant(1), [tf.constant(1.0)]])
    assert tf.stack([1, 2]).op.type == "Const"


def test_zeros_and_ones():
    n = tf.placeholder(tf.int32, [])
    equal(run(tf.zeros([2, n]), {n: 3}), np.zeros((2, 3)), np.float32)
    equal(run(tf.ones([n], tf.int64), {n: 2}), [1, 1], np.int64)
    equal(run(tf.zeros([2], tf.string)), [b"", b""])
    equal(run(tf.zeros([], tf.bool)), False)
    assert tf.zeros([3, 3]).op.type == "Const"
    assert tf.zeros([100, 100]).op.type == "Fill"
    x = tf.placeholder(tf.float32, [None, 2])
    assert tf.zeros_like(x).op.type == "ZerosLike"
    equal(run(tf.zeros_like(x, tf.int32), {x: np.ones((3, 2))}), np.zeros((3, 2)), np.int32)
    equal(run(tf.ones_like(x), {x: np.zeros((3, 2))}), np.ones((3, 2)), np.float32)
    with pytest.raises(ValueError, match="must be >= 0"):
        tf.zeros([-1])


def test_sequence_mask():
    lengths = tf.constant([1, 3, 2])
    expected = [[1, 0, 0], [1, 1, 1], [1, 1, 0]]
    equal(run(tf.sequence_mask(lengths)), np.array(expected, bool), bool)
    equal(run(tf.sequence_mask(lengths, 4, tf.float32))[:, :3], expected, np.float32)
    assert tf.sequence_mask(lengths, 4).shape.as_list() == [3, 4]
    equal(run(tf.sequence_mask(tf.constant([[2], [0]], tf.int64)))[0, 0], [True, True])


@pytest.mark.parametrize("indexing", ["xy", "ij"])
def test_meshgrid(indexing):
    vectors = [np.arange(3), np.arange(4), np.arange(2)]
    for found, expected in zip(
        run(tf.meshgrid(*vectors, indexing=indexing)), np.meshgrid(*vectors, indexing=indexing)
    ):
        equal(found, expected)
    with pytest.raises(ValueError, match="'xy' or 'ij'"):
        tf.meshgrid([1], indexing="yx")


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("repeats", [2, [1, 3]])
def test_repeat(axis, repeats):
    x = np.array([[1, 2], [3, 4]])
    if axis is None and repeats != 2:
        repeats = [1, 3, 0, 2]
    equal(run(tf.repeat(x, repeats, axis)), np.repeat(x, repeats, axis))


@pytest.mark.parametrize("direction", ["ASCENDING", "DESCENDING"])
@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_sort_and_argsort(axis, direction):
    x = np.random.default_rng(3).permutation(24).reshape(2, 3, 4).astype(np.float32)
    fed = tf.placeholder(tf.float32)
    expected = np.sort(x, axis)
    if direction == "DESCENDING":
        expected = np.flip(expected, axis)
    known, unknown, order = run(
        [
            tf.sort(x, axis, direction),
            tf.sort(fed, axis, direction),
            tf.argsort(x, axis, direction),
        ],
        {fed: x},
    )
    equal(known, expected)
    equal(unknown, expected)
    equal(np.take_along_axis(x, order, axis), expected)
    with pytest.raises(ValueError, match="should be one of"):
        tf.sort(x, direction="DOWN")


@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted(side):
    rows = np.sort(np.random.default_rng(0).integers(0, 9, (3, 7)))
    values = np.random.default_rng(1).integers(-1, 10, (3, 5))
    expected = [np.searchsorted(r, v, side) for r, v in zip(rows, values)]
    equal(run(tf.searchsorted(rows, values, side)), expected, np.int32)


def test_eye():
    equal(run(tf.eye(2, 3)), np.eye(2, 3), np.float32)
    n = tf.placeholder(tf.int32, [])
    equal(run(tf.eye(n, dtype=tf.int32), {n: 3}), np.eye(3), np.int32)
    equal(run(tf.eye(n, 2, batch_shape=[2]), {n: 3}), np.broadcast_to(np.eye(3, 2), (2, 3, 2)))
    with pytest.raises(TypeError, match="must be positive integer"):
        tf.eye(2.0)


def test_required_space_to_batch_paddings():
    paddings, crops = tf.required_space_to_batch_paddings([3, 4], [2, 3], [[1, 0], [0, 1]])
    equal(run(paddings), [[1, 0], [0, 2]])
    equal(run(crops), [[0, 0], [0, 1]])
    sizes = tf.placeholder(tf.int32, [2])
    equal(
        run(tf.required_space_to_batch_paddings(sizes, [2, 2])[0], {sizes: [3, 4]}),
        [[0, 1], [0, 0]],
    )


@pytest.mark.parametrize("batch_dims", [0, 1, 2])
def test_gather_with_batches_and_its_gradient(batch_dims):
    rng = np.random.default_rng(batch_dims)
    params = rng.normal(size=(2, 3, 5, 4))
    indices = rng.integers(0, 4, (2, 3, 6)) if batch_dims else rng.integers(0, 4, (6,))
    x = tf.placeholder(tf.float64, params.shape)
    for axis in range(max(batch_dims, 1), 4):
        limit = min(params.shape[axis], 4)
        chosen = indices % limit
        if batch_dims == 1:
            chosen = chosen[:, 0]
        y = tf.gather(x, chosen, axis=axis, batch_dims=batch_dims)
        expected = np.zeros(())
        lead = [params.reshape(-1, *params.shape[batch_dims:])] if batch_dims else [params[None]]
        flat = chosen.reshape(-1, *chosen.shape[batch_dims:]) if batch_dims else chosen[None]
        expected = np.stack([np.take(p, i, axis - batch_dims) for p, i in zip(lead[0], flat)])
        expected = expected.reshape(params.shape[:batch_dims] + expected.shape[1:])
        weights = rng.normal(size=expected.shape)
        grad = tf.gradients(y, x, tf.constant(weights))[0]
        for tier in ("interpret", "compile"):
            with testing.tier(tier):
                found, slope = run([y, grad], {x: params})
            equal(found, expected)
            assert slope.shape == params.shape
            np.testing.assert_allclose((slope * params).sum(), (weights * expected).sum())


def test_gather_along_rows_has_a_sparse_gradient():
    x = tf.placeholder(tf.float32, [4, 2])
    grad = tf.gradients(tf.gather(x, [3, 1, 3]), x)[0]
    assert isinstance(grad, tf.IndexedSlices)
    value = run(grad)
    equal(value.indices, [3, 1, 3])
    equal(value.values, np.ones((3, 2)))
    equal(value.dense_shape, [4, 2])


def test_gather_nd_with_batches():
    params = np.arange(24).reshape(2, 3, 4)
    indices = np.array([[[0, 1], [2, 3]], [[1, 1], [0, 0]]])
    found = run(tf.gather_nd(tf.constant(params), indices, batch_dims=1))
    equal(found, [[1, 11], [17, 12]])
    fed = tf.placeholder(tf.int64, [None, None, 4])
    equal(run(tf.gather_nd(fed, indices, batch_dims=1), {fed: params}), [[1, 11], [17, 12]])
    with pytest.raises(ValueError, match="less than rank"):
        tf.gather_nd(tf.constant(params), indices, batch_dims=3)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("count", [2, 20])
def test_gradient_of_concat(axis, count):
    parts = [tf.placeholder(tf.float64, [2, 2]) for _ in range(count)]
    y = tf.concat(parts, axis)
    weights = np.random.default_rng(0).normal(size=y.shape.as_list())
    grads = tf.gradients(y, parts, tf.constant(weights))
    for tier in ("interpret", "compile"):
        with testing.tier(tier):
            for found, expected in zip(
                run(grads, {p: np.zeros((2, 2)) for p in parts}), np.split(weights, count, axis)
            ):
                equal(found, expected)


def test_sparse_placeholder():
    x = tf.sparse_placeholder(tf.float32, [None, 3], name="x")
    assert x.values.op.name == "x/values" and x.indices.shape.as_list() == [None, 2]
    value = tf.SparseTensorValue([[0, 1]], [2.0], [2, 3])
    assert isinstance(run(x, {x: value}), tf.SparseTensorValue)
    equal(run(x, {x: ([[1, 2]], [5.0], [2, 3])}).values, [5], np.float32)
    equal(run(tf.shape(x), {x: value}), [2, 3], np.int32)
    known = tf.SparseTensor([[0, 0], [1, 2]], [1, 2], [3, 4])
    assert known.shape.as_list() == [3, 4] and known.dtype is tf.int32
    with pytest.raises(ValueError):
        tf.SparseTensor([[0, 0]], [1, 2], [3, 4])


def test_sparse_mask():
    rows = tf.IndexedSlices(tf.constant([[1.0], [2.0], [3.0]]), tf.constant([12, 26, 37]))
    found = run(tf.sparse_mask(rows, [12, 45]))
    equal(found.indices, [26, 37])
    equal(found.values, [[2], [3]])


def test_numbers_that_are_not_finite_are_named():
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.log(x, name="y")
    checks = tf.add_check_numerics_ops()
    run([y, checks], {x: [1, 2]})
    with pytest.raises(tf.errors.InvalidArgumentError, match="y:0 : Tensor had NaN"):
        run(checks, {x: [1, -2]})
    for tier in ("interpret", "compile"):
        with testing.tier(tier), pytest.raises(tf.errors.InvalidArgumentError, match="Inf values"):
            run(tf.debugging.assert_all_finite(x, "not finite"), {x: [1, np.inf]})


def test_strings_pass_through():
    x = tf.placeholder(tf.string, [None])
    value = strings(b"a\0", b"", b"\xff")
    found = run(
        [
            tf.concat([x, x[::-1]], 0),
            tf.reshape(x, [1, -1]),
            tf.where([True, False, True], x, tf.fill(tf.shape(x), "z")),
            tf.unique(tf.concat([x, x], 0)).y,
            tf.tile(x, [2]),
            tf.pad(x, [[1, 0]]),
        ],
        {x: value},
    )
    equal(found[0], strings(*value, *value[::-1]))
    equal(found[1], value[None])
    equal(found[2], strings(b"a\0", b"z", b"\xff"))
    equal(found[3], value)
    equal(found[4], strings(*value, *value))
    equal(found[5], strings(b"", *value))
    assert all(v.dtype == object for v in found)


def test_old_argument_names():
    x = tf.zeros([1, 2])
    assert tf.squeeze(x, squeeze_dims=[0]).shape.as_list() == [2]
    assert tf.expand_dims(x, dim=0).shape.as_list() == [1, 1, 2]
    equal(run(tf.reverse_sequence([[1, 2]], [2], seq_dim=1, batch_dim=0)), [[2, 1]])
    with pytest.raises(ValueError, match="both"):
        tf.squeeze(x, axis=0, squeeze_dims=[0])


def test_one_hot_types():
    equal(run(tf.one_hot([0, 2], 3, axis=0, dtype=tf.int32)), [[1, 0], [0, 0], [0, 1]], np.int32)
    equal(run(tf.one_hot([1, -1], 2, 5.0, 1.0)), [[1, 5], [1, 1]], np.float32)
    with pytest.raises(TypeError, match="does not match"):
        tf.one_hot([0], 2, on_value=1, off_value=0.0)


def test_constants_of_messages():
    message = tf.make_tensor_proto([[1, 2]])
    equal(run(tf.constant(message)), [[1, 2]], np.int32)
    equal(run(tf.convert_to_tensor(message) + 1), [[2, 3]], np.int32)


def test_dimensions_as_tensors():
    x = tf.placeholder(tf.float32, [None, 4])
    equal(run(tf.convert_to_tensor(x.shape[1])), 4, np.int32)
    equal(run(tf.zeros([x.shape[1], 2])), np.zeros((4, 2)))
    with pytest.raises(ValueError, match="unknown Dimension"):
        tf.convert_to_tensor(x.shape[0])
