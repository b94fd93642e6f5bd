"""Linear algebra; where signs are free, what is compared does not depend on them."""

from __future__ import annotations

import numpy as np

from ..case import Family, row, script
from ..values import COMPLEX, SINGLES, Dtype, Value, lit, num

ALL = SINGLES + COMPLEX
INVALID = "InvalidArgumentError"


def well(*shape):
    """Square matrices far from singular."""
    inner = num(*shape)

    def make(rng, dtype):
        return inner.make(rng, dtype) / 2.0 + 3.0 * np.eye(shape[-1])

    return Value(make)


def definite(*shape):
    """Self-adjoint positive definite matrices with eigenvalues apart."""
    inner = num(*shape)

    def make(rng, dtype):
        x = inner.make(rng, dtype) / 4.0
        return (x + np.swapaxes(x, -1, -2).conj()) / 2.0 + np.diag(2.0 + 2 * np.arange(shape[-1]))

    return Value(make)


def singular():
    return lit([[1.0, 2.0], [2.0, 4.0]])


SQUARE = ((), (2,), (2, 1))
rows = []
for op, make in (
    ("Cholesky", definite),
    ("MatrixDeterminant", well),
    ("LogMatrixDeterminant", well),
    ("MatrixInverse", well),
    ("Lu", well),
):
    for batch in SQUARE:
        over = ALL if batch != (2, 1) else ("float32",)
        # Of a self-adjoint matrix half is read, and the gradient is spread over both halves.
        how = dict(numeric_=make is not definite, tol_=20)
        rows.append(row(op, "batch of %s" % (batch,), over, input=make(*(batch + (3, 3))), **how))
    rows.append(row(op, "of one", "float32", input=make(1, 1), tol_=20))
    rows.append(row(op, "none", "float32", input=make(0, 3, 3), grad_=False))
    rows.append(row(op, "empty", "float32", input=make(2, 0, 0), grad_=False, eager_=op != "Lu"))
    rows.append(row(op, "not square", input=num(2, 3), error_=("ValueError", INVALID)))
# TensorFlow's gradient takes no notice of `adjoint`.
rows += [
    row("MatrixInverse", "adjoint", ALL, input=well(2, 3, 3), adjoint=True, grad_="own", tol_=20),
    row("MatrixInverse", "singular", input=singular(), error_=INVALID),
    row("Cholesky", "indefinite", input=lit([[1.0, 2.0], [2.0, 1.0]]), error_=INVALID),
    row(
        "Cholesky",
        "only the lower triangle",
        SINGLES,
        input=lit([[4.0, 9.0], [2.0, 3.0]]),
        numeric_=False,
    ),
    row("MatrixDeterminant", "singular", "float64", input=singular(), grad_=False),
    row("LogMatrixDeterminant", "negative", SINGLES, input=lit([[0.0, 2.0], [1.0, 5.0]]), tol_=20),
    row("Lu", "rows exchanged", ALL, input=lit([[0.0, 1, 2], [4, 1, 1], [8, 8, 1]]), tol_=20),
    row("Lu", "wide indices", input=well(2, 3, 3), output_idx_type=Dtype("int64"), tol_=20),
    row("Lu", "singular", input=singular(), error_=INVALID),
    row("CholeskyGrad", "", SINGLES, l=well(2, 3, 3), grad=num(2, 3, 3), tol_=20),
    row("CholeskyGrad", "one", l=well(3, 3), grad=num(3, 3), tol_=20),
]
for op in ("MatrixSolve", "MatrixTriangularSolve"):
    for batch in SQUARE:
        over = ALL if batch != (2, 1) else ("float32",)
        for adjoint in (False, True):
            for lower in (False, True) if "Tri" in op else (None,):
                how = {} if lower is None else {"lower": lower}
                label = "batch of %s%s%s" % (batch, ", adjoint" * adjoint, ", lower" * bool(lower))
                given = dict(matrix=well(*(batch + (3, 3))), rhs=num(*(batch + (3, 2))))
                rows.append(row(op, label, over, adjoint=adjoint, tol_=20, **dict(given, **how)))
    for label, matrix, rhs in (
        ("singular", singular(), num(2, 1)),
        ("not square", num(2, 3), num(2, 1)),
        ("other batch", well(3, 2, 2), num(2, 2, 1)),
    ):
        if not (label == "singular" and "Tri" in op):
            rows.append(row(op, label, matrix=matrix, rhs=rhs, error_=(INVALID, "ValueError")))
    rows.append(row(op, "no columns", matrix=well(3, 3), rhs=num(3, 0), grad_=False))
rows += [
    row(
        "MatrixTriangularSolve",
        "zero on the diagonal",
        matrix=lit([[1.0, 2.0], [2.0, 0.0]]),
        rhs=num(2, 1),
        error_=INVALID,
    ),
    row("MatrixTriangularSolve", "many", SINGLES, matrix=well(9, 2, 2), rhs=num(9, 2, 3), tol_=20),
]
for m, n in ((4, 3), (3, 4), (3, 3)):
    for regularizer in (0.0, 0.5):
        rows.append(
            row(
                "MatrixSolveLs",
                "%d x %d, %s" % (m, n, regularizer),
                ALL if not regularizer else SINGLES,
                matrix=num(2, m, n),
                rhs=num(2, m, 2),
                l2_regularizer=lit(regularizer, "float64"),
                grad_=["matrix", "rhs"],
                tol_=500,
            )
        )
    rows.append(
        row(
            "MatrixSolveLs",
            "%d x %d, slow" % (m, n),
            ALL,
            matrix=num(2, m, n),
            rhs=num(2, m, 2),
            l2_regularizer=lit(0.0, "float64"),
            fast=False,
            grad_=False,
            tol_=500,
        )
    )
rows += [
    row(
        "MatrixSolveLs",
        "deficient",
        "float64",
        matrix=lit([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]]),
        rhs=num(3, 2),
        l2_regularizer=lit(0.0, "float64"),
        fast=False,
        grad_=False,
        tol_=500,
    ),
    row(
        "MatrixSolveLs",
        "negative regularizer",
        matrix=num(3, 2),
        rhs=num(3, 2),
        l2_regularizer=lit(-1.0, "float64"),
        error_=INVALID,
    ),
    row(
        "MatrixSolveLs",
        "other rows",
        matrix=num(3, 2),
        rhs=num(2, 2),
        l2_regularizer=lit(0.0, "float64"),
        error_=(INVALID, "ValueError"),
    ),
]
for batch in SQUARE:
    over = ALL if batch != (2, 1) else ("float32",)
    label = "batch of %s" % (batch,)
    shape = batch + (3, 3)
    rows += [
        row("MatrixSquareRoot", label, over, input=definite(*shape), tol_=50),
        row("MatrixLogarithm", label, COMPLEX, input=definite(*shape), grad_=False, tol_=50),
        row(
            "MatrixExponential",
            label,
            over,
            input=num(*shape),
            grad_=False,
            oracle_=lambda tf, arguments, attrs: [tf.linalg.expm(arguments["input"])],
            tol_=50,
        ),
    ]
for op in ("SelfAdjointEigV2", "MatrixSquareRoot", "MatrixLogarithm"):
    dtype = "complex64" if op == "MatrixLogarithm" else "float32"
    rows.append(row(op, "not square", dtype, input=num(2, 3), error_=("ValueError", INVALID)))
    rows.append(row(op, "empty", dtype, input=num(0, 0), grad_=False))
rows.append(row("SelfAdjointEigV2", "of one", ALL, input=lit([[[2.0]], [[-3.0]]]), numeric_=False))
rows += [
    row("Qr", "", SINGLES, input=num(2, 4, 3), tol_=50),
    row("Qr", "square", SINGLES, input=well(2, 3, 3), tol_=50),
    row("Qr", "complex", COMPLEX, input=num(2, 4, 3), tol_=50, grad_=False),
    row("Qr", "wide", ALL, input=num(2, 3, 4), tol_=50, grad_=False),
    row("Qr", "full", ALL, input=num(4, 3), full_matrices=True, tol_=50, grad_=False),
    row("Qr", "full and wide", input=num(3, 4), full_matrices=True, tol_=50, grad_=False),
]


def diagonals(*shape):
    """Three diagonals, the main one large."""
    inner = num(*shape)

    def make(rng, dtype):
        x = inner.make(rng, dtype)
        x[..., 1, :] += 6
        return x

    return Value(make)


for batch in SQUARE:
    shape = batch + (1, 4)
    label = "batch of %s" % (batch,)
    rows += [
        row(
            "TridiagonalMatMul",
            label,
            ALL,
            superdiag=num(*shape),
            maindiag=num(*shape),
            subdiag=num(*shape),
            rhs=num(*(batch + (4, 2))),
        ),
        # TensorFlow transposes where complex numbers ask for the adjoint.
        row(
            "TridiagonalSolve",
            label,
            SINGLES,
            diagonals=diagonals(*(batch + (3, 4))),
            rhs=num(*(batch + (4, 2))),
            tol_=20,
        ),
        row(
            "TridiagonalSolve",
            "complex, " + label,
            COMPLEX,
            diagonals=diagonals(*(batch + (3, 4))),
            rhs=num(*(batch + (4, 2))),
            grad_="own",
            tol_=20,
        ),
        row(
            "TridiagonalSolve",
            "without pivoting, " + label,
            SINGLES,
            diagonals=diagonals(*(batch + (3, 4))),
            rhs=num(*(batch + (4, 2))),
            partial_pivoting=False,
            tol_=20,
        ),
    ]
EXCHANGED = lit([[2.0, 1.0, 0.0], [0.0, 0.0, 3.0], [0.0, 1.0, 2.0]])
rows += [
    row("TridiagonalSolve", "exchanges", SINGLES, diagonals=EXCHANGED, rhs=num(3, 2), tol_=20),
    row(
        "TridiagonalSolve",
        "needs exchanges",
        diagonals=EXCHANGED,
        rhs=num(3, 2),
        partial_pivoting=False,
        error_=INVALID,
    ),
    row("TridiagonalSolve", "of one", diagonals=lit([[0.0], [2.0], [0.0]]), rhs=num(1, 2)),
    row(
        "TridiagonalSolve",
        "zero",
        diagonals=lit([[0.0], [0.0], [0.0]]),
        rhs=num(1, 2),
        error_=INVALID,
    ),
    row(
        "TridiagonalSolve",
        "singular",
        diagonals=lit([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]]),
        rhs=num(2, 2),
        error_=INVALID,
    ),
    row(
        "TridiagonalSolve",
        "two diagonals",
        diagonals=num(2, 3),
        rhs=num(3, 2),
        error_=(INVALID, "ValueError"),
    ),
]


@script("SelfAdjointEigV2", tol=50)
def eigenvectors(g):
    tf = g.tf
    a = [[2.0, 9.0, 9.0], [0.5, -1.0, 9.0], [0.25, 1.0, 4.0]]
    for dtype in ("float32", "float64", "complex64"):
        x = g.feed([a, a], dtype)
        e, v = tf.linalg.eigh(x)
        back = tf.matmul(v * tf.expand_dims(e, -2), v, adjoint_b=True)
        yield g.run(e, back, tf.abs(v))
        yield g.run(*tf.gradients([tf.square(tf.abs(v)), tf.square(tf.abs(e))], [x]))
        values = tf.linalg.eigvalsh(x)
        yield g.run(values, *tf.gradients(tf.square(tf.abs(values)), [x]))


OLD = """BatchCholesky BatchCholeskyGrad BatchMatrixDeterminant BatchMatrixInverse BatchMatrixSolve
BatchMatrixTriangularSolve BatchMatrixSolveLs BatchSelfAdjointEigV2 BatchSelfAdjointEig SelfAdjointEig
BatchSvd BatchMatrixDiag BatchMatrixDiagPart BatchMatrixSetDiag BatchMatrixBandPart""".split()


@script(*OLD, tol=50)
def forms_of_old_graphs(g):
    """What graphs had before the ops themselves took batches."""
    tf = g.tf
    one = [[4.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 5.0]]
    for dtype in ("float32", "float64"):
        how = dict(T=tf.as_dtype(dtype))
        x, b = g.feed([one, one], dtype), g.feed([[[1.0], [2.0], [0.5]]] * 2, dtype)
        vectors, quarter = (
            g.feed([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype),
            g.feed(0.25, "float64"),
        )
        outputs = []
        for op in ("BatchCholesky", "BatchMatrixDeterminant", "BatchMatrixDiagPart"):
            outputs += g.old_op(op, {"input": x}, **how)
        outputs += g.old_op("BatchMatrixInverse", {"input": x}, adjoint=True, **how)
        outputs += g.old_op("BatchCholeskyGrad", {"l": x, "grad": x}, **how)
        system = {"matrix": x, "rhs": b}
        outputs += g.old_op("BatchMatrixSolve", system, adjoint=False, **how)
        triangle = dict(how, lower=False, adjoint=True)
        outputs += g.old_op("BatchMatrixTriangularSolve", system, **triangle)
        regularized = dict(system, l2_regularizer=quarter)
        outputs += g.old_op("BatchMatrixSolveLs", regularized, fast=True, **how)
        outputs += g.old_op("BatchMatrixDiag", {"diagonal": vectors}, **how)
        outputs += g.old_op("BatchMatrixSetDiag", {"input": x, "diagonal": vectors}, **how)
        lower, upper = g.constant(1, "int64"), g.constant(-1, "int64")
        band = {"input": x, "num_lower": lower, "num_upper": upper}
        outputs += g.old_op("BatchMatrixBandPart", band, **how)
        svd = g.old_op("BatchSvd", {"input": x}, compute_uv=False, full_matrices=False, **how)
        outputs.append(svd[0])
        for op in ("SelfAdjointEig", "BatchSelfAdjointEig"):
            outputs += [tf.abs(found) for found in g.old_op(op, {"input": x}, **how)]
        found = g.old_op("BatchSelfAdjointEigV2", {"input": x}, compute_v=True, **how)
        yield g.run(*(outputs + [tf.abs(v) for v in found]))


@script("Svd", tol=20, later=True)
def singular_values_and_vectors(g):
    tf = g.tf
    x = g.feed([[1.0, 2.0], [3.0, -4.0], [0.5, 6.0]])
    for full in (False, True):
        s, u, v = g.raw.Svd(input=x, full_matrices=full)
        back = tf.matmul(u[:, :2] * s, v, transpose_b=True)
        yield g.run(s, back, tf.matmul(u, u, transpose_a=True), tf.abs(v), tf.shape(u))
    wide = g.feed([[[1.0, 2.0, 3.0], [3.0, -4.0, 0.5]]], "float64")
    yield g.run(g.raw.Svd(input=wide, compute_uv=False)[0])
    yield g.run(*tf.gradients(tf.square(tf.linalg.svd(x, compute_uv=False)), [x]))


FAMILY = Family("linalg", rows, [singular_values_and_vectors, eigenvectors, forms_of_old_graphs])
