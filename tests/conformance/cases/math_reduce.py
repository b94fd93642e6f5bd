"""Reductions, arguments of extremes, and sums over segments."""

from __future__ import annotations

from ..case import Family, row
from ..values import (
    COMPLEX,
    FLOATS,
    INDICES,
    INTS,
    NUMBERS,
    REALS,
    SINGLES,
    Dtype,
    boolean,
    const,
    flags,
    i32,
    i64,
    lit,
    nonzero,
    num,
    pos,
    zeros,
)

rows = []

ALL = dict(Sum=NUMBERS, Mean=NUMBERS, Prod=NUMBERS, Max=REALS, Min=REALS, EuclideanNorm=NUMBERS)
for op, over in sorted(ALL.items()):
    loose = dict(tol_=2)
    rows += [
        row(op, "", over, input=nonzero(2, 3, 4), axis=const([1]), **loose),
        row(op, "all", SINGLES, input=nonzero(2, 3), axis=const([0, 1]), **loose),
        row(
            op,
            "keep_dims",
            SINGLES,
            input=nonzero(2, 3, 2),
            axis=const([0, 2]),
            keep_dims=True,
            **loose,
        ),
        row(op, "negative scalar axis", SINGLES, input=nonzero(2, 3), axis=const(-1), **loose),
        row(
            op,
            "int64 axis",
            SINGLES,
            input=nonzero(2, 3),
            axis=const([0], "int64"),
            grad_="own" if op == "Prod" else True,
            **loose,
        ),
        row(op, "no axis", SINGLES, input=pos(2, 3), axis=const(lit([], "int32")), **loose),
        row(op, "scalar", "float32", input=pos(), axis=const(lit([], "int32")), **loose),
        row(op, "of nothing", SINGLES, input=zeros(2, 0), axis=const([1]), grad_=False),
        row(op, "to nothing", "float32", input=zeros(2, 0), axis=const([0]), grad_=False),
        row(
            op,
            "axis out of range",
            "float32",
            input=num(2, 3),
            axis=const([2]),
            error_="InvalidArgumentError",
        ),
        row(op, "axis twice", "float32", input=num(2, 3), axis=const([0, -2]), grad_=False),
    ]
for op in ("Sum", "Mean", "Prod", "EuclideanNorm"):
    # TensorFlow's Max and Min let NaN pass or not, by its place.
    rows.append(
        row(
            op,
            "NaN",
            SINGLES,
            input=lit([[1.0, float("nan")], [2.0, 3.0]]),
            axis=const([1]),
            grad_=False,
        )
    )
for op in ("Max", "Min"):
    rows.append(
        row(
            op,
            "ties",
            SINGLES,
            numeric_=False,
            input=lit([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]]),
            axis=const([1]),
        )
    )
rows += [
    row(
        "Prod",
        "with a zero",
        SINGLES,
        input=lit([[1.0, 0.0, 3.0], [2.0, 4.0, 5.0]]),
        axis=const([1]),
    ),
    row(
        "Sum",
        "wraps",
        ("int32", "int8"),
        input=lit([2147483647, 2147483647, 127, 3]),
        axis=const([0]),
    ),
    row("Mean", "of integers", INDICES, input=lit([[1, 2], [-3, -4]]), axis=const([1])),
    row(
        "Sum",
        "many",
        ("float32", "float16"),
        tol_=3,
        input=num(20, 50),
        axis=const([0, 1]),
        numeric_=False,
    ),
]
for op in ("All", "Any"):
    rows += [
        row(op, "", "bool", input=flags(3, 4), axis=const([1])),
        row(op, "keep_dims", "bool", input=flags(3, 4), axis=const([0]), keep_dims=True),
        row(
            op,
            "everything",
            "bool",
            input=boolean([[True, True], [True, False]]),
            axis=const([0, 1]),
        ),
        row(op, "of nothing", "bool", input=lit([[], []], "bool"), axis=const([1])),
        row(
            op,
            "axis out of range",
            "bool",
            input=flags(2),
            axis=const([-2]),
            error_="InvalidArgumentError",
        ),
    ]
for op in ("ArgMax", "ArgMin"):
    rows += [
        row(op, "", REALS + COMPLEX, input=num(3, 4), dimension=const(1)),
        row(
            op, "int32", "float32", input=num(3, 4), dimension=const(0), output_type=Dtype("int32")
        ),
        row(op, "negative", "float32", input=num(2, 3, 4), dimension=const(-2)),
        row(
            op, "ties", ("float32", "int32"), input=lit([[1, 3, 3], [2, 2, 2]]), dimension=const(1)
        ),
        row(op, "int64 axis", "float32", input=num(3, 4), dimension=const(1, "int64")),
        row(
            op,
            "axis out of range",
            "float32",
            input=num(3, 4),
            dimension=const(2),
            error_="InvalidArgumentError",
        ),
        row(
            op,
            "of nothing",
            "float32",
            input=zeros(2, 0),
            dimension=const(1),
            error_="InvalidArgumentError",
        ),
    ]

for op in ("SegmentSum", "SegmentMean", "SegmentProd", "SegmentMax", "SegmentMin"):
    over = REALS if op in ("SegmentMax", "SegmentMin") else NUMBERS
    rows += [
        row(op, "", over, data=nonzero(5, 2), segment_ids=i32([0, 0, 1, 1, 1])),
        row(op, "gap", SINGLES, data=nonzero(4, 2), segment_ids=i64([0, 2, 2, 3])),
        row(op, "vector", "float32", data=nonzero(4), segment_ids=i32([0, 0, 0, 1])),
        row(op, "empty", "float32", data=zeros(0, 2), segment_ids=lit([], "int32"), grad_=False),
        row(
            op,
            "not sorted",
            "float32",
            data=num(3),
            segment_ids=i32([1, 0, 1]),
            error_="InvalidArgumentError",
        ),
        row(
            op,
            "lengths differ",
            "float32",
            data=num(3),
            segment_ids=i32([0, 1]),
            error_="InvalidArgumentError",
        ),
    ]
for op in ("UnsortedSegmentSum", "UnsortedSegmentProd", "UnsortedSegmentMax", "UnsortedSegmentMin"):
    smooth = op in ("UnsortedSegmentSum", "UnsortedSegmentProd")  # no huge number for no elements
    over = NUMBERS if smooth else REALS
    rows += [
        row(
            op,
            "",
            over,
            data=nonzero(5, 2),
            segment_ids=i32([3, 0, 1, 0, 3]),
            num_segments=const(4),
            numeric_=smooth,
        ),
        row(
            op,
            "gap",
            SINGLES,
            data=nonzero(4),
            segment_ids=i64([4, 0, 4, 1]),
            num_segments=const(6, "int64"),
            numeric_=smooth,
        ),
        row(
            op,
            "matrix of ids",
            SINGLES,
            data=nonzero(2, 3, 2),
            segment_ids=i32([[0, 1, 0], [2, 2, 0]]),
            num_segments=const(3),
        ),
        row(
            op,
            "negative ids drop",
            SINGLES,
            data=nonzero(4),
            segment_ids=i32([0, -1, 1, -1]),
            num_segments=const(2),
        ),
        row(
            op,
            "empty",
            "float32",
            data=zeros(0, 2),
            segment_ids=lit([], "int32"),
            num_segments=const(3),
            grad_=False,
        ),
        row(
            op,
            "id too large",
            "float32",
            data=num(3),
            segment_ids=i32([0, 1, 2]),
            num_segments=const(2),
            error_="InvalidArgumentError",
        ),
    ]
rows += [
    row(
        "UnsortedSegmentSum",
        "shapes differ",
        data=num(3),
        segment_ids=i32([0, 1]),
        num_segments=const(2),
        error_="InvalidArgumentError",
    ),
    row("L2Loss", "", FLOATS, t=num(2, 3)),
    row("L2Loss", "empty", t=zeros(0)),
]
for op in ("SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"):
    counted = op + "WithNumSegments"
    rows += [
        row(
            op,
            "",
            SINGLES,
            data=num(4, 2),
            indices=i32([3, 0, 0, 1]),
            segment_ids=i32([0, 0, 1, 3]),
            later_=True,
        ),
        row(
            op,
            "int64 indices",
            "float32",
            data=num(4, 2),
            indices=i64([3, 0]),
            segment_ids=i32([0, 1]),
            later_=True,
        ),
        row(
            op,
            "index out of range",
            "float32",
            data=num(4, 2),
            indices=i32([4, 0]),
            segment_ids=i32([0, 1]),
            error_="InvalidArgumentError",
            later_=True,
        ),
        row(
            counted,
            "",
            SINGLES,
            data=num(4, 2),
            indices=i32([3, 0, 0, 1]),
            segment_ids=i32([0, 0, 1, 3]),
            num_segments=const(5),
            later_=True,
        ),
    ]
    if op != "SparseSegmentSum":
        rows.append(
            row(
                op + "Grad",
                "",
                SINGLES,
                grad=num(4, 2),
                indices=i32([3, 0, 0, 1]),
                segment_ids=i32([0, 0, 1, 3]),
                output_dim0=const(4),
                later_=True,
                grad_=False,
            )
        )
rows.append(
    row(
        "SparseSegmentSum",
        "integers",
        INTS,
        data=num(4, 2),
        indices=i32([3, 0, 0, 1]),
        segment_ids=i32([0, 0, 1, 3]),
        later_=True,
    )
)

FAMILY = Family("math_reduce", rows)
