"""Fourier transforms."""

from __future__ import annotations

from ..case import Family, row
from ..values import COMPLEX, const, num

INVALID = ("InvalidArgumentError", "ValueError")
rows = []
SHAPES = {1: ((5,), (8,), (2, 6)), 2: ((3, 4), (2, 4, 3)), 3: ((2, 3, 4), (2, 4, 2, 3))}
for axes, shapes in SHAPES.items():
    end = "" if axes == 1 else "%dD" % axes
    for shape in shapes:
        label = "x".join(str(n) for n in shape)
        batch, inner = shape[: len(shape) - axes], shape[len(shape) - axes :]
        half = batch + inner[:-1] + (inner[-1] // 2 + 1,)
        longer = tuple(n + 1 for n in shape)
        for op in ("FFT", "IFFT"):
            rows.append(row(op + end, label, COMPLEX, input=num(*shape), tol_=20))
        # TensorFlow has no gradient in three dimensions, and one that fails for an input cut short.
        grad = True if axes < 3 else "own"
        how = dict(fft_length=const(list(inner)), tol_=20, numeric_=False)
        rows.append(row("RFFT" + end, label, input=num(*shape), grad_=grad, **how))
        rows.append(row("IRFFT" + end, label, "complex64", input=num(*half), grad_=grad, **how))
        rows.append(row("RFFT" + end, label + " of more", input=num(*longer), grad_="own", **how))
    for op in ("FFT", "RFFT", "IRFFT"):
        given = {} if op == "FFT" else {"fft_length": const([3] * axes)}
        dtype = "float32" if op == "RFFT" else "complex64"
        few = num(*([3] * (axes - 1)))
        rows.append(row(op + end, "too few axes", dtype, input=few, error_=INVALID, **given))
        if given:
            short = num(*([3] * (axes - 1) + [1]))
            rows.append(row(op + end, "short", dtype, input=short, error_=INVALID, **given))
            wrong = const([3] * (axes + 1))
            full = num(*([3] * axes))
            rows.append(
                row(op + end, "lengths", dtype, input=full, fft_length=wrong, error_=INVALID)
            )
rows += [
    row("FFT", "empty", "complex64", input=num(2, 0), grad_=False),
    row("RFFT", "empty", input=num(0, 4), fft_length=const([4]), grad_=False),
    row("IRFFT", "empty", "complex64", input=num(0, 3), fft_length=const([4]), grad_=False),
]


def newer(op):
    """How the oracle computes an op that only graphs of older TensorFlows may hold."""
    return lambda tf, arguments, attrs: [getattr(tf.raw_ops, op)(**arguments)]


for axes, end in ((1, ""), (2, "2D"), (3, "3D")):
    for op in ("FFT" + end, "IFFT" + end):
        given = dict(input=num(2, *range(2, 2 + axes)), grad_=False, oracle_=newer(op))
        rows.append(row("Batch" + op, "", "complex64", tol_=20, **given))

FAMILY = Family("signal", rows)
