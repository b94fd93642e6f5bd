"""Decompositions and solvers beyond the conformance cases: sizes, failures, half precision."""

from __future__ import annotations

import numpy as np
import pytest

import weft as tf
from weft import testing

TIERS = ("interpret", "compile")
RANDOM = np.random.RandomState(7)
SINGULAR = np.array([[1.0, 2.0], [2.0, 4.0]], np.float32)
FAILURES = {
    "cholesky": (tf.linalg.cholesky, [[1.0, 2.0], [2.0, 1.0]], "Cholesky decomposition was not"),
    "inverse": (tf.linalg.inv, SINGULAR, "not invertible"),
    "lu": (lambda x: tf.linalg.lu(x)[0], SINGULAR, "not invertible"),
    "solve": (lambda x: tf.linalg.solve(x, x), SINGULAR, "not invertible"),
    "triangular": (
        lambda x: tf.linalg.triangular_solve(x, x),
        [[0.0, 0.0], [1.0, 1.0]],
        "not invertible",
    ),
    "least squares": (
        lambda x: tf.raw_ops.MatrixSolveLs(matrix=x, rhs=x, l2_regularizer=0.0, fast=True),
        [[0.0, 0.0], [0.0, 1.0]],
        "rank deficient",
    ),
    "tridiagonal": (
        lambda x: tf.linalg.tridiagonal_solve(x, tf.ones([2, 1]), "matrix"),
        SINGULAR,
        "not invertible",
    ),
}


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("name", FAILURES)
def test_failure(name, tier):
    """One bad matrix of a batch fails the step, with the op's name; the session goes on."""
    function, bad, message = FAILURES[name]
    with tf.Graph().as_default(), tf.Session() as session, testing.tier(tier):
        x = tf.placeholder(tf.float32, [2, 2])
        with tf.name_scope("here"):
            y = function(x)
        good = np.eye(2, dtype=np.float32)
        before = session.run(y, {x: good})
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError, match=message) as caught:
                session.run(y, {x: bad})
            assert caught.value.op.name.startswith("here/")
        np.testing.assert_array_equal(session.run(y, {x: good}), before)


@pytest.mark.parametrize("tier", TIERS)
def test_half_precision(tier):
    """Computed in single precision, for which alone there are libraries."""
    x = (RANDOM.rand(2, 3, 3) + 3 * np.eye(3)).astype(np.float16)
    spd = (x @ x.transpose(0, 2, 1)).astype(np.float16)
    with tf.Graph().as_default(), tf.Session() as session, testing.tier(tier):
        a, s = tf.constant(x), tf.constant(spd)
        outputs = [
            tf.linalg.inv(a),
            tf.linalg.solve(a, s),
            tf.linalg.triangular_solve(a, s),
            tf.linalg.cholesky(s),
            tf.linalg.det(a),
            tf.linalg.qr(a)[1],
            tf.linalg.eigvalsh(s),
            tf.linalg.lu(a)[0],
        ]
        assert all(output.dtype == tf.float16 for output in outputs)
        found = session.run(outputs)
    assert all(value.dtype == np.float16 for value in found)
    np.testing.assert_allclose(found[0], np.linalg.inv(x.astype(float)), rtol=1e-2, atol=1e-3)
    lower = np.linalg.cholesky(spd.astype(float))
    np.testing.assert_allclose(found[3], lower, rtol=1e-2, atol=1e-3)
    np.testing.assert_allclose(found[4], np.linalg.det(x.astype(float)), rtol=1e-2)


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("adjoint", [True, False])
@pytest.mark.parametrize("batch, n", [(1, 50), (70, 3)])
def test_triangular_solve(tier, lower, adjoint, batch, n):
    """Few large and many small matrices; what lies in the other triangle does not matter."""
    matrix = RANDOM.rand(batch, n, n) + 1j * RANDOM.rand(batch, n, n) + 3 * np.eye(n)
    rhs = RANDOM.rand(batch, n, 2) + 0j
    triangle = np.tril(matrix) if lower else np.triu(matrix)
    if adjoint:
        triangle = triangle.conj().transpose(0, 2, 1)
    with tf.Graph().as_default(), tf.Session() as session, testing.tier(tier):
        x = tf.linalg.triangular_solve(matrix, rhs, lower=lower, adjoint=adjoint)
        np.testing.assert_allclose(triangle @ session.run(x), rhs, atol=1e-9)


@pytest.mark.parametrize("tier", TIERS)
def test_lu_gives_back_the_matrix(tier):
    x = RANDOM.rand(3, 5, 5)
    with tf.Graph().as_default(), tf.Session() as session, testing.tier(tier):
        lu, order = session.run(tf.linalg.lu(x, output_idx_type=tf.int64))
    product = (np.tril(lu, -1) + np.eye(5)) @ np.triu(lu)
    np.testing.assert_allclose(product, np.take_along_axis(x, order[..., None], 1), atol=1e-12)
    assert order.dtype == np.int64


def test_names_of_outputs():
    with tf.Graph().as_default():
        x = tf.eye(3)
        assert tf.linalg.qr(x)._fields == ("q", "r")
        assert tf.linalg.slogdet(x)._fields == ("sign", "log_abs_determinant")
        assert tf.linalg.lu(x)._fields == ("lu", "p")
        assert tf.self_adjoint_eig(x)[0].shape == [3]


@pytest.mark.parametrize("function", [tf.linalg.inv, tf.linalg.cholesky, tf.linalg.qr])
def test_a_vector_is_refused(function):
    """At once where its rank is known, else in the step. (TensorFlow's process ends there.)"""
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(ValueError, match="rank 2"):
            function(tf.ones([3]))
        x = tf.placeholder(tf.float32)
        y = function(x)
        with pytest.raises(tf.errors.InvalidArgumentError, match="rank 2"):
            session.run(y, {x: [1.0, 2.0]})


@pytest.mark.parametrize("tier", TIERS)
def test_logdet_and_cholesky_solve(tier):
    x = RANDOM.rand(2, 4, 4)
    spd = x @ x.transpose(0, 2, 1) + np.eye(4)
    rhs = RANDOM.rand(2, 4, 3)
    with tf.Graph().as_default(), tf.Session() as session, testing.tier(tier):
        a = tf.constant(spd)
        found = session.run([tf.linalg.logdet(a), tf.cholesky_solve(tf.cholesky(a), rhs)])
    np.testing.assert_allclose(found[0], np.linalg.slogdet(spd)[1])
    np.testing.assert_allclose(spd @ found[1], rhs, atol=1e-10)


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_spoils_its_own_matrix_only(tier, bad):
    """And ends: LAPACK looks for the singular values of infinities for ever."""
    x = np.stack([np.eye(3), 2 * np.eye(3)]).astype(np.float32)
    x[1, 1, 1] = bad
    with tf.Graph().as_default(), tf.Session() as session, testing.tier(tier):
        a = tf.placeholder(tf.float32, [2, 3, 3])
        outputs = [
            tf.linalg.svd(a)[0],
            tf.linalg.cholesky(a),
            tf.linalg.inv(a),
            tf.linalg.sqrtm(a),
            tf.linalg.expm(a),
            tf.linalg.lstsq(a, tf.ones([2, 3, 1]), fast=False),
        ]
        for value in session.run(outputs, {a: x}):
            assert np.isfinite(value[0]).all()
        assert np.isnan(session.run(outputs[0], {a: x})[1]).all()
        with pytest.raises(tf.errors.InvalidArgumentError, match="not successful"):
            session.run(tf.linalg.eigvalsh(a), {a: x})
