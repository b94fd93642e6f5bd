"""Operations on sets along the last dimension."""

from __future__ import annotations

import numpy as np

from ..case import Family, row
from ..values import INTS, UINTS, lit

FIRST = [[[5, 1, 5], [2, 2, 2]], [[9, 3, 1], [0, 7, 8]]]
SECOND = [[[1, 4, 4, 5], [6, 6, 6, 6]], [[3, 9, 9, 2], [8, 8, 7, 7]]]
DENSE = "DenseToDenseSetOperation"
UNION = dict(set_operation="union")
OPERATIONS = ("a-b", "b-a", "intersection", "union", "Union")
DTYPES = INTS + UINTS + ("string",)


def of(dtype, values):
    if dtype != "string":
        return lit(values)
    array = np.array(values)
    text = np.empty(array.shape, object)
    for place in np.ndindex(*array.shape):
        text[place] = b"%d\0" % array[place]
    return lit(text)


def sparse(prefix, dtype, indices, values, shape):
    return {
        prefix + "indices": lit(np.array(indices).reshape(-1, len(shape)), "int64"),
        prefix + "values": of(dtype, values),
        prefix + "shape": lit(shape, "int64"),
    }


AT = [[0, 0, 0], [0, 0, 2], [0, 0, 3], [1, 0, 1], [1, 1, 0], [1, 1, 4]]
OTHER = [[0, 1, 0], [0, 1, 1], [1, 0, 0], [1, 0, 1], [1, 1, 2]]
rows = []
for dtype in DTYPES:
    for operation in OPERATIONS if dtype in ("int64", "string") else OPERATIONS[:1]:
        how = dict(set_operation=operation)
        rows += [
            row(
                DENSE,
                operation,
                dtype,
                set1=of(dtype, FIRST),
                set2=of(dtype, SECOND),
                **how,
            ),
            row(
                "DenseToSparseSetOperation",
                operation,
                dtype,
                set1=of(dtype, FIRST),
                **dict(how, **sparse("set2_", dtype, AT, [5, 1, 5, 3, 7, 9], [2, 2, 5])),
            ),
            row(
                "SparseToSparseSetOperation",
                operation,
                dtype,
                **dict(
                    sparse("set1_", dtype, AT, [5, 1, 5, 3, 7, 9], [2, 2, 5]),
                    **dict(how, **sparse("set2_", dtype, OTHER, [5, 1, 3, 4, 9], [2, 2, 3])),
                ),
            ),
        ]
    rows.append(
        row("SetSize", "", dtype, **sparse("set_", dtype, AT, [5, 1, 5, 3, 7, 7], [2, 2, 5]))
    )
NONE = sparse("set2_", "int64", [], [], [2, 2, 5])
NONE["set2_values"] = lit(np.zeros(0), "int64")
rows += [
    row("DenseToSparseSetOperation", "empty sets", "int64", set1=lit(FIRST), set_operation="a-b", **NONE),
    row(DENSE, "no sets",
        "int64", set1=lit(np.zeros((0, 3))), set2=lit(np.zeros((0, 2))), **UNION),
    row(DENSE, "of nothing",
        "int64", set1=lit(np.zeros((2, 0))), set2=lit(np.zeros((2, 0))), **UNION),
    row(DENSE, "nothing in common",
        "int64", set1=lit([[1, 2]]), set2=lit([[3]]), set_operation="intersection"),
]  # fmt: skip
WRONG = dict(error_=("ValueError", "InvalidArgumentError"))
AGAIN = dict(error_=("InvalidArgumentError", "ValueError"))
UNORDERED = [[0, 0, 2], [0, 0, 0]]
OUTSIDE = [[0, 0, 0], [0, 2, 0]]
rows += [
    row(DENSE, "vectors", "int64", set1=lit([1]), set2=lit([2]), **dict(UNION, **WRONG)),
    row(DENSE, "ranks", "int64", set1=lit([[1]]), set2=lit([[[2]]]), **dict(UNION, **WRONG)),
    row(DENSE, "sizes", "int64", set1=lit([[1]]), set2=lit([[2], [3]]), **dict(UNION, **WRONG)),
    row(DENSE, "xor", "int64", set1=lit([[1]]), set2=lit([[2]]), set_operation="xor", **AGAIN),
    row("SetSize", "out of order", "int64", **dict(sparse("set_", "int64", UNORDERED, [1, 2], [2, 2, 5]), **AGAIN)),
    row("SetSize", "out of bounds", "int64", **dict(sparse("set_", "int64", OUTSIDE, [1, 2], [2, 2, 5]), **AGAIN)),
    row("SetSize", "a vector", "int64", **dict(sparse("set_", "int64", [[0]], [1], [2]), **AGAIN)),
    row("SetSize", "values", "int64", **dict(sparse("set_", "int64", AT, [1], [2, 2, 5]), **AGAIN)),
    row(
        "DenseToSparseSetOperation", "out of order", "int64", set1=lit(FIRST), set_operation="union",
        **dict(sparse("set2_", "int64", UNORDERED, [1, 2], [2, 2, 5]), **AGAIN)
    ),
    row(
        "DenseToSparseSetOperation", "sizes", "int64", set1=lit(FIRST), set_operation="union",
        **dict(sparse("set2_", "int64", AT, [1] * 6, [2, 3, 5]), **AGAIN)
    ),
    row(
        "DenseToSparseSetOperation", "ranks", "int64", set1=lit([[1]]), set_operation="union",
        **dict(sparse("set2_", "int64", AT, [1] * 6, [2, 2, 5]), **WRONG)
    ),
]  # fmt: skip

FAMILY = Family("sets", rows)
