"""Functions of two tensors with broadcasting, comparisons and selections."""

from __future__ import annotations

from ..case import Family, row
from ..values import (
    ANY,
    COMPLEX,
    FLOATS,
    INDICES,
    INTS,
    NUMBERS,
    REALS,
    SINGLES,
    UINTS,
    Dtype,
    Shape,
    between,
    boolean,
    const,
    flags,
    lit,
    nonzero,
    num,
    pos,
    special,
    zeros,
)

ORDERED = FLOATS + INTS + UINTS
STATED = FLOATS + ("int32", "int64")
LESS_HALF = ("float16",) + SINGLES + COMPLEX
NONE = 0

rows = []


def broadcasting(op, left, right, over, names="xy", **options):
    """The op in every dtype on equal shapes; then every form of broadcasting, and none."""
    x, y = names if isinstance(names, tuple) else tuple(names)

    def add(label, a, b, dtypes="float32", **more):
        rows.append(row(op, label, dtypes, **dict(dict(options, **more), **{x: a, y: b})))

    few = [dtype for dtype in SINGLES if dtype in over] or over[:1]
    add("", left(2, 3), right(2, 3), over)
    add("scalar left", left(), right(2, 3), few)
    add("scalar right", left(2, 3), right(), few)
    add("row", left(2, 3), right(3), few)
    add("both ways", left(2, 1, 3), right(4, 1), few)
    add("empty", left(0, 3), right(3), few[0])
    add("empty by broadcast", left(2, 1), right(1, 0), few[0])
    add("scalars", left(), right(), few[0])
    add("shapes differ", left(2, 3), right(2), few[0], error_="InvalidArgumentError")


def above(*shape):
    return between(2.25, 4, *shape)


def unit(*shape):
    return between(0.125, 0.875, *shape)


broadcasting("Add", num, num, FLOATS + INTS + COMPLEX + ("uint8", "string"))
broadcasting("AddV2", num, num, FLOATS + INTS + COMPLEX + ("uint8",))
broadcasting("Sub", num, num, NUMBERS)
broadcasting("Mul", num, num, NUMBERS)
broadcasting("Div", num, nonzero, NUMBERS)
broadcasting("RealDiv", num, nonzero, NUMBERS)
broadcasting("TruncateDiv", num, nonzero, NUMBERS)
broadcasting("FloorDiv", num, nonzero, NUMBERS, numeric_=False)
broadcasting("DivNoNan", num, nonzero, LESS_HALF)
broadcasting("MulNoNan", num, num, LESS_HALF)
broadcasting("FloorMod", num, nonzero, STATED, numeric_=False)
broadcasting("TruncateMod", num, nonzero, STATED, numeric_=False)
broadcasting("Mod", num, nonzero, STATED, numeric_=False)
broadcasting("Maximum", num, num, STATED)
broadcasting("Minimum", num, num, STATED)
broadcasting("SquaredDifference", num, num, STATED + COMPLEX)
broadcasting("Pow", pos, num, FLOATS + COMPLEX, tol_=3)
# Its gradient does not undo broadcasting.
broadcasting("Atan2", nonzero, nonzero, FLOATS, names=("y", "x"), grad_=False)
rows.append(row("Atan2", "gradient", SINGLES, y=nonzero(2, 3), x=nonzero(2, 3)))
broadcasting("Xdivy", num, nonzero, LESS_HALF)
broadcasting("Xlogy", num, pos, LESS_HALF)
broadcasting("NextAfter", num, num, SINGLES, names=("x1", "x2"), grad_=False)
broadcasting("Igamma", pos, pos, SINGLES, names="ax", tol_=10)
broadcasting("Igammac", pos, pos, SINGLES, names="ax", tol_=10)
broadcasting("IgammaGradA", pos, pos, SINGLES, names="ax", tol_=10, grad_=False)
broadcasting("Zeta", above, pos, SINGLES, names="xq", tol_=10)
broadcasting(
    "Polygamma",
    lambda *shape: (
        lit([[1, 2, 3]] * 2)
        if shape == (2, 3)
        else lit(2 * [2])
        if shape == (2,)
        else lit(1)
        if shape == ()
        else zeros(*shape)
        if 0 in shape
        else lit([[2]] * shape[0])
        if len(shape) == 2
        else lit([[[1, 2, 3]]] * shape[0])
    ),
    pos,
    SINGLES,
    names="ax",
    tol_=20,
)
for op in ("Less", "LessEqual", "Greater", "GreaterEqual"):
    broadcasting(op, num, num, ORDERED)
for op in ("Equal", "NotEqual"):
    broadcasting(op, num, num, FLOATS + INTS + COMPLEX + ("uint8", "bool", "string"))
for op in ("LogicalAnd", "LogicalOr"):
    broadcasting(op, flags, flags, ("bool",))
for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
    broadcasting(op, num, num, INTS + UINTS, later_=True)
for op in ("LeftShift", "RightShift"):
    broadcasting(op, num, lambda *shape: between(0, 7, *shape), INTS + UINTS, later_=True)

EXTREMES = dict(
    x=special(),
    y=lit([2.0, 0.0, -0.0, 3.0, 1.0, float("inf"), 1.0, float("nan"), 2.0, -2.0, 1.0, 0.0]),
)
for op in (
    "Add",
    "Sub",
    "Mul",
    "Div",
    "RealDiv",
    "DivNoNan",
    "MulNoNan",
    "Pow",
    "FloorDiv",
    "FloorMod",
    "TruncateMod",
    "Mod",
    "Equal",
    "NotEqual",
    "Less",
    "GreaterEqual",
    "Xdivy",
    "Xlogy",
    "SquaredDifference",
):
    rows.append(row(op, "special", SINGLES, grad_=False, **EXTREMES))
# Of a number and NaN, TensorFlow's maximum is one or the other, by their order.
for op in ("Maximum", "Minimum"):
    rows.append(
        row(
            op,
            "special",
            SINGLES,
            grad_=False,
            x=lit([float("inf"), float("-inf"), 1.0, float("nan")]),
            y=lit([1.0, 1.0, float("inf"), float("nan")]),
        )
    )
rows.append(row("Atan2", "special", SINGLES, grad_=False, y=EXTREMES["x"], x=EXTREMES["y"]))

# Integer division in its three roundings, and by zero, which XLA would turn into a number.
SIGNS = dict(x=lit([7, -7, 7, -7, 6, -6]), y=lit([2, 2, -2, -2, 3, 3]))
for op in ("Div", "TruncateDiv", "FloorDiv", "FloorMod", "TruncateMod", "Mod"):
    rows.append(
        row(op, "signs", ("int32", "int64", "float32"), numeric_=False, grad_=False, **SIGNS)
    )
    error = ["InvalidArgumentError"]
    if op.startswith("Truncate"):
        error.insert(0, "InternalError")
    rows.append(row(op, "by zero", INDICES, x=num(2), y=lit([1, 0]), error_=error))
rows += [
    row("FloorDiv", "least by -1", "int32", x=lit([-2147483648, 5]), y=lit([1, -1])),
    row("Mul", "wraps", "int32", x=lit([65536, 123456789]), y=lit([65536, 1000])),
    row(
        "Add",
        "wraps",
        ("int32", "uint8", "int8"),
        x=lit([2147483647, 100, -128]),
        y=lit([1, 100, -1]),
    ),
    row("Pow", "integers", INDICES, x=lit([2, -3, 0, 5]), y=lit([10, 3, 0, 1])),
    row(
        "Pow",
        "negative exponent",
        INDICES,
        x=lit([2, 1]),
        y=lit([-1, 2]),
        error_="InvalidArgumentError",
    ),
    row(
        "Pow",
        "negative base",
        SINGLES,
        x=lit([-2.0, -2.0, 0.0, 0.0]),
        y=lit([2.0, 0.5, 0.0, 2.0]),
        grad_=False,
    ),
    row("Maximum", "ties", SINGLES, x=lit([1.0, 2.0, 3.0]), y=lit([1.0, 1.0, 4.0]), numeric_=False),
    row("Minimum", "ties", SINGLES, x=lit([1.0, 2.0, 3.0]), y=lit([1.0, 1.0, 4.0]), numeric_=False),
    row(
        "Equal",
        "incompatible shapes are unequal",
        x=num(2),
        y=num(3),
        incompatible_shape_error=False,
    ),
    row(
        "NotEqual",
        "incompatible shapes are unequal",
        x=num(2),
        y=num(3),
        incompatible_shape_error=False,
    ),
    row(
        "Equal",
        "NULs at the end",
        "string",
        x=lit([b"a", b"a\0", b""]),
        y=lit([b"a\0", b"a\0", b"\0"]),
    ),
    row("Add", "strings with a scalar", "string", x=lit([b"a", b"b\0"]), y=lit(b"\0c")),
    row("ApproximateEqual", "", REALS, x=lit([1.0, 2.0, 3.0]), y=lit([1.0, 2.0, 4.0])),
    row(
        "ApproximateEqual",
        "tolerance",
        SINGLES,
        x=lit([1.0, 2.0, 3.0]),
        y=lit([1.05, 2.2, 3.0]),
        tolerance=0.1,
    ),
    row("ApproximateEqual", "shapes differ", x=num(2), y=num(3), error_="InvalidArgumentError"),
    row("Betainc", "", SINGLES, a=pos(2, 3), b=pos(2, 3), x=unit(2, 3), tol_=20),
    row("Betainc", "scalars", SINGLES, a=pos(), b=pos(), x=unit(3), tol_=20, grad_=False),
    row("Complex", "", "float32", real=num(2, 3), imag=num(2, 3), Tout=Dtype("complex64")),
    row("Complex", "", "float64", real=num(2, 3), imag=num(2, 3), Tout=Dtype("complex128")),
    row("Complex", "broadcast", "float32", real=num(2, 1), imag=num(3), Tout=Dtype("complex64")),
    row("Cross", "", REALS, a=num(2, 3), b=num(2, 3)),
    row("Cross", "vectors", SINGLES, a=num(3), b=num(3)),
    row(
        "Cross",
        "not three",
        a=num(2, 4),
        b=num(2, 4),
        error_=["FailedPreconditionError", "InvalidArgumentError"],
    ),
    # Selection
    row("Select", "", ANY, condition=flags(2, 3), x=num(2, 3), y=num(2, 3)),
    row("Select", "by row", SINGLES, condition=boolean([True, False]), x=num(2, 3), y=num(2, 3)),
    row("Select", "scalar condition", SINGLES, condition=boolean(True), x=num(2, 3), y=num(2, 3)),
    row("Select", "empty", condition=lit([], "bool"), x=zeros(0, 2), y=zeros(0, 2)),
    row(
        "Select",
        "shapes differ",
        condition=flags(2),
        x=num(3),
        y=num(3),
        error_="InvalidArgumentError",
    ),
    row("SelectV2", "", ANY, condition=flags(2, 3), t=num(2, 3), e=num(2, 3)),
    row("SelectV2", "broadcast", SINGLES, condition=flags(2, 1), t=num(3), e=num(1, 1)),
    row("SelectV2", "scalar condition", SINGLES, condition=boolean(False), t=num(2, 3), e=num(3)),
    row(
        "SelectV2",
        "NaN on the branch not taken",
        condition=boolean([True, False]),
        t=lit([1.0, float("nan")]),
        e=lit([float("nan"), 2.0]),
    ),
    row(
        "SelectV2",
        "shapes differ",
        condition=flags(2),
        t=num(3),
        e=num(3),
        error_="InvalidArgumentError",
    ),
    # Sequences
    row(
        "Range",
        "",
        SINGLES + INDICES,
        start=const(lit(1)),
        limit=const(lit(10)),
        delta=const(lit(3)),
    ),
    row(
        "Range",
        "down",
        SINGLES + INDICES,
        start=const(lit(10)),
        limit=const(lit(-1)),
        delta=const(lit(-4)),
    ),
    row(
        "Range",
        "fractions",
        SINGLES,
        start=const(lit(0.0)),
        limit=const(lit(1.0)),
        delta=const(lit(0.1)),
    ),
    row("Range", "empty", "int32", start=const(lit(3)), limit=const(lit(3)), delta=const(lit(1))),
    row(
        "Range",
        "zero delta",
        "int32",
        start=const(lit(3)),
        limit=const(lit(4)),
        delta=const(lit(0)),
        error_="InvalidArgumentError",
    ),
    row(
        "Range",
        "wrong way",
        "int32",
        start=const(lit(3)),
        limit=const(lit(4)),
        delta=const(lit(-1)),
        error_="InvalidArgumentError",
    ),
    row(
        "LinSpace",
        "",
        SINGLES + ("bfloat16",),
        start=const(lit(0)),
        stop=const(lit(10)),
        num=const(5),
        grad_=False,
    ),
    row(
        "LinSpace",
        "single",
        SINGLES,
        start=const(lit(3)),
        stop=const(lit(10)),
        num=const(1),
        grad_=False,
    ),
    row(
        "LinSpace",
        "none",
        "float32",
        start=const(lit(3)),
        stop=const(lit(10)),
        num=const(0),
        error_="InvalidArgumentError",
    ),
    row(
        "AccumulateNV2",
        "",
        SINGLES + ("int32",),
        inputs=[num(2, 3), num(2, 3)],
        shape=Shape((2, 3)),
        eager_=False,
    ),
]

FAMILY = Family("math_binary", rows)
