"""Public functions of the math family against what TensorFlow 1.15.5 gives, in both tiers."""

from __future__ import annotations

import numpy as np
import pytest

import weft as tf
from weft import testing

INF, NAN = np.inf, np.nan
FLOATS = [-2.7, -1.5, -0.5, 0.5, 1.5, 2.5, 300.0, -300.0, 3e9, -3e9, NAN, INF]
LEAST = {"int32": -(2**31), "int64": -(2**63)}


def int32(*values):
    return tf.constant(values, tf.int32)


def cast_of_floats(dtype):
    return lambda: tf.cast(tf.constant(FLOATS), dtype)


def wide(dtype, *rest):
    """What x86 processors make of floats that do not fit."""
    return [-2, -1, 0, 0, 1, 2, 300, -300, *rest, LEAST[dtype], LEAST[dtype]]


X, Y = (7.0, -7.0, 7.0, -7.0, 1.0), (2.0, 2.0, -2.0, -2.0, 0.1)
MATRIX = [[1.0, -2.0], [3.0, 4.0]]
ROWS = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]

CASES = {
    "cast to int8": (cast_of_floats("int8"), [-2, -1, 0, 0, 1, 2, 44, -44, 0, 0, 0, 0]),
    "cast to uint8": (cast_of_floats("uint8"), [254, 255, 0, 0, 1, 2, 44, 212, 0, 0, 0, 0]),
    "cast to uint16": (
        cast_of_floats("uint16"),
        [65534, 65535, 0, 0, 1, 2, 300, 65236, 0, 0, 0, 0],
    ),
    "cast to int32": (cast_of_floats("int32"), wide("int32", LEAST["int32"], LEAST["int32"])),
    "cast to int64": (cast_of_floats("int64"), wide("int64", 3000000000, -3000000000)),
    "cast to bool": (cast_of_floats("bool"), [True] * 12),
    "cast of complex": (lambda: tf.cast(tf.constant([2 + 3j]), tf.float32), [2.0]),
    "saturate_cast": (lambda: tf.saturate_cast(tf.constant([-5.0, 300, 7]), tf.uint8), [0, 255, 7]),
    "saturate_cast int": (lambda: tf.saturate_cast(int32(-500, 300, 7), tf.int8), [-128, 127, 7]),
    "round": (lambda: tf.round([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5]), [-2.0, -2, 0, 0, 2, 2]),
    "floordiv": (lambda: tf.floordiv(int32(7, -7, 7, -7), int32(2, 2, -2, -2)), [3, -4, -4, 3]),
    "truncatediv": (
        lambda: tf.truncatediv(int32(7, -7, 7, -7), int32(2, 2, -2, -2)),
        [3, -3, -3, 3],
    ),
    "floormod": (lambda: tf.floormod(int32(7, -7, 7, -7), int32(2, 2, -2, -2)), [1, 1, -1, -1]),
    "truncatemod": (
        lambda: tf.truncatemod(int32(7, -7, 7, -7), int32(2, 2, -2, -2)),
        [1, -1, 1, -1],
    ),
    "div": (lambda: tf.div(int32(7, -7, 7, -7), int32(2, 2, -2, -2)), [3, -4, -4, 3]),
    "truediv": (lambda: tf.truediv(int32(7, -7), int32(2, 2)), np.array([3.5, -3.5])),
    "floordiv float": (lambda: tf.floordiv(X, tf.constant(Y)), [3.0, -4, -4, 3, 10]),
    "floormod float": (lambda: tf.floormod(X, tf.constant(Y)), [1.0, 1, -1, -1, 0.09999999]),
    "truncatemod float": (lambda: tf.truncatemod(X, tf.constant(Y)), [1.0, -1, 1, -1, 0.09999999]),
    "left_shift": (
        lambda: tf.bitwise.left_shift(tf.constant([1, -1], tf.int8), tf.constant([3, 9], tf.int8)),
        [8, -128],
    ),
    "right_shift": (
        lambda: tf.bitwise.right_shift(
            tf.constant([-64, 64], tf.int8), tf.constant([3, 9], tf.int8)
        ),
        [-8, 0],
    ),
    "CompareAndBitpack": (
        lambda: tf.raw_ops.CompareAndBitpack(input=[[1.0, 5, 2, 8, 0, 0, 9, 1]], threshold=2.0),
        [[82]],
    ),
    "linspace": (lambda: tf.linspace(1.0, 2.0, 4), [1.0, 1.3333334, 1.6666667, 2.0]),
    "range": (lambda: tf.range(1.0, 2.0, 0.3), [1.0, 1.3, 1.5999999, 1.8999999]),
    "cumsum": (
        lambda: tf.cumsum([[1, 2, 3], [4, 5, 6]], 1, exclusive=True, reverse=True),
        [[5, 3, 0], [11, 6, 0]],
    ),
    "cumulative_logsumexp": (
        lambda: tf.math.cumulative_logsumexp(tf.constant([1.0, 2.0, 3.0]), exclusive=True),
        [np.finfo(np.float32).min, 1.0, 2.3132617],
    ),
    "bincount": (lambda: tf.bincount(int32(1, 1, 2, 5), maxlength=4), [0, 2, 1, 0]),
    "bincount of weights": (
        lambda: tf.bincount(int32(1, 1, 2), weights=[0.5, 0.25, 2.0], minlength=5),
        [0.0, 0.75, 2.0, 0.0, 0.0],
    ),
    "histogram": (
        lambda: tf.histogram_fixed_width([-1.0, 0, 1.5, 2, 5, 15], [0.0, 5.0], nbins=5),
        [2, 1, 1, 0, 2],
    ),
    "histogram bins": (
        lambda: tf.histogram_fixed_width_bins([-1.0, 0, 1.5, 2, 5, 15], [0.0, 5.0], nbins=5),
        [0, 0, 1, 2, 4, 4],
    ),
    "lbeta": (lambda: tf.lbeta([[1.0, 2, 3], [2, 2, 0.5]]), [-4.0943446, -1.8813719]),
    "IgammaGradA": (
        lambda: tf.raw_ops.IgammaGradA(a=[0.5, 2, 10, 3], x=[0.3, 4, 9, 30]),
        [-7.7057046e-01, -1.1033151e-01, -1.2703656e-01, -1.1310078e-10],
    ),
    "polyval": (lambda: tf.math.polyval([1.0, 2.0, 3.0], tf.constant([0.0, 2.0])), [3.0, 11.0]),
    "reduce_variance": (lambda: tf.math.reduce_variance([[1.0, 2], [3, 5]], 0), [1.0, 2.25]),
    "reduce_std": (lambda: tf.math.reduce_std([[1.0, 2], [3, 5]]), 1.47902),
    "reduce_logsumexp": (
        lambda: tf.reduce_logsumexp(tf.constant([[-INF, -INF], [1000.0, 1000.0]]), 1),
        [-INF, 1000.6932],
    ),
    "count_nonzero": (lambda: tf.count_nonzero([[1, 0], [3, 4]], 0), np.array([2, 1], np.int64)),
    "mean of ints": (lambda: tf.reduce_mean(tf.constant([[-3, -4], [3, 4]]), 1), [-3, 3]),
    "mean of nothing": (lambda: tf.reduce_mean(tf.zeros([0])), NAN),
    "max of nothing": (lambda: tf.reduce_max(tf.zeros([0, 2]), 0), [-INF, -INF]),
    "max of no ints": (lambda: tf.reduce_max(tf.zeros([0], tf.int32)), LEAST["int32"]),
    "unsorted_segment_mean": (
        lambda: tf.unsorted_segment_mean(ROWS, [0, 0, -1], 3),
        [[2.0, 3.0], [0, 0], [0, 0]],
    ),
    "unsorted_segment_sqrt_n": (
        lambda: tf.math.unsorted_segment_sqrt_n([1.0, 2, 3, 5], [1, 1, 1, 0], 3),
        [5.0, 3.4641018, 0.0],
    ),
    "sparse_segment_sqrt_n": (
        lambda: tf.sparse_segment_sqrt_n(ROWS, [0, 2, 2], [0, 0, 2]),
        [[4.242641, 5.656854], [0.0, 0.0], [5.0, 6.0]],
    ),
    "sparse_segment_mean": (
        lambda: tf.sparse_segment_mean(ROWS, [0, 2, 2], [0, 0, 2], num_segments=4),
        [[3.0, 4.0], [0, 0], [5, 6], [0, 0]],
    ),
    "clip_by_norm": (
        lambda: tf.clip_by_norm([[3.0, 4.0], [0.3, 0.4]], 1.0, axes=[1]),
        [[0.6, 0.8], [0.3, 0.4]],
    ),
    "clip_by_global_norm": (
        lambda: tf.clip_by_global_norm([tf.constant([3.0]), None, tf.constant([4.0])], 2.0)[0][0],
        [1.2],
    ),
    "clip_by_average_norm": (lambda: tf.clip_by_average_norm([3.0, 4.0], 2.0), [2.4, 3.2]),
    "1-norm": (lambda: tf.norm(MATRIX, 1, axis=0), [4.0, 6.0]),
    "2-norm": (lambda: tf.norm(MATRIX, 2, axis=1), [2.236068, 5.0]),
    "greatest": (lambda: tf.norm(MATRIX, INF), 4.0),
    "1-norm of a matrix": (lambda: tf.norm(MATRIX, 1, axis=[0, 1]), 6.0),
    "greatest of a matrix": (lambda: tf.norm(MATRIX, INF, axis=[0, 1]), 7.0),
    "2-norm of a matrix": (lambda: tf.norm(MATRIX, 2, axis=[0, 1]), 5.1166735),
    "3-norm": (lambda: tf.norm(MATRIX, 3.0, axis=0), [3.0365891, 4.1601677]),
    "Frobenius norm": (lambda: tf.norm(MATRIX, "fro", axis=[-2, -1]), 5.477226),
    "nextafter": (
        lambda: tf.math.nextafter(tf.constant([1.0, 1.0]), tf.constant([2.0, 0.0])),
        [1.0000001, 0.99999994],
    ),
}


def judge(name, got):
    wanted = np.asarray(CASES[name][1])
    assert got.shape == wanted.shape, name
    assert got.dtype.kind == wanted.dtype.kind or wanted.dtype.kind == "i", name
    np.testing.assert_allclose(got, wanted, rtol=2e-6, atol=0, err_msg=name)


@pytest.mark.parametrize("which", ["interpret", "compile"])
def test_values(which):
    """One session for them all, so that XLA compiles once."""
    with tf.Graph().as_default(), testing.tier(which), tf.Session() as session:
        found = session.run({name: build() for name, (build, _) in CASES.items()})
    for name, got in found.items():
        judge(name, got)


@pytest.mark.parametrize("name", CASES)
def test_eager_values(name):
    with testing.eager_mode():
        judge(name, CASES[name][0]().numpy())


def test_strings_count_as_zero_where_empty():
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(tf.count_nonzero(["a", "", "b"])) == 2


def test_unknown_rank():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32)
        total, largest = tf.reduce_sum(x), tf.reduce_max(x, keepdims=True)
        assert total.shape == [] and largest.shape.ndims is None
        assert session.run(total, {x: [[1, 2], [3, 4]]}) == 10
        assert session.run(largest, {x: [[1, 2], [3, 4]]}).shape == (1, 1)


def test_old_names_of_arguments():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([[1.0, 2.0]])
        assert session.run(tf.reduce_sum(x, reduction_indices=1, keep_dims=True)).shape == (1, 1)
        assert session.run(tf.argmax(x, dimension=1)) == [1]
        with pytest.raises(ValueError, match="Cannot specify both"):
            tf.reduce_sum(x, 1, reduction_indices=1)
        with pytest.raises(ValueError, match="Cannot specify both"):
            tf.reduce_sum(x, keepdims=True, keep_dims=True)


def test_functions_of_sparse_values():
    with tf.Graph().as_default(), tf.Session() as session:
        sparse = tf.SparseTensor([[0, 1], [2, 0]], [-2.0, 3.0], [3, 2])
        for function, wanted in ((tf.square, [4, 9]), (tf.abs, [2, 3]), (tf.negative, [2, -3])):
            result = function(sparse)
            assert isinstance(result, tf.SparseTensor)
            np.testing.assert_array_equal(session.run(result.values), wanted)
        assert session.run(tf.cast(sparse, tf.int32)).values.dtype == np.int32


def test_confusion_matrix():
    with tf.Graph().as_default(), tf.Session() as session:
        counts = session.run(tf.confusion_matrix([1, 2, 4], [2, 2, 4]))
        wanted = np.zeros((5, 5), np.int32)
        wanted[1, 2] = wanted[2, 2] = wanted[4, 4] = 1
        np.testing.assert_array_equal(counts, wanted)
        weighted = tf.confusion_matrix(
            [0, 1, 1], [0, 0, 1], num_classes=2, weights=[0.5, 2, 3], dtype=tf.float32
        )
        np.testing.assert_array_equal(session.run(weighted), [[0.5, 0], [2, 3]])
        with pytest.raises(tf.errors.InvalidArgumentError, match="negative"):
            tf.confusion_matrix([-1], [0])


def test_svd_and_its_gradient():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [2, 3])
        s, u, v = tf.svd(x)
        again = tf.matmul(u * s, v, adjoint_b=True)
        grad = tf.gradients(tf.reduce_sum(again**2), x)[0]
        value = np.array([[1.0, 2, 3], [-1, 0.5, 2]])
        got, slope = session.run([again, grad], {x: value})
        np.testing.assert_allclose(got, value, rtol=1e-12)
        np.testing.assert_allclose(slope, 2 * value, rtol=1e-9)
