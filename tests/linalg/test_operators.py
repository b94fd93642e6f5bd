"""Linear operators, each against the dense matrix that it stands for."""

from __future__ import annotations

import numpy as np
import pytest

import weft as tf
from weft import testing
from weft.linalg import operator_algebra

L = tf.linalg
TYPES = [np.float32, np.float64, np.complex64, np.complex128]
SIZE = 4


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


class Numbers:
    """Tensors of random numbers, whose shapes are known or only fed."""

    def __init__(self, dtype, known=True):
        self.random, self.dtype, self.known = np.random.RandomState(5), dtype, known

    def __call__(self, *shape, add=0.0, real=False):
        values = self.random.uniform(-1, 1, shape)
        if np.issubdtype(self.dtype, np.complexfloating) and not real:
            values = values + 1j * self.random.uniform(-1, 1, shape)
        values = (values + add).astype(self.dtype)
        if self.known:
            return tf.constant(values)
        return tf.placeholder_with_default(values, None)

    def matrix(self, *shape):
        return self(*shape, add=0.0) + 3 * np.eye(shape[-1], dtype=self.dtype)

    def definite(self, *shape):
        x = self(*shape)
        return tf.matmul(x, x, adjoint_b=True) + 2 * np.eye(shape[-1], dtype=self.dtype)


def _full(n, batch):
    matrix = n.matrix(*batch, SIZE, SIZE)
    return L.LinearOperatorFullMatrix(matrix), matrix


def _positive(n, batch):
    matrix = n.definite(*batch, SIZE, SIZE)
    how = {"is_self_adjoint": True, "is_positive_definite": True}
    return L.LinearOperatorFullMatrix(matrix, **how), matrix


def _triangle(n, batch):
    matrix = n.matrix(*batch, SIZE, SIZE)
    return L.LinearOperatorLowerTriangular(matrix), L.band_part(matrix, -1, 0)


def _diag(n, batch):
    diag = n(*batch, SIZE, add=2)
    return L.LinearOperatorDiag(diag), L.diag(diag)


def _identity(n, batch):
    dense = tf.eye(SIZE, batch_shape=batch, dtype=n.dtype)
    size, batch = (
        (SIZE, list(batch))
        if n.known
        else map(tf.placeholder_with_default, (SIZE, np.array(batch, np.int32)), ([], [None]))
    )
    return L.LinearOperatorIdentity(size, batch_shape=batch, dtype=n.dtype), dense


def _scaled(n, batch):
    multiplier = n(*batch, add=2)
    dense = multiplier[..., None, None] * np.eye(SIZE, dtype=n.dtype)
    return L.LinearOperatorScaledIdentity(SIZE, multiplier), dense


def _circulant(n, batch):
    spectrum = tf.cast(
        n(*batch, SIZE, add=3, real=True), tf.complex64 if n.dtype in TYPES[::2] else tf.complex128
    )
    if np.issubdtype(n.dtype, np.complexfloating):
        kernel = tf.signal.ifft(spectrum)
    else:
        half = tf.real(tf.signal.ifft(spectrum))
        kernel = tf.cast(half, spectrum.dtype)
        spectrum = tf.signal.fft(kernel)
    kernel = tf.cast(kernel, n.dtype)
    columns = [tf.roll(kernel, i, axis=-1) for i in range(SIZE)]
    return L.LinearOperatorCirculant(spectrum, n.dtype), tf.stack(columns, axis=-1)


def _toeplitz(n, batch):
    column, row = n(*batch, SIZE, add=0), n(*batch, SIZE, add=0)
    column = tf.concat([column[..., :1] + 6, column[..., 1:]], -1)
    row = tf.concat([column[..., :1], row[..., 1:]], -1)
    both = tf.concat([tf.reverse(row, [-1]), column[..., 1:]], -1)
    rows = [both[..., SIZE - 1 + i - SIZE + 1 : SIZE + i][..., ::-1] for i in range(SIZE)]
    return L.LinearOperatorToeplitz(column, row), tf.stack(rows, axis=-2)


def _householder(n, batch):
    axis = n(*batch, SIZE, add=0.5)
    unit = (axis / tf.norm(axis, axis=-1, keepdims=True))[..., None]
    dense = np.eye(SIZE, dtype=n.dtype) - 2 * tf.matmul(unit, unit, adjoint_b=True)
    return L.LinearOperatorHouseholder(axis), dense


def _low_rank(n, batch):
    base, diag = n(*batch, SIZE, add=3), n(*batch, 2, add=2)
    u, v = n(*batch, SIZE, 2), n(*batch, SIZE, 2)
    dense = L.diag(base) + tf.matmul(u * diag[..., None, :], v, adjoint_b=True)
    return L.LinearOperatorLowRankUpdate(L.LinearOperatorDiag(base), u, diag, v), dense


def _positive_low_rank(n, batch):
    base = tf.cast(n(*batch, SIZE, add=3, real=True), n.dtype)
    u = n(*batch, SIZE, 2)
    dense = L.diag(base) + tf.matmul(u, u, adjoint_b=True)
    operator = L.LinearOperatorDiag(base, is_self_adjoint=True, is_positive_definite=True)
    return L.LinearOperatorLowRankUpdate(operator, u), dense


def _adjoint(n, batch):
    operator, dense = _full(n, batch)
    return L.LinearOperatorAdjoint(operator), L.adjoint(dense)


def _inversion(n, batch):
    operator, dense = _full(n, batch)
    return L.LinearOperatorInversion(operator), L.inv(dense)


def _composition(n, batch):
    (a, dense_a), (b, dense_b) = _full(n, batch), _triangle(n, batch)
    return L.LinearOperatorComposition([a, b]), tf.matmul(dense_a, dense_b)


def _blocks(n, batch):
    a, b = n.matrix(*batch, 1, 1), n.matrix(*batch, SIZE - 1, SIZE - 1)
    rows = [
        tf.concat([a, tf.zeros([*batch, 1, SIZE - 1], n.dtype)], -1),
        tf.concat([tf.zeros([*batch, SIZE - 1, 1], n.dtype), b], -1),
    ]
    how = {"is_square": True}
    parts = [L.LinearOperatorFullMatrix(x, **how) for x in (a, b)]
    return L.LinearOperatorBlockDiag(parts), tf.concat(rows, -2)


def _kronecker(n, batch):
    a, b = n.matrix(*batch, 2, 2), n.matrix(*batch, 2, 2)
    dense = tf.einsum("...ij,...kl->...ikjl", a, b) if n.known else None
    if dense is None:
        dense = a[..., :, None, :, None] * b[..., None, :, None, :]
    how = {"is_square": True}
    parts = [L.LinearOperatorFullMatrix(x, **how) for x in (a, b)]
    return L.LinearOperatorKronecker(parts), tf.reshape(dense, [*batch, SIZE, SIZE])


MAKERS = {
    name[1:]: make
    for name, make in list(globals().items())
    if name.startswith("_") and callable(make) and not name.startswith("__")
}


@pytest.mark.parametrize("batch, known", [((), True), ((2,), True), ((2, 1), False)])
@pytest.mark.parametrize("name", MAKERS)
def test_operator(session, name, batch, known):
    """All that an operator gives, against the dense matrix."""
    for dtype in {(): TYPES[1:2], (2,): TYPES[::3], (2, 1): TYPES[1:3]}[batch]:
        n = Numbers(dtype, known)
        operator, dense = MAKERS[name](n, batch)
        assert operator.dtype == tf.as_dtype(dtype)
        if known:
            assert operator.shape.as_list() == [*batch, SIZE, SIZE]
            assert operator.batch_shape.as_list() == list(batch)
            assert operator.tensor_rank == len(batch) + 2
            assert operator.domain_dimension == operator.range_dimension == SIZE
        x, wide = n(*batch, SIZE, 3), n(*batch, 3, SIZE)
        more, vector = n(5, *(2,) * len(batch), SIZE, 2), n(*batch, SIZE)
        adjoint = L.adjoint(dense)
        checks = {
            "shape": (operator.shape_tensor(), tf.constant([*batch, SIZE, SIZE])),
            "batch shape": (
                operator.batch_shape_tensor(),
                tf.constant(batch, tf.int32, [len(batch)]),
            ),
            "rank": (operator.tensor_rank_tensor(), tf.constant(len(batch) + 2)),
            "dense": (operator.to_dense(), dense),
            "matmul": (operator.matmul(x), tf.matmul(dense, x)),
            "matmul of more": (operator.matmul(more), tf.matmul(dense + 0 * more[..., :1], more)),
            "adjoint matmul": (operator.matmul(x, adjoint=True), tf.matmul(adjoint, x)),
            "of an adjoint": (
                operator.matmul(wide, adjoint_arg=True),
                tf.matmul(dense, wide, adjoint_b=True),
            ),
            "both": (
                operator.matmul(wide, adjoint=True, adjoint_arg=True),
                tf.matmul(adjoint, wide, adjoint_b=True),
            ),
            "matvec": (operator.matvec(vector), L.matvec(dense, vector)),
            "solve": (tf.matmul(dense, operator.solve(x)), x),
            "solve of more": (
                tf.matmul(dense + 0 * more[..., :1], operator.solve(more)),
                more,
            ),
            "adjoint solve": (tf.matmul(adjoint, operator.solve(x, adjoint=True)), x),
            "solve of an adjoint": (
                tf.matmul(dense, operator.solve(wide, adjoint_arg=True)),
                L.adjoint(wide),
            ),
            "solvevec": (L.matvec(dense, operator.solvevec(vector)), vector),
            "determinant": (operator.determinant(), L.det(dense)),
            "log determinant": (
                tf.cast(operator.log_abs_determinant(), dense.dtype),
                tf.cast(tf.log(tf.abs(L.det(dense))), dense.dtype),
            ),
            "diagonal": (operator.diag_part(), L.diag_part(dense)),
            "trace": (operator.trace(), tf.trace(dense)),
            "sum": (operator.add_to_tensor(dense), dense + dense),
            "adjoint": (operator.adjoint().to_dense(), adjoint),
            "inverse": (operator.inverse().to_dense(), L.inv(dense)),
            "product": (operator.matmul(operator).to_dense(), tf.matmul(dense, dense)),
            "quotient": (
                operator.solve(operator).to_dense(),
                tf.eye(SIZE, batch_shape=batch, dtype=dtype),
            ),
        }
        if operator.is_self_adjoint and operator.is_positive_definite:
            factor = operator.cholesky().to_dense()
            checks["cholesky"] = (factor, L.cholesky(dense))
        found = session.run(checks)
        for what, (value, wanted) in found.items():
            tolerance = 2e-3 if np.finfo(dtype).bits == 32 else 1e-8
            np.testing.assert_allclose(
                value, wanted, rtol=tolerance, atol=tolerance, err_msg=f"{what} {dtype.__name__}"
            )


def test_functions_take_operators(session):
    n = Numbers(np.float64)
    operator, dense = _positive(n, (2,))
    x = n(2, SIZE, 3)
    found = session.run(
        [
            (tf.matmul(operator, x), tf.matmul(dense, x)),
            (tf.matmul(x, operator, adjoint_a=True), tf.matmul(x, dense, adjoint_a=True)),
            (L.adjoint(operator).to_dense(), L.adjoint(dense)),
            (L.cholesky(operator).to_dense(), L.cholesky(dense)),
            (L.det(operator), L.det(dense)),
            (L.diag_part(operator), L.diag_part(dense)),
            (L.inv(operator, adjoint=True).to_dense(), L.inv(dense)),
            (L.logdet(operator), L.logdet(dense)),
            (L.solve(operator, x), L.solve(dense, x)),
            (L.trace(operator), L.trace(dense)),
        ]
    )
    for value, wanted in found:
        np.testing.assert_allclose(value, wanted, rtol=1e-6)
    with pytest.raises(ValueError, match="Transposing"):
        tf.matmul(operator, x, transpose_a=True)
    with pytest.raises(ValueError, match="LinearOperator is not supported"):
        L.solve(dense, operator)


def test_algebra_keeps_structure(session):
    """Products and solutions are of the simplest class that fits."""
    diag = L.LinearOperatorDiag(tf.constant([1.0, 2.0, 3.0]), is_positive_definite=True)
    scaled = L.LinearOperatorScaledIdentity(3, tf.constant(2.0), is_positive_definite=True)
    unit, zeros = L.LinearOperatorIdentity(3), L.LinearOperatorZeros(3)
    triangle = L.LinearOperatorLowerTriangular(tf.ones([3, 3]))
    circulant = L.LinearOperatorCirculant(tf.constant([1.0, 2.0, 3.0]))
    full = L.LinearOperatorFullMatrix(tf.ones([3, 3]))
    for found, kind in (
        (diag.matmul(diag), L.LinearOperatorDiag),
        (diag.matmul(scaled), L.LinearOperatorDiag),
        (scaled.solve(diag), L.LinearOperatorDiag),
        (diag.matmul(triangle), L.LinearOperatorLowerTriangular),
        (triangle.matmul(diag), L.LinearOperatorLowerTriangular),
        (diag.solve(triangle), L.LinearOperatorLowerTriangular),
        (circulant.matmul(circulant), L.LinearOperatorCirculant),
        (circulant.inverse(), L.LinearOperatorCirculant),
        (full.matmul(full), L.LinearOperatorComposition),
        (full.adjoint(), L.LinearOperatorAdjoint),
        (full.inverse(), L.LinearOperatorInversion),
        (zeros.matmul(full), L.LinearOperatorZeros),
        (diag.cholesky(), L.LinearOperatorDiag),
        (L.LinearOperatorBlockDiag([diag, scaled]).inverse(), L.LinearOperatorBlockDiag),
        (L.LinearOperatorKronecker([diag, scaled]).cholesky(), L.LinearOperatorKronecker),
    ):
        assert type(found) is kind
    assert unit.matmul(full) is full and full.matmul(unit) is full
    assert full.inverse().inverse() is full and full.adjoint().adjoint() is full
    assert diag.matmul(scaled).is_positive_definite


def test_rules_of_own_classes(session):
    class Mine(L.LinearOperatorFullMatrix):
        pass

    mine = Mine(tf.ones([2, 2]))
    assert type(mine.adjoint()) is L.LinearOperatorAdjoint
    operator_algebra.adjoint.register(Mine)(lambda o: "mine")
    try:
        assert mine.adjoint() == "mine"
        with pytest.raises(ValueError, match="already been registered"):
            operator_algebra.adjoint.register(Mine)(lambda o: o)
        with pytest.raises(TypeError, match="callable"):
            operator_algebra.adjoint.register(int)(3)
    finally:
        del operator_algebra.adjoint._rules[(Mine,)]


def test_own_class_needs_little(session):
    """Shape and products are enough; the rest follows."""

    class Twice(L.LinearOperator):
        def __init__(self):
            super().__init__(tf.float32, is_square=True, name="twice")

        def _shape(self):
            return tf.TensorShape([3, 3])

        def _shape_tensor(self):
            return tf.constant([3, 3])

        def _matmul(self, x, adjoint=False, adjoint_arg=False):
            return 2 * (L.adjoint(x) if adjoint_arg else x)

    twice = Twice()
    found = session.run([twice.to_dense(), twice.determinant(), twice.solvevec([2.0, 4.0, 6.0])])
    np.testing.assert_allclose(found[0], 2 * np.eye(3))
    np.testing.assert_allclose(found[1], 8)
    np.testing.assert_allclose(found[2], [1, 2, 3])
    with pytest.raises(NotImplementedError, match="_shape"):
        L.LinearOperator(tf.float32).shape_tensor()


def test_zeros(session):
    zeros = L.LinearOperatorZeros(2, 3, batch_shape=[4], is_square=False, is_self_adjoint=False)
    assert zeros.shape.as_list() == [4, 2, 3]
    assert session.run(zeros.matmul(tf.ones([3, 5]))).shape == (4, 2, 5)
    assert session.run(zeros.matmul(tf.ones([2, 5]), adjoint=True)).shape == (4, 3, 5)
    assert session.run(zeros.diag_part()).shape == (4, 2)
    assert not session.run(zeros.to_dense()).any()
    square = L.LinearOperatorZeros(2)
    assert session.run([square.determinant(), square.trace()]) == [0, 0]
    with pytest.raises(tf.errors.InvalidArgumentError, match="non-invertible"):
        square.assert_non_singular()


def test_variables_are_followed(session):
    v = tf.get_variable("v", initializer=[1.0, 2.0], use_resource=True)
    operator = L.LinearOperatorDiag(v)
    assert operator.variables == (v,)
    dense = operator.to_dense()
    session.run(tf.global_variables_initializer())
    session.run(v.assign([3.0, 4.0]))
    np.testing.assert_allclose(session.run(dense), np.diag([3.0, 4.0]))
    (grad,) = tf.gradients(operator.log_abs_determinant(), [v])
    np.testing.assert_allclose(session.run(grad), [1 / 3, 1 / 4])


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: L.LinearOperatorDiag(1.0), "at least 1 dimension"),
        (lambda: L.LinearOperatorDiag([1.0], is_self_adjoint=False), "always self adjoint"),
        (lambda: L.LinearOperatorFullMatrix([1.0]), "at least 2 dimensions"),
        (lambda: L.LinearOperatorFullMatrix([[1]]), "dtype"),
        (lambda: L.LinearOperatorLowerTriangular([[1.0]], is_square=False), "square"),
        (lambda: L.LinearOperatorIdentity(-1), "non-negative"),
        (lambda: L.LinearOperatorIdentity(2.0), "integer"),
        (lambda: L.LinearOperatorIdentity([2]), "0-D"),
        (lambda: L.LinearOperatorIdentity(2, batch_shape=3), "1-D"),
        (lambda: L.LinearOperatorIdentity(2, is_square=False), "always square"),
        (lambda: L.LinearOperatorZeros(2, 3), "is_square=True"),
        (lambda: L.LinearOperatorHouseholder([1.0], is_positive_definite=True), "non-positive"),
        (lambda: L.LinearOperatorCirculant3D([[1.0]]), "at least 3 dimensions"),
        (lambda: L.LinearOperatorToeplitz([1.0, 2.0], [1.0]), "mismatched"),
        (lambda: L.LinearOperatorComposition([]), "non-empty"),
        (lambda: L.LinearOperatorComposition(3), "iterable"),
        (
            lambda: L.LinearOperatorBlockDiag([L.LinearOperatorFullMatrix(tf.ones([2, 3]))]),
            "square matrices",
        ),
        (
            lambda: L.LinearOperatorKronecker(
                [L.LinearOperatorIdentity(2), L.LinearOperatorIdentity(2, dtype=tf.float64)]
            ),
            "same dtype",
        ),
        (
            lambda: L.LinearOperatorAdjoint(L.LinearOperatorIdentity(2), is_self_adjoint=False),
            "if and only if",
        ),
        (lambda: L.LinearOperatorInversion(L.LinearOperatorZeros(2)), "is_non_singular"),
        (lambda: L.LinearOperatorFullMatrix(tf.ones([2, 3])).determinant(), "not be square"),
        (lambda: L.LinearOperatorFullMatrix(tf.ones([2, 3])).inverse(), "non square"),
        (lambda: L.LinearOperatorFullMatrix(tf.ones([2, 2])).cholesky(), "positive definite"),
        (lambda: L.LinearOperatorIdentity(2).matmul(tf.ones([3, 2])), "not compatible"),
        (lambda: L.LinearOperatorIdentity(2).matmul(tf.ones([2, 2], tf.float64)), "dtype"),
        (
            lambda: L.LinearOperatorIdentity(2).matmul(L.LinearOperatorIdentity(3)),
            "Operators are incompatible",
        ),
    ],
)
def test_doubtful_arguments(session, make, message):
    with pytest.raises((ValueError, TypeError, NotImplementedError), match=message):
        make()


def test_checks_at_run_time(session):
    good, bad = tf.constant([1.0, 2.0]), tf.placeholder_with_default([1.0, 0.0], [2])
    minus = tf.placeholder_with_default([1.0, -2.0], [2])
    session.run(L.LinearOperatorDiag(good).assert_non_singular() or [])
    for check, message in (
        (L.LinearOperatorDiag(bad).assert_non_singular(), "Singular operator"),
        (L.LinearOperatorDiag(minus).assert_positive_definite(), "not positive definite"),
        (L.LinearOperatorCirculant(bad).assert_non_singular(), "Singular operator"),
        (L.LinearOperatorFullMatrix(L.diag(bad)).assert_non_singular(), "Singular matrix"),
        (
            L.LinearOperatorFullMatrix(
                tf.reshape(bad, [1, 2]) + [[0.0], [1.0]]
            ).assert_self_adjoint(),
            "not equal to its adjoint",
        ),
        (
            L.LinearOperatorScaledIdentity(2, minus).assert_positive_definite(),
            "not positive definite",
        ),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            session.run(check)


def test_nested_circulants(session):
    """Against convolutions that wrap around in two and three dimensions."""
    random = np.random.RandomState(1)
    for kind, size in (
        (L.LinearOperatorCirculant2D, (2, 3)),
        (L.LinearOperatorCirculant3D, (2, 3, 2)),
    ):
        kernel, x = random.rand(*size), random.rand(*size)
        spectrum = np.fft.fftn(kernel)
        operator = kind(spectrum, tf.float64)
        assert operator.block_depth == len(size)
        assert operator.block_shape.as_list() == list(size)
        wanted = np.fft.ifftn(spectrum * np.fft.fftn(x)).real.ravel()
        y, back, own = session.run(
            [
                operator.matvec(x.ravel()),
                operator.solvevec(wanted),
                operator.convolution_kernel(),
            ]
        )
        np.testing.assert_allclose(y, wanted)
        np.testing.assert_allclose(back, x.ravel())
        np.testing.assert_allclose(own, kernel)
        session.run(operator.assert_hermitian_spectrum())


def test_eager_operators():
    with testing.eager_mode():
        operator = L.LinearOperatorFullMatrix([[2.0, 0.0], [0.0, 4.0]])
        np.testing.assert_allclose(operator.solvevec([2.0, 4.0]).numpy(), [1, 1])
        assert float(operator.determinant()) == pytest.approx(8)
