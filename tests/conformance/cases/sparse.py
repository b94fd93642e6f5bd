"""Sparse tensors: positions, elements, shape."""

from __future__ import annotations

import numpy as np

from ..case import Family, row, script
from ..values import Dtype, const, i64, lit, nonzero, num

FLOATS = ("float32", "float64")
NUMBERS = FLOATS + ("float16", "int32", "int64", "uint8", "int8", "int16")
COMPLEX = ("complex64", "complex128")
REFUSED = "InvalidArgumentError"

ROWS = [[0, 1], [0, 3], [2, 0], [2, 2], [2, 3]]  # of a matrix of 4 x 5, in order
MIXED = [[2, 3], [0, 1], [2, 0], [0, 3], [2, 2]]
CUBE = [[0, 0, 2], [0, 1, 1], [1, 0, 0], [1, 0, 2], [1, 1, 1]]  # of 2 x 2 x 3


def known(values):
    return const(lit(values, "int64"))


def matrix(prefix="", names=("indices", "values", "shape"), rows=ROWS, shape=(4, 5), values=None):
    """Arguments that are a sparse matrix."""
    i, v, s = (prefix + name for name in names)
    return {i: i64(rows), v: num(len(rows)) if values is None else values, s: known(list(shape))}


# -- between sparse and dense

dense = [
    row(
        "SparseToDense",
        label,
        over,
        sparse_indices=lit(indices, index),
        output_shape=const(lit(shape, index)),
        sparse_values=values,
        default_value=num(),
        **more,
    )
    for label, over, indices, index, shape, values, more in (
        ("matrix", NUMBERS + ("string", "bool"), ROWS, "int64", [4, 5], num(5), {}),
        ("cube", "float32", CUBE, "int64", [2, 2, 3], num(5), {}),
        ("scalar", "float32", 3, "int32", [5], num(), dict(grad_=False)),
        ("vector", "float32", [1, 3], "int32", [5], num(2), dict(grad_=False)),
        ("one value for all", "float32", ROWS, "int32", [4, 5], num(), dict(grad_=False)),
        ("no rows", "float32", np.zeros((0, 2)), "int64", [2, 3], num(0), {}),
        ("any order", "float32", MIXED, "int64", [4, 5], num(5), dict(validate_indices=False)),
        ("out of order", "float32", MIXED, "int64", [4, 5], num(5), dict(error_=REFUSED)),
        ("repeated", "float32", [[1, 1], [1, 1]], "int64", [4, 5], num(2), dict(error_=REFUSED)),
        (
            "out of bounds",
            "float32",
            [[1, 1], [1, 5]],
            "int64",
            [4, 5],
            num(2),
            dict(error_=REFUSED),
        ),
        (
            "out of bounds, not validated",
            "float32",
            [[4, 1], [1, 2]],
            "int64",
            [4, 5],
            num(2),
            dict(error_=REFUSED, validate_indices=False),
        ),
        ("negative index", "float32", [[-1, 1]], "int64", [4, 5], num(1), dict(error_=REFUSED)),
        (
            "negative size",
            "float32",
            [[0, 1]],
            "int64",
            [4, -5],
            num(1),
            dict(error_=("ValueError", REFUSED)),
        ),
        ("another rank", "float32", [[0, 1]], "int64", [4], num(1), dict(error_=REFUSED)),
        ("too few values", "float32", ROWS, "int64", [4, 5], num(3), dict(error_=REFUSED)),
    )
]
dense += [
    row(
        "SparseTensorDenseAdd",
        label,
        over,
        a_indices=lit(indices, index),
        a_values=num(len(indices)),
        a_shape=lit(list(shape), index),
        b=num(4, 5),
        **more,
    )
    for label, over, indices, index, shape, more in (
        ("", NUMBERS + COMPLEX, ROWS, "int64", (4, 5), {}),
        ("repeated", FLOATS, [[1, 1], [1, 1], [0, 0]], "int32", (4, 5), {}),
        ("out of bounds", "float32", [[4, 1]], "int64", (4, 5), dict(error_=REFUSED)),
        ("another shape", "float32", ROWS, "int64", (5, 4), dict(error_=REFUSED)),
        ("another rank", "float32", CUBE, "int64", (2, 2, 3), dict(error_=REFUSED)),
    )
]
for op, other in (
    ("SparseDenseCwiseMul", num),
    ("SparseDenseCwiseDiv", nonzero),
    ("SparseDenseCwiseAdd", num),
):
    grad = "own" if op == "SparseDenseCwiseAdd" else True  # TensorFlow has none
    dense += [
        row(
            op,
            label,
            over,
            dense=other(*shape),
            **matrix("sp_"),
            **dict(dict(grad_=grad), **more),
        )
        for label, over, shape, more in (
            ("same shape", FLOATS + ("int32", "int64"), (4, 5), {}),
            ("rows", "float32", (4, 1), {}),
            ("columns", "float32", (5,), {}),
            ("scalar", "float32", (), dict(grad_="own")),  # TensorFlow's gradient cannot gather
            ("too wide", "float32", (2, 4, 5), dict(error_=REFUSED)),
            ("does not fit", "float32", (3, 5), dict(error_=REFUSED)),
        )
    ]
dense += [
    row(
        "SparseDenseCwiseDiv",
        "by zero",  # of integers it ends TensorFlow's process
        dense=lit([[1, 2, 3, 0, 4]] * 4),
        grad_=False,
        **matrix("sp_"),
    ),
]

# -- products

product = [
    row(
        "SparseTensorDenseMatMul",
        label,
        over,
        a_indices=lit(rows, index),
        a_values=num(len(rows)),
        a_shape=known(shape),
        b=num(*b),
        **more,
    )
    for label, over, rows, index, shape, b, more in (
        ("", FLOATS + ("float16", "bfloat16", "int32"), ROWS, "int64", [4, 5], (5, 3), {}),
        ("complex", COMPLEX, ROWS, "int64", [4, 5], (5, 3), dict(grad_=False)),
        ("adjoint a", FLOATS, ROWS, "int32", [4, 5], (4, 3), dict(adjoint_a=True)),
        ("adjoint b", FLOATS, MIXED, "int64", [4, 5], (3, 5), dict(adjoint_b=True)),
        (
            "adjoint both",
            ("float32", "complex64"),
            ROWS,
            "int64",
            [4, 5],
            (40, 4),
            dict(adjoint_a=True, adjoint_b=True, grad_=("a_values", "b")),
        ),
        ("repeated", FLOATS, [[1, 1], [1, 1], [0, 4]], "int64", [4, 5], (5, 2), {}),
        ("wide", "float32", ROWS, "int64", [4, 5], (5, 40), {}),
        ("no columns", "float32", ROWS, "int64", [4, 5], (5, 0), dict(grad_=False)),
        ("row out of bounds", "float32", [[4, 1]], "int64", [4, 5], (5, 2), dict(error_=REFUSED)),
        (
            "column out of bounds",
            "float32",
            [[0, -1]],
            "int64",
            [4, 5],
            (5, 2),
            dict(error_=REFUSED),
        ),
        (
            "sizes differ",
            "float32",
            ROWS,
            "int64",
            [4, 5],
            (4, 2),
            dict(error_=("ValueError", REFUSED)),
        ),
        (
            "rank 3",
            "float32",
            CUBE,
            "int64",
            [2, 2, 3],
            (3, 2),
            dict(error_=("ValueError", REFUSED)),
        ),
    )
]
for case_list in product:
    for case in case_list:
        if case.dtype in COMPLEX:
            case.grad = False  # TensorFlow refuses

# -- reductions

reductions = []
for op, over in (
    ("SparseReduceSum", FLOATS + ("float16", "int32", "int64", "complex64")),
    ("SparseReduceMax", FLOATS + ("float16", "int32", "int64")),
    ("SparseReduceSumSparse", FLOATS + ("float16", "int32", "int64", "complex64")),
    ("SparseReduceMaxSparse", FLOATS + ("float16", "int32", "int64")),
):
    grad = op == "SparseReduceSum"
    reductions += [
        row(
            op,
            label,
            over if label == "rows" else "float32",
            reduction_axes=const(axes),
            **dict(
                matrix("input_", rows=rows, shape=shape),
                **dict(dict(grad_=grad), **more),
            ),
        )
        for label, rows, shape, axes, more in (
            ("rows", ROWS, (4, 5), [1], {}),
            ("columns", ROWS, (4, 5), [0], {}),
            ("both", ROWS, (4, 5), [0, 1], {}),
            ("scalar axis", ROWS, (4, 5), -1, {}),
            ("kept", ROWS, (4, 5), [-1], dict(keep_dims=True)),
            ("cube", CUBE, (2, 2, 3), [0, -1], dict(keep_dims=True)),
            ("none", ROWS, (4, 5), [], {}),
            ("any order", MIXED, (4, 5), [1], {}),
            ("axis out of range", ROWS, (4, 5), [2], dict(error_=REFUSED)),
        )
    ]
reductions += [
    row("SparseSoftmax", "", FLOATS, **matrix("sp_")),
    row("SparseSoftmax", "cube", FLOATS, **matrix("sp_", rows=CUBE, shape=(2, 2, 3))),
    row(
        "SparseSoftmax",
        "vector",
        sp_indices=i64([[1], [3]]),
        sp_values=num(2),
        sp_shape=known([5]),
        error_=REFUSED,
    ),
]

# -- order, shape, parts

arrange = [
    row("SparseReorder", "", NUMBERS + ("string", "bool"), **matrix("input_", rows=MIXED)),
    row("SparseReorder", "in order", **matrix("input_")),
    row("SparseReorder", "cube", **matrix("input_", rows=CUBE[::-1], shape=(2, 2, 3))),
]
arrange += [
    row(
        "SparseReshape",
        label,
        input_indices=i64(rows),
        input_shape=known(old),
        new_shape=known(new),
        **more,
    )
    for label, rows, old, new, more in (
        ("", ROWS, [4, 5], [2, 10], {}),
        ("inferred", ROWS, [4, 5], [2, -1, 5], {}),
        ("flat", CUBE, [2, 2, 3], [-1], {}),
        ("same", ROWS, [4, 5], [4, 5], {}),
        ("two inferred", ROWS, [4, 5], [-1, -1], dict(error_=REFUSED)),
        ("does not fit", ROWS, [4, 5], [3, 7], dict(error_=REFUSED)),
        ("not a multiple", ROWS, [4, 5], [-1, 3], dict(error_=REFUSED)),
        ("negative", ROWS, [4, 5], [-2, 10], dict(error_=REFUSED)),
    )
]
arrange += [
    row(
        "SparseConcat",
        label,
        over,
        indices=[i64(ROWS), i64([[0, 0], [1, 1]])],
        values=[num(5), num(2)],
        shapes=[known([4, 5]), known(other)],
        concat_dim=axis,
        **dict(dict(grad_=False), **more),
    )
    for label, over, other, axis, more in (
        ("rows", NUMBERS + ("string",), [2, 5], 0, {}),
        ("columns", "float32", [4, 2], 1, {}),
        ("last", "float32", [4, 2], -1, {}),
        ("sizes differ", "float32", [3, 2], 1, dict(error_=REFUSED)),
        ("no such axis", "float32", [4, 5], 2, dict(error_=REFUSED)),
    )
]
arrange += [
    row(
        "SparseSplit",
        label,
        over,
        split_dim=known(axis),
        num_split=n,
        **dict(matrix(), **dict(dict(grad_=False), **more)),
    )
    for label, over, axis, n, more in (
        ("rows", NUMBERS + ("string",), 0, 2, {}),
        ("columns, uneven", "float32", 1, 3, {}),
        ("one", "float32", 1, 1, {}),
        ("too many", "float32", 0, 5, dict(error_=REFUSED)),
        ("no such axis", "float32", 2, 2, dict(error_=REFUSED)),
    )
]
arrange += [
    row(
        "SparseSlice",
        label,
        over,
        start=i64(start),
        size=i64(size),
        **dict(matrix(), **more),
    )
    for label, over, start, size, more in (
        ("", FLOATS + ("int32",), [0, 1], [3, 3], {}),
        ("strings", "string", [0, 1], [3, 3], {}),
        ("beyond", "float32", [2, 2], [9, 9], {}),
        ("nothing", "float32", [1, 0], [1, 5], dict(grad_=False)),
        ("start too short", "float32", [0], [3, 3], dict(error_=REFUSED)),
    )
]
arrange += [
    row(
        "SparseSliceGrad",
        "",
        FLOATS + ("int32",),
        backprop_val_grad=num(3),
        input_indices=i64(ROWS),
        input_start=i64([0, 1]),
        output_indices=i64([[0, 0], [0, 2], [2, 1]]),
        grad_=False,
    ),
    row(
        "SparseSliceGrad",
        "not a part",
        backprop_val_grad=num(2),
        input_indices=i64(ROWS),
        input_start=i64([0, 1]),
        output_indices=i64([[0, 0], [1, 1]]),
        error_="InternalError",
    ),
]
arrange += [
    row(
        "SparseFillEmptyRows",
        label,
        over,
        indices=i64(rows),
        values=num(len(rows)),
        dense_shape=known(shape),
        default_value=num(),
        **more,
    )
    for label, over, rows, shape, more in (
        ("", FLOATS + ("int32", "string"), ROWS, [4, 5], {}),
        ("any order", "float32", MIXED, [4, 5], {}),
        ("cube", "float32", CUBE, [4, 2, 3], {}),
        ("full", "float32", CUBE, [2, 2, 3], {}),
        ("out of bounds", "float32", ROWS, [2, 5], dict(error_=REFUSED)),
        ("negative", "float32", [[-1, 0]], [2, 5], dict(error_=REFUSED)),
        ("no rows", "float32", ROWS, [0, 5], dict(error_=REFUSED)),
    )
]
arrange += [
    row(
        "SparseFillEmptyRowsGrad",
        label,
        over,
        reverse_index_map=i64(places),
        grad_values=num(6),
        **dict(dict(grad_=False), **more),
    )
    for label, over, places, more in (
        ("", FLOATS + ("int32",), [0, 2, 3, 5], {}),
        ("out of bounds", "float32", [0, 6], dict(error_=REFUSED)),
        ("negative", "float32", [-1, 0], dict(error_=REFUSED)),
    )
]

# -- two sparse tensors

OTHER = [[0, 0], [0, 3], [2, 2], [3, 4]]
pairs = []
for op, over in (
    ("SparseAdd", FLOATS + ("int32", "int64")),
    ("SparseSparseMaximum", FLOATS + ("int32", "int64")),
    ("SparseSparseMinimum", FLOATS + ("int32", "int64")),
):
    pairs += [
        row(
            op,
            label,
            dtypes,
            **dict(
                matrix("a_"),
                grad_=op == "SparseAdd",
                **matrix("b_", rows=rows, shape=shape),
                **dict({"thresh": lit(0)} if op == "SparseAdd" else {}, **more),
            ),
        )
        for label, dtypes, rows, shape, more in (
            ("", over, OTHER, (4, 5), {}),
            ("nothing shared", "float32", [[1, 0], [3, 3]], (4, 5), {}),
            ("nothing else", "float32", ROWS, (4, 5), {}),
            ("shapes differ", "float32", OTHER, (4, 6), dict(error_=REFUSED)),
            ("ranks differ", "float32", CUBE, (2, 2, 3), dict(error_=REFUSED)),
        )
    ]
pairs += [
    row(
        "SparseAdd",
        "threshold",
        over,
        a_indices=i64(ROWS),
        a_values=lit([1, 2, 3, 4, 5]),
        a_shape=known([4, 5]),
        b_indices=i64(OTHER),
        b_values=lit([1, -2, -3, 0]),
        b_shape=known([4, 5]),
        thresh=lit(1, real),
    )
    for over, real in (("float32", "float32"), ("complex64", "float32"), ("int64", "int64"))
]
pairs += [
    row(
        "SparseAddGrad",
        "",
        FLOATS + ("int32",),
        backprop_val_grad=num(4),
        a_indices=i64(ROWS),
        b_indices=i64(OTHER),
        sum_indices=i64([[0, 0], [0, 1], [2, 2], [3, 4]]),
        grad_=False,
    )
]

# -- crosses

SOME = [[0, 0], [0, 1], [2, 0]]  # row 1 has nothing
MORE = [[0, 0], [1, 0], [1, 1], [2, 0], [2, 1]]
crosses = [
    row(
        "SparseCross",
        label,
        indices=[i64(SOME), i64(MORE)],
        values=[
            lit([b"a", b"", b"a longer one than the others, of more than sixteen bytes"], "string"),
            lit([1, -2, 3, 2**40, 5], "int64")
            if mixed
            else lit([b"1", b"2\0", b"3", b"4", b"5"], "string"),
        ],
        shapes=[known([3, 2]), known([3, 2])],
        dense_inputs=[
            lit([[7, 8], [9, 10], [11, -1]], "int64")
            if mixed
            else lit([[b"d", b"e"], [b"f", b"g"], [b"h", b"i" * 70]], "string")
        ],
        hashed_output=out == "int64",
        num_buckets=buckets,
        hash_key=key,
        out_type=Dtype(out),
        internal_type=Dtype("int64" if mixed or out == "int64" else "string"),
        grad_=False,
    )
    for label, mixed, out, buckets, key in (
        ("strings", False, "string", 0, 1),
        ("strings and numbers", True, "string", 0, 1),
        ("hashed strings", False, "int64", 100, 956888297470),
        ("hashed strings and numbers", True, "int64", 1000, 0xDECAFCAFFE),
        ("hashed without limit", True, "int64", 0, -7),
    )
]
# -- kept and passed on

rest = [
    row(
        op,
        label,
        over,
        grad_=False,
        **dict(matrix("sparse_"), **more),
    )
    for op in ("SerializeSparse", "SerializeManySparse")
    for label, over, more in (
        ("", ("float32", "int64", "bool", "complex64"), {}),
        ("strings", "string", {}),
    )
]
rest += [
    row(
        "SerializeManySparse",
        "too few values",
        error_=REFUSED,
        **matrix("sparse_", values=num(4)),
    ),
    row(
        "SerializeManySparse",
        "out of order",
        error_=REFUSED,
        **matrix("sparse_", rows=MIXED),
    ),
    row(
        "SerializeManySparse",
        "vector",
        sparse_indices=i64([[1], [3]]),
        sparse_values=num(2),
        sparse_shape=known([5]),
        error_=REFUSED,
    ),
]
for op in ("DeserializeSparse", "DeserializeManySparse"):
    rest += [
        row(
            op,
            "garbage",
            serialized_sparse=lit([[b"no", b"proto", b"\xff"]], "string"),
            dtype="float32",
            error_=REFUSED,
        ),
        row(
            op,
            "two columns",
            serialized_sparse=lit([[b"", b""]], "string"),
            dtype="float32",
            error_=("ValueError", REFUSED),
        ),
    ]
scripts = []


def declare(*ops, **options):
    def keep(function):
        scripts.append(script(*ops, **options)(function))
        return function

    return keep


def _parts(g, rows, dtype, shape):
    values = [b"s%d" % i for i in range(len(rows))] if dtype == "string" else list(range(len(rows)))
    return dict(
        sparse_indices=g.feed(rows, "int64"),
        sparse_values=g.feed(values, dtype),
        sparse_shape=g.feed(list(shape), "int64"),
    )


@declare("SerializeSparse", "SerializeManySparse", "DeserializeSparse", "DeserializeManySparse")
def serialized_and_back(g):
    for dtype in ("float32", "string", "int32"):
        one = _parts(g, ROWS, dtype, (4, 5))
        for out in ("string", "variant"):
            kind = dict(out_type=getattr(g.tf, out))
            whole = g.raw.SerializeSparse(**dict(one, **kind))
            rows = g.raw.SerializeManySparse(**dict(one, **kind))
            back = dict(dtype=getattr(g.tf, dtype))
            yield g.run(*g.raw.DeserializeSparse(serialized_sparse=whole, **back))
            yield g.run(*g.raw.DeserializeSparse(serialized_sparse=rows, **back))
            if out == "string":
                cubes = g.tf.stack([rows, rows])
                yield g.run(*g.raw.DeserializeSparse(serialized_sparse=cubes, **back))
                yield g.run(*g.raw.DeserializeManySparse(serialized_sparse=rows, **back))


@declare("SerializeSparse", "DeserializeManySparse", "DeserializeSparse")
def batches_of_different_sizes(g):
    small = g.raw.SerializeSparse(**_parts(g, ROWS, "float32", (4, 5)))
    large = g.raw.SerializeSparse(**_parts(g, [[6, 1]], "float32", (7, 3)))
    flat = g.raw.SerializeSparse(**_parts(g, [[6]], "float32", (7,)))
    both = dict(serialized_sparse=g.tf.stack([small, large]), dtype=g.tf.float32)
    yield g.run(*g.raw.DeserializeManySparse(**both))
    yield g.run(*g.raw.DeserializeSparse(**both))
    mixed = g.tf.stack([small, flat])
    wrong = g.raw.DeserializeManySparse(serialized_sparse=mixed, dtype=g.tf.float32)
    yield g.run(*wrong, error=REFUSED)
    wrong = g.raw.DeserializeSparse(serialized_sparse=small, dtype=g.tf.float64)
    yield g.run(*wrong, error=REFUSED)


@declare("AddSparseToTensorsMap", "AddManySparseToTensorsMap", "TakeManySparseFromTensorsMap")
def sparse_tensors_kept_between_steps(g):
    where = dict(shared_name="map of sparse tensors")
    one = g.raw.AddSparseToTensorsMap(**dict(_parts(g, ROWS, "float32", (4, 5)), **where))
    yield g.run(one)
    two = g.raw.AddSparseToTensorsMap(**dict(_parts(g, [[1, 6]], "float32", (2, 7)), **where))
    yield g.run(two)
    many = dict(_parts(g, CUBE, "float32", (2, 2, 3)), **where)
    handles = g.raw.AddManySparseToTensorsMap(**many)
    yield g.run(handles)

    def take(handles):
        return g.raw.TakeManySparseFromTensorsMap(
            sparse_handles=g.feed(handles, "int64"), dtype=g.tf.float32, **where
        )

    yield g.run(*take([1, 0]))
    yield g.run(*take([3, 2]))
    yield g.run(*take([0]), error=REFUSED)  # each is taken once
    nowhere = g.raw.TakeManySparseFromTensorsMap(
        sparse_handles=g.feed([0], "int64"), dtype=g.tf.float32, shared_name="no such map"
    )
    yield g.run(*nowhere, error=REFUSED)
    flat = dict(_parts(g, [[1]], "float32", (2,)), **where)
    yield g.run(g.raw.AddManySparseToTensorsMap(**flat), error=REFUSED)


FAMILY = Family("sparse", dense + product + reductions + arrange + pairs + crosses + rest, scripts)
