"""Ops that take parts of arrays, put parts into them, look for elements."""

from __future__ import annotations

from ..case import Family, row, script
from ..values import (
    ANY,
    COMMON,
    INDICES,
    NUMBERS,
    REALS,
    SINGLES,
    Dtype,
    boolean,
    const,
    i32,
    i64,
    lit,
    num,
    zeros,
)

NO_INTS = lit([], "int32")


def strided(op, label, begin, end, strides, over="float32", index="int32", **more):
    arguments = dict(
        begin=const(begin, index), end=const(end, index), strides=const(strides, index)
    )
    arguments.update(more)
    return row(op, label, over, **arguments)


rows = [
    row("Gather", "", COMMON, params=num(4, 3), indices=i32([3, 0, 3])),
    row("Gather", "matrix of indices", SINGLES, params=num(4, 2), indices=i64([[3, 0], [1, 1]])),
    row(
        "Gather", "out of range", params=num(4, 3), indices=i32([4]), error_="InvalidArgumentError"
    ),
    row("GatherV2", "", ANY, params=num(4, 3), indices=i32([3, 0, 3]), axis=const(0)),
    row(
        "GatherV2",
        "axis 1",
        SINGLES,
        params=num(2, 4, 3),
        indices=i64([[3, 0], [1, 1]]),
        axis=const(1),
    ),
    row(
        "GatherV2", "negative axis", params=num(2, 4), indices=i32([3, 0]), axis=const(-1, "int64")
    ),
    row("GatherV2", "scalar index", params=num(4, 3), indices=i32(2), axis=const(0)),
    row("GatherV2", "no indices", params=num(4, 3), indices=NO_INTS, axis=const(0)),
    row(
        "GatherV2",
        "batch_dims",
        SINGLES,
        params=num(2, 4, 3),
        indices=i32([[3, 0], [1, 1]]),
        axis=const(1),
        batch_dims=1,
        grad_=False,
    ),
    row(
        "GatherV2",
        "out of range",
        ("float32", "string"),
        params=num(4, 3),
        indices=i32([0, 4]),
        axis=const(0),
        error_="InvalidArgumentError",
    ),
    row(
        "GatherV2",
        "negative index",
        params=num(4, 3),
        indices=i32([-1]),
        axis=const(0),
        error_="InvalidArgumentError",
    ),
    row(
        "GatherV2",
        "axis out of range",
        params=num(4, 3),
        indices=i32([0]),
        axis=const(2),
        error_="InvalidArgumentError",
    ),
    row(
        "GatherV2",
        "scalar params",
        params=num(),
        indices=i32([0]),
        axis=const(0),
        error_="InvalidArgumentError",
    ),
    row("GatherNd", "", COMMON, params=num(3, 4, 2), indices=i32([[0, 1], [2, 3]])),
    row(
        "GatherNd",
        "elements",
        SINGLES,
        params=num(3, 4),
        indices=i64([[[0, 1]], [[2, 3]], [[0, 1]]]),
    ),
    row(
        "GatherNd", "whole", SINGLES, grad_="own", params=num(3, 4), indices=lit([[], []], "int32")
    ),
    row("GatherNd", "vector", SINGLES, grad_="own", params=num(3, 4), indices=i32([1])),
    row(
        "GatherNd",
        "out of range",
        params=num(3, 4),
        indices=i32([[0, 1], [3, 0]]),
        error_="InvalidArgumentError",
    ),
    row(
        "GatherNd",
        "too deep",
        params=num(3, 4),
        indices=i32([[0, 1, 0]]),
        error_="InvalidArgumentError",
    ),
    row(
        "ScatterNd",
        "",
        NUMBERS,
        indices=i32([[1], [3], [1]]),
        updates=num(3, 2),
        shape=const([5, 2]),
    ),
    row(
        "ScatterNd",
        "elements",
        SINGLES,
        indices=i64([[0, 1], [2, 0]]),
        updates=num(2),
        shape=const([3, 2], "int64"),
    ),
    row(
        "ScatterNd",
        "out of range",
        indices=i32([[5]]),
        updates=num(1, 2),
        shape=const([5, 2]),
        error_="InvalidArgumentError",
    ),
    row(
        "ScatterNd",
        "shapes differ",
        indices=i32([[1]]),
        updates=num(2, 2),
        shape=const([5, 2]),
        error_="InvalidArgumentError",
    ),
    row(
        "ScatterNdNonAliasingAdd",
        "",
        SINGLES + ("int32",),
        input=num(4, 2),
        indices=i32([[1], [3], [1]]),
        updates=num(3, 2),
    ),
]
for op in ("TensorScatterUpdate", "TensorScatterAdd", "TensorScatterSub"):
    rows += [
        row(
            op,
            "",
            SINGLES + ("int32", "complex64"),
            tensor=num(4, 2),
            indices=i32([[1], [3]]),
            updates=num(2, 2),
        ),
        row(
            op,
            "elements",
            "float32",
            tensor=num(4, 2),
            indices=i64([[1, 0], [3, 1]]),
            updates=num(2),
        ),
        row(
            op,
            "out of range",
            "float32",
            tensor=num(4, 2),
            indices=i32([[4]]),
            updates=num(1, 2),
            error_="InvalidArgumentError",
        ),
    ]
for op in ("TensorScatterAdd", "TensorScatterSub"):
    rows.append(
        row(op, "twice", SINGLES, tensor=num(4), indices=i32([[1], [1], [3]]), updates=num(3))
    )
for op in ("InplaceUpdate", "InplaceAdd", "InplaceSub"):
    rows.append(
        row(
            op,
            "",
            SINGLES + ("int32",),
            x=num(4, 2),
            i=i32([1, 3]),
            v=num(2, 2),
            grad_=False,
            later_=True,
        )
    )

rows += [
    row("Slice", "", ANY, input=num(3, 4), begin=const([1, 0]), size=const([2, 3])),
    row(
        "Slice",
        "to the end",
        SINGLES,
        grad_="own",
        input=num(3, 4),
        begin=const([1, 2], "int64"),
        size=const([-1, -1], "int64"),
    ),
    row("Slice", "nothing", input=num(3, 4), begin=const([3, 0]), size=const([0, 2])),
    row("Slice", "scalar", input=num(), begin=const(NO_INTS), size=const(NO_INTS)),
    row(
        "Slice",
        "out of range",
        input=num(3, 4),
        begin=const([2, 0]),
        size=const([2, 1]),
        error_="InvalidArgumentError",
    ),
    row(
        "Slice",
        "wrong length",
        input=num(3, 4),
        begin=const([2]),
        size=const([1]),
        error_="InvalidArgumentError",
    ),
    strided("StridedSlice", "", [0, 1], [2, 4], [1, 2], ANY, input=num(3, 4)),
    strided("StridedSlice", "negative stride", [-1], [-5], [-1], SINGLES, input=num(4, 2)),
    strided(
        "StridedSlice", "masks", [1, 1], [2, 2], [1, 1], input=num(3, 4), begin_mask=1, end_mask=2
    ),
    strided(
        "StridedSlice", "reversed whole", [0], [0], [-1], input=num(5), begin_mask=1, end_mask=1
    ),
    strided(
        "StridedSlice", "ellipsis", [0, 1], [0, 3], [1, 1], input=num(2, 3, 4), ellipsis_mask=1
    ),
    strided(
        "StridedSlice",
        "new axis",
        [0, 0, 1],
        [0, 0, 2],
        [1, 1, 1],
        SINGLES,
        input=num(2, 3),
        new_axis_mask=1,
        begin_mask=2,
        end_mask=2,
    ),
    strided(
        "StridedSlice",
        "shrink",
        [1, 0],
        [2, 2],
        [1, 1],
        SINGLES,
        input=num(3, 4),
        shrink_axis_mask=1,
    ),
    strided("StridedSlice", "shrink last", [-1], [0], [1], input=num(3, 4), shrink_axis_mask=1),
    strided(
        "StridedSlice",
        "everything",
        [0, 0, 0, -1],
        [0, 0, 2, 0],
        [1, 1, 1, 1],
        index="int64",
        input=num(2, 3, 4),
        ellipsis_mask=1,
        new_axis_mask=2,
        shrink_axis_mask=8,
    ),
    strided("StridedSlice", "out of bounds clips", [-10, 2], [10, 100], [1, 1], input=num(3, 4)),
    strided("StridedSlice", "nothing", [2], [1], [1], input=num(3, 4), grad_=False),
    strided(
        "StridedSlice",
        "scalar from vector",
        [2],
        [3],
        [1],
        COMMON,
        input=num(4),
        shrink_axis_mask=1,
    ),
    strided(
        "StridedSlice", "zero stride", [0], [1], [0], input=num(3), error_="InvalidArgumentError"
    ),
    strided(
        "StridedSlice",
        "too many",
        [0, 0],
        [1, 1],
        [1, 1],
        input=num(3),
        error_="InvalidArgumentError",
    ),
    strided(
        "StridedSlice",
        "shrink out of range",
        [3],
        [4],
        [1],
        input=num(3),
        shrink_axis_mask=1,
        error_="InvalidArgumentError",
    ),
    strided(
        "StridedSliceGrad", "", [0, 1], [2, 4], [1, 2], SINGLES, shape=const([3, 4]), dy=num(2, 2)
    ),
    strided(
        "StridedSliceGrad", "negative stride", [-1], [-4], [-2], shape=const([4, 2]), dy=num(2, 2)
    ),
    strided(
        "StridedSliceGrad",
        "shrink",
        [1, 0],
        [2, 2],
        [1, 1],
        shape=const([3, 4]),
        dy=num(2),
        shrink_axis_mask=1,
    ),
    strided(
        "StridedSliceGrad",
        "new axis",
        [0, 1],
        [0, 3],
        [1, 1],
        shape=const([3]),
        dy=num(1, 2),
        new_axis_mask=1,
    ),
    strided(
        "TensorStridedSliceUpdate",
        "",
        [0, 1],
        [2, 4],
        [1, 2],
        SINGLES,
        input=num(3, 4),
        value=num(2, 2),
        later_=True,
    ),
    # Split by values, and joined again
    row(
        "DynamicPartition",
        "",
        COMMON,
        data=num(5),
        partitions=i32([1, 0, 0, 2, 1]),
        num_partitions=3,
    ),
    row(
        "DynamicPartition",
        "rows",
        SINGLES,
        data=num(4, 2),
        partitions=i32([1, 0, 0, 1]),
        num_partitions=3,
    ),
    row(
        "DynamicPartition",
        "matrix",
        data=num(2, 3),
        partitions=i32([[1, 0, 0], [1, 1, 0]]),
        num_partitions=2,
    ),
    row(
        "DynamicPartition",
        "out of range",
        data=num(2),
        partitions=i32([1, 2]),
        num_partitions=2,
        error_="InvalidArgumentError",
    ),
    row(
        "DynamicStitch",
        "",
        COMMON,
        indices=[i32(5), i32([4, 1]), i32([[3, 0], [2, 5]])],
        data=[num(), num(2), num(2, 2)],
        numeric_=False,  # of what two give, one is lost
    ),
    row(
        "DynamicStitch",
        "rows",
        SINGLES,
        indices=[i32([0, 2]), i32([1])],
        data=[num(2, 3), num(1, 3)],
    ),
    row("DynamicStitch", "last wins", indices=[i32([0, 1]), i32([1])], data=[num(2), num(1)]),
    row("DynamicStitch", "none", indices=[NO_INTS], data=[zeros(0, 2)]),
    row(
        "ParallelDynamicStitch",
        "",
        SINGLES,
        indices=[i32([0, 2]), i32([1])],
        data=[num(2, 3), num(1, 3)],
    ),
    # Looked for
    row("Where", "", NUMBERS + ("bool",), condition=lit([[1, 0, 2], [0, 0, 3]])),
    row("Where", "vector", "bool", condition=boolean([True, False, True])),
    row("Where", "none", "bool", condition=boolean([False, False])),
    row("Unique", "", REALS + ("string",), x=lit([3, 1, 3, 2, 1])),
    row("Unique", "int64 positions", x=lit([3, 1, 3]), out_idx=Dtype("int64")),
    row("Unique", "none", x=zeros(0)),
    row("Unique", "not a vector", x=num(2, 2), error_="InvalidArgumentError"),
    row(
        "UniqueV2",
        "",
        ("float32", "int32", "int64"),
        x=lit([3, 1, 3, 2, 1]),
        axis=const(lit([], "int64"), "int64"),
    ),
    row("UniqueV2", "axis 0", x=lit([[1, 2], [3, 4], [1, 2]]), axis=const([0], "int64")),
    row("UniqueV2", "axis 1", "int32", x=lit([[1, 2, 1], [3, 4, 3]]), axis=const([1])),
    row("UniqueWithCounts", "", ("float32", "int32", "string"), x=lit([3, 1, 3, 2, 1])),
    row(
        "UniqueWithCountsV2",
        "",
        ("float32", "int32"),
        x=lit([3, 1, 3, 2, 1]),
        axis=const(lit([], "int64"), "int64"),
    ),
    row("UniqueWithCountsV2", "axis 0", x=lit([[1, 2], [3, 4], [1, 2]]), axis=const([0], "int64")),
    row("ListDiff", "", REALS + ("string",), x=lit([1, 2, 3, 4, 3, 5]), y=lit([2, 4]), later_=True),
    row(
        "ListDiff",
        "int64 positions",
        x=lit([1, 2]),
        y=zeros(0),
        out_idx=Dtype("int64"),
        later_=True,
    ),
    row(
        "LowerBound",
        "",
        SINGLES + INDICES,
        sorted_inputs=lit([[0, 3, 9, 9], [1, 2, 3, 4]]),
        values=lit([[2, 4, 9], [0, 2, 6]]),
        later_=True,
    ),
    row(
        "UpperBound",
        "",
        SINGLES + INDICES,
        sorted_inputs=lit([[0, 3, 9, 9], [1, 2, 3, 4]]),
        values=lit([[2, 4, 9], [0, 2, 6]]),
        later_=True,
    ),
    # Largest
    row("TopKV2", "", REALS, input=num(2, 5), k=const(3)),
    row("TopKV2", "ties", input=lit([1.0, 3.0, 3.0, 2.0, 3.0]), k=const(4), numeric_=False),
    row("TopKV2", "vector", SINGLES, input=num(6), k=const(1)),
    row("TopKV2", "all", input=num(2, 3), k=const(3)),
    row("TopKV2", "none", input=num(2, 3), k=const(0), grad_=False),
    row("TopKV2", "too many", input=num(3), k=const(4), error_="InvalidArgumentError"),
    row("TopKV2", "negative", input=num(3), k=const(-1), error_="InvalidArgumentError"),
    row("NthElement", "", SINGLES + ("int32",), input=num(2, 5), n=const(1)),
    row("NthElement", "reverse", input=num(5), n=const(1), reverse=True),
    row("NthElement", "out of range", input=num(5), n=const(5), error_="InvalidArgumentError"),
    row(
        "InTopK",
        "",
        INDICES,
        predictions=lit([[0.1, 0.3, 0.2], [0.5, 0.1, 0.2], [0.1, 0.1, 0.2]], "float32"),
        targets=lit([1, 2, 0]),
        k=2,
    ),
    row(
        "InTopKV2",
        "",
        INDICES,
        predictions=lit([[0.1, 0.3, 0.2], [0.5, 0.1, 0.2], [0.1, 0.1, 0.2]], "float32"),
        targets=lit([1, 2, 0]),
        k=const(lit(2)),
    ),
    row(
        "InTopKV2",
        "not finite",
        "int32",
        predictions=lit([[0.1, float("inf"), 0.2], [float("nan"), 0.1, 0.2]], "float32"),
        targets=lit([1, 0]),
        k=const(lit(2)),
    ),
    row(
        "InTopK",
        "target out of range",
        "int32",
        predictions=lit([[0.1, 0.3]], "float32"),
        targets=lit([2]),
        k=1,
    ),
]


@script("TopK", later=True)
def top_k_of_old_graphs(g):
    yield g.run(*g.old_op("TopK", {"x": g.feed([[1.0, 3.0, 2.0, 5.0]])}, T=g.tf.float32, k=2))


FAMILY = Family("array_index", rows, [top_k_of_old_graphs])
