"""Functions of one tensor, element by element, and the gradient ops that belong to them."""

from __future__ import annotations

from ..case import Family, row
from ..values import (
    COMPLEX,
    FLOATS,
    HALVES,
    INTS,
    REALS,
    SINGLES,
    UINTS,
    Dtype,
    T,
    between,
    boolean,
    const,
    flags,
    i32,
    lit,
    nonzero,
    num,
    pos,
    special,
    zeros,
)

FLOATS_COMPLEX = FLOATS + COMPLEX
FLOATS_COMPLEX_INTS = FLOATS_COMPLEX + ("int32", "int64")
SMOOTH = ("Sin", "Cos", "Tan", "Sinh", "Cosh", "Tanh", "Exp", "Expm1", "Sigmoid", "Square", "Neg")

rows = []


def everywhere(op, values, over=FLOATS_COMPLEX, **options):
    """The op on ordinary values of every dtype, on special ones, on a scalar and on nothing."""
    name = options.pop("name", "x")
    rows.append(row(op, "", over, **dict(options, **{name: values(2, 3)})))
    rows.append(row(op, "scalar", **dict(options, **{name: values()})))
    rows.append(row(op, "empty", **dict(options, **{name: zeros(0, 3)})))
    special_options = {k: v for k, v in options.items() if not k.endswith("_")}
    # TensorFlow's square roots of float32 are a vector instruction's estimate: not for infinity.
    wide = ("float64",) if op in ("Sqrt", "Rsqrt") else SINGLES
    rows.append(row(op, "special", wide, grad_=False, **dict(special_options, **{name: special()})))


def unit(*shape):
    return between(-0.9, 0.9, *shape)


def above_one(*shape):
    return between(1.25, 3, *shape)


everywhere("Abs", nonzero, FLOATS + INTS)
everywhere("Acos", unit)
everywhere("Acosh", above_one)
everywhere("Asin", unit)
everywhere("Asinh", num)
everywhere("Atan", num)
everywhere("Atanh", unit)
everywhere("BesselI0e", num, FLOATS)
everywhere("BesselI1e", num, FLOATS)
everywhere("Ceil", num, FLOATS, numeric_=False)
everywhere("Digamma", pos, FLOATS, tol_=5)
everywhere("Erf", num, FLOATS)
everywhere("Erfc", num, FLOATS, tol_=3)
everywhere("Floor", num, FLOATS, numeric_=False)
everywhere("Inv", nonzero, FLOATS_COMPLEX)
everywhere("IsFinite", num, FLOATS)
everywhere("IsInf", num, FLOATS)
everywhere("IsNan", num, FLOATS)
everywhere("Lgamma", pos, FLOATS, tol_=5)
everywhere("Log", pos)
everywhere("Log1p", pos)
everywhere("Reciprocal", nonzero, FLOATS_COMPLEX)
everywhere("Rint", num, FLOATS, numeric_=False)
everywhere("Round", num, FLOATS + ("int32", "int64"), numeric_=False)
everywhere("Rsqrt", pos)
everywhere("Sign", nonzero, FLOATS_COMPLEX_INTS, numeric_=False)
everywhere("Sqrt", pos)
for op in SMOOTH:
    everywhere(op, num, FLOATS_COMPLEX_INTS if op in ("Square", "Neg") else FLOATS_COMPLEX, tol_=2)

rows += [
    row(
        "Round",
        "halves",
        SINGLES,
        grad_=False,
        x=lit([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997]),
    ),
    row("Rint", "halves", SINGLES, grad_=False, x=lit([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5])),
    row("Sign", "zero", ("float32", "int32", "complex64"), grad_=False, x=lit([0, 1, -1])),
    row("Abs", "least integer", "int32", x=lit([-2147483648, 2147483647])),
    row("Sigmoid", "far out", SINGLES, grad_=False, x=lit([-1000.0, -100.0, -20.0, 20.0, 100.0])),
    row("Expm1", "near zero", SINGLES, x=lit([1e-6, -1e-6, 1e-3])),
    row("Log1p", "near zero", SINGLES, x=lit([1e-6, -1e-6, 1e-3])),
    row("Lgamma", "negative", SINGLES, tol_=20, x=lit([-0.5, -1.5, -2.25])),
    row("Digamma", "negative", SINGLES, tol_=20, x=lit([-0.5, -1.5, -2.25])),
    row("Erfc", "tail", SINGLES, tol_=20, x=lit([3.0, 5.0, -3.0])),
    row("LogicalNot", x=flags(2, 3)),
    row("LogicalNot", "scalar", x=boolean(True)),
    # Complex numbers
    row("Angle", "", COMPLEX, input=num(2, 3), Tout=Dtype("float32")),
    row("ComplexAbs", "", COMPLEX, x=num(2, 3), Tout=Dtype("float32")),
    row("Conj", "", COMPLEX, input=num(2, 3)),
    row("Imag", "", COMPLEX, input=num(2, 3), Tout=Dtype("float32")),
    row("Real", "", COMPLEX, input=num(2, 3), Tout=Dtype("float32")),
]
# The part's dtype must be that of the whole: the rows above are refused for complex128.
for op, name in (("Angle", "input"), ("ComplexAbs", "x"), ("Imag", "input"), ("Real", "input")):
    rows = [group for group in rows if group[0].op != op]
    for dtype, part in (("complex64", "float32"), ("complex128", "float64")):
        rows.append(row(op, "", dtype, **{name: num(2, 3), "Tout": Dtype(part)}))
    rows.append(row(op, "scalar", "complex64", **{name: num(), "Tout": Dtype("float32")}))

# Gradient ops take the output (or the input) and the gradient flowing in.
for op in ("SigmoidGrad", "TanhGrad"):
    rows.append(row(op, "", FLOATS_COMPLEX, y=unit(2, 3), dy=num(2, 3)))
for op in ("InvGrad", "ReciprocalGrad", "RsqrtGrad", "SqrtGrad"):
    rows.append(row(op, "", FLOATS_COMPLEX, y=nonzero(2, 3), dy=num(2, 3), tol_=2))

# Casts: from everything to everything that matters.
CASTS = (
    [("float32", to) for to in FLOATS + INTS + UINTS + COMPLEX + ("bool",)]
    + [("int32", to) for to in FLOATS + INTS + UINTS + ("complex64", "bool")]
    + [
        (source, "float32")
        for source in HALVES + ("float64",) + INTS + UINTS + ("bool", "complex64")
    ]
    + [("bool", "int32"), ("int64", "int32"), ("uint8", "int32"), ("float64", "int64")]
    + [("complex64", "complex128"), ("bfloat16", "float16"), ("float16", "bfloat16")]
)
for source, to in sorted(set(CASTS)):
    rows.append(row("Cast", "to " + to, source, x=num(2, 3), DstT=Dtype(to), numeric_=False))
rows += [
    row("Cast", "toward zero", SINGLES, x=lit([-1.9, -0.5, 0.5, 1.9, 2.5]), DstT=Dtype("int32")),
    row("Cast", "wraps", "int32", x=lit([300, -1, 256, 65537]), DstT=Dtype("uint8")),
    row(
        "Cast",
        "truncating",
        "float32",
        x=lit([1.0078125, 1.01171875, -3.1415926]),
        DstT=Dtype("bfloat16"),
        Truncate=True,
        grad_=False,
    ),
    row(
        "Cast",
        "rounding",
        "float32",
        x=lit([1.0078125, 1.01171875, -3.1415926]),
        DstT=Dtype("bfloat16"),
        grad_=False,
    ),
    row(
        "Cast", "NaN to bool", "float32", x=lit([float("nan"), 0.0, -0.0, 2.0]), DstT=Dtype("bool")
    ),
    row("Bitcast", "", ("float32", "int32", "uint32"), input=nonzero(2, 3), type=Dtype("int32")),
    row("Bitcast", "smaller", ("float32", "int32"), input=nonzero(2, 3), type=Dtype("uint8")),
    row("Bitcast", "larger", ("float32", "int32"), input=nonzero(3, 2), type=Dtype("int64")),
    row("Bitcast", "to half", "float32", input=nonzero(2), type=Dtype("float16")),
    row(
        "Bitcast",
        "uneven",
        "int32",
        input=num(2, 3),
        type=Dtype("int64"),
        error_="InvalidArgumentError",
    ),
    row("CheckNumerics", "", FLOATS, tensor=num(2, 3), message="checked"),
    row(
        "CheckNumerics",
        "NaN",
        "float32",
        tensor=lit([1.0, float("nan")]),
        message="checked",
        error_="InvalidArgumentError",
    ),
    row(
        "CheckNumerics",
        "infinity",
        "float32",
        tensor=lit([1.0, float("inf")]),
        message="checked",
        error_="InvalidArgumentError",
    ),
    # Several tensors of one shape
    row("AddN", "", REALS + COMPLEX, inputs=[num(2, 3), num(2, 3), num(2, 3)]),
    row("AddN", "single", inputs=[num(2, 3)]),
    row("AddN", "shapes differ", inputs=[num(2, 3), num(3, 2)], error_="InvalidArgumentError"),
    row(
        "Bucketize",
        "",
        SINGLES + ("int32", "int64"),
        input=lit([[-5, 0, 1], [3, 10, 100]]),
        boundaries=[0.0, 3.0, 10.0],
    ),
    row("Bucketize", "no boundaries", input=num(3), boundaries=[]),
    row(
        "ClipByValue",
        "",
        REALS,
        t=num(2, 3),
        clip_value_min=lit(1),
        clip_value_max=lit(5),
        numeric_=False,
    ),
    row(
        "ClipByValue",
        "by element",
        SINGLES,
        t=num(2, 3),
        clip_value_min=between(-1, -0.5, 2, 3),
        clip_value_max=between(0.5, 1, 2, 3),
    ),
    row("Cumsum", "", REALS + COMPLEX, x=num(2, 3, 2), axis=const(1)),
    row("Cumsum", "exclusive", SINGLES, x=num(2, 3), axis=const(0), exclusive=True),
    row("Cumsum", "reverse", SINGLES, x=num(2, 3), axis=const(-1), reverse=True),
    row(
        "Cumsum",
        "exclusive reverse",
        SINGLES,
        x=num(2, 3),
        axis=const(1, "int64"),
        exclusive=True,
        reverse=True,
    ),
    row("Cumsum", "empty", x=zeros(2, 0), axis=const(1)),
    row("Cumsum", "bad axis", x=num(2, 3), axis=const(2), error_="InvalidArgumentError"),
    row("Cumprod", "", REALS + COMPLEX, x=nonzero(2, 3, 2), axis=const(1)),
    row("Cumprod", "exclusive", SINGLES, x=nonzero(2, 3), axis=const(0), exclusive=True),
    row("Cumprod", "reverse", SINGLES, x=nonzero(2, 3), axis=const(-1), reverse=True),
    row(
        "Cumprod",
        "exclusive reverse",
        SINGLES,
        x=nonzero(2, 3),
        axis=const(1),
        exclusive=True,
        reverse=True,
    ),
    row("CumulativeLogsumexp", "", ("float16",) + SINGLES, x=num(2, 3), axis=const(1), later_=True),
    row(
        "CumulativeLogsumexp",
        "exclusive reverse",
        SINGLES,
        x=num(2, 3),
        axis=const(0),
        exclusive=True,
        reverse=True,
        later_=True,
        grad_=False,
    ),
    row(
        "Bincount",
        "",
        ("int32", "int64") + SINGLES,
        arr=i32([1, 0, 2, 1, 7]),
        size=i32(4),
        weights=num(5),
    ),
    row(
        "Bincount",
        "no weights",
        ("int32", "float32"),
        arr=i32([1, 0, 2, 1, 7]),
        size=i32(4),
        weights=zeros(0),
    ),
    row(
        "Bincount",
        "negative",
        arr=i32([1, -1]),
        size=i32(4),
        weights=zeros(0),
        error_="InvalidArgumentError",
    ),
    row(
        "CompareAndBitpack",
        "",
        ("float32", "int32", "bool"),
        input=num(2, 16),
        threshold=lit(1),
        later_=True,
    ),
    row(
        "HistogramFixedWidth",
        "",
        SINGLES + ("int32", "int64"),
        values=lit([-1, 0, 1, 2, 5, 9]),
        value_range=lit([0, 5]),
        nbins=const(5),
        later_=True,
    ),
    row(
        "HistogramFixedWidth",
        "int64",
        values=num(9),
        value_range=lit([-1.0, 1.0]),
        nbins=const(3),
        dtype=Dtype("int64"),
        later_=True,
    ),
    row(
        "HistogramFixedWidth",
        "bad range",
        values=num(9),
        value_range=lit([1.0, -1.0]),
        nbins=const(3),
        later_=True,
        error_="InvalidArgumentError",
    ),
    # Bits
    row("Invert", "", INTS + UINTS, x=num(2, 3), later_=True),
    row("PopulationCount", "", INTS + UINTS, x=num(2, 3), later_=True),
    row(
        "AccumulateNV2",
        "",
        SINGLES + ("int32",),
        inputs=[num(2, 3), num(2, 3)],
        shape=T,
        later_=True,
    ),
]
rows = [group for group in rows if group[0].op != "AccumulateNV2"]

FAMILY = Family("math_unary", rows)
