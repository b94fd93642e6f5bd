"""Ragged tensors: ranges, gathering, and the ways to other forms."""

from __future__ import annotations

from ..case import Family, row, script
from ..values import INDICES, SINGLES, Dtype, const, i32, i64, lit, num

SPLITS = [i64([0, 2, 2, 5])]
NESTED = [i64([0, 2, 2, 3]), i64([0, 1, 4, 4])]
WIDE = ("float32", "float64", "int32", "int64", "bool", "string")
VALUES, INDICES_OF_ROWS = num(5), i32([2, 0, 1, 2])
INVALID = "InvalidArgumentError"


def gather(label, over="float32", splits=SPLITS, values=VALUES, indices=INDICES_OF_ROWS, **more):
    rank = more.pop("rank", len(splits))
    return row(
        "RaggedGather",
        label,
        over,
        params_nested_splits=splits,
        params_dense_values=values,
        indices=indices,
        OUTPUT_RAGGED_RANK=rank,
        flows_=[rank],
        **more,
    )


def to_sparse(label, over="float32", splits=SPLITS, values=VALUES, **more):
    return row(
        "RaggedTensorToSparse",
        label,
        over,
        rt_nested_splits=splits,
        rt_dense_values=values,
        flows_=[1],
        **more,
    )


def to_tensor(label, over="float32", kinds=("ROW_SPLITS",), splits=SPLITS, values=VALUES, **more):
    more.setdefault("shape", const(-1, "int64"))
    more.setdefault("default_value", num())
    # TensorFlow 1.15 has no gradient for it.
    return row(
        "RaggedTensorToTensor",
        label,
        over,
        values=values,
        row_partition_tensors=splits,
        row_partition_types=list(kinds),
        grad_=False,
        **more,
    )


rows = [
    row(
        "RaggedRange",
        "",
        SINGLES + INDICES,
        starts=lit([0, 5, 8, 3]),
        limits=lit([3, 5, 2, 9]),
        deltas=lit([1, 1, -2, -1]),
    ),
    row("RaggedRange", "scalars", starts=lit(1.0), limits=lit(4.0), deltas=lit(0.75)),
    row(
        "RaggedRange",
        "int32 splits",
        INDICES,
        starts=lit(0),
        limits=lit([3, 0, -1]),
        deltas=lit(1),
        Tsplits=Dtype("int32"),
    ),
    row("RaggedRange", "no rows", starts=i32([]), limits=i32([]), deltas=i32(1)),
    row("RaggedRange", "no step", starts=i32(0), limits=i32([1]), deltas=i32(0), error_=INVALID),
    row(
        "RaggedRange",
        "lengths differ",
        starts=i32([0, 1]),
        limits=i32([1, 2, 3]),
        deltas=i32(1),
        error_=INVALID,
    ),
    gather("", WIDE),
    gather("int64 indices", indices=i64([1])),
    gather("no indices", indices=i32([])),
    gather("matrix of indices", SINGLES, indices=i32([[2, 0], [1, 1]]), rank=2),
    gather("one index", SINGLES, indices=i32(2), rank=0),
    gather("nested", SINGLES, NESTED, num(4, 2), i32([2, 0, 0])),
    gather("nested, one index", SINGLES, NESTED, num(4, 2), i32(0), rank=1),
    gather("int32 splits", splits=[i32([0, 2, 2, 5])]),
    gather("out of range", indices=i32([0, 3]), error_=INVALID),
    gather("negative", indices=i32([-1]), error_=INVALID),
    gather("splits decrease", splits=[i64([0, 3, 2, 5])], error_=INVALID),
    gather("splits past values", splits=[i64([0, 2, 7])], indices=i32([0]), error_=INVALID),
    to_sparse("", WIDE),
    to_sparse("nested", SINGLES, NESTED, num(4)),
    to_sparse("inner dimensions", SINGLES, SPLITS, num(5, 2, 3)),
    to_sparse("int32 splits", splits=[i32([0, 2, 2, 5])]),
    to_sparse("no values", splits=[i64([0, 0, 0])], values=num(0)),
    to_sparse("no rows", splits=[i64([0])], values=num(0)),
    to_sparse("first split", splits=[i64([1, 3, 5])], error_=INVALID),
    to_sparse("last split", splits=[i64([0, 3, 4])], error_=INVALID),
    to_tensor("", WIDE),
    to_tensor("nested", SINGLES, ("ROW_SPLITS",) * 2, NESTED, num(4)),
    to_tensor("inner dimensions", values=num(5, 2), default_value=num(2)),
    to_tensor("one default for inner dimensions", values=num(5, 2)),
    to_tensor("cut", SINGLES, shape=const([2, 1], "int64")),
    to_tensor("wider", SINGLES, shape=const([4, -1], "int64")),
    to_tensor("no rows", splits=[i64([0])], values=num(0)),
    to_tensor(
        "row ids",
        SINGLES,
        ("FIRST_DIM_SIZE", "VALUE_ROWIDS"),
        [i64(4), i64([0, 0, 2, 2, 2])],
    ),
]


@script("RaggedTensorToVariant", "RaggedTensorFromVariant", round_trip=False)
def there_and_back(g):
    """As one element, or with each row as one; with an outer dimension of their own."""
    tf = g.tf
    parts = dict(
        rt_nested_splits=[tf.constant(s, tf.int64) for s in ([0, 2, 2, 3], [0, 1, 4, 4])],
        rt_dense_values=g.feed([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]),
    )
    kinds = dict(Tvalues=tf.float32, Tsplits=tf.int64)

    def back(encoded, inner, outer):
        return g.raw.RaggedTensorFromVariant(
            encoded_ragged=encoded, input_ragged_rank=inner, output_ragged_rank=outer, **kinds
        )

    whole = g.raw.RaggedTensorToVariant(batched_input=False, **parts)
    each = g.raw.RaggedTensorToVariant(batched_input=True, **parts)
    splits, values = back(whole, 2, 2)
    yield g.run(*(splits + [values]))
    splits, values = back(each, -1, 2)
    yield g.run(*(splits + [values]))
    splits, values = back(tf.stack([whole, whole]), 2, 3)
    yield g.run(*(splits + [values]))
    splits, values = back(each, 0, 1)
    yield g.run(values, error=INVALID)
    splits, values = back(each[1], 1, 1)
    yield g.run(*(splits + [values]))


FAMILY = Family("ragged", rows, [there_and_back])
