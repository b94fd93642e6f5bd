"""Functions of matrices that are made of several ops."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import weft as tf

RANDOM = np.random.RandomState(3)


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_expm(session, dtype):
    """Norms of all sizes in one batch, each of which takes its own way."""
    sizes = np.array([1e-3, 0.1, 0.6, 1.5, 3, 40, 0])[:, None, None]
    x = (sizes * (RANDOM.rand(7, 4, 4) - 0.5)).astype(dtype)
    fed = tf.placeholder(dtype, None)
    tolerance = 1e-4 if np.finfo(dtype).bits == 32 else 1e-12
    for shaped in (tf.constant(x), fed):
        found = session.run(tf.linalg.expm(shaped), {fed: x})
        np.testing.assert_allclose(found, scipy.linalg.expm(x.astype(complex)), rtol=tolerance)


def test_expm_of_other_types(session):
    with pytest.raises(ValueError, match="does not support"):
        tf.linalg.expm(tf.constant([[1]]))


def test_gradient_of_expm(session):
    """Of the trace: the transposed exponential."""
    x = RANDOM.rand(3, 3)
    fed = tf.constant(x)
    (grad,) = tf.gradients(tf.trace(tf.linalg.expm(fed)), [fed])
    np.testing.assert_allclose(session.run(grad), scipy.linalg.expm(x).T, rtol=1e-10)


def test_logm_leaves_random_numbers_alone(session):
    x = (RANDOM.rand(9, 9) - 0.5 + 1j * RANDOM.rand(9, 9)).astype(np.complex128)
    np.random.seed(5)
    expected = np.random.rand()
    np.random.seed(5)
    found = session.run(tf.linalg.logm(x))
    assert np.random.rand() == expected
    np.testing.assert_allclose(scipy.linalg.expm(found), x, atol=1e-12)


def test_sqrtm(session):
    x = RANDOM.rand(2, 5, 5) + 5 * np.eye(5)
    root = session.run(tf.linalg.sqrtm(x))
    np.testing.assert_allclose(root @ root, x, atol=1e-10)


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4)])
@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("known", [True, False])
def test_lstsq(session, shape, fast, known):
    a, b = RANDOM.rand(2, *shape), RANDOM.rand(2, shape[0], 2)
    matrix = tf.placeholder(tf.float64, [2, *shape] if known else [2, None, None])
    found = session.run(tf.linalg.lstsq(matrix, b, fast=fast), {matrix: a})
    wanted = [np.linalg.lstsq(m, r, rcond=None)[0] for m, r in zip(a, b)]
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-8)


def test_lstsq_of_many_small_matrices_is_one_op(session):
    """More than fits a cache, by small matrices: the op that takes one after the other."""
    found = tf.linalg.lstsq(tf.ones([9000, 4, 2]), tf.ones([9000, 4, 1]), 0.5)
    assert found.op.type == "MatrixSolveLs"
    assert tf.linalg.lstsq(tf.ones([90, 4, 2]), tf.ones([90, 4, 1]), 0.5).op.type != "MatrixSolveLs"


def test_lstsq_refuses_what_is_not_accurate(session):
    with pytest.raises(NotImplementedError, match="complex128"):
        tf.linalg.lstsq(tf.ones([2, 2], tf.complex128), tf.ones([2, 1], tf.complex128), 0.5)


def test_pinv_and_matrix_rank(session):
    a = RANDOM.rand(2, 5, 3)
    a[1, :, 2] = a[1, :, 0] - 2 * a[1, :, 1]
    fed = tf.placeholder(tf.float64)
    for shaped in (tf.constant(a), fed):
        inverse, rank = session.run(
            [tf.linalg.pinv(shaped, validate_args=True), tf.linalg.matrix_rank(shaped)], {fed: a}
        )
        np.testing.assert_allclose(inverse, np.linalg.pinv(a, rcond=1e-12), atol=1e-8)
        assert rank.tolist() == [3, 2]
    with pytest.raises(TypeError, match="float"):
        tf.linalg.pinv(tf.ones([2, 2], tf.int32))
    with pytest.raises(ValueError, match="at least 2"):
        tf.linalg.matrix_rank(tf.ones([2]))


def test_tridiagonal_forms(session):
    n = 5
    matrix = np.diag(RANDOM.rand(n) + 3) + np.diag(RANDOM.rand(n - 1), 1)
    matrix += np.diag(RANDOM.rand(n - 1), -1)
    upper, main, lower = (np.diag(matrix, k) for k in (1, 0, -1))
    compact = np.stack([np.append(upper, 9.0), main, np.insert(lower, 0, 9.0)])
    rhs = RANDOM.rand(n, 2)
    for form, given in (
        ("compact", compact),
        ("sequence", (upper, main, lower)),
        ("matrix", matrix),
    ):
        for pivoting in (True, False):
            x = tf.linalg.tridiagonal_solve(given, rhs, form, partial_pivoting=pivoting)
            np.testing.assert_allclose(matrix @ session.run(x), rhs, atol=1e-10)
        if form != "sequence":
            product = tf.linalg.tridiagonal_matmul(given, rhs, form)
            np.testing.assert_allclose(session.run(product), matrix @ rhs, atol=1e-10)
    x = tf.linalg.tridiagonal_solve(compact, rhs.T, transpose_rhs=True)
    np.testing.assert_allclose(matrix @ session.run(x).T, rhs, atol=1e-10)
    x = tf.linalg.tridiagonal_solve(compact, rhs[:, 0])
    np.testing.assert_allclose(matrix @ session.run(x), rhs[:, 0], atol=1e-10)
    with pytest.raises(ValueError, match="Unrecognized"):
        tf.linalg.tridiagonal_solve(compact, rhs, "dense")
    with pytest.raises(ValueError, match="Expected 3 diagonals"):
        tf.linalg.tridiagonal_solve(compact[:2], rhs)


def test_adjoint(session):
    x = RANDOM.rand(2, 3, 4) + 1j * RANDOM.rand(2, 3, 4)
    found = session.run(tf.linalg.adjoint(x))
    np.testing.assert_array_equal(found, x.conj().transpose(0, 2, 1))


def test_eye_keeps_what_is_known_of_its_shape(session):
    size = tf.placeholder_with_default(2, [])
    assert tf.eye(size, batch_shape=[4]).shape.as_list() == [4, None, None]
