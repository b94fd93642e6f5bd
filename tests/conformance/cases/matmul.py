"""Products of matrices."""

from __future__ import annotations

from ..case import Family, row
from ..values import COMPLEX, FLOATS, SINGLES, num, zeros

PRODUCTS = FLOATS + ("int32", "int64") + COMPLEX

rows = [
    row("MatMul", "", PRODUCTS, a=num(2, 3), b=num(3, 4)),
    row("MatMul", "transpose_a", SINGLES + COMPLEX, a=num(3, 2), b=num(3, 4), transpose_a=True),
    row("MatMul", "transpose_b", SINGLES + COMPLEX, a=num(2, 3), b=num(4, 3), transpose_b=True),
    row(
        "MatMul",
        "transpose both",
        SINGLES,
        a=num(3, 2),
        b=num(4, 3),
        transpose_a=True,
        transpose_b=True,
    ),
    row("MatMul", "column", SINGLES, a=num(2, 3), b=num(3, 1)),
    row("MatMul", "larger", SINGLES, a=num(17, 33), b=num(33, 9), numeric_=False),
    row("MatMul", "of nothing", a=zeros(2, 0), b=zeros(0, 3)),
    row("MatMul", "to nothing", a=zeros(0, 2), b=num(2, 3)),
    row(
        "MatMul", "inner dimensions differ", a=num(2, 3), b=num(2, 3), error_="InvalidArgumentError"
    ),
    row("MatMul", "rank 3", a=num(2, 2, 3), b=num(3, 4), error_="InvalidArgumentError"),
    row("SparseMatMul", "", SINGLES[:1] + ("bfloat16",), a=num(2, 3), b=num(3, 4)),
    row(
        "SparseMatMul",
        "transposed",
        a=num(3, 2),
        b=num(4, 3),
        transpose_a=True,
        transpose_b=True,
        a_is_sparse=True,
    ),
    row("SparseMatMul", "mixed", "bfloat16", a=num(2, 3), b=num(3, 4).typed("float32")),
]
for op in ("BatchMatMul", "BatchMatMulV2"):
    rows += [
        row(op, "", PRODUCTS, x=num(2, 2, 3), y=num(2, 3, 2), later_=op == "BatchMatMul"),
        row(
            op,
            "adj_x",
            ("float32", "float64", "complex64"),
            x=num(2, 3, 2),
            y=num(2, 3, 2),
            adj_x=True,
        ),
        row(
            op,
            "adj_y",
            ("float32", "float64", "complex64"),
            x=num(2, 2, 3),
            y=num(2, 2, 3),
            adj_y=True,
        ),
        row(
            op,
            "both",
            ("float32", "complex64"),
            x=num(1, 2, 3, 2),
            y=num(1, 2, 2, 3),
            adj_x=True,
            adj_y=True,
        ),
        row(op, "no batch", SINGLES, x=num(2, 3), y=num(3, 2)),
        row(op, "to nothing", "float32", x=zeros(0, 2, 3), y=zeros(0, 3, 2)),
        row(
            op,
            "inner dimensions differ",
            "float32",
            x=num(2, 2, 3),
            y=num(2, 2, 3),
            error_="InvalidArgumentError",
        ),
    ]
rows += [
    row("Einsum", "", SINGLES, inputs=[num(2, 3), num(3, 4)], equation="ij,jk->ik", later_=True),
    row("Einsum", "one", inputs=[num(2, 3, 3)], equation="bii->b", later_=True),
    row(
        "Einsum",
        "ellipsis",
        inputs=[num(2, 1, 3), num(3, 2)],
        equation="...a,ab->...b",
        later_=True,
    ),
    row("BatchMatMulV2", "broadcast", SINGLES, x=num(2, 1, 2, 3), y=num(3, 3, 2)),
    row("BatchMatMulV2", "broadcast no batch", SINGLES, x=num(2, 3), y=num(4, 3, 2)),
    row(
        "BatchMatMulV2",
        "batches differ",
        x=num(2, 2, 3),
        y=num(3, 3, 2),
        error_="InvalidArgumentError",
    ),
]

FAMILY = Family("matmul", rows)
