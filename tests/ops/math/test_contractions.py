"""einsum, tensordot and products of batches, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import weft as tf
from weft import testing

SIZES = dict(zip("abcdij", (2, 3, 4, 5, 3, 4)))

EQUATIONS = [
    "ij,ja->ia",
    "ij,ij->",
    "ij->ji",
    "ij->",
    "a,b->ab",
    "ab,ab->ab",
    "abc,cd->abd",
    "abc,abd->acd",
    "abc,abd->dca",
    "ab,bc,cd->ad",
    "ab,cb,b->ca",
    "abc,bc->a",
    "ij,jb",
    "...ij,...jb->...ib",
    "a...,a...->...",
]


def operands(equation, rng):
    for labels in equation.split("->")[0].split(","):
        shape = [SIZES[c] for c in labels.replace("...", "")]
        if "..." in labels:
            at = labels.index("...")
            shape[at:at] = [2]
        yield rng.standard_normal(shape)


@pytest.mark.parametrize("known", [True, False])
def test_einsum(known):
    """All equations in one run; with shapes known, and with sizes that are fed."""
    rng = np.random.default_rng(1)
    feeds, fetches, wanted = {}, {}, {}
    with tf.Graph().as_default(), tf.Session() as session:
        for equation in EQUATIONS:
            arrays = list(operands(equation, rng))
            tensors = [
                tf.placeholder(tf.float64, a.shape if known else [None] * a.ndim) for a in arrays
            ]
            feeds.update(zip(tensors, arrays))
            fetches[equation] = tf.einsum(equation, *tensors)
            wanted[equation] = np.einsum(equation, *arrays)
            assert fetches[equation].shape.ndims == wanted[equation].ndim
            if known:
                assert fetches[equation].shape == wanted[equation].shape
        for equation, got in session.run(fetches, feeds).items():
            np.testing.assert_allclose(got, wanted[equation], rtol=1e-10, err_msg=equation)


def test_what_einsum_refuses():
    with tf.Graph().as_default():
        x = tf.ones([2, 2])
        for equation, message in (
            ("ii->", "more than once"),
            ("ij,jk->ik", "expecting 2"),
            ("ij->ik", "Invalid equation"),
            ("i1->i", "incorrect format"),
            ("ijk->i", "has rank 2"),
            ("i...j...->ij", "Excess number"),
        ):
            with pytest.raises(ValueError, match=message):
                tf.einsum(equation, x)
        with pytest.raises(ValueError, match="Sizes of axis 'j' differ"):
            tf.einsum("ij,jk->ik", x, tf.ones([3, 2]))
        with pytest.raises(TypeError, match="invalid keyword"):
            tf.einsum("ij->ji", x, optimize=True)


AXES = [1, 0, 2, [[1], [1]], [[0, 1], [0, 1]], [[-1], [-1]], [1, 1]]


@pytest.mark.parametrize("how", ["known", "sizes fed", "all fed"])
def test_tensordot(how):
    rng = np.random.default_rng(2)
    with tf.Graph().as_default(), tf.Session() as session:
        for axes in AXES:
            a = rng.standard_normal((3, 4))
            b = rng.standard_normal((4, 3) if axes == 1 else (3, 4))
            shapes = [a.shape, b.shape] if how == "known" else [[None, None]] * 2
            x, y = (tf.placeholder(tf.float64, s if how != "all fed" else None) for s in shapes)
            product = tf.tensordot(x, y, axes)
            wanted = np.tensordot(a, b, axes)
            if how == "known":
                assert product.shape == wanted.shape
            np.testing.assert_allclose(session.run(product, {x: a, y: b}), wanted, rtol=1e-10)
        with pytest.raises(ValueError, match="at least 0"):
            tf.tensordot(x, y, -1)
        with pytest.raises(ValueError, match="Different number of contraction axes"):
            tf.tensordot(x, y, [[0], [0, 1]])


def test_batches_broadcast():
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((2, 1, 3, 4)), rng.standard_normal((5, 3, 4))
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.constant(a), tf.constant(b)
        product = tf.matmul(x, y, transpose_b=True)
        assert product.op.type == "BatchMatMulV2" and product.shape == [2, 5, 3, 3]
        gx, gy = session.run(tf.gradients(tf.reduce_sum(product), [x, y]))
        np.testing.assert_allclose(session.run(product), a @ np.swapaxes(b, -1, -2))
        np.testing.assert_allclose(gx, np.broadcast_to(b.sum((0, 1)), (3, 4))[None, None] + 0 * a)
        np.testing.assert_allclose(gy, np.broadcast_to(a.sum((0, 1, 2)), b.shape))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int32", "complex64"])
def test_dtypes_of_products(dtype):
    kind = tf.as_dtype(dtype)
    a = np.array([[1, 2], [3, 4]]).astype(kind.as_numpy_dtype)
    with tf.Graph().as_default(), tf.Session() as session:
        product = tf.matmul(a, a)
        for which in ("interpret", "compile"):
            with testing.tier(which):
                got = session.run(product)
            assert got.dtype == a.dtype
            np.testing.assert_array_equal(got.astype(complex).real, [[7, 10], [15, 22]])


def test_sparse_hints_do_not_change_the_product():
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    with tf.Graph().as_default(), tf.Session() as session:
        product = tf.matmul(a, a, transpose_b=True, a_is_sparse=True)
        assert product.op.type == "SparseMatMul"
        np.testing.assert_array_equal(session.run(product), a @ a.T)
